"""S07: a store on a network file system is told from the mounts of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_nb.store import mounts
from knowledge_nb.store.diagnosis import check_file_system
from knowledge_nb.store.files import StoreFiles

TEXT = r"""
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/anna/local xfs rw 0 0
//nas/share /mnt/my\040share cifs rw 0 0
user@host: /mnt/remote fuse.sshfs rw 0 0
host /mnt/c 9p rw 0 0
tmpfs /mnt/remote/cache tmpfs rw 0 0
server:/over /over nfs rw 0 0
tmpfs /over tmpfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/srv/knowledge", "ext4", False),
        ("/home/anna/knowledge", "nfs4", True),
        ("/home/anna/local/knowledge", "xfs", False),
        ("/home", "nfs4", True),
        ("/homes", "ext4", False),
        ("/mnt/my share/knowledge", "cifs", True),
        ("/mnt/remote/x", "fuse.sshfs", True),
        ("/mnt/remote/cache/x", "tmpfs", False),
        ("/mnt/c/x", "9p", True),
        ("/over/x", "tmpfs", False),
    ],
)
def test_the_innermost_mount_counts(path: str, kind: str, network: bool) -> None:
    """The mount nearest to the path, and the last of several at one point."""
    found = mounts.mount_of(path, TEXT)
    assert found is not None
    assert (found.kind, found.network) == (kind, network)


def test_the_doctor_warns_and_names_the_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning, with the kind and the place, and what to do; it is no failure by itself."""
    table = tmp_path / "mounts"
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(mounts, "MOUNTS", str(table))
    found = check_file_system(StoreFiles.at(tmp_path / "knowledge"))
    assert found.state == "pass"
    assert "WARNING" in found.message
    assert f"nfs4, mounted at {tmp_path}" in found.message
    assert "local disk" in found.fix


def test_where_nobody_can_tell_the_check_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table of mounts: not run, which is not a pass."""
    monkeypatch.setattr(mounts, "MOUNTS", str(tmp_path / "missing"))
    assert check_file_system(StoreFiles.at(tmp_path)).state == "not run"
