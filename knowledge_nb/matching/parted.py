"""Phrases that a reader sees and the source does not hold: markup stands between their words.

In ``a [retention](policies/r.md) policy`` the words of the link target stand between the two words,
so the phrase does not match, and what holds it for a reader is told beside the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.matching.postings import Postings, phrase
from knowledge_nb.matching.terms import TermMatch
from knowledge_nb.records import Parted
from knowledge_nb.store.sql import rows
from knowledge_nb.text import LEVEL_MARK

CANDIDATES = 3_000  # chunks that are read for one phrase
_APART = 120  # words of markup that may stand between those of a phrase

_NEAR = (
    "SELECT id, heading, body FROM"
    " (SELECT chunks.id, chunks.document_id,"
    "  coalesce(heading_terms, chunks.heading) AS heading,"
    "  coalesce(body_terms, chunks.body) AS body,"
    "  chunks.heading || ' ' || chunks.body AS text"
    "  FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH :near)"
    " WHERE document_id NOT IN (SELECT value FROM json_each(:known))"
    " AND (:within IS NULL OR document_id IN (SELECT value FROM json_each(:within)))"
    " AND (instr(text, '](') OR instr(text, '][') OR instr(text, '<') OR instr(text, '[^')"
    "  OR text GLOB '*[0-9][.)][ \t]*')"
    " LIMIT :most"
)
_PATHS = "SELECT path FROM documents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY path"
# Every part is bounded, or ends where another may begin: no text costs more than its length.
_MARKUP = re.compile(
    # Targets of links, with what some dialects write behind them; labels; footnote marks.
    r"(?<!\\)\](?:\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*(?:\n[^()\n]+)?\)|\[[^\]\n]*\])"
    r"(?:\{[^{}\n]*\})?|\[\^[^\]\n]{1,200}\]"
    # Comments and tags, but not an address between angle brackets, which is read as it is.
    r"|<!--.{0,800}?-->|</?[A-Za-z][A-Za-z0-9-]*(?:[\s/][^<>]*)?>"
    # Numbers of list items.
    r"|^[ \t>]*\d{1,9}[.)](?=[ \t])",
    re.MULTILINE | re.DOTALL,
)
_PLAIN_TEXT = (".txt", ".text")


def parted(postings: Postings, matches: Sequence[TermMatch]) -> list[Parted]:
    """Find what the phrases of a query leave out, each phrase that may leave out any.

    Parameters
    ----------
    postings : Postings
        Of the snapshot and folder.
    matches : sequence of TermMatch
        Of the query's terms.
    """
    found = []
    for match in matches:
        if len(match.term.words) > 1:
            documents, whole = _documents(postings, match)
            if documents or not whole:
                held = rows(postings.connection, _PATHS, (json.dumps(sorted(documents)),))
                # In plain text what looks like markup is read as it is.
                paths = tuple(path for (path,) in held if not path.lower().endswith(_PLAIN_TEXT))
                if paths or not whole:
                    found.append(Parted(match.term.text, match.term.excluded, paths, whole))
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
            texts += heading.split(LEVEL_MARK)
        for text in texts:
            plain = _MARKUP.sub(" ", text)
            if plain != text and _holds(postings.analyzer.porter(plain), match.stems):
                found.add(document)
    return found, len(candidates) < CANDIDATES


def _holds(stems: Sequence[str], wanted: Sequence[str]) -> bool:
    size, first = len(wanted), wanted[0]
    return any(
        stem == first and tuple(stems[at : at + size]) == tuple(wanted)
        for at, stem in enumerate(stems)
    )
