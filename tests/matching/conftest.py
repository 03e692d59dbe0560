from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.matching.corpus import Corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    """An empty place for a store."""
    corpus = Corpus(tmp_path / "knowledge")
    yield corpus
    corpus.close()
