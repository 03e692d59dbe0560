"""Where a page of a set begins, in a form that holds for that set only.

A bare number counted into whatever set the next call found: after a pass in between, documents were
given twice, given though gone, or never given, with the right total on every page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from knowledge_nb.errors import QueryError
from knowledge_nb.records import DocumentMatch

_TOKEN: Final = re.compile(r"([0-9]{1,12})-([0-9a-f]{8})-([0-9a-f]{12})", re.ASCII)


class PageError(QueryError):
    """The page asked for does not go on with the pages before it; nothing of it is given."""


def continuation(query: str, sort: str, matches: Sequence[DocumentMatch]) -> str:
    """What follows the number in the `offset` of a page of this set, in this order.

    Parameters
    ----------
    query, sort : str
        As asked.
    matches : sequence of DocumentMatch
        The whole set, in its order.

    Returns
    -------
    str
        Digests of the question and of the set. The set is bound, not the index's generation: a
        pass that changes other documents makes nobody begin again.
    """
    return f"-{_digest((query, sort), 4)}-{_set_digest(matches)}"


def begin_of(offset: int | str, query: str, sort: str, matches: Sequence[DocumentMatch]) -> int:
    """Documents to pass over: the number in an offset, once it belongs to this question and set.

    Parameters
    ----------
    offset : int or str
        0, or a number with its continuation, as it was given.
    query, sort, matches
        As for `continuation`; of this call.

    Raises
    ------
    PageError
        A bare number, or of another question, or the set is no longer the same.
    """
    asked = str(offset)
    if asked == "0":
        return 0
    found = _TOKEN.fullmatch(asked)
    if found is None:
        raise PageError(
            "offset is 0, or the next_offset of the page before just as it was given, with its "
            "letters: a number alone does not say of which set"
        )
    if found[2] != _digest((query, sort), 4):
        raise PageError(
            "this next_offset belongs to another query or sort: repeat both as they were for the "
            "page before, or begin at offset 0"
        )
    if found[3] != _set_digest(matches):
        raise PageError(
            "the index changed since the first page, and with it this set: begin again at offset "
            "0, and do not add these pages to the earlier ones"
        )
    return int(found[1])


def _set_digest(matches: Sequence[DocumentMatch]) -> str:
    rows = [(m.path, m.citation, m.body_matches, m.heading_matches, m.chunks) for m in matches]
    return _digest(rows, 6)


def _digest(what: object, size: int) -> str:
    # repr escapes what UTF-8 cannot hold: lone surrogates of a file's name.
    return hashlib.blake2b(repr(what).encode(), digest_size=size).hexdigest()
