"""Split one oversized block: at line ends, sentence ends, white space, never inside a word.

All offsets are UTF-8 byte offsets; no cut falls inside a character or between a letter and its
marks. In a script that writes no spaces a cut may fall between two letters, exactly where the index
sees two tokens. A word that is larger than the limit stays whole.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from unicodedata import category

from knowledge_nb.text import has_unspaced

TARGET = 1_200
"""Bytes toward which the blocks of a section are packed."""

OVERSIZED = 1_500
"""Bytes over which a block that may be split is split."""

OVERSIZED_TABLE = 8_192
"""Bytes over which a table is split at row ends, into parts of up to as many bytes."""

# The rightmost match within the window: greedy `.*` runs to its end at once and steps back.
_LAST_SPACE = re.compile(rb".*[ \t\n\x0b\x0c]", re.DOTALL)
_LAST_SENTENCE = re.compile(
    rb".*(?:"  # . ! ? and … । ॥ ؟ ۔ ። with closing marks and white space
    rb"(?:[.!?]|\xe2\x80\xa6|\xe0\xa5[\xa4\xa5]|\xd8\x9f|\xdb\x94|\xe1\x8d\xa2)"
    rb"(?:[\"')\]}*_`]|\xe2\x80[\x99\x9d]|\xc2\xbb)*[ \t\n\x0b\x0c]"
    rb"|(?:\xe3\x80\x82|\xef\xbc[\x81\x9f]|\xef\xbd\xa1)"  # 。！？｡ need no space after them
    rb"(?:\xe3\x80[\x8d\x8f]|\xef\xbc\x89|\xe2\x80[\x99\x9d])*[ \t\n\x0b\x0c]?)",
    re.DOTALL,
)
_SPACE = re.compile(rb"[ \t\n\x0b\x0c]")
_SPACES = re.compile(rb"[ \t\n\x0b\x0c]*+")

# Signs that stack the letter after them, and vowels written before their consonant, of Myanmar,
# Khmer, Tai Tham, Balinese, Javanese, Thai, Lao, New Tai Lue and Tai Viet.
_JOINS_NEXT = frozenset(
    "\u1039\u17d2\u1a60\u1b44\ua9c0\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
    "\u19b5\u19b6\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"
)
# The Thai and Lao vowel AM is a letter to Unicode, and a mark to its readers.
_JOINS_PREVIOUS = frozenset("\u0e33\u0eb3")


class Kind(IntEnum):
    """How a block may be split when it is oversized."""

    PROSE = 0  # at sentence ends, else white space
    LINES = 1  # at line ends, else as prose
    WHOLE = 2  # never
    TABLE = 3  # at row ends, and only when very large


def line_end(data: bytes, offset: int, limit: int) -> int:
    """Return the end of the line that ends at or holds the byte before `offset`."""
    if offset >= limit:
        return limit
    if data[offset - 1] == 10:
        return offset
    newline = data.find(b"\n", offset, limit)
    return newline + 1 if newline >= 0 else limit


def split(data: bytes, start: int, end: int, kind: Kind) -> Iterator[tuple[int, int]]:
    """Yield the parts of a block; only one unless it is oversized."""
    if kind is Kind.TABLE:
        while end - start > OVERSIZED_TABLE:
            cut = data.rfind(b"\n", start, start + OVERSIZED_TABLE) + 1
            cut = cut or line_end(data, start + OVERSIZED_TABLE, end)
            yield start, cut
            start = cut
    elif kind is not Kind.WHOLE:
        while end - start > OVERSIZED:
            cut = _cut(data, start, end, kind)
            yield start, cut
            start = cut
    if start < end:
        yield start, end


def _cut(data: bytes, start: int, end: int, kind: Kind) -> int:
    """Return the best place to end a chunk that starts at `start`; `end` where there is none."""
    stop = start + TARGET
    if kind is Kind.LINES:
        cut = data.rfind(b"\n", start, stop) + 1
        if cut and not _joins_previous(data, cut):
            return cut
    for pattern in (_LAST_SENTENCE, _LAST_SPACE):
        limit = stop
        while (match := pattern.match(data, start, limit)) is not None:
            cut = _after_space(data, start, match.end(), end)
            if not _joins_previous(data, cut):
                return cut
            limit = match.end() - 1
    text = data[start:stop].decode(errors="ignore")
    if has_unspaced(text):
        for index in range(len(text) - 1, 0, -1):
            if _between_clusters(text, index):
                return start + len(text[:index].encode())
    return _next_cut(data, stop, end)


def _next_cut(data: bytes, start: int, end: int) -> int:
    """Return the first place from `start` on where a cut cuts no word."""
    while start < end:
        while start < end and data[start] & 0xC0 == 0x80:
            start += 1
        stop = min(start + TARGET, end)
        space = _SPACE.search(data, start, stop)
        window = data[start : space.start() if space else stop]
        if not window.isascii():
            text = window.decode(errors="ignore")
            for index in range(1, len(text) if has_unspaced(text) else 0):
                if _between_clusters(text, index):
                    return start + len(text[:index].encode())
        if space:
            cut = _after_space(data, start, space.end(), end)
            if not _joins_previous(data, cut):
                return cut
            stop = cut
        start = stop
    return end


def _after_space(data: bytes, start: int, offset: int, end: int) -> int:
    """Return where the next text starts, its indentation included, if `offset` follows a space."""
    spaces = _SPACES.match(data, offset, end)
    after = spaces.end() if spaces else offset
    before = start + len(data[start:offset].rstrip())
    return data.rfind(b"\n", before, after) + 1 or after


def _joins_previous(data: bytes, offset: int) -> bool:
    """Whether the character there may not be parted from the one before it."""
    if offset >= len(data) or data[offset] < 0x80:
        return False
    character = data[offset : offset + 4].decode(errors="ignore")[0]
    return category(character) in ("Mn", "Mc", "Me", "Cf")


def _between_clusters(text: str, index: int) -> bool:
    """Whether two clusters of unspaced scripts meet at `index`."""
    following = text[index]
    if (
        category(following) != "Lo"
        or following in _JOINS_PREVIOUS
        or text[index - 1] in _JOINS_NEXT
        or not has_unspaced(following)
    ):
        return False
    index -= 1
    while index and category(text[index]) in ("Mn", "Mc"):
        index -= 1
    return category(text[index]) in ("Lo", "Lm", "Nl") and has_unspaced(text[index])
