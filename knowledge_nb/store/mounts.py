"""Which file system lies under a path: SQLite's log and locks need a local one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

NETWORK = frozenset(
    re.findall(
        r"\S+",
        "nfs nfs4 cifs smb smb2 smb3 smbfs ncpfs afs 9p ceph glusterfs lustre beegfs gpfs davfs"
        " fuse.sshfs fuse.s3fs fuse.rclone fuse.glusterfs fuse.gvfsd-fuse fuse.davfs2 drvfs"
        " vboxsf fuse.vmhgfs-fuse prl_fs",
    )
)
MOUNTS = "/proc/mounts"
MOUNTINFO = "/proc/self/mountinfo"
# File systems whose files somebody else can change although this machine mounts them read-only.
SHARED = NETWORK | {"overlay", "aufs", "virtiofs", "ecryptfs", "nullfs"}
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str
    options: str = ""

    @property
    def network(self) -> bool:
        """Whether its files lie on another machine or the host of this one."""
        return self.kind in NETWORK


def mount_of(path: str | os.PathLike[str], mounts: str) -> Mount | None:
    """The mount that holds a path.

    Parameters
    ----------
    path : path
        Absolute.
    mounts : str
        The text of /proc/mounts.

    Returns
    -------
    Mount or None
        Of several at one point the last, which covers the others; None where none fits.
    """
    wanted = os.fspath(path)
    best: Mount | None = None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[1])
        inside = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best.point)):
            best = Mount(point, *fields[2:4])
    return best


def network_mount(path: Path) -> Mount | None:
    """The network mount that holds a path; None for a local one, and where nobody can tell."""
    mounts = read_mounts()
    found = mount_of(os.path.realpath(path), mounts) if mounts is not None else None
    return found if found is not None and found.network else None


def mounted_read_only(path: Path) -> bool:
    """Whether this process can write nowhere below a path, whoever it runs as.

    Others may write there all the same: see `is_frozen`.
    """
    if not hasattr(os, "statvfs"):
        return False
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def is_frozen(path: Path) -> bool:
    """Whether nobody can write below a path; False also where nobody can tell."""
    if not mounted_read_only(path):
        return False
    try:
        text = Path(MOUNTINFO).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    return frozen_by(os.path.realpath(path), text)


def frozen_by(path: str | os.PathLike[str], mountinfo: str) -> bool:
    """Whether a path lies on a local file system that is read-only as a whole.

    Not so a read-only view of a file system that is written elsewhere (a bind mount into a
    container), nor a network file system.

    Parameters
    ----------
    path : path
        Absolute.
    mountinfo : str
        The text of /proc/self/mountinfo.

    References
    ----------
    https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html: the sixth field has the options
    of the mount, the last one those of the file system.
    """
    lines = []
    for line in mountinfo.splitlines():
        mount, _, system = line.partition(" - ")
        fields, (kind, _, rest) = mount.split(" "), system.partition(" ")
        if len(fields) > 5:
            # As a line of /proc/mounts, with the options of the file system.
            lines.append(f"- {fields[4]} {kind} {rest.rpartition(' ')[2]}")
    found = mount_of(path, "\n".join(lines))
    if found is None or found.kind in SHARED or found.kind.startswith("fuse"):
        return False
    return "ro" in found.options.split(",")


def read_mounts() -> str | None:
    """The mounts of this machine; None where the system does not tell."""
    try:
        return Path(MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
