"""The one function that turns stored text and query text into what FTS5 sees.

The stored text stays verbatim; the two FTS5 tables are fed `index_text` of it, and a query goes
through the same function, so that the same words give the same tokens on both sides. ASCII passes
unchanged. Everything else goes through these steps, in this order:

1. Default-ignorable characters (soft hyphen, joiners, variation selectors, tags ...) go; U+200B
   becomes a space.
2. Characters that hold a whole word or number (``㎏``, ``㈱``, ``①``, ``½``) become their NFKC form
   with spaces around: glued to a neighbour they would hide it (``①Intro``) or make another number
   of it (``1½`` is not ``11/2``). Kangxi radicals, which PDF extraction leaves in place of
   ideographs, become the ideographs.
3. Every other assigned character that is not a letter, number, mark (Mn, Mc) or private use
   becomes a space, **before** NFKC: the Unicode tables of FTS5 end at 6.1 (to it ``₽500`` is one
   token), and NFKC makes ``WindowsTM`` of a trade mark and cuts ``don´t``. Unassigned characters
   stay, save in the blocks of symbols, where they are tomorrow's emoji. Letters that got their
   case after 6.1 (Georgian Mtavruli, Cherokee, Adlam ...) are case-folded here; FTS5 cannot.
4. A superscript or subscript digit beside a digit is set apart (``10²`` is not ``102``), then NFKC.
5. U+0300-036F that follow no word character go: porter makes an empty token of them.
6. In the scripts written without spaces, a space goes around each cluster (a letter, its marks, and
   a letter stacked under it), so that any run of them is found as a phrase.

References
----------
SQLite FTS5, section 4.3 (tokenizers): https://www.sqlite.org/fts5.html#tokenizers.
Unicode Standard Annex 15 (normalization forms) and 14 (scripts without spaces).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple
from unicodedata import category, normalize

__all__ = [
    "EXACT_TOKENIZER",
    "LEVEL_MARK",
    "PORTER_TOKENIZER",
    "TEXT_RULES",
    "UNICODE_VERSION",
    "has_unspaced",
    "index_headings",
    "index_text",
    "is_unspaced",
    "tokens",
    "words",
]

PORTER_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""``tokenize=`` of the table that answers queries: stems, accents folded."""

EXACT_TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
"""``tokenize=`` of the table that knows words as written: case folded, accents literal."""

UNICODE_VERSION = unicodedata.unidata_version
"""Version of the Unicode data behind `index_text`; an index built under another one may differ."""

TEXT_RULES = "2"
"""Number of the rules that make of a document what is searched, raised whenever chunking, what is
taken for markup, or `index_text` changes; an index made by others may answer otherwise."""

LEVEL_MARK = "\uf8f0"
"""Token between the levels of an indexed breadcrumb: made by `index_headings`, never by a text."""

_IGNORABLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_APART = re.compile(
    "[\xbc-\xbe\u2150-\u215f\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3200-\u33ff"
    "\U0001f100-\U0001f10c]"
)
_RADICALS = re.compile("[\u2e9f\u2ef3\u2f00-\u2fd5]")
# Blocks in which a character that this Python does not know yet is a symbol, not a letter.
_SYMBOLS = re.compile("[\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001fbff]")
# Where FTS5 (Unicode 6.1) knows no case: a test asks it for every code point.
_LATE_CASE = re.compile(
    "[\u037f\u0528-\u052f\u13f8-\u13fd\u1c80-\u1cbf\u2c2f\ua698-\ua69b\ua796-\ua7ff\uab70-\uabbf"
    "\U00010450-\U0001ffff]"
)
_KEPT = frozenset(["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Mn", "Mc", "Co", "Cn"])

_SCRIPT_DIGITS = "\xb2\xb3\xb9\u2070\u2074-\u2079\u2080-\u2089"
_SCRIPT_DIGIT = re.compile(f"[{_SCRIPT_DIGITS}]")
_NUMBER_EDGE = re.compile(rf"(?<=\d)(?=[{_SCRIPT_DIGITS}])|(?<=[{_SCRIPT_DIGITS}])(?=\d)")

