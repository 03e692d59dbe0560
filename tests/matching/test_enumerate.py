"""Which documents hold these words: sets per document, counts apart, totals before limits."""

from __future__ import annotations

import subprocess
import sys

import pytest

from knowledge_nb.errors import QueryError, QuerySyntaxError, StoreError
from knowledge_nb.matching.enumerate import not_built
from knowledge_nb.matching.postings import Postings
from knowledge_nb.records import Status
from knowledge_nb.retrieval.under import Under
from tests.matching.corpus import Corpus


def test_words_in_different_chunks_meet(corpus: Corpus) -> None:
    """Q08: sets are per document, although no chunk holds both words."""
    corpus.text("a.md", "# One\n\nturbine\n\n# Two\n\nother\n\n# Three\n\ngearbox\n")
    corpus.text("b.md", "# One\n\nturbine\n")
    assert corpus.paths("turbine gearbox") == ["a.md"]
    assert corpus.paths("turbine -gearbox") == ["b.md"]
    assert corpus.paths("-gearbox turbine") == ["b.md"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("lantern -brass", ["b.md"]),
        ("-brass lantern", ["b.md"]),
        ('-"brass ring" lantern', ["b.md", "c.md", "d.md"]),
        ("-heading:brass lantern", ["a.md", "b.md", "d.md"]),
        ("-body:brass lantern", ["b.md", "c.md"]),
        ("-absent lantern", ["a.md", "b.md", "c.md", "d.md"]),
    ],
)
def test_exclusions(corpus: Corpus, query: str, found: list[str]) -> None:
    """Q09: a leading minus subtracts document sets; order does not matter."""
    corpus.put("a.md", (["Lamps"], ["a lantern on a brass ring"]))
    corpus.put("b.md", (["Lamps"], ["a lantern"]))
    corpus.put("c.md", (["Brass"], ["a lantern"]))
    corpus.put("d.md", (["Lamps"], ["brass lantern, a ring"]))
    assert corpus.paths(query, sort="path") == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("@kestrel", True),
        ("#harbour", True),
        ("50%", True),
        ("a=b", True),
        ("x\\y", True),
        ("[br]", True),
        ("why?", False),
        ("a;b", True),
        ("pier.", True),
        ("(pier)", True),
        ("kestrel.example", True),
        ("example.kestrel", False),
    ],
)
def test_signs_never_break_a_query(corpus: Corpus, query: str, found: bool) -> None:
    """Q01, Q02: every term reaches FTS5 quoted."""
    body = "write to ops@kestrel.example, tag #harbour, growth 50%, a=b, x\\y, [br] the old pier"
    corpus.put("a.md", ([], [body]))
    assert bool(corpus.paths(query)) is found


def test_an_fts_fault_is_an_error(corpus: Corpus) -> None:
    """Q01: what FTS5 refuses surfaces; it never becomes an empty set."""
    corpus.put("a.md", ([], ["pier"]))
    with pytest.raises(StoreError), corpus.snapshot() as connection:
        Postings(connection, Under()).documents("porter", '"pier')


def test_identifiers(corpus: Corpus) -> None:
    """Q03, Q04: an identifier is the phrase of its parts, in the order of the text."""
    corpus.put("a.md", ([], ["see RFQ-0042 for the valve; deploy north-gate-router v2.14.3"]))
    corpus.put("b.md", ([], ["gpt and, far from it, 4"]))
    for query in ("RFQ-0042", '"RFQ-0042"', "north-gate-router", "v2.14.3", "north gate router"):
        assert corpus.paths(query) == ["a.md"]
    assert corpus.paths("valve -RFQ-0042") == []
    assert corpus.paths("gpt-4") == []


def test_apostrophes(corpus: Corpus) -> None:
    """Q14: the typographic apostrophe matches the straight one; `dont` is another word."""
    corpus.put("a.md", ([], ["we don't paint ships"]))
    corpus.put("b.md", ([], ["we don’t paint boats"]))
    assert corpus.paths("don't") == corpus.paths("don’t") == ["a.md", "b.md"]
    assert corpus.paths("dont") == []


def test_heading_and_body_are_apart(corpus: Corpus) -> None:
    """Q17: a word in a heading is not in the body, and the counts say where it is."""
    corpus.put("a.md", (["Kestrel survey"], ["wings counted"]))
    assert corpus.paths("body:kestrel") == []
    assert corpus.paths("heading:kestrel") == ["a.md"]
    (match,) = corpus.enumerate("kestrel").matches
    assert (match.body_matches, match.heading_matches) == (0, 1)


