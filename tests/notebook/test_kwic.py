"""Keyword in context: complete, and each row found again in its file."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.errors import IndexNotBuiltError, QueryEmptyError, QueryError, QuerySyntaxError
from knowledge_nb.indexing.chunk import decode_source, normalise
from knowledge_nb.knowledge_base import KnowledgeBase
from tests.conftest import HANDBOOK

QUERIES = [
    "backup",
    '"ice core"',
    "freezer -visitors",
    "heading:backup",
    "body:alarm night",
    "door freezer",
    "café",
    '"the hall"',
    "don't",
    "冷凍庫",
    "प्रयोगशाला",
    "Außenlager",
]


def flat(text: str) -> str:
    """A text in which white space of any length is one space."""
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("query", QUERIES)
def test_every_row_is_found_again_in_its_file(handbook: KnowledgeBase, query: str) -> None:
    """Left, match and right stand together in the file, and the match begins on its line."""
    for row in handbook.kwic(query).itertuples():
        text = normalise(decode_source((HANDBOOK / row.path).read_bytes()))
        assert row.left + row.match + row.right in flat(text)
        rest = text.split("\n")[row.line - 1 :]
        first = row.match.split(" ")[0]
        assert first in rest[0] or handbook.core.show(row.citation)[0].heading
        assert row.match in flat("\n".join(rest))


@pytest.mark.parametrize("query", QUERIES)
def test_it_covers_what_enumerate_counts(handbook: KnowledgeBase, query: str) -> None:
    """The same documents, and in each at least one place for every chunk that matches."""
    documents = handbook.enumerate(query)
    places = handbook.kwic(query)
    assert set(places["path"]) == set(documents["path"])
    chunks = defaultdict(set)
    for row in places.itertuples():
        chunks[row.path].add(row.citation)
    for row in documents.itertuples():
        assert len(chunks[row.path]) >= max(row.body_matches, 1)
        assert row.citation in chunks[row.path] or row.heading_matches


def test_rows_are_in_the_order_of_the_files(handbook: KnowledgeBase) -> None:
    """By path, then down the file."""
    frame = handbook.kwic("door")
    keys = list(zip(frame["path"], frame["line"], strict=True))
    assert keys == sorted(keys)


def test_width_and_limit(handbook: KnowledgeBase) -> None:
    """No side is longer than asked; a limit cuts rows and says so, not the total."""
    whole = handbook.kwic("door", width=15)
    assert whole["left"].str.len().max() <= 15
    assert whole["right"].str.len().max() <= 15
    cut = handbook.kwic("door", width=0, limit=3)
    assert len(cut) == 3
    assert cut.result.matched == len(whole) == whole.result.matched
    assert cut.result.truncated
    assert any("limit" in note for note in cut.result.notes)
    assert set(cut["left"]) == {""}


def test_a_phrase_across_chunks_and_lines_is_one_row(tmp_path: Path) -> None:
    """A phrase that the packer cut in two is found, with the line where it begins."""
    folder = tmp_path / "docs"
    folder.mkdir()
    filler = "\n".join(f"Line {n} says little of any use to a reader." for n in range(60))
    (folder / "a.md").write_text(f"# Top\n\n{filler}\n", encoding="utf-8")
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(folder)
        assert len(kb.show("a.md")) > 1
        frame = kb.kwic('"a reader line"')
        assert list(frame["line"]) == list(range(3, 62))
        assert set(frame["match"]) == {"a reader. Line"}


def test_marked_up_words_are_found_as_they_stand(tmp_path: Path) -> None:
    """A word that the index reads through mark-up or a reference is shown as the file has it."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(
        "The **lan**tern of the caf&eacute; and\nmore.\n", encoding="utf-8"
    )
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(folder)
        [row] = kb.kwic("lantern").itertuples()
        assert "lan**tern" in row.match
        [row] = kb.kwic("café").itertuples()
        assert row.match == "caf&eacute"


def test_refusals(handbook: KnowledgeBase, empty: KnowledgeBase) -> None:
    """As for enumerate: no frame without a complete answer."""
    with pytest.raises(IndexNotBuiltError):
        empty.kwic("door")
    with pytest.raises(QuerySyntaxError):
        empty.kwic("a OR b")
    with pytest.raises(QueryEmptyError):
        handbook.kwic("  ")
    with pytest.raises(QueryError):
        handbook.kwic("door", width=-1)
    with pytest.raises(QueryError):
        handbook.kwic("door", limit=-1)


def test_no_match_is_an_empty_frame_that_says_why(handbook: KnowledgeBase) -> None:
    """Zero rows, the declared columns, and the notes of enumerate."""
    frame = handbook.kwic("asbestos")
    assert list(frame.columns) == ["path", "citation", "line", "left", "match", "right"]
    assert len(frame) == 0
    assert frame.result.notes == handbook.enumerate("asbestos").result.notes


def test_headings_whose_words_are_searched_otherwise(tmp_path: Path) -> None:
    """Tags, references and the separator itself in a heading: what matches has a place."""
    (tmp_path / "a.md").write_text(
        "# Größe > CO<sub>2</sub> levels\n\nun be<b>lie</b>vable\n\n"
        "## See &eacute;t&eacute; *un*able\n\ntext\n\n# A > B CO<sub>2</sub>\n"
    )
    with knb.open(tmp_path / "store") as kb:
        kb.index(tmp_path / "a.md")
        expected = {"CO2": [1, 9], "été": [5], "unable": [5], "größe": [1], "believable": [3]}
        for query, lines in expected.items():
            found = kb.kwic(query)
            assert found["line"].tolist() == lines
            assert len(kb.enumerate(query)) == 1
        (row,) = kb.kwic("levels").itertuples()
        assert (row.left, row.match) == ("Größe > CO<sub>2</sub> ", "levels")
