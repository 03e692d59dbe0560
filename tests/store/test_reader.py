"""The reader: shared, read-only, and always on the file that lies there now."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import knowledge_nb as knb
from tests.conftest import Files, write_files


def test_a_replaced_store_is_not_answered_from_the_old_file(
    kb_of: Callable[[Files], knb.KnowledgeBase], tmp_path: Path
) -> None:
    """Idle connections of a store that was removed and built anew are not used again."""
    kb = kb_of({"a.md": "the old pier"})
    assert len(kb.enumerate("pier")) == 1
    write_files(tmp_path / "corpus", {"a.md": "the new harbour"})
    with knb.open(tmp_path / "other") as other:
        other.index(tmp_path / "corpus")
    shutil.rmtree(tmp_path / "store")
    shutil.move(tmp_path / "other", tmp_path / "store")
    assert kb.enumerate("pier").empty
    assert len(kb.enumerate("harbour")) == 1
    shutil.rmtree(tmp_path / "store")
    assert kb.core.enumerate("harbour").status == "index_not_built"
