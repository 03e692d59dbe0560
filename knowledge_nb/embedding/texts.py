"""What is done to a text before any embedder sees it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from .protocol import DocumentText

QUERY_CHARACTERS: Final = 8_192
INPUT_BYTES: Final = 128 * 1024

# Letters that draw nothing: Hangul fillers and the empty Braille cell.
_INVISIBLE: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text as it is sent, and the number of characters that were cut from its end."""

    text: str
    cut: int


def is_blank(text: str) -> bool:
    """Whether a text holds no letter, number, symbol or private-use character to embed.

    White space, zero-width characters, lone marks and bare punctuation such as ``![]()`` are blank:
    some servers reject a whole batch for one of them, others answer with NaN.
    """
    return not any(
        (category := unicodedata.category(character))[0] in "LNS" or category == "Co"
        for character in set(text) - _INVISIBLE
    )


def prepare_query(text: str, prefix: str) -> Prepared:
    """Cut a query at 8,192 characters and write the prefix before it."""
    kept = text[:QUERY_CHARACTERS]
    return Prepared(_encodable(prefix + kept), len(text) - len(kept))


def prepare_document(document: DocumentText, prefix: str) -> Prepared | None:
    """Write the prefix before a chunk's body and cut the whole at 128 KiB of UTF-8.

    Returns
    -------
    Prepared or None
        None for a blank body, unless the prefix carries a breadcrumb that is not blank.
    """
    title = " ".join(document.title.split())
    titled = "{title}" in prefix
    if is_blank(document.body) and not (titled and not is_blank(title)):
        return None
    # replace, not format: a prefix may hold other braces, and a title may hold any.
    text = _encodable(prefix.replace("{title}", title or "none") + document.body)
    raw = text.encode()
    if len(raw) <= INPUT_BYTES:
        return Prepared(text, 0)
    kept = raw[:INPUT_BYTES].decode(errors="ignore")
    return Prepared(kept, len(text) - len(kept))


def _encodable(text: str) -> str:
    """Replace lone surrogates, which neither JSON readers nor tokenizers accept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
