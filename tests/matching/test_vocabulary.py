"""The words of the corpus: documents, not chunks; real words, not stems; every heading once."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_nb.errors import QueryError
from knowledge_nb.matching.lexicon import Lexicon, LexiconCache
from knowledge_nb.matching.patterns import compile_pattern
from knowledge_nb.matching.vocabulary import not_built
from knowledge_nb.records import Status
from knowledge_nb.store.status import read_completeness
from knowledge_nb.text import LEVEL_MARK
from tests.matching.corpus import Corpus, Section
from tests.matching.oracle import Oracle
from tests.matching.test_phrases import sections


def test_documents_are_not_chunks(corpus: Corpus) -> None:
    """T09: `valve` in four chunks of one document, six times: one document, six occurrences."""
    corpus.put("a.md", ([], ["valve", "valve valve", "valve", "valve, the valve", "none"]))
    corpus.put("b.md", ([], ["Operating it"]))
    word = corpus.word("valve")
    assert (word.documents, word.documents_any_form, word.occurrences) == (1, 1, 6)
    assert corpus.word("operating").stem == "oper"
    assert "oper" not in {entry.word for entry in corpus.vocabulary().words}


def test_headings_count_once(corpus: Corpus) -> None:
    """The breadcrumb stands in every chunk below a heading; its words occur once."""
    corpus.text(
        "a.md", "# Kestrel survey\n\none\n\n## Kestrel nest\n\n" + "kestrel two. " * 300 + "\n"
    )
    assert corpus.enumerate("kestrel").matches[0].chunks > 2
    assert corpus.word("kestrel").occurrences == 302
    assert corpus.word("survey").occurrences == 1
    assert corpus.word("nest").occurrences == 1


def test_the_mark_between_headings_is_no_word(corpus: Corpus) -> None:
    """What keeps two levels of a breadcrumb apart is never listed."""
    corpus.text("a.md", "# One\n\n## Two\n\nthree\n")
    assert [word.word for word in corpus.vocabulary().words] == ["one", "three", "two"]
    assert LEVEL_MARK not in corpus.vocabulary(pattern=LEVEL_MARK).words


def test_order_and_limit(corpus: Corpus) -> None:
    """Most documents first, then by word; the total is counted before the limit."""
    corpus.put("a.md", ([], ["beta alpha beta"]))
    corpus.put("b.md", ([], ["beta gamma"]))
    result = corpus.vocabulary(limit=2)
    assert [word.word for word in result.words] == ["beta", "alpha"]
    assert result.matched == 3
    assert "2 of 3 words shown; the limit cut the rest." in result.notes


def test_pattern(corpus: Corpus) -> None:
    """A regular expression searched in the folded word; case and Unicode form do not count."""
    corpus.put("a.md", ([], ["Storage STORED restore impôt Straße"]))

    def found(pattern: str) -> list[str]:
        return sorted(word.word for word in corpus.vocabulary(pattern=pattern).words)

    assert found("stor") == ["restore", "storage", "stored"]
    assert found("^STOR.*e$") == ["storage"]
    assert found("po\u0302t$") == ["impôt"]
    assert found("straße") == ["straße"]
    assert found("zzz") == []
    assert "None of the corpus's 5 words matches 'zzz'." in corpus.vocabulary(pattern="zzz").notes
    assert corpus.vocabulary(pattern="").matched == 5


@pytest.mark.parametrize(
    ("pattern", "where"),
    [("st(or", "at character 3"), ("*or", "at character 1"), ("[a", "at character 1")],
)
def test_a_bad_pattern_says_where(corpus: Corpus, pattern: str, where: str) -> None:
    """A pattern that is no regular expression is an error that names the place."""
    corpus.create()
    with pytest.raises(QueryError, match=re.escape(where)):
        corpus.vocabulary(pattern=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a*)*b",
        r"(\w+\s?)*$",
        "(a|a)*$",
        "(a|ab)*c",
        "((a?){9})+",
        "(?:a{1,3}){20}b",
        "((?:a|ab|b)c?)+d",
        "(?=(a+)+$)b",
    ],
)
def test_an_explosive_pattern_is_refused(pattern: str) -> None:
    """A pattern on which Python's engine could run for ever is refused with the fix."""
    with pytest.raises(QueryError, match="for ever"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(foo|bar)+",
        "(?:ab){2,}",
        "[a-z]+ing$",
        "(?i)^st.*er$",
        "(a++b)+",
        r"(\d)\1",
        "(a|b)*",
        "(a|[ab])+$",
        "",
    ],
)
def test_a_harmless_pattern_is_taken(pattern: str) -> None:
    """Repeats and alternatives that can match in one way only are fine."""
    compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        ".*" * 30 + "zzz",
        ".*" * 7,
        r"\w?" * 30 + "zzz",
        r"\w{0,8}" * 30 + "zzz",
        "(a|a)" * 30 + "zzz",
        "(?:(?:.*x){8}){8}",
        "(?>" + ".*" * 30 + "zzz)",
    ],
)
def test_many_repeats_in_a_row_are_refused(corpus: Corpus, pattern: str) -> None:
    """What takes for ever on words of ordinary length is refused before the first of them."""
    corpus.put("a.md", ([], [" ".join(f"administration{number}" for number in range(5317))]))
    with pytest.raises(QueryError, match="too many repeats or alternatives in a row"):
        corpus.vocabulary(pattern=pattern)


