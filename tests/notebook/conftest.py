"""Stores that the notebook tests read, beside the handbook of the root conftest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.knowledge_base import KnowledgeBase
from tests.notebook import hostile


@pytest.fixture(scope="session")
def tricks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The documents of `hostile`, indexed."""
    place = tmp_path_factory.mktemp("tricks")
    hostile.write(place / "docs")
    with knb.open(place / "knowledge") as kb:
        kb.index(place / "docs")
        yield kb


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A knowledge base that nothing was indexed into."""
    with knb.open(tmp_path / "knowledge") as kb:
        yield kb


@pytest.fixture
def kernel_environment(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels that read and write no settings of the person at work."""
    home = tmp_path_factory.mktemp("jupyter")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