def test_a_parent_heading_counts_for_its_children(corpus: Corpus) -> None:
    """Q17: a chunk's heading is its whole breadcrumb; a phrase never crosses two levels of it."""
    corpus.text("a.md", "# Kestrel survey\n\none\n\n## Nest\n\ntwo\n\n## Chicks\n\nthree\n")
    (match,) = corpus.enumerate("heading:kestrel").matches
    assert (match.heading_matches, match.chunks, match.citation) == (3, 3, "a.md#0")
    assert corpus.paths('heading:"survey nest"') == []
    assert corpus.paths("heading:survey heading:nest") == ["a.md"]


def test_counts_and_citation(corpus: Corpus) -> None:
    """Counts are chunks in which any positive term matches; the citation is the first of them."""
    corpus.put(
        "a.md",
        (["Top"], ["nothing here"]),
        (["Brass"], ["lantern lantern", "lantern and ring"]),
        (["End"], ["a ring", "a lamp"]),
    )
    result = corpus.enumerate("lantern ring -copper")
    (match,) = result.matches
    assert (match.body_matches, match.heading_matches, match.chunks) == (3, 0, 5)
    assert match.citation == "a.md#1"
    (match,) = corpus.enumerate("brass ring").matches
    assert (match.body_matches, match.heading_matches, match.citation) == (2, 2, "a.md#1")


def test_a_scoped_term_counts_only_in_its_scope(corpus: Corpus) -> None:
    """`body:` counts no headings, `heading:` no bodies."""
    corpus.put("a.md", (["Brass"], ["brass", "brass"]))
    (match,) = corpus.enumerate("body:brass").matches
    assert (match.body_matches, match.heading_matches) == (2, 0)
    (match,) = corpus.enumerate("heading:brass").matches
    assert (match.body_matches, match.heading_matches) == (0, 2)


def rank(corpus: Corpus) -> None:
    corpus.put("z.md", ([], ["brass", "brass", "brass"]))
    corpus.put("b.md", (["Brass"], ["brass"]))
    corpus.put("a.md", ([], ["brass"]))
    corpus.put("c.md", (["Brass"], ["tin", "tin"]))
    corpus.put("d.md", ([], ["tin"]))


def test_sorting(corpus: Corpus) -> None:
    """By matching bodies, then matching headings, then path; or by path."""
    rank(corpus)
    assert corpus.paths("brass") == ["z.md", "b.md", "a.md", "c.md"]
    assert corpus.paths("brass", sort="path") == ["a.md", "b.md", "c.md", "z.md"]


def test_the_total_is_counted_before_the_limit(corpus: Corpus) -> None:
    """A limit cuts the list, never the size of the answer; nought is a limit too."""
    rank(corpus)
    result = corpus.enumerate("brass", limit=2)
    assert (result.matched, len(result.matches), result.truncated) == (4, 2, True)
    assert "2 of 4 documents shown; the limit cut the rest." in result.notes
    assert corpus.enumerate("brass", limit=0).matched == 4
    assert not corpus.enumerate("brass", limit=4).truncated


def test_min_body_matches(corpus: Corpus) -> None:
    """Documents with fewer matching bodies are left out of the total, and the note says so."""
    rank(corpus)
    result = corpus.enumerate("brass", min_body_matches=1)
    assert result.matched == 3
    assert "1 document with fewer than 1 matching body left out of 4." in result.notes
    result = corpus.enumerate("brass", min_body_matches=9)
    assert (result.matched, result.status) == (0, Status.OK)
    assert "4 documents with fewer than 9 matching bodies left out of 4." in result.notes


def test_under_is_an_exact_folder(corpus: Corpus) -> None:
    """No neighbour with the same beginning, no wildcard, and reports of terms within it."""
    for path in (
        "policies/a.md",
        "policies/sub/b.md",
        "policies-old/c.md",
        "policies.md",
        "p_l/d.md",
    ):
        corpus.put(path, ([], ["brass lamps"]))
    corpus.put("pol/e.md", ([], ["brass lamp"]))
    for under in ("policies", "policies/"):
        result = corpus.enumerate("brass lamp", under=under)
        assert [match.path for match in result.matches] == ["policies/a.md", "policies/sub/b.md"]
        assert result.terms[1].documents == 2
        assert result.terms[1].documents_as_written == 0
        assert result.terms[1].related == (("lamps", 2),)
        assert any("2 of 6 documents" in note for note in result.notes)
    for under in ("polic", "p%", "policie_", "*", "POLICIES", "no\ud83d", "\0"):
        result = corpus.enumerate("brass", under=under)
        assert (result.status, result.matched) == (Status.OK, 0)
        assert "No indexed document lies under" in result.notes[0]
    assert corpus.paths("brass", under="p_l") == ["p_l/d.md"]
    assert corpus.enumerate("brass", under="").matched == 6


