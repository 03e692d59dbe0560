"""What an answer covers: which pass looked at what, and one path for one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.indexing.walk import Root
from tests.conftest import Files

Write = Callable[[Files], Path]
Open = Callable[..., knb.KnowledgeBase]

FILES = {"a/1.md": "kestrel", "a/deep/2.md": "kestrel", "b/3.md": "kestrel", "4.md": "kestrel"}


@pytest.mark.parametrize("order", [("a", "."), (".", "a"), ("a/deep", "a", "."), ("a", "b", ".")])
def test_nested_roots_index_a_file_once(corpus: Write, open_kb: Open, order: tuple[str]) -> None:
    """Whichever root is named first, one file is one document with one path."""
    folder, kb = corpus(FILES), open_kb()
    report = kb.index(*(folder / name for name in order))
    assert report.added == 4
    found = kb.enumerate("kestrel")["path"]
    base = folder / order[0]
    assert sorted((base / path).resolve() for path in found) == sorted(
        (folder / name).resolve() for name in FILES
    )
    again = kb.index(*(folder / name for name in order))
    assert (again.unchanged, again.stale, again.added) == (4, 0, 0)
    assert kb.index(folder / order[0], folder, reconcile=True).removed == 0


@pytest.mark.parametrize(
    ("root", "inside", "outside"),
    [
        (".", ["a", "a/b", "...md"], ["..", "../a"]),
        ("a", ["a", "a/b"], ["ab", "../a", "."]),
        ("..", ["a", "..", "../b", "../b/c"], ["../..", "../../a"]),
        ("../..", ["a", "..", "../b", "../../b"], ["../../..", "../../../a"]),
        ("../b", ["../b", "../b/c"], ["../bc", "b", "..", "../../b"]),
    ],
)
def test_a_root_holds_what_lies_below_it(root: str, inside: list[str], outside: list[str]) -> None:
    """Also where the base itself lies below the root."""
    assert [path for path in inside if not Root("", root).holds(path)] == []
    assert [path for path in outside if Root("", root).holds(path)] == []


def test_a_pass_over_a_part_does_not_date_the_rest(corpus: Write, open_kb: Open) -> None:
    """The answer names what the last pass did not look at, with the time of the earlier pass."""
    folder, kb = corpus(FILES), open_kb()
    kb.index(folder)
    first = kb.core.completeness()
    assert first.older_passes == {}
    kb.index(folder / "a")
    known = kb.core.completeness()
    assert known.older_passes == {".": first.last_completed}
    assert "did not look at" in known.statement()
    assert first.last_completed in known.statement()
    kb.index(folder)
    assert kb.core.completeness().older_passes == {}


def test_documents_taken_out_by_hand_are_said(corpus: Write, open_kb: Open) -> None:
    """Until a pass over everything takes stock, each answer says that `rm` took documents out."""
    folder, kb = corpus(FILES), open_kb()
    kb.index(folder)
    kb.remove("a")
    known = kb.enumerate("kestrel").result.completeness
    assert known.removed_by_hand == 2
    assert "2 documents taken out by `rm`" in known.statement()
    kb.index(folder)
    known = kb.core.completeness()
    assert (known.removed_by_hand, known.documents) == (0, 4)


def test_a_long_heading_is_not_repeated_whole(corpus: Write, open_kb: Open) -> None:
    """One file of allowed size makes no store a thousand times its own, and loses no word."""
    heading = "title " * 5000 + "lastword"
    text = f"# {heading}\n\nfirst\n\n" + "".join(f"## s{n}\n\nt\n\n" for n in range(300))
    kb = open_kb()
    kb.index(corpus({"a.md": text}))
    assert kb.stats().database_bytes + kb.stats().log_bytes < 60 * len(text)
    (found,) = kb.enumerate("heading:lastword").result.matches
    assert (found.citation, found.heading_matches) == ("a.md#0", 1)
    below = kb.show("a.md#7")["heading"][0]
    assert below.startswith("title title")
    assert below.endswith("title … > s6")
    words = {row.word: row.occurrences for row in kb.vocabulary("title|lastword").itertuples()}
    assert words == {"title": 5000, "lastword": 1}


@pytest.mark.parametrize("target", ["a.md#99999999999999999999", "a.md#1048577"])
def test_a_citation_beyond_any_chunk_is_not_found(
    corpus: Write, open_kb: Open, target: str
) -> None:
    """A number that SQLite cannot hold is a name that the index does not hold."""
    kb = open_kb()
    kb.index(corpus({"a.md": "pier"}))
    with pytest.raises(knb.NotFoundError):
        kb.show(target)
    assert len(kb.show("a.md#0", around=10**30)) == 1


def test_an_empty_path_is_refused(open_kb: Open) -> None:
    """An unset shell variable never indexes the working directory."""
    with pytest.raises(knb.ConfigurationError, match="empty"):
        open_kb().index("")
