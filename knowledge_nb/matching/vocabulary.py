"""Every real word of the corpus, with the documents that hold it as written and in any form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import apsw

from knowledge_nb.errors import QueryError
from knowledge_nb.matching.lexicon import LexiconCache
from knowledge_nb.matching.query import printable
from knowledge_nb.records import Completeness, Status, VocabularyResult, Word, counted
from knowledge_nb.text import has_unspaced, tokens


def vocabulary(
    connection: apsw.Connection,
    *,
    tier: str,
    completeness: Completeness,
    lexicon: LexiconCache,
    pattern: str | None = None,
    prefix: str | None = None,
    limit: int | None = None,
) -> VocabularyResult:
    """List the words of the corpus.

    Parameters
    ----------
    connection : apsw.Connection
        In the caller's read transaction.
    tier : str
        Passed through to the result.
    completeness : Completeness
        Of the same transaction.
    lexicon : LexiconCache
        Kept by the caller from call to call.
    pattern : str, optional
        A regular expression (Python's `re`) that the case-folded word must hold a match of; case
        does not count. "" is no pattern.
    prefix : str, optional
        How the word, as written, begins, after NFKC and case folding. A longer prefix never lists
        a word that a shorter one does not. "" is no prefix.
    limit : int, optional
        Words to return at most; `matched` is counted before it.

    Returns
    -------
    VocabularyResult
        Words by documents (most first), then by word. With status OK, no word means that the
        corpus holds none such.

    Raises
    ------
    QueryError
        The pattern is no regular expression or could run for ever, the prefix is not the beginning
        of one word, or the limit is negative.
    """
    if limit is not None and limit < 0:
        raise QueryError(f"limit is a whole number from 0, not {limit}")
    result, beginning = _question(pattern, prefix, tier)
    result = replace(result, completeness=completeness)
    if not completeness.built:
        return _no_answer(result, Status.INDEX_NOT_BUILT)
    if not completeness.documents:
        return _no_answer(result, Status.CORPUS_EMPTY)
    every = lexicon.get(completeness).counted(connection)
    found: Sequence[Word] = every
    if beginning:
        found = [word for word in found if word.word.startswith(beginning)]
    if result.pattern:
        from knowledge_nb.matching.patterns import compile_pattern, matching

        found = matching(compile_pattern(result.pattern), found)
    shown = tuple(found[:limit])
    return replace(
        result,
        words=shown,
        matched=len(found),
        notes=tuple(_notes(result, shown, len(found), len(every))),
    )


def not_built(pattern: str | None, prefix: str | None, *, tier: str) -> VocabularyResult:
    """The answer where there is no store to read.

    Raises
    ------
    QueryError
        As for a store that is there.
    """
    return _no_answer(_question(pattern, prefix, tier)[0], Status.INDEX_NOT_BUILT)


def _question(pattern: str | None, prefix: str | None, tier: str) -> tuple[VocabularyResult, str]:
    """Check both filters; the second part is the prefix as words are stored."""
    beginning = ""
    if prefix:
        found = tokens(prefix)
        if not found:
            raise QueryError(
                f"no word begins with {printable(prefix)!r}: words are of letters and digits only"
            )
        if len(found) > 1:
            hint = "words of scripts without spaces are listed by character; match the run itself"
            if not has_unspaced(prefix):
                hint = f"a word ends there; try {found[0]!r}"
            raise QueryError(f"{printable(prefix)!r} is not the beginning of one word: {hint}")
        beginning = found[0]
    if pattern:
        from knowledge_nb.matching.patterns import compile_pattern

        compile_pattern(printable(pattern))
    result = VocabularyResult(printable(pattern or ""), printable(prefix or ""), Status.OK, tier)
    return result, beginning


def _no_answer(result: VocabularyResult, status: Status) -> VocabularyResult:
    return replace(result, status=status, notes=(result.completeness.emptiness(),))


def _notes(result: VocabularyResult, shown: Sequence[Word], matched: int, every: int) -> list[str]:
    notes = []
    if not matched:
        asked = []
        if result.prefix:
            asked.append(f"begins with {result.prefix!r}")
        if result.pattern:
            asked.append(f"matches {result.pattern!r}")
        what = " and ".join(asked) or "is listed"
        notes.append(f"None of the corpus's {counted(every, 'word')} {what}.")
    if len(shown) < matched:
        notes.append(f"{len(shown):,} of {counted(matched, 'word')} shown; the limit cut the rest.")
    if any(has_unspaced(word.word) for word in shown):
        notes.append(
            "Words of scripts without spaces are listed by character; to count a longer run, "
            "match it."
        )
    return notes
