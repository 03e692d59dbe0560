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
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str

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
            best = Mount(point, fields[2])
    return best


def network_mount(path: Path) -> Mount | None:
    """The network mount that holds a path; None for a local one, and where nobody can tell."""
    mounts = read_mounts()
    found = mount_of(os.path.realpath(path), mounts) if mounts is not None else None
    return found if found is not None and found.network else None


def read_mounts() -> str | None:
    """The mounts of this machine; None where the system does not tell."""
    try:
        return Path(MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