def test_six_repeats_in_one_alternative_are_taken() -> None:
    """Repeats are counted along one alternative, and possessive ones not at all."""
    compile_pattern(".*" * 6)
    compile_pattern("|".join(f"^{letter}.*.*.*ing$" for letter in "abcdefgh"))
    compile_pattern("[a-z]++_" * 30)


def test_a_slow_pattern_is_stopped(corpus: Corpus) -> None:
    """Many repeats in a row take polynomial time: stopped, with an error, before the long words."""
    words = [f"{'ab' * 30}{number}" for number in range(60)]
    corpus.put("a.md", *[([], [word]) for word in words])
    start = time.monotonic()
    with pytest.raises(QueryError, match="stopped after"):
        corpus.vocabulary(pattern=r"\w*\w*\w*\w*\w*!")
    assert time.monotonic() - start < 60
    corpus.put("b.md", ([], ["ab" * 500]))
    with pytest.raises(QueryError, match="a word of 1,000 characters"):
        corpus.vocabulary(pattern=r"\w*\w*\w*!", prefix="abababababababababababababababababab")


def test_prefix(corpus: Corpus) -> None:
    """A prefix of the word as written, case folded; not of its stem."""
    corpus.put("a.md", ([], ["Operate operation opera open happy Éclair eclair"]))

    def found(prefix: str) -> list[str]:
        return sorted(word.word for word in corpus.vocabulary(prefix=prefix).words)

    assert found("oper") == ["opera", "operate", "operation"]
    assert found("OPERAT") == ["operate", "operation"]
    assert found("happi") == []
    assert found("é") == found("e\u0301") == ["éclair"]
    assert corpus.vocabulary(prefix="oper", pattern="e$").matched == 1
    assert "begins with 'happi'" in corpus.vocabulary(prefix="happi").notes[0]


@pytest.mark.parametrize("prefix", ["!!", "e-m", "two words", "天気", " "])
def test_a_prefix_of_no_word_is_an_error(corpus: Corpus, prefix: str) -> None:
    """What no word can begin with is an error, not an empty list."""
    corpus.put("a.md", ([], ["email 天気"]))
    with pytest.raises(QueryError):
        corpus.vocabulary(prefix=prefix)


def test_scripts_without_spaces_are_listed_by_character(corpus: Corpus) -> None:
    """The list says so where it holds such words."""
    corpus.put("a.md", ([], ["天気 weather"]))
    result = corpus.vocabulary()
    assert [word.word for word in result.words] == ["weather", "天", "気"]
    assert any("by character" in note for note in result.notes)
    assert not any("by character" in note for note in corpus.vocabulary(prefix="w").notes)


def test_statuses(corpus: Corpus) -> None:
    """Not built and empty are told apart, and neither is a list without words."""
    assert not_built(None, None, tier="lexical").status is Status.INDEX_NOT_BUILT
    corpus.create()
    result = corpus.vocabulary()
    assert result.status is Status.INDEX_NOT_BUILT
    assert "knowledge index" in result.notes[0]
    corpus.put("a.md", ([], ["brass"]))
    corpus.remove("a.md")
    assert corpus.vocabulary().status is Status.CORPUS_EMPTY
    with pytest.raises(QueryError):
        corpus.vocabulary(limit=-1)


@settings(max_examples=30, deadline=None)
@given(st.lists(sections, min_size=1, max_size=5))
def test_counts_equal_a_scan_and_enumerate(corpora: list[list[Section]]) -> None:
    """Every count equals a scan's; documents in any form equal what enumerate reports."""
    documents = {f"{number}.md": document for number, document in enumerate(corpora)}
    with tempfile.TemporaryDirectory() as directory:
        corpus = Corpus(Path(directory))
        corpus.put_all(documents)
        listed = corpus.vocabulary().words
        assert {
            word.word: (word.stem, word.documents, word.occurrences) for word in listed
        } == Oracle(documents).words()
        for word in listed:
            if len(word.word) == 1 and word.word.isascii():
                continue  # a single character is not searched
            (term,) = corpus.enumerate(word.word).terms
            assert term.documents == word.documents_any_form
            assert term.documents_as_written == word.documents
            family = {w.word for w in listed if w.stem == word.stem} - {word.word}
            assert {form for form, _ in term.related} == family
        corpus.close()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text("abcdeéß", min_size=1, max_size=6), min_size=1), st.text("abcdeéß", max_size=5)
)
def test_a_longer_prefix_gives_a_subset(words: list[str], prefix: str) -> None:
    """Each letter more lists no word that the shorter prefix did not."""
    with tempfile.TemporaryDirectory() as directory:
        corpus = Corpus(Path(directory))
        corpus.put("a.md", ([], [" ".join(words)]))
        wider = {word.word for word in corpus.vocabulary().words}
        for length in range(1, len(prefix) + 1):
            listed = {word.word for word in corpus.vocabulary(prefix=prefix[:length]).words}
            assert listed == {word for word in wider if word.startswith(prefix[:length])}
            wider = listed
        corpus.close()


def test_the_words_are_kept_until_the_index_changes(corpus: Corpus) -> None:
    """One lexicon for one state, the same for all threads; another after a change."""
    corpus.put("a.md", ([], ["brass lamps"]))
    cache = LexiconCache()
    seen: list[tuple[Lexicon, object]] = []

    def read() -> None:
        with corpus.snapshot() as connection:
            lexicon = cache.get(read_completeness(connection))
            lexicon.words(connection)
            seen.append((lexicon, lexicon.counted(connection)))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len({(id(lexicon), id(counted)) for lexicon, counted in seen}) == 1
    corpus.put("b.md", ([], ["ring"]))
    read()
    assert seen[-1][0] is not seen[0][0]
