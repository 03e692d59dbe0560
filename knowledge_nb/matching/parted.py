"""Phrases that a reader sees and the source does not hold: markup stands between their words.

In ``a [retention](policies/r.md) policy`` the words of the link target stand between the two words,
so the phrase does not match, and what holds it for a reader is told beside the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.matching.absence import counted
from knowledge_nb.matching.postings import Postings, phrase
from knowledge_nb.matching.terms import TermMatch
from knowledge_nb.store.sql import rows, value
from knowledge_nb.text import index_text

CANDIDATES = 3_000  # chunks that are read for one phrase
_APART = 60  # words of markup that may stand between those of a phrase
NAMED = 5

_NEAR = (
    "SELECT id, heading, body FROM"
    " (SELECT chunks.id, chunks.document_id, chunks.heading, chunks.body,"
    "  chunks.heading || ' ' || chunks.body AS text"
    "  FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH :near)"
    " WHERE document_id NOT IN (SELECT value FROM json_each(:known))"
    " AND (:within IS NULL OR document_id IN (SELECT value FROM json_each(:within)))"
    " AND (instr(text, '](') OR instr(text, '][') OR instr(text, '<') OR instr(text, '[^')"
    "  OR text GLOB '*[0-9][.)][ \t]*')"
    " LIMIT :most"
)
_PATH = "SELECT path FROM documents WHERE id = ?"
# Link targets and labels, tags, footnote marks, numbers of list items.
_MARKUP = re.compile(
    r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\]\[[^\]\n]*\]|</?[A-Za-z!][^<>]*>|\[\^[^\]\n]+\]"
    r"|^[ \t>]*\d{1,9}[.)](?=[ \t])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Parted:
    """What one phrase leaves out.

    Attributes
    ----------
    text : str
        The phrase as typed.
    excluded : bool
        Whether it had a leading minus.
    paths : tuple of str
        Documents that hold it for a reader only, in order.
    whole : bool
        Whether every place was looked at where it could be.
    """

    text: str
    excluded: bool
    paths: tuple[str, ...]
    whole: bool

    def note(self) -> str:
        """The same in words; "" where nothing is left out."""
        if not self.paths:
            return ""
        named = ", ".join(self.paths[:NAMED])
        if len(self.paths) > NAMED:
            named += f" and {len(self.paths) - NAMED:,} more"
        number = counted(len(self.paths))
        if not self.whole:
            number = f"at least {number}"
        done = "not left out here" if self.excluded else "not counted here"
        return (
            f"In {number} more, markup (a link target, a tag, a list number) stands between the "
            f'words of "{self.text}", {done}: {named}.'
        )


def parted(postings: Postings, matches: Sequence[TermMatch]) -> list[Parted]:
    """Find what the quoted phrases of a query leave out, each phrase that leaves out any.

    Parameters
    ----------
    postings : Postings
        Of the snapshot and folder.
    matches : sequence of TermMatch
        Of the query's terms.
    """
    found = []
    for match in matches:
        if match.term.quoted and len(match.term.words) > 1:
            documents, whole = _documents(postings, match)
            if documents:
                paths = [value(postings.connection, _PATH, (number,)) for number in documents]
                term = match.term
                found.append(Parted(term.text, term.excluded, tuple(sorted(paths)), whole))
    return found


def _documents(postings: Postings, match: TermMatch) -> tuple[set[int], bool]:
    words = " ".join(phrase([part]) for part in match.parts)
    near = f"NEAR({words}, {_APART})"
    expression = f"{match.term.scope} : {near}" if match.term.scope else near
    allowed = postings.under.documents
    bound = {
        "near": expression,
        "known": json.dumps(sorted(match.documents)),
        "within": None if allowed is None else json.dumps(allowed),
        "most": CANDIDATES,
    }
    candidates = rows(postings.connection, _NEAR, bound)
    found: set[int] = set()
    for chunk, heading, body in candidates:
        document = chunk >> ORDINAL_BITS
        texts = [] if match.term.scope == "heading" else [body]
        if match.term.scope != "body":
            texts += heading.split(" > ")
        for text in texts:
            plain = _MARKUP.sub(" ", text)
            if plain != text and _holds(postings.analyzer.porter(index_text(plain)), match.stems):
                found.add(document)
    return found, len(candidates) < CANDIDATES


def _holds(stems: Sequence[str], wanted: Sequence[str]) -> bool:
    size, first = len(wanted), wanted[0]
    return any(
        stem == first and tuple(stems[at : at + size]) == tuple(wanted)
        for at, stem in enumerate(stems)
    )