def test_under_restricts_phrases_across_chunks(corpus: Corpus) -> None:
    """A phrase across chunks outside the folder is outside the answer."""
    corpus.put("a/a.md", ([], ["the sea", "lock"]))
    corpus.put("b/b.md", ([], ["the sea", "lock"]))
    result = corpus.enumerate('"sea lock"', under="a")
    assert [match.path for match in result.matches] == ["a/a.md"]
    assert result.terms[0].documents == 1


def test_stems_answer_and_the_literal_count_stands_beside(corpus: Corpus) -> None:
    """T07: enumerate answers on stems, says how many hold the word itself, and names the rest."""
    for word in ("news", "new", "universe", "university", "operating", "operate"):
        corpus.put(f"{word}.md", ([], [f"about {word} today"]))
    result = corpus.enumerate("news")
    assert [match.path for match in result.matches] == ["new.md", "news.md"]
    (term,) = result.terms
    assert (term.stem, term.documents, term.documents_as_written) == ("new", 2, 1)
    assert term.related == (("new", 1),)
    assert any("`news` stands as written in 1 of the 2 documents" in note for note in result.notes)
    (term,) = corpus.enumerate('"university"').terms
    assert (term.documents, term.documents_as_written) == (2, 1)
    assert term.related == (("universe", 1),)


def test_all_related_forms_are_named(corpus: Corpus) -> None:
    """Forms that do not begin with the stem count too; most documents first, then by word."""
    corpus.put("a.md", ([], ["happy ponies Happy"]))
    corpus.put("b.md", ([], ["happiness and happy"]))
    corpus.put("c.md", ([], ["they are happy"]))
    corpus.put("d.md", ([], ["relational relate"]))
    (term,) = corpus.enumerate("happiness").terms
    assert term.stem == "happi"
    assert (term.documents, term.documents_as_written) == (3, 1)
    assert term.related == (("happy", 3),)
    (term,) = corpus.enumerate("relating").terms
    assert (term.documents_as_written, term.related) == (0, (("relate", 1), ("relational", 1)))


def test_as_written_folds_case_and_width_only(corpus: Corpus) -> None:
    """NFKC and case folding are not a difference; an accent is a related form."""
    corpus.put("a.md", ([], ["CAFÉ"]))
    corpus.put("b.md", ([], ["cafe\u0301"]))
    corpus.put("c.md", ([], ["ｃａｆｅ"]))
    (term,) = corpus.enumerate("café").terms
    assert (term.documents, term.documents_as_written, term.related) == (3, 2, (("cafe", 1),))


@pytest.mark.parametrize("typed", ["impôt", "impo\u0302t"])
def test_composed_and_decomposed_are_one_word(corpus: Corpus, typed: str) -> None:
    """T04: both forms match both ways, and the vocabulary shows one word."""
    corpus.put("a.md", ([], ["un impôt"]))
    corpus.put("b.md", ([], ["un impo\u0302t"]))
    result = corpus.enumerate(typed)
    assert (result.matched, result.terms[0].documents_as_written) == (2, 2)
    assert [word.word for word in corpus.vocabulary().words] == ["impôt", "un"]


def test_scripts_without_spaces(corpus: Corpus) -> None:
    """T01, T02: any run is found, also beside Latin letters, and the answer says how it matches."""
    corpus.put("a.md", ([], ["明日は港の天気が荒れる"]))
    corpus.put("b.md", ([], ["先に gatewayを再起動"]))
    corpus.put("c.md", ([], ["天の気"]))
    for query in ("天気", "港", '"港の天気"'):
        result = corpus.enumerate(query)
        assert [match.path for match in result.matches] == ["a.md"]
        assert any("runs of characters" in note for note in result.notes)
        assert result.terms[0].documents_as_written == 1
    assert corpus.paths("gateway") == ["b.md"]
    assert corpus.paths("-天気 気") == ["c.md"]


def test_marks_are_part_of_a_word(corpus: Corpus) -> None:
    """T06: a Tamil or Hindi word is found, and only it."""
    corpus.put("a.md", ([], ["காலை வணக்கம்"]))
    corpus.put("b.md", ([], ["கிலி"]))
    corpus.put("c.md", ([], ["हिन्दी भाषा"]))
    corpus.put("d.md", ([], ["مُحَمَّد كتب"]))
    assert corpus.paths("காலை") == ["a.md"]
    assert corpus.paths("हिन्दी") == ["c.md"]
    assert corpus.paths("مُحَمَّد") == ["d.md"]
    assert "காலை" in {word.word for word in corpus.vocabulary().words}


def test_nul_and_surrogates(corpus: Corpus) -> None:
    """T10, T11: a NUL never cuts or breaks a query or gets out; a lone surrogate is refused."""
    corpus.put("a.md", ([], ["pre\0post" + "\0" * 10_000 + "end"]))
    for query in ("post", "pre\0post", '"pre\0post"', "end\0"):
        result = corpus.enumerate(query)
        assert result.matched == 1
        (result.query + result.compiled + "".join(result.notes)).encode()
    for query in ("\ud83d", "pre\ud83dpost"):
        with pytest.raises(QuerySyntaxError, match="not valid Unicode"):
            corpus.enumerate(query)


