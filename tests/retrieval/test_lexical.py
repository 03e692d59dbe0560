"""The lexical tier, on real FTS5."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.errors import QueryError, StoreError
from knowledge_nb.records import SearchResult, Status
from knowledge_nb.retrieval import lexical, search
from knowledge_nb.retrieval.under import WHOLE
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import write_meta
from tests.retrieval.conftest import WHEN, Corpus, fill

Make = Callable[[Corpus], Reader]

FILLER = {f"filler/{number}.md": [("", f"nothing of note {number}")] for number in range(8)}


def found(result: SearchResult) -> list[str]:
    return [hit.citation for hit in result.hits]


def test_score_and_order_fall_together(store: Make) -> None:
    """5, 2 and 1 occurrences in equal length come in that order, and so do the shown scores."""
    corpus = {
        "one.md": [("", "kestrel a1 a2 a3 a4")],
        "five.md": [("", "kestrel kestrel kestrel kestrel kestrel")],
        "two.md": [("", "kestrel kestrel b1 b2 b3")],
    }
    result = search(store(corpus | FILLER), "kestrel")
    assert found(result) == ["five.md#0", "two.md#0", "one.md#0"]
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    assert scores[-1] > 0
    assert (
        [hit.lexical_rank for hit in result.hits] == [hit.rank for hit in result.hits] == [1, 2, 3]
    )
    assert [hit.lexical_score for hit in result.hits] == scores


@pytest.mark.parametrize(
    "query",
    ["@kestrel", "#harbour", "50%", "write;to", r"x\y ops", "[br]", "growth?", '"tag', "a=b to"],
)
def test_every_term_is_quoted(store: Make, query: str) -> None:
    """Characters that are syntax to FTS5 never make an error and never hide a document."""
    body = r"write to ops@kestrel.example, tag #harbour, growth 50%, a=b, x\y, [br]"
    assert found(search(store({"a.md": [("", body)]} | FILLER), query)) == ["a.md#0"]


@pytest.mark.parametrize(
    "query",
    [
        "pier.",
        "pier,",
        "(pier)",
        "pier!",
        "PIER",
        "piers",
        "pier OR",
        "NOT pier",
        "pier*",
        "pier AND",
    ],
)
def test_punctuation_case_and_operators_are_text(store: Make, query: str) -> None:
    """A word is found with any punctuation, case or related form; FTS5's operators are words."""
    reader = store({"a.md": [("", "the old pier was closed")]} | FILLER)
    assert found(search(reader, query))[0] == "a.md#0"


@pytest.mark.parametrize("query", ["north-gate-router", "v2.14.3", "north gate router", "RFQ-0042"])
def test_identifiers_split_as_they_were_indexed(store: Make, query: str) -> None:
    """The query is cut into words exactly where the index is."""
    body = "deploy north-gate-router v2.14.3 see RFQ-0042"
    assert found(search(store({"a.md": [("", body)]} | FILLER), query)) == ["a.md#0"]


def test_apostrophes(store: Make) -> None:
    """Both apostrophes find the word; without one it is another word."""
    reader = store({"a.md": [("", "we don't paint ships")]} | FILLER)
    assert found(search(reader, "don't")) == found(search(reader, "don’t")) == ["a.md#0"]
    assert found(search(reader, "dont")) == []


def test_scripts_without_spaces(store: Make) -> None:
    """A word inside an unbroken run is found, one character too."""
    reader = store(
        {"a.md": [("", "明日は港の天気が荒れる")], "b.md": [("", "gatewayを再起動")]} | FILLER
    )
    assert found(search(reader, "天気")) == found(search(reader, "港")) == ["a.md#0"]
    assert found(search(reader, "gateway")) == ["b.md#0"]


def test_a_run_that_is_not_found_says_how_it_was_searched(store: Make) -> None:
    """A sentence without spaces is one phrase; when it is not found the note says what helps."""
    reader = store({"a.md": [("", "明日は港の天気が荒れる")]} | FILLER)
    result = search(reader, "天気は港で")
    assert not result.hits
    assert any("Put spaces" in note for note in result.notes)
    assert found(search(reader, "天気 は 港 で")) == ["a.md#0"]
    assert not any("Put spaces" in note for note in search(reader, "kestrel").notes)


