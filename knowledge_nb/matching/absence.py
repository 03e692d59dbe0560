"""Why an answer is empty, in words: which word is absent, which terms never meet, what removed it.

"No document" is a strong claim; the reader gets what would make it a different one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

from knowledge_nb.matching.lexicon import Lexicon
from knowledge_nb.matching.nearest import nearest
from knowledge_nb.matching.postings import Postings, phrase
from knowledge_nb.matching.query import Term
from knowledge_nb.matching.terms import TermMatch
from knowledge_nb.records import counted

MAX_EXPLAINED = 5
MAX_PAIRS = 3
_PLACE = {"": "document", "heading": "heading", "body": "body"}


def intersection(matches: Iterable[TermMatch]) -> set[int]:
    """Documents that hold every one of some terms; empty for none."""
    sets = sorted((match.documents for match in matches), key=len)
    return set(sets[0]).intersection(*sets[1:]) if sets else set()


class Absence:
    """Explains one empty answer.

    Parameters
    ----------
    postings : Postings
        Of the snapshot and folder.
    lexicon : Lexicon
        Of the same state; asked only where a word is absent.
    """

    def __init__(self, postings: Postings, lexicon: Lexicon) -> None:
        self._postings = postings
        self._whole = postings.everywhere()
        self._lexicon = lexicon

    def explain(self, matches: Sequence[TermMatch]) -> list[str]:
        """Return sentences; the terms are all of the query, in its order."""
        wanted = [match for match in matches if not match.term.excluded]
        absent = [match for match in wanted if not match.documents]
        notes: list[str] = []
        if absent:
            notes += [self._absent(match) for match in absent[:MAX_EXPLAINED]]
            if len(absent) > MAX_EXPLAINED:
                more = ", ".join(f"`{match.term.text}`" for match in absent[MAX_EXPLAINED:])
                notes.append(f"Nor does any document hold {more}.")
            present = [match for match in wanted if match.documents]
            if present:
                rest = len(intersection(present))
                verb = "holds" if rest == 1 else "hold"
                notes.append(f"{counted(rest)} {verb} the other terms.")
        elif not (held := intersection(wanted)):
            notes += _never_meet(wanted)
        else:
            removed = [
                f"`{match.term.compiled}` removes {len(held & match.documents):,}"
                for match in matches
                if match.term.excluded and held & match.documents
            ]
            notes.append(
                f"{counted(len(held))} match without the exclusions; {', '.join(removed)}."
            )
        notes += self._joined(wanted)
        return notes

    def _absent(self, match: TermMatch) -> str:
        term = match.term
        if len(match.parts) > 1:
            text = f"No {_PLACE[term.scope]} holds the phrase `{term.text}`."
        else:
            text = f"No {_PLACE[term.scope]} holds `{term.text}` in any form."
        if self._postings.under.documents is not None:
            text = f"Under {self._postings.under.folder!r}: {text[0].lower()}{text[1:]}"
            outside = self._documents(self._whole, match, term.scope)
            if outside:
                return f"{text} Outside it, {counted(outside)} match."
        if term.scope:
            elsewhere = self._documents(self._postings, match, "")
            if elsewhere:
                other = "bodies" if term.scope == "heading" else "headings"
                return f"{text} It is in the {other} of {counted(elsewhere)}."
        if len(match.parts) == 1:
            return text + self._near(match.written[0]) + self._split(match.written[0])
        missing = [
            written
            for part, written in zip(match.parts, match.written, strict=True)
            if not self._whole.documents("porter", phrase([part]))
        ]
        missing = list(dict.fromkeys(missing))
        if not missing:
            text += (
                " Each of its words occurs, but nowhere do they stand in this order next to each "
                "other within one heading or the text below one. As in the source: a tag, a link "
                "target, a footnote mark or a list number between two words is words between them."
            )
        for word in missing[:MAX_PAIRS]:
            text += f" `{word}` occurs nowhere in the corpus.{self._near(word)}"
        return text + self._one_word(match.written)

    def _documents(self, postings: Postings, match: TermMatch, scope: str) -> int:
        return len(postings.documents("porter", phrase(match.parts, scope)))

    def _near(self, word: str) -> str:
        found = [
            f"`{other}` ({counted(number)})"
            for other in nearest(word, self._lexicon.words(self._postings.connection))
            if (number := len(self._postings.documents("exact", phrase([other]))))
        ]
        return f" Nearest words: {', '.join(found)}." if found else ""

    def _split(self, word: str) -> str:
        """The word cut in two, as the index sees a hyphen or a space in it."""
        cuts = [(word[:at], word[at:]) for at in range(1, len(word))] if len(word) <= 64 else []
        found = [
            f'`"{" ".join(cut)}"` ({counted(number)})'
            for cut in cuts
            if self._postings.occurs(phrase(cut))
            and (number := len(self._postings.documents("porter", phrase(cut))))
        ]
        return f" Written with a hyphen or a space: {', '.join(found)}." if found else ""

    def _one_word(self, words: Sequence[str]) -> str:
        joined = "".join(words)
        number = len(self._postings.documents("porter", phrase([joined])))
        return f" Written as one word: `{joined}` ({counted(number)})." if number else ""

    def _joined(self, wanted: Sequence[TermMatch]) -> list[str]:
        """Bare words that stand side by side in the query and are one word in the corpus."""
        notes = []
        for first, second in pairwise(wanted):
            if _is_bare(first.term) and _is_bare(second.term):
                text = self._one_word((*first.written, *second.written)).strip()
                if text:
                    notes.append(text)
        return notes


def _is_bare(term: Term) -> bool:
    return not term.quoted and len(term.words) == 1 and not term.scope


def _never_meet(wanted: Sequence[TermMatch]) -> list[str]:
    apart = [
        (first, second)
        for first, second in combinations(wanted, 2)
        if first.documents.isdisjoint(second.documents)
    ]
    if apart:
        shown = "; ".join(
            f"{_named(first)} and {_named(second)}" for first, second in apart[:MAX_PAIRS]
        )
        more = f"; and {len(apart) - MAX_PAIRS} more pairs" if len(apart) > MAX_PAIRS else ""
        return [f"Every term occurs, but no document holds both {shown}{more}."]
    left: set[int] = set(wanted[0].documents)
    for number, match in enumerate(wanted):
        if not left & match.documents:
            before = ", ".join(f"`{other.term.text}`" for other in wanted[:number])
            return [
                f"Every two of the terms meet, but of the {counted(len(left))} with {before} "
                f"none holds {_named(match)}."
            ]
        left &= match.documents
    return []


def _named(match: TermMatch) -> str:
    return f"`{match.term.text}` ({counted(len(match.documents))})"
