"""I12: no room left is a clean failure; the store is as before, and nothing is claimed that is not.

A limit on the size of files stands in for a full disk: a write past it fails in the same way.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.store.connection import Reader
from knowledge_nb.store.erase import pending_since
from tests import processes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")

LIMITED = """
    import os, resource, signal, sys, warnings
    from knowledge_nb.core import Core
    from knowledge_nb.errors import KnowledgeError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store, folder, verb, room = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    core = Core(store)
    size = os.stat(core.files.database).st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    warnings.simplefilter("error")
    try:
        getattr(core, verb)(*([folder] if verb == "index" else ["big.md"]))
        print("done")
    except (KnowledgeError, UserWarning) as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def place(tmp_path: Path) -> tuple[Core, Path]:
    """A store of 3 MB."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "small.md").write_text("zarquon")
    for name in ("big", "other"):
        text = "\n\n".join(f"# {name} {n}\n\n" + f"quagga{n} okapi {n} " * 40 for n in range(400))
        (folder / f"{name}.md").write_text(text)
    core = Core(tmp_path / "knowledge")
    core.index(folder)
    core.close()
    return core, folder


def test_a_pass_without_room(place: tuple[Core, Path]) -> None:
    """The pass fails and says so; every document is as it was; with room it completes."""
    core, folder = place
    for number in range(20):
        (folder / f"new{number}.md").write_text(f"lemur{number} " * 20_000)
    said = processes.run(LIMITED, core.files.directory, folder, "index", 1_000_000)
    assert "StoreAccessError" in said
    assert {each.state for each in core.check()} == {"pass", "not run"}
    assert core.enumerate("zarquon").matched == 1
    assert core.completeness().unfinished_since
    assert core.index(folder).ok
    assert core.enumerate("lemur3").matched == 1
    core.close()


def test_a_removal_without_room(place: tuple[Core, Path]) -> None:
    """The document is gone; that its bytes are not yet erased is said and kept in mind."""
    core, folder = place
    said = processes.run(LIMITED, core.files.directory, folder, "remove", 1_500_000)
    assert said.startswith(("ErasePendingWarning", "StoreAccessError"))
    assert {each.state for each in core.check()} == {"pass", "not run"}
    if said.startswith("ErasePendingWarning"):
        reader = Reader(core.files)
        with reader.snapshot() as connection:
            assert pending_since(connection)
        reader.close()
        assert core.enumerate("quagga7").matched == 1
    (folder / "big.md").unlink()
    assert core.index(folder, reconcile=True).completed
    assert core.doctor().ok
    core.close()
