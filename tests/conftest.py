"""Fixtures that several rooms share: a folder of files and an opened knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import hypothesis
import pytest

import knowledge_nb as knb

# No test asserts a time: these machines are shared and noisy.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

Files = Mapping[str, str | bytes]

HANDBOOK = Path(__file__).resolve().parent.parent / "data" / "handbook"


def write_files(folder: Path, files: Files) -> Path:
    """Write files below a folder; texts as UTF-8, bytes as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[Files], Path]:
    """Write a corpus below tmp_path/corpus."""
    return lambda files: write_files(tmp_path / "corpus", files)


@pytest.fixture
def open_kb(tmp_path: Path) -> Iterator[Callable[..., knb.KnowledgeBase]]:
    """Open knowledge bases (tmp_path/store unless another is named); closed afterwards."""
    opened: list[knb.KnowledgeBase] = []

    def opener(store: Path | None = None, **options: object) -> knb.KnowledgeBase:
        kb = knb.open(store or tmp_path / "store", **options)  # type: ignore[arg-type]
        opened.append(kb)
        return kb

    yield opener
    for kb in opened:
        kb.close()


@pytest.fixture
def kb_of(
    corpus: Callable[[Files], Path], open_kb: Callable[..., knb.KnowledgeBase]
) -> Callable[[Files], knb.KnowledgeBase]:
    """Index files and give the knowledge base."""

    def build(files: Files) -> knb.KnowledgeBase:
        kb = open_kb()
        kb.index(corpus(files))
        return kb

    return build


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[knb.KnowledgeBase]:
    """The shipped handbook, indexed once, lexical; not to be written to."""
    kb = knb.open(tmp_path_factory.mktemp("handbook") / "store")
    kb.index(HANDBOOK)
    yield kb
    kb.close()
