"""Block structure of a Markdown document: what `chunk` may cut, and where the headings are.

The structure is CommonMark's with GitHub's tables, read with pyromark (pulldown-cmark) in one pass
over its events. All offsets are UTF-8 byte offsets into the text that was parsed. Events inside a
paragraph are looked at only where they can change the words of the text: where the block holds a
character reference, a tag that says how letters look, or a `*` between two word characters.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from typing import Any, cast

import pyromark

from knowledge_nb.indexing.split import OVERSIZED, Kind

_PARSER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES)

_REFERENCE = re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# The literal `*` comes first because the regex engine can then skip to it.
_STAR_IN_WORD = re.compile(rb"\*(?<=[0-9A-Za-z\x80-\xff;]\*)[*_]*+(?=[0-9A-Za-z\x80-\xff&])")
# Tags that say how letters look, without attributes, whose words would be lost. Not `sup`, which
# marks footnotes and powers, nor `br`: they part what stands on their two sides.
_LOOK_TAG = re.compile(
    rb"</?(?:b|big|del|em|i|ins|mark|s|small|strong|sub|tt|u|wbr)[ \t]*/?>", re.IGNORECASE
)
# HTML blocks in which `<b>` need not be a tag.
_NO_TAGS = re.compile(rb"[ \t>]*<(?:script|style|pre|textarea|!|\?)", re.IGNORECASE)
_ATX = re.compile(rb"#{1,6}(?![^ \t\n])")
_QUOTE_MARKS = re.compile(r"\n[ \t>]*")

Block = tuple[int, int, Kind]
"""Start, end (byte offsets) and kind of a block."""

Edit = tuple[int, int, str]
"""Start, end (byte offsets) and what stands there in the text as searched."""


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading.

    Attributes
    ----------
    level : int
        1 to 6.
    start, end : int
        The bytes of its lines, underline, line end and container marks before it included.
    depth : int
        How many block quotes and list items hold it.
    scope : int
        Where the innermost of them ends; -1 for a heading of the document.
    source, plain : str
        Its inline text as written and as searched, white space collapsed; may be empty.
    """

    level: int
    start: int
    end: int
    depth: int
    scope: int
    source: str
    plain: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What `parse` found.

    Attributes
    ----------
    blocks : list of Block
        In document order, not overlapping. Small lists and block quotes are one block; a large one
        is represented by the blocks inside it. Text that belongs to no block (link reference
        definitions, rules, the text of a tight list item) lies between them.
    headings : list of Heading
        In document order, those inside block quotes and list items included.
    edits : list of Edit
        In document order, not overlapping.
    """

    blocks: list[Block]
    headings: list[Heading]
    edits: list[Edit]


def parse(text: str, data: bytes) -> Outline:
    """Parse a Markdown document.

    Parameters
    ----------
    text : str
        The document: line ends ``\\n``, no byte-order mark, no front matter.
    data : bytes
        The same in UTF-8.

    Returns
    -------
    Outline
    """
    if "\f" in text or "\v" in text:
        # The parser takes them for white space after `#` and around an underline; CommonMark does
        # not. Any other control character of one byte leaves the offsets as they are.
        text = text.replace("\f", "\x01").replace("\v", "\x01")
    references = [m.span() for m in _REFERENCE.finditer(data)] if b"&" in data else []
    marked = [m.start() for m in _STAR_IN_WORD.finditer(data)] if b"*" in data else []
    if b"<" in data:
        marked += [m.start() for m in _LOOK_TAG.finditer(data)]
    watched = [*sorted([start for start, _ in references] + marked), len(data) + 1]
    watching = len(watched) > 1
    next_watched = 0

    blocks: list[Block] = []
    found: list[tuple[int, int, int, int, int]] = []
    code: list[tuple[int, int]] = []
    marks: list[tuple[int, int, bool]] = []
    containers: list[int] = []  # ends of the block quotes and list items around this place
    skip = 0  # events before this offset are inside a block that holds nothing of interest
    covered = 0  # blocks before this offset are inside a container that is one block

    events = cast(
        "Iterator[tuple[dict[str, Any] | str, dict[str, int]]]", _PARSER.events_with_range(text)
    )
    for event, where in events:
        start = where["start"]
        if start < skip or isinstance(event, str):
            continue
        tag = event.get("Start")
        if tag is None:
            if watching and "Code" in event:
                code.append((start, where["end"]))
            elif (
                watching
                and "InlineHtml" in event
                and _LOOK_TAG.fullmatch(data, start, where["end"])
            ):
                marks.append((start, where["end"], True))
            continue
        end = where["end"]
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name == "Paragraph":
            kind = Kind.PROSE
        elif name == "Item" or name == "BlockQuote" or name == "List":
            while containers and containers[-1] <= start:
                containers.pop()
            if name != "List":
                containers.append(end)
            if start >= covered and end - start <= OVERSIZED:
                blocks.append((start, end, Kind.WHOLE))
                covered = end
            continue
        elif name == "Heading":
            while containers and containers[-1] <= start:
                containers.pop()
            scope = containers[-1] if containers else -1
            found.append((int(tag["Heading"]["level"][1]), start, end, len(containers), scope))
            if start < covered:
                # The heading divides its container, which is then not one block.
                blocks[-1] = (blocks[-1][0], start, Kind.WHOLE)
                covered = 0
            kind = None
        elif name == "CodeBlock":
            kind = Kind.LINES if tag["CodeBlock"] == "Indented" else Kind.WHOLE
            if watching:
                code.append((start, end))
        elif name == "Table":
            kind = Kind.TABLE
        elif name == "HtmlBlock":
            kind = Kind.LINES
            if watching and not _NO_TAGS.match(data, start):
                marks += [(*m.span(), True) for m in _LOOK_TAG.finditer(data, start, end)]
        else:
            if watching and (name == "Emphasis" or name == "Strong"):
                width = 1 if name == "Emphasis" else 2
                marks.append((start, start + width, False))
                marks.append((end - width, end, False))
            continue
        if kind is not None and start >= covered:
            blocks.append((start, end, kind))
        while watched[next_watched] < start:
            next_watched += 1
        if watched[next_watched] >= end or name == "CodeBlock":
            skip = end

    edits = _edits(data, references, code, marks) if watching else []
    return Outline(blocks, _headings(data, found, edits), edits)


def apply(data: bytes, start: int, end: int, edits: list[Edit]) -> str:
    """Return the text of ``data[start:end]`` with the edits that lie inside it made."""
    if not edits:
        return data[start:end].decode()
    parts: list[str] = []
    for index in range(bisect_left(edits, (start, 0, "")), len(edits)):
        edit_start, edit_end, replacement = edits[index]
        if edit_start >= end:
            break
        parts += (data[start:edit_start].decode(), replacement)
        start = edit_end
    parts.append(data[start:end].decode())
    return "".join(parts)


def _headings(
    data: bytes, found: list[tuple[int, int, int, int, int]], edits: list[Edit]
) -> list[Heading]:
    headings = []
    previous = 0
    for level, start, end, depth, scope in found:
        first = data.rfind(b"\n", previous, start) + 1 or previous
        # `> ` or `- ` before it is part of the heading's line; `1. ` holds a word, and stays text.
        if data[first:start].strip(b" \t>*+-"):
            first = start
        if data[end - 1] != 10:
            line_end = data.find(b"\n", end)
            end = line_end + 1 if line_end >= 0 else len(data)
        inline_start, inline_end = _inline(data, start, end)
        source = data[inline_start:inline_end].decode()
        plain = apply(data, inline_start, inline_end, edits)
        if scope >= 0:
            source = _QUOTE_MARKS.sub("\n", source)
            plain = _QUOTE_MARKS.sub("\n", plain)
        headings.append(
            Heading(
                level, first, end, depth, scope, " ".join(source.split()), " ".join(plain.split())
            )
        )
        previous = end
    return headings


def _inline(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return where the inline text of the heading at ``data[start:end]`` starts and ends."""
    source = data[start:end].rstrip(b" \t\n")
    opening = _ATX.match(source)
    if opening is None:
        return start, start + max(source.rfind(b"\n"), 0)
    content = source[opening.end() :]
    without = content.rstrip(b"#")
    if not without or without[-1] in b" \t":
        content = without
    start += opening.end()
    return start, start + len(content)


