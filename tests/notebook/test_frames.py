"""Frames: the banner, and pandas as ever."""

from __future__ import annotations

import copy
import io
import pickle

import pandas as pd
import pytest

from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.frames import COLUMNS, ResultFrame, make_frame
from tests.notebook.reading import Page

VERBS = {
    "search": lambda kb: kb.search("backup of the catalogue", k=8),
    "enumerate": lambda kb: kb.enumerate("backup"),
    "vocabulary": lambda kb: kb.vocabulary(prefix="ba"),
    "kwic": lambda kb: kb.kwic("backup"),
    "show": lambda kb: kb.show("policies/backup.md"),
    "sources": lambda kb: kb.sources(),
}


@pytest.fixture(params=sorted(VERBS))
def frame(request: pytest.FixtureRequest, handbook: KnowledgeBase) -> ResultFrame:
    """A frame of each verb."""
    return VERBS[request.param](handbook)


def plain(frame: pd.DataFrame) -> bool:
    """Whether this is no more than pandas' own frame."""
    return type(frame) is pd.DataFrame and not hasattr(frame, "result")


def test_a_pickle_keeps_the_answer(frame: ResultFrame) -> None:
    """A pickled frame comes back as the same answer: rows, dtypes, result, kind and banner."""
    back = pickle.loads(pickle.dumps(frame))
    assert type(back) is ResultFrame
    pd.testing.assert_frame_equal(back, frame)
    assert (back.result, back.kind) == (frame.result, frame.kind)
    assert back._repr_html_() == frame._repr_html_()


def test_what_is_derived_is_a_plain_frame(frame: ResultFrame) -> None:
    """Copies, slices, queries and merges carry no banner that could describe other rows."""
    derived = [
        frame.copy(),
        copy.copy(frame),
        copy.deepcopy(frame),
        frame.head(1),
        frame[frame.index >= 0],
        frame[list(frame.columns[:2])],
        frame.query("index >= 1"),
        frame.merge(frame, on=list(frame.columns[:2])),
        frame.assign(more=1),
        frame.sort_values(frame.columns[0]),
        frame.rename(columns=str.upper),
        pd.concat([frame, frame]),
    ]
    assert all(plain(each) for each in derived)


def test_pandas_works_as_on_any_frame(frame: ResultFrame) -> None:
    """CSV there and back, groupby, and setting a column."""
    text = frame.to_csv(index=False)
    assert list(pd.read_csv(io.StringIO(text)).columns) == list(COLUMNS[frame.kind])
    first = frame.columns[0]
    assert frame.groupby(first).size().sum() == len(frame)
    assert frame.groupby(first).first().index.name == first
    changed = frame.copy()
    changed["extra"] = range(len(frame))
    assert "extra" in changed
    assert "extra" not in frame


def test_the_banner_says_what_the_answer_covers(handbook: KnowledgeBase) -> None:
    """Totals, tier, notes, the terms and the completeness statement stand over the table."""
    frame = handbook.enumerate("freezer -visitors")
    page = Page(frame._repr_html_())
    result = frame.result
    assert f"{result.matched} documents for freezer -visitors" in page.text
    assert result.tier in page.text
    assert result.completeness.statement().replace("`", "") in page.text
    assert all(note.replace("`", "") in page.text for note in result.notes)
    assert "freezers (2)" in page.text
    assert "−visitors" in page.text
    assert "details" in page.tags


def test_a_ranking_says_that_it_proves_no_absence(handbook: KnowledgeBase) -> None:
    """The banner of a search says so on every answer."""
    assert "never proves" in Page(handbook.search("backup")._repr_html_()).text


def test_query_words_are_marked_with_their_heading(handbook: KnowledgeBase) -> None:
    """Any form of a query word is marked, in the text and in its heading; common words are not."""
    frame = handbook.search("the backup of catalogues", k=10)
    page = Page(frame._repr_html_())
    marked = {word.lower() for word in page.marked}
    assert {"backup", "catalogue"} <= marked
    assert "the" in frame.result.common_terms
    assert "the" not in marked
    assert "Backup policy > Objectives" in page.text


def test_a_long_text_is_cut_with_the_whole_in_reach(handbook: KnowledgeBase) -> None:
    """The whole chunk is in the page, inside an element that is closed at first."""
    frame = handbook.search("backup", k=3)
    html = frame._repr_html_()
    page = Page(html)
    assert all(text in page.text for text in frame["text"])
    assert "<details" in html
    assert "open" not in dict(page.elements).get("details", {})


def test_rows_past_the_display_limit_are_counted(handbook: KnowledgeBase) -> None:
    """A cut table says how many rows the frame holds."""
    frame = handbook.vocabulary()
    with pd.option_context("display.max_rows", 7):
        page = Page(frame._repr_html_())
    assert f"7 of {len(frame):,} rows are drawn" in page.text
    assert sum(tag == "tr" for tag, _ in page.elements) == 8


def test_a_frame_changed_in_place_says_so(handbook: KnowledgeBase) -> None:
    """A banner over rows that are not all of the answer's names the difference."""
    frame = handbook.enumerate("backup")
    frame.loc[len(frame)] = ["x.md", "x.md#0", 1, 0, 1]
    assert "changed after the answer" in Page(frame._repr_html_()).text


def test_repr_is_text_without_html(frame: ResultFrame) -> None:
    """`repr` is pandas' own: no banner is rendered for it."""
    assert repr(frame) == repr(frame.copy())


@pytest.mark.parametrize("kind", sorted(COLUMNS))
def test_no_rows_render(kind: str) -> None:
    """An empty frame of every verb renders with its columns."""
    frame = make_frame(kind, [])
    page = Page(frame._repr_html_())
    assert all(name in page.text.replace("\u200b", "") for name in COLUMNS[kind])


def test_an_empty_answer_says_why(handbook: KnowledgeBase) -> None:
    """No row, and the notes of the answer above the empty table."""
    frame = handbook.enumerate("asbestos")
    assert len(frame) == 0
    page = Page(frame._repr_html_())
    assert "0 documents for asbestos" in page.text
    assert frame.result.notes
    assert frame.result.notes[0].replace("`", "") in page.text