# What separates words after steps 1 to 4: ASCII, and three symbols that NFKC composes out of it.
_SEPARATORS = "\x00-/:-@\\[-`{-\x7f\u2260\u226e\u226f"
_WORD = re.compile(f"[^{_SEPARATORS}]+")
_ACCENT = re.compile("[\u0300-\u036f]")
_LONE_ACCENTS = re.compile(f"(?<![^{_SEPARATORS}])[\u0300-\u036f]+")

# Blocks that mix letters, marks and digits: Thai and Lao, Myanmar, Khmer, Tai Le and New Tai Lue,
# Tai Tham, Balinese, Javanese and Myanmar extended, Tai Viet, Ahom. Digits are not cut apart.
_MIXED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x1950, 0x19DF),
    (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F),
    (0xA980, 0xA9FF),
    (0xAA60, 0xAADF),
    (0x11700, 0x1174F),
)
# Han, Kana, Bopomofo, Yi, Tangut, Khitan, Nushu; planes 2 and 3 whole, since Han still grows there.
_WHOLE = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c"
    "\uf900-\ufaff\uff66-\uff9f\U00016fe0-\U00016fe3\U00017000-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003fffd"
)
# Signs that stack the letter after them under the one before: Myanmar, Khmer, Tai Tham and others.
_STACKERS = "\u1039\u17d2\u1a60\u1b44\ua9c0"


def _ranges(codes: Iterable[int]) -> str:
    """Return ascending code points as the inside of a character class."""
    # Ranges, not single characters: what a class holds beyond the BMP is tried item by item.
    spans: list[list[int]] = []
    for code in codes:
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


class _Unspaced(NamedTuple):
    """Patterns of the scripts written without spaces."""

    letter: re.Pattern[str]
    run: re.Pattern[str]  # letters and their marks
    inner: re.Pattern[str]  # in a run with a space around each character: those within a cluster


@cache
def _unspaced() -> _Unspaced:
    """Compile the patterns on first need: asking for the category of all marks takes 15 ms."""
    mixed = (code for first, last in _MIXED for code in range(first, last + 1))
    letter = _ranges(code for code in mixed if category(chr(code))[0] == "L") + _WHOLE
    mark = _ranges(c for c in range(0x300, 0x1F000) if category(chr(c)) in ("Mn", "Mc"))
    return _Unspaced(
        letter=re.compile(f"[{letter}]"),
        # The look-ahead only saves time: Russian is scanned at 9 ns a character, without it at 32.
        run=re.compile(f"(?=[^\x00-\u0e00\uac00-\ud7a3])[{letter}][{letter}{mark}]*"),
        inner=re.compile(f" (?:(?=[^{letter}])|(?<=[{_STACKERS}] )(?=[{letter}]))"),
    )


# What each character becomes in steps 1 to 3, learnt as it is met: a text has few different ones.
_plain: set[str] = {chr(code) for code in range(1, 128)}
_changed: dict[str, str] = {}


def _simple_fold(char: str) -> str:
    """Return the simple (one to one) case folding of a character; ``ß`` and ``İ`` have none."""
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char


def _replacement(char: str) -> str:
    """Return what steps 1 to 3 make of one character, in NFKC to spare step 4 the work."""
    if _IGNORABLE.match(char):
        return ""
    if char in ("\0", LEVEL_MARK) or ord(char) & 0xFFFE == 0xFFFE:
        return " "
    if _SCRIPT_DIGIT.match(char):
        return char
    kind = category(char)
    cased = _simple_fold(char) if _LATE_CASE.match(char) else char
    # NFKC itself makes separators: of Catalan U+0140 a letter and a middle dot.
    form = "".join(c if category(c) in _KEPT else " " for c in normalize("NFKC", cased))
    if _APART.match(char) and kind not in ("Lo", "Cn"):
        return f" {form} "
    symbol = kind not in _KEPT or (kind == "Cn" and _SYMBOLS.match(char))
    if symbol and not _RADICALS.match(char):
        return " "
    return form