def test_short_terms_are_dropped_and_reported() -> None:
    """A term under two characters is named, save in scripts written without spaces."""
    parsed = lexical.parse("a ship, C++ x 港")
    assert parsed.terms == ("ship", "港")
    assert parsed.dropped == (
        ("a", lexical.TOO_SHORT),
        ("C", lexical.TOO_SHORT),
        ("x", lexical.TOO_SHORT),
    )


def test_pieces_without_a_word_are_reported() -> None:
    """Punctuation and emoji are named as not searchable, never silently ignored."""
    parsed = lexical.parse("alpha +++ 🎉")
    assert parsed.terms == ("alpha",)
    assert parsed.dropped == (("+++", lexical.NOT_SEARCHABLE), ("🎉", lexical.NOT_SEARCHABLE))


def test_forty_terms() -> None:
    """Terms past forty are reported once each; a repetition of a searched word is not a loss."""
    parsed = lexical.parse(" ".join(f"w{n}" for n in range(45)) + " w0 w44")
    assert parsed.terms == tuple(f"w{n}" for n in range(40))
    assert parsed.dropped == tuple((f"w{n}", lexical.TOO_MANY) for n in range(40, 45))


def test_quotes_are_doubled() -> None:
    """A term can never end its own quotes."""
    assert lexical.compile_terms(['a"b', "c"]) == '"a""b" OR "c"'


def test_a_repeated_word_counts_again(store: Make) -> None:
    """Saying a word twice doubles what it adds to the score."""
    reader = store({"a.md": [("", "kestrel over the bay")]} | FILLER)
    once, twice = search(reader, "kestrel"), search(reader, "kestrel kestrel")
    assert twice.compiled == '"kestrel" OR "kestrel"'
    assert twice.hits[0].score == pytest.approx(2 * once.hits[0].score)


def test_headings_weigh_twice(store: Make) -> None:
    """Scores are FTS5's bm25 with weight 2 for the heading and 1 for the body, turned round."""
    reader = store({"a.md": [("kestrel", "bay")], "b.md": [("bay", "kestrel")]} | FILLER)
    result = search(reader, "kestrel")
    assert found(result) == ["a.md#0", "b.md#0"]
    with reader.snapshot() as connection:
        plain = connection.execute(
            "SELECT bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts WHERE chunks_fts MATCH 'kestrel'"
            " ORDER BY 1"
        ).fetchall()
    assert [-hit.score for hit in result.hits] == [score for (score,) in plain]


def test_a_match_in_the_heading_alone_shows_the_heading(store: Make) -> None:
    """A hit whose text lacks the word shows the heading that has it."""
    result = search(store({"a.md": [("Kestrel survey", "nothing")]} | FILLER), "kestrel")
    assert [(hit.heading, hit.text) for hit in result.hits] == [("Kestrel survey", "nothing")]


def test_ties_break_on_chunk_id(store: Make) -> None:
    """Equal chunks come in the order of their ids, and the cut at k falls there too."""
    same = {f"{name}.md": [("", "kestrel")] for name in "zyxwv"}
    reader = store(same | FILLER | {f"more/{n}.md": [("", "other words")] for n in range(5)})
    assert found(search(reader, "kestrel", k=3)) == ["z.md#0", "y.md#0", "x.md#0"]


def test_k(store: Make) -> None:
    """k is free from 1 to 10,000, above the fifty candidates too; five by default."""
    reader = store({f"{n}.md": [("", "kestrel")] for n in range(120)})
    assert len(search(reader, "kestrel").hits) == 5
    assert len(search(reader, "kestrel", k=1).hits) == 1
    assert len(search(reader, "kestrel", k=100).hits) == 100
    assert len(search(reader, "kestrel", k=10_000).hits) == 120
    for wrong in (0, -1, 10_001, True, 2.0, "5"):
        with pytest.raises(QueryError, match=r"1 to 10,000"):
            search(reader, "kestrel", k=wrong)  # type: ignore[arg-type]