def _edits(
    data: bytes,
    references: list[tuple[int, int]],
    code: list[tuple[int, int]],
    marks: list[tuple[int, int, bool]],
) -> list[Edit]:
    """What to change: references decoded; tags, and emphasis marks inside a word, taken out.

    `marks` are start, end and whether it is a tag.
    """
    edits: list[Edit] = []
    spans = iter([*code, (len(data) + 1, len(data) + 1)])
    code_start, code_end = next(spans)
    for start, end in references:
        while code_end <= start:
            code_start, code_end = next(spans)
        if code_start <= start:
            continue
        before = data[max(0, start - 64) : start]
        if (len(before) - len(before.rstrip(b"\\"))) % 2:
            continue
        written = data[start:end].decode()
        if written[1] != "#" and written[1:] not in html5:
            continue
        meant = html.unescape(written)
        if meant:
            edits.append((start, end, meant))
    if not marks:
        return edits

    ends = {end: meant[-1] for _, end, meant in edits}
    starts = {start: meant[0] for start, _, meant in edits}
    marks.sort()
    removed: list[Edit] = []
    run = [marks[0]]  # marks without anything between them
    for mark in [*marks[1:], (len(data) + 2, len(data) + 2, False)]:
        if mark[0] == run[-1][1]:
            run.append(mark)
            continue
        run_start, run_end = run[0][0], run[-1][1]
        before_run = ends.get(run_start) or _character_before(data, run_start)
        after_run = starts.get(run_end) or _character_at(data, run_end)
        if _is_word(before_run) and _is_word(after_run):
            removed.append((run_start, run_end, ""))
        else:
            removed += [(start, end, "") for start, end, tag in run if tag]
        run = [mark]
    return sorted(edits + removed)


def _character_before(data: bytes, offset: int) -> str:
    start = offset - 1
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    return data[max(start, 0) : offset].decode()


def _character_at(data: bytes, offset: int) -> str:
    return data[offset : offset + 4].decode(errors="ignore")[:1]


def _is_word(character: str) -> bool:
    if not character:
        return False
    category = unicodedata.category(character)
    return category[0] in "LN" or category in ("Mn", "Mc", "Co")
