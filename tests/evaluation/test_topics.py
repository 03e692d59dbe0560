"""Topics, from whatever a researcher holds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.topics import read_topics
from tests.evaluation.conftest import TOPICS


def test_every_form_gives_the_same_topics(tmp_path: Path) -> None:
    """A dict, a frame with PyTerrier's names, pairs and a TSV file, with or without header."""
    expected = {"1": "first words", "2": "", "x": 'a "quoted" one'}
    headed, bare = tmp_path / "headed.tsv", tmp_path / "bare.tsv"
    bare.write_text('1\tfirst words\n2\t\n\nx\ta "quoted" one\n', "utf-8")
    headed.write_bytes(b"\xef\xbb\xbfqid\tquery\r\n" + bare.read_bytes().replace(b"\n", b"\r\n"))
    frame = pd.DataFrame({"qid": ["1", "2", "x"], "query": ["first words", None, 'a "quoted" one']})
    for source in (expected, frame, list(expected.items()), headed, str(bare)):
        assert read_topics(source) == expected
    assert list(read_topics(TOPICS))[:2] == ["t01", "t02"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([("q1", "a"), ("q2", "b"), ("q1", "c")], "qid q1 stands more than once"),
        ({1: "a", "1": "b"}, "qid 1 stands more than once"),
        ({"": "a"}, "the qid is empty"),
        ({}, "there is no topic"),
        ({"q": 3}, "not text"),
        (pd.DataFrame({"qid": ["1"]}), "no column query"),
        ([("q",)], "no pair"),
        (7, "not int"),
        ("nowhere.tsv", "no topics file"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_set_of_topics_is_refused(source: object, said: str) -> None:
    """Duplicate qids above all: a run holds one ranking a qid."""
    with pytest.raises(knb.EvaluationError, match=said):
        read_topics(source)


def test_a_line_without_a_tab_is_named(tmp_path: Path) -> None:
    """With its number."""
    file = tmp_path / "topics.tsv"
    file.write_text("1\ta\n2 b\n", "utf-8")
    with pytest.raises(knb.EvaluationError, match="line 2: no tab"):
        read_topics(file)


def test_a_line_separator_inside_a_query_stays(tmp_path: Path) -> None:
    """U+2028 ends a line for `splitlines`, not for a TSV file."""
    file = tmp_path / "topics.tsv"
    file.write_text("1\ta\u2028b\n", "utf-8")
    assert read_topics(file) == {"1": "a\u2028b"}


def test_the_stores_own_file_is_never_opened(small: knb.KnowledgeBase) -> None:
    """Opening knowledge.db here would drop SQLite's locks."""
    with pytest.raises(knb.EvaluationError, match="own file"):
        small.run(small.core.files.database, mode="lexical")
