"""Phrases across chunk boundaries, by hand and against brute force."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_nb.matching.query import parse
from tests.matching.corpus import Corpus, Section
from tests.matching.oracle import Oracle

WORDS = ["sea", "seas", "lock", "locks", "locked", "the", "don't", "天気", "café", "Cafes"]


def test_a_phrase_across_two_chunks(corpus: Corpus) -> None:
    """It is found, cited at its first chunk and counted once."""
    corpus.put("a.md", (["Gate"], ["We closed the sea", "lock at dawn."]))
    (match,) = corpus.enumerate('"sea lock"').matches
    assert (match.citation, match.body_matches, match.chunks) == ("a.md#0", 1, 2)
    assert corpus.paths("sea-lock") == ["a.md"]
    assert corpus.paths('body:"the sea lock at"') == ["a.md"]


def test_a_phrase_across_three_chunks(corpus: Corpus) -> None:
    """A chunk that lies inside the phrase, and one without any token, are walked through."""
    corpus.put("a.md", ([], ["the old sea", "lock", "---", "keeper slept"]))
    (match,) = corpus.enumerate('"old sea lock keeper"').matches
    assert (match.citation, match.body_matches) == ("a.md#0", 1)
    assert corpus.enumerate('"sea keeper"').matched == 0


def test_a_phrase_in_a_chunk_and_across_chunks_counts_once(corpus: Corpus) -> None:
    """Counts are of chunks: a chunk that holds a phrase and begins another is one chunk."""
    corpus.put("a.md", ([], ["sea lock and sea", "lock and sea lock"]))
    (match,) = corpus.enumerate('"sea lock"').matches
    assert match.body_matches == 2
    (match,) = corpus.enumerate('"lock and sea"').matches
    assert (match.citation, match.body_matches) == ("a.md#0", 2)


def test_a_heading_is_never_crossed(corpus: Corpus) -> None:
    """Equal headings do not make one section, and heading and body are never joined."""
    corpus.put("a.md", (["Gate"], ["by the sea"]), (["Gate"], ["lock it"]))
    corpus.put("b.md", (["The sea"], ["lock it"]))
    corpus.put("c.md", (["The sea", "Lock"], ["nothing"]))
    corpus.put("d.md", ([], ["by the sea"]))
    corpus.put("e.md", ([], ["lock it"]))
    assert corpus.enumerate('"sea lock"').matched == 0


def test_exclusions_and_scopes_cross_chunks(corpus: Corpus) -> None:
    """A phrase across chunks excludes its document, and is in the body, never in the heading."""
    corpus.put("a.md", ([], ["gate and sea", "lock"]))
    corpus.put("b.md", ([], ["gate and sea, a lock"]))
    assert corpus.paths('gate -"sea lock"') == ["b.md"]
    assert corpus.paths('gate body:"sea lock"') == ["a.md"]
    assert corpus.enumerate('heading:"sea lock"').matched == 0


def test_forms_across_chunks(corpus: Corpus) -> None:
    """As written and related forms count phrases across chunks like any other."""
    corpus.put("a.md", ([], ["the sea", "locks"]))
    corpus.put("b.md", ([], ["the seas lock"]))
    corpus.put("c.md", ([], ["the sea", "lock"]))
    (term,) = corpus.enumerate('"sea lock"').terms
    assert (term.documents, term.documents_as_written) == (3, 1)
    assert term.related == (("sea locks", 1), ("seas lock", 1))


def test_a_long_chunk_before_the_boundary(corpus: Corpus) -> None:
    """Only the end of a long chunk is read at first; a phrase longer than that is still found."""
    words = [f"w{number:03}" for number in range(180)]
    corpus.put("a.md", ([], ["x " * 500 + " ".join(words), "end"]))
    assert corpus.paths('"' + " ".join([*words, "end"]) + '"') == ["a.md"]
    assert corpus.paths('"w179 end"') == ["a.md"]
    assert corpus.enumerate('"w178 end"').matched == 0


sections = st.lists(
    st.tuples(
        st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), max_size=2),
        st.lists(
            st.lists(st.sampled_from([*WORDS, "--"]), min_size=1, max_size=4).map(" ".join),
            min_size=1,
            max_size=5,
        ),
    ),
    min_size=1,
    max_size=3,
)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
terms = st.tuples(
    st.sampled_from(["", "", "", "-"]), st.sampled_from(["", "", "heading:", "body:"]), phrases
).map(lambda parts: f'{parts[0]}{parts[1]}"{parts[2]}"')


@settings(max_examples=100, deadline=None)
@given(
    st.lists(sections, min_size=1, max_size=6),
    st.lists(st.lists(terms, min_size=1, max_size=3), min_size=8, max_size=8),
)
def test_answers_equal_a_scan(corpora: list[list[Section]], queries: list[list[str]]) -> None:
    """Sets, counts, citations and reports equal a brute-force scan over the sections' texts."""
    documents: dict[str, Sequence[Section]] = {
        f"{number}.md": document for number, document in enumerate(corpora)
    }
    oracle = Oracle(documents)
    with tempfile.TemporaryDirectory() as directory:
        corpus = Corpus(Path(directory))
        corpus.put_all(documents)
        for typed in queries:
            if typed[0].startswith("-"):
                typed = [typed[0][1:], *typed[1:]]
            query = " ".join(typed)
            result = corpus.enumerate(query, sort="path")
            read = parse(query).terms
            found = [
                (
                    match.path,
                    match.body_matches,
                    match.heading_matches,
                    int(match.citation.rpartition("#")[2]),
                )
                for match in result.matches
            ]
            assert found == oracle.enumerate(read), query
            for term, report in zip(read, result.terms, strict=True):
                every, exact, forms = oracle.report(term)
                assert report.documents == len(every), query
                assert report.documents_as_written == len(exact), query
                assert dict(report.related) == forms, query
        corpus.close()
