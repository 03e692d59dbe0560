"""A real folder, a real store beside it and the facade on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.knowledge_base import open as open_knowledge

_LOCKS = Path("/proc/locks")
DATA = Path(__file__).resolve().parents[2] / "data"

# Small enough to count by hand, with what an audit must tell apart.
CORPUS = {
    "a.md": "# Lanterns\n\nA brass lantern hangs in the harbour.\n",
    "b.md": "# Boats\n\nThe lanterns of the boat are made of tin.\n\n## Oars\n\nTwo oars.\n",
    "sub/c.txt": "A harbour without light.\n",
    "sub/deep/d.md": "# The university\n\nA universe of lamps.\n",
    "sub/deep/e.md": "# The university\n\nA universe of lamps.\n",
    "=cmd.md": "# -2+3\n\nA brass ring.\n",
}


@dataclass
class Place:
    """A folder of documents, and the facade of the store beside it."""

    folder: Path
    kb: KnowledgeBase

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a document of the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def index(self) -> None:
        """Bring the store up to date."""
        self.kb.index(self.folder, reconcile=True)

    def locks(self) -> list[str]:
        """Our entries in /proc/locks on the files of the store.

        The list is read in pieces while other processes take locks, so one reading may miss an
        entry or hold it twice: three are put together. A lock that is gone is in none of them.
        """
        numbers = {
            os.stat(file).st_ino
            for file in (self.kb.core.files.database, *self.kb.core.files.sidecars)
        }
        found = set()
        for line in [each for _ in range(3) for each in _LOCKS.read_text().splitlines()]:
            words = line.split()
            if int(words[5].split(":")[2]) in numbers and int(words[4]) == os.getpid():
                found.add(" ".join(words[1:4] + words[5:]))
        return sorted(found)


def make(folder: Path, documents: dict[str, str]) -> Place:
    """Write documents and index them."""
    place = Place(folder / "docs", open_knowledge(folder / "store"))
    place.folder.mkdir()
    for path, text in documents.items():
        place.write(path, text)
    place.index()
    return place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """The small corpus, indexed."""
    place = make(tmp_path, CORPUS)
    yield place
    place.kb.close()


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The sample corpus, for tests that only read."""
    kb = open_knowledge(tmp_path_factory.mktemp("handbook") / "store")
    kb.index(DATA / "handbook")
    yield kb
    kb.close()
