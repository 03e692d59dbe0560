"""The handbook with vectors, and small stores that this room's tests read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.embedding.local import LocalEmbedder

DATA = Path(__file__).resolve().parents[2] / "data"
TOPICS = DATA / "topics.tsv"
QRELS = DATA / "qrels.txt"

FILES = {
    "a.md": "# Lantern\n\nA brass lantern hangs in the harbour.\n",
    "b.md": "# Boat\n\nThe lantern of the boat is made of tin.\n",
    "c.md": "# Harbour\n\nA harbour without light, far from the town.\n",
    "d.md": "# Town\n\nThe town sells bread and cheese.\n",
}


def fill(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="session")
def vectors_kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[knb.KnowledgeBase]:
    """The handbook, with the local model's vectors; read only."""
    place = tmp_path_factory.mktemp("evaluation")
    with knb.open(place / "knowledge", embedder=LocalEmbedder()) as kb:
        kb.index(DATA / "handbook")
        yield kb


@pytest.fixture
def small(tmp_path: Path) -> Iterator[knb.KnowledgeBase]:
    """Four documents without vectors."""
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(fill(tmp_path / "docs", FILES))
        yield kb