def _prepare(text: str) -> str:
    """Apply steps 1 to 5 to a text that is not ASCII."""
    changes: dict[str, str] = {}
    for char in set(text) - _plain:
        new = _changed.get(char)
        if new is None:
            new = _replacement(char)
            if new == char:
                _plain.add(char)
                continue
            _changed[char] = new
        changes[char] = new
    if len(changes) > 24:
        text = text.translate({ord(char): new for char, new in changes.items()})
    else:
        for char, new in changes.items():
            text = text.replace(char, new)
    if text.isascii():
        return text
    if _SCRIPT_DIGIT.search(text):
        text = _NUMBER_EDGE.sub(" ", text)
    text = normalize("NFKC", text)
    return _LONE_ACCENTS.sub("", text) if _ACCENT.search(text) else text


def _spaced(run: str) -> str:
    """Put a space around each cluster of a run."""
    spaced = run.replace("", " ")
    # Without marks each character is a cluster; a mark is not alphanumeric to Python.
    return spaced if run.isalnum() else _unspaced().inner.sub("", spaced)


def index_text(text: str) -> str:
    """Return what FTS5 is given for a stored text or a query text.

    Parameters
    ----------
    text : str
        Any text, lone surrogates and NUL included.

    Returns
    -------
    str
        The same object for ASCII without NUL. Passed through again it gives the same tokens. It has
        no NUL, no lone surrogate and no `LEVEL_MARK`, but any ASCII punctuation: to make an FTS5
        phrase of it, double its ``"`` and put it between quotes. It may hold no token at all
        (``!!``, an emoji): then `words` of it is empty.

    Notes
    -----
    Case is left to FTS5, which folds it one to one: ``Straße`` is ``straße``, never ``strasse``;
    ``İ`` stays ``İ`` in the exact table and is ``i`` in the porter table.
    """
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    text = _prepare(text)
    if text.isascii():
        return text
    return _unspaced().run.sub(lambda run: _spaced(run[0]), text)


def index_headings(levels: Sequence[str]) -> str:
    """Return the breadcrumb as FTS5 is given it.

    Parameters
    ----------
    levels : sequence of str
        Headings from the outermost to the innermost; may be empty.

    Returns
    -------
    str
        `index_text` of each level, with `LEVEL_MARK` as a token between them, so that a phrase
        never matches across two headings. Empty for no levels.
    """
    return f" {LEVEL_MARK} ".join(map(index_text, levels))


def words(text: str) -> list[str]:
    """Split a query text into words, exactly where the FTS5 tokenizers do.

    Parameters
    ----------
    text : str
        Free text.

    Returns
    -------
    list of str
        Words in the order of the text, repeats and case kept, already in the form of `index_text`:
        ``f'"{word}"'`` is an FTS5 phrase. A word is one token, save that a run of a script without
        spaces is one word with single spaces between its clusters (``天 気``): a phrase. Empty if
        nothing in the text can be searched.
    """
    if text.isascii():
        return _WORD.findall(text)
    found: list[str] = []
    for word in _WORD.findall(_prepare(text)):
        start = 0
        for run in _unspaced().run.finditer(word):
            found += [word[start : run.start()], _spaced(run[0]).strip()]
            start = run.end()
        found.append(word[start:])
    return [word for word in found if word]


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in the exact table, without asking FTS5.

    Two words are the same as written if their tokens are equal: equal after NFKC and simple case
    folding, accents literal. A query word with more than one token is a phrase.

    Parameters
    ----------
    text : str
        A stored text, a query word or a word of the vocabulary.

    Returns
    -------
    list of str
        Tokens in the order of the text, repeats kept.
    """
    text = index_text(text)
    return _WORD.findall(text.lower() if text.isascii() else "".join(map(_simple_fold, text)))


def has_unspaced(text: str) -> bool:
    """Tell whether a text has any letter of a script written without spaces (Han, Thai ...)."""
    return not text.isascii() and _unspaced().letter.search(text) is not None


def is_unspaced(word: str) -> bool:
    """Tell whether a word consists only of clusters of scripts written without spaces.

    Takes a word as typed (``天気``) or as `words` gives it (``天 気``). False for the empty word.
    """
    return has_unspaced(word) and _unspaced().run.fullmatch(word.replace(" ", "")) is not None