def test_other_arguments_out_of_range(reader: Reader) -> None:
    """Every argument that has no meaning is refused by name, also on a store that is not built."""
    wrong = [
        {"mode": "hybrid"},
        {"common_terms": "no"},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"weights": (1.0,)},
        {"weights": (1.0, -1.0)},
        {"rrf_k": -1},
        {"window": 0},
    ]
    for arguments in wrong:
        with pytest.raises(QueryError):
            search(reader, "kestrel", **arguments)  # type: ignore[arg-type]


def test_statuses(files: StoreFiles, reader: Reader) -> None:
    """Not built, no completed pass, empty corpus and empty query are four different answers."""
    assert search(reader, "pier").status is Status.INDEX_NOT_BUILT
    assert not files.directory.exists()
    Writer.open(files).close()
    assert search(reader, "pier").status is Status.INDEX_NOT_BUILT
    with Writer.open(files) as writer, writer.transaction() as connection:
        write_meta(connection, pass_completed=WHEN)
    empty = search(reader, "pier")
    assert empty.status is Status.CORPUS_EMPTY
    assert empty.completeness.built
    fill(files, {"a.md": [("", "pier")]})
    for query in ("", "   ", '""', "-", '"', "!!", "🎉", "a b c"):
        nothing = search(reader, query)
        assert nothing.status is Status.QUERY_EMPTY
        assert not nothing.hits
        assert nothing.notes
    assert search(reader, "pier").status is Status.OK


def test_nothing_found_points_to_enumerate(store: Make) -> None:
    """An empty ranking is no statement of absence, and says what makes one."""
    result = search(store(FILLER), "kestrel")
    assert result.status is Status.OK
    assert not result.hits
    assert any("enumerate" in note for note in result.notes)


def test_a_parser_error_is_an_error(store: Make) -> None:
    """What FTS5 refuses surfaces; it never reads as no hits."""
    reader = store(FILLER)
    for expression in ('"open', "AND", "note:", "*"):
        with pytest.raises(StoreError, match="SQLite refused"), reader.snapshot() as connection:
            lexical._run(connection, expression, 5, WHOLE)


@pytest.mark.parametrize(
    "query",
    [
        "pre\x00pier",
        "\x00",
        "\ud83d pier",
        "pier \udc80",
        "\U0010ffff pier \ufffe",
        "x" * 2**20 + " pier",
        "pier " * 200_000,
        "天" * 300_000,
        '"' * 2**20,
        "(" * 2**20,
        "e" + "\u0301" * 100_000,
    ],
    ids=lambda query: f"{query[:6]!a}-{len(query)}",
)
def test_hostile_queries(store: Make, query: str) -> None:
    """NUL, lone surrogates and a megabyte of anything are answered, never a crash."""
    reader = store({"a.md": [("", "pier")]} | FILLER)
    result = search(reader, query)
    assert result.status in (Status.OK, Status.QUERY_EMPTY)
    assert ("a.md#0" in found(result)) == ("pier" in query)
    result.query.encode()


@given(st.text())
def test_any_text_compiles_to_valid_fts5(query: str) -> None:
    """Whatever is typed, FTS5 accepts the expression made of it."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (a)")
    terms = lexical.parse(query).terms
    if terms:
        connection.execute("SELECT * FROM t WHERE t MATCH ?", (lexical.compile_terms(terms),))


def zipf_corpus(seed: int) -> Corpus:
    """Chunks of words of very unequal frequency; w0 to w2 stand in more than half of them."""
    rng = random.Random(seed)
    often = [f"w{n}" for n in range(200)]
    weights = [1 / (n + 1) for n in range(200)]
    return {
        f"{number}.md": [
            (rng.choice(often), " ".join(rng.choices(often, weights, k=rng.randint(5, 60))))
        ]
        for number in range(300)
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_common_terms_do_not_change_the_ranking(store: Make, seed: int) -> None:
    """Without the common terms the order is FTS5's own, up to ties of m x 2.2e-6."""
    reader = store(zipf_corpus(seed))
    rng = random.Random(seed)
    left_out = 0
    for _ in range(40):
        terms = [f"w{rng.choice((0, 1, 2, 5, 20, 80, 150))}" for _ in range(rng.randint(2, 8))]
        k = rng.choice((5, 50, 300))
        ours = search(reader, " ".join(terms), k=k)
        plain = search(reader, " ".join(terms), k=k, common_terms="keep")
        assert plain.common_terms == ()
        left_out += bool(ours.common_terms)
        bound = sum(term in ours.common_terms for term in terms) * 2.2e-6 + 1e-12
        assert len(ours.hits) == len(plain.hits)
        whole = search(reader, " ".join(terms), k=1000, common_terms="keep")
        full = {hit.citation: hit.score for hit in whole.hits}
        for mine, theirs in zip(ours.hits, plain.hits, strict=True):
            assert mine.score == pytest.approx(full[mine.citation], abs=bound)
            assert full[mine.citation] == pytest.approx(theirs.score, abs=bound)
        scores = [hit.score for hit in ours.hits]
        assert scores == sorted(scores, reverse=True)
    assert left_out > 10