def test_a_term_without_a_token_is_refused(corpus: Corpus) -> None:
    """Q15: `alpha "+++"` is not answered as `alpha`."""
    corpus.put("a.md", ([], ["alpha +++ C++"]))
    for query in ('alpha "+++"', 'alpha -"***"', "😀"):
        with pytest.raises(QuerySyntaxError, match="cannot be searched"):
            corpus.enumerate(query)
    result = corpus.enumerate("C++")
    assert result.matched == 1
    assert "searched as `c`" in result.notes[0]


def test_dropped_terms_are_reported(corpus: Corpus) -> None:
    """A short term is left out of the question, and the answer says so."""
    corpus.put("a.md", ([], ["alpha"]))
    result = corpus.enumerate("alpha b -c")
    assert result.matched == 1
    assert [term for term, _ in result.dropped_terms] == ["b", "-c"]
    assert "`b` (under two characters)" in result.notes[0]
    assert result.compiled == '"alpha"'


def test_an_exclusion_of_nothing_is_said(corpus: Corpus) -> None:
    """A misspelt exclusion removes nothing, and the answer says so."""
    corpus.put("a.md", ([], ["lantern of brass"]))
    result = corpus.enumerate("lantern -bras")
    assert result.matched == 1
    assert 'Excludes nothing, because no document holds it: `-"bras"`.' in result.notes


def test_a_call_loads_nothing_heavy() -> None:
    """A shell call on a small corpus must start at once."""
    heavy = "numpy pandas httpx duckdb ipywidgets mcp difflib"
    code = (
        "import sys, knowledge_nb.matching.enumerate, knowledge_nb.matching.vocabulary\n"
        f"print(*sorted(set({heavy.split()!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_long_token_breaks_nothing(corpus: Corpus) -> None:
    """FTS5 cuts a token at 32,768 bytes, inside a letter if need be; every verb still answers."""
    corpus.put("a.md", ([], ["a" + "я" * 20_000 + " runs"]))
    assert corpus.paths("running") == ["a.md"]
    assert {word.word[:2] for word in corpus.vocabulary().words} == {"aя", "ru"}


def test_statuses_and_their_order(corpus: Corpus) -> None:
    """Syntax first, then not built, empty corpus, empty query; each says the next step."""
    corpus.create()
    assert corpus.enumerate("").status is Status.INDEX_NOT_BUILT
    result = corpus.enumerate("brass")
    assert result.status is Status.INDEX_NOT_BUILT
    assert "knowledge index" in result.notes[0]
    with pytest.raises(QuerySyntaxError):
        corpus.enumerate("-brass")
    corpus.put("a.md", ([], ["brass"]))
    corpus.remove("a.md")
    result = corpus.enumerate("")
    assert (result.status, result.compiled) == (Status.CORPUS_EMPTY, "")
    corpus.put("a.md", ([], ["brass"]))
    for query in ("", "  ", "a", "a -brass"):
        result = corpus.enumerate(query)
        assert (result.status, result.matched) == (Status.QUERY_EMPTY, 0)
        assert result.notes
    assert corpus.enumerate("brass").status is Status.OK


def test_without_a_store(corpus: Corpus) -> None:
    """Where there is no file to read, the answer has the same shape."""
    result = not_built("brass a", tier="lexical")
    assert (result.status, result.compiled) == (Status.INDEX_NOT_BUILT, '"brass"')
    with pytest.raises(QuerySyntaxError):
        not_built("a OR b", tier="lexical")


@pytest.mark.parametrize("options", [{"sort": "rank"}, {"limit": -1}, {"min_body_matches": -1}])
def test_arguments_out_of_range(corpus: Corpus, options: dict[str, object]) -> None:
    """An argument that cannot be used is an error, whatever the state of the index."""
    corpus.create()
    with pytest.raises(QueryError):
        corpus.enumerate("brass", **options)


def test_an_index_that_changed_is_read_anew(corpus: Corpus) -> None:
    """What is kept of the words is kept only until the index changes."""
    corpus.put("a.md", ([], ["lamp"]))
    assert corpus.enumerate("lamp").terms[0].related == ()
    corpus.put("b.md", ([], ["lamps"]))
    assert corpus.enumerate("lamp").terms[0].related == (("lamps", 1),)
    assert corpus.word("lamp").documents_any_form == 2
    corpus.remove("b.md")
    assert corpus.enumerate("lamp").terms[0].related == ()
    assert corpus.word("lamp").documents_any_form == 1