def test_chunks_with_common_terms_alone_follow(store: Make) -> None:
    """They come last, by their full score, only when hits run short; the words are named."""
    corpus = {f"{n}.md": [("", "harbour " * (n % 3 + 1) + "x" * n)] for n in range(9)}
    corpus["rare.md"] = [("", "harbour kestrel")]
    reader = store(corpus)
    result = search(reader, "harbour kestrel", k=4)
    assert result.common_terms == ("harbour",)
    assert result.compiled == '"kestrel"'
    assert any("harbour" in note for note in result.notes)
    plain = search(reader, "harbour", k=9)
    assert plain.common_terms == ()
    others = [each for each in found(plain) if each != "rare.md#0"]
    assert found(result) == ["rare.md#0", *others[:3]]
    assert found(search(reader, "harbour kestrel", k=1)) == ["rare.md#0"]


def test_common_terms_can_be_kept(store: Make) -> None:
    """`common_terms="keep"` gives FTS5's plain expression, order and scores."""
    reader = store(zipf_corpus(9))
    result = search(reader, "w0 w1 w90", k=20, common_terms="keep")
    with reader.snapshot() as connection:
        plain = connection.execute(
            "SELECT rowid, -bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts"
            ' WHERE chunks_fts MATCH \'"w0" OR "w1" OR "w90"\' ORDER BY 2 DESC, 1 LIMIT 20'
        ).fetchall()
    assert [(hit.chunk_id, hit.score) for hit in result.hits] == plain


def test_answers_are_byte_identical(store: Make, files: StoreFiles) -> None:
    """The same query gives the same bytes fifty times, in processes with other hash seeds too."""
    reader = store(zipf_corpus(4))
    query = "w0 w3 w50 w51 w52 w53 zz !! x"
    answers = {repr(search(reader, query, k=7)) for _ in range(50)}
    program = (
        "import sys; from knowledge_nb.retrieval import search;"
        "from knowledge_nb.store.connection import Reader;"
        "from knowledge_nb.store.files import StoreFiles;"
        f"print(repr(search(Reader(StoreFiles.at(sys.argv[1])), {query!r}, k=7)), end='')"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(files.directory)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1


def test_a_vanished_row_is_skipped(store: Make, files: StoreFiles) -> None:
    """An index row without its chunk is left out and never fails the search."""
    reader = store({"a.md": [("", "kestrel")], "b.md": [("", "kestrel")]} | FILLER)
    with Writer.open(files) as writer, writer.transaction() as connection:
        connection.execute("DROP TRIGGER chunks_deleted")
        connection.execute("DELETE FROM chunks WHERE document_id = 1")
        connection.execute(
            "CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN SELECT 1; END"
        )
    result = search(reader, "kestrel")
    assert found(result) == ["b.md#0"]
    assert [hit.rank for hit in result.hits] == [1]


def test_one_snapshot(store: Make, files: StoreFiles) -> None:
    """The completeness that an answer carries is of the very state that was ranked."""
    reader = store(FILLER)
    before = search(reader, "note")
    fill(files, {"late.md": [("", "note")]})
    after = search(reader, "note", k=20)
    assert before.completeness.documents == len(before.hits) + 3 == 8
    assert after.completeness.documents == len(after.hits) == 9
    assert after.completeness.generation > before.completeness.generation
