"""Cut a document into chunks: one section each, packed toward 1,200 bytes.

Nothing is lost and nothing doubled: the bodies are slices of the text, in order, and all that lies
between them is headings and white space. A cut is made between blocks; inside an oversized block
at the ends of items, lines or sentences, else at white space, else between two letters of a script
that writes no spaces, and never inside a word or a fenced code block.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from knowledge_nb.indexing import markdown as md
from knowledge_nb.indexing.markdown import Block, Edit, Heading
from knowledge_nb.indexing.split import TARGET, Kind, line_end, split

FRONT_MATTER_LIMIT = 65_536
"""Characters that front matter may have; else its first line is a mere rule."""

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[ \t]*[^ \t\n])")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_BLANK_LINES = re.compile(rb"\n(?:[ \t\x0b\x0c]*+\n)+")


@dataclass(frozen=True, slots=True)
class ChunkText:
    """One chunk of a document.

    Attributes
    ----------
    headings : tuple of str
        The headings above it, outermost first: inline text as written, white space collapsed.
    headings_plain : tuple of str
        The same as searched (see `plain`).
    body : str
        An exact slice of the text (see `normalise`), without blank lines around it. Empty for a
        heading that has neither text nor a section below it.
    plain : str
        The body as searched: character references outside code decoded; emphasis marks inside a
        word, and tags that say how letters look, removed. The same object as `body` when nothing
        changes.
    opens : int
        How many of the headings, counted from the innermost, no earlier chunk has carried.
    continues : bool
        Whether its text goes on where that of the chunk before it ended, in the same section.
    first_line, last_line : int
        Lines of the file, from 1: those of the body and of the headings that it opens.
    """

    headings: tuple[str, ...]
    headings_plain: tuple[str, ...]
    body: str
    plain: str
    opens: int
    continues: bool
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """A document in chunks.

    Attributes
    ----------
    title : str
        The first heading that has text, as searched; else empty.
    chunks : tuple of ChunkText
        In document order; none for a document without text.
    """

    title: str
    chunks: tuple[ChunkText, ...]


def decode_source(data: bytes) -> str:
    """Decode a file: UTF-8, with or without byte-order mark.

    Raises
    ------
    UnicodeDecodeError
        The bytes are not UTF-8.
    """
    return data.decode("utf-8-sig")


def normalise(text: str) -> str:
    """Return the text that bodies are slices of.

    A byte-order mark is dropped, every line end (CRLF, CR) becomes ``\\n``, so that line numbers
    stay those of the file, and NUL becomes a space.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", " ")


def chunk_text(text: str, *, markdown: bool) -> ChunkedText:
    """Cut a document into chunks.

    Parameters
    ----------
    text : str
        The document, as `decode_source` returns it.
    markdown : bool
        Whether it is Markdown. Plain text has no headings; its paragraphs end at blank lines.

    Returns
    -------
    ChunkedText

    Raises
    ------
    UnicodeEncodeError
        The text holds a lone surrogate. Text decoded from a file never does.

    Notes
    -----
    A heading inside a block quote or a list item stands below the headings around it, whatever its
    level, and holds until its container ends; the text after it belongs to the outer section again.
    A heading without text ends the sections of its level and adds nothing to the breadcrumb.
    """
    text = normalise(text)
    packer = _Packer()
    if not markdown:
        data = text.encode()
        packer.begin(data, _paragraphs(data), [])
        packer.piece(0, len(data))
        return ChunkedText("", tuple(packer.chunks))
    cut = _front_matter(text)
    if cut:
        packer.begin(text[:cut].encode(), [], [])
        packer.piece(0, len(packer.data))
        text = text[cut:]
    data = text.encode()
    outline = md.parse(text, data)
    packer.begin(data, outline.blocks, outline.edits)
    packer.sections(outline.headings)
    title = next((heading.plain for heading in outline.headings if heading.plain), "")
    return ChunkedText(title, tuple(packer.chunks))


def headings_of(text: str) -> list[tuple[int, str, int]]:
    """Return level, text as written and first line (from 1) of each heading of a Markdown text."""
    text = normalise(text)
    cut = _front_matter(text)
    line = 1 + text.count("\n", 0, cut)
    text = text[cut:]
    data = text.encode()
    headings = []
    previous = 0
    for heading in md.parse(text, data).headings:
        line += data.count(b"\n", previous, heading.start)
        previous = heading.start
        headings.append((heading.level, heading.source, line))
    return headings


def _front_matter(text: str) -> int:
    """Return where the YAML front matter ends, 0 where there is none."""
    opening = _FRONT_MATTER.match(text)
    if opening is None:
        return 0
    closing = _FRONT_MATTER_END.search(text, opening.end())
    return closing.end() if closing and closing.end() <= FRONT_MATTER_LIMIT else 0


def _paragraphs(data: bytes) -> list[Block]:
    blocks = []
    start = 0
    for gap in _BLANK_LINES.finditer(data):
        blocks.append((start, gap.start() + 1, Kind.PROSE))
        start = gap.end()
    if start < len(data):
        blocks.append((start, len(data), Kind.PROSE))
    return blocks


class _Packer:
    """Builds the chunks of one document, in one walk from its start to its end."""

    def __init__(self) -> None:
        self.chunks: list[ChunkText] = []
        self.data = b""
        self._line = 1  # the line of `_counted`, an offset into `data`
        self._counted = 0
        self._stack: list[Heading] = []
        self._crumbs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._unopened = 0

    def begin(self, data: bytes, blocks: list[Block], edits: list[Edit]) -> None:
        """Go on with the next part of the document, parsed on its own."""
        self._line += self.data.count(b"\n", self._counted)
        self._counted = 0
        self.data = data
        self._blocks = blocks
        self._next_block = 0
        self._edits = edits

    def sections(self, headings: list[Heading]) -> None:
        """Pack the text between the headings."""
        position = 0
        for heading in headings:
            position = self._leave_containers(position, heading.start)
            self.piece(position, heading.start, nested=heading.depth > 0)
            self._open(heading)
            position = heading.end
        position = self._leave_containers(position, len(self.data))
        self.piece(position, len(self.data))
        self._close(0)

    def piece(self, start: int, end: int, *, nested: bool = False) -> None:
        """Pack one stretch of text without a heading in it."""
        if start >= end or (
            (nested or (self._stack and self._stack[-1].depth))
            and not self.data[start:end].strip(b" \t\n>")
        ):
            return
        continues = False
        chunk_start = chunk_end = -1
        for unit_start, unit_end in self._units(start, end):
            if chunk_start < 0:
                chunk_start = unit_start
            elif unit_end - chunk_start > TARGET:
                continues |= self._emit(chunk_start, chunk_end, continues)
                chunk_start = unit_start
            chunk_end = unit_end
        if chunk_start >= 0:
            self._emit(chunk_start, chunk_end, continues)

    def _leave_containers(self, position: int, end: int) -> int:
        """Close the containers that end before `end`; return where the text is to go on."""
        while self._stack and 0 <= (scope := self._stack[-1].scope) <= end:
            if scope > position:
                scope = line_end(self.data, scope, end)
                self.piece(position, scope)
                position = scope
            depth = len(self._stack)
            while depth and 0 <= self._stack[depth - 1].scope <= position:
                depth -= 1
            self._close(depth)
        return position

    def _open(self, heading: Heading) -> None:
        depth = len(self._stack)
        while (
            depth
            and self._stack[depth - 1].depth == heading.depth
            and self._stack[depth - 1].level >= heading.level
        ):
            depth -= 1
        self._close(depth)
        if heading.source:
            self._stack.append(heading)
            self._unopened += 1
            sources, plains = self._crumbs
            self._crumbs = ((*sources, heading.source), (*plains, heading.plain))

    def _close(self, depth: int) -> None:
        """Drop the headings deeper than `depth`, after a chunk for those that no chunk carries."""
        if depth == len(self._stack):
            return
        if self._unopened:
            self._append("", "", False, self._stack[-1].start, self._stack[-1].end)
        del self._stack[depth:]
        self._crumbs = (self._crumbs[0][:depth], self._crumbs[1][:depth])

    def _units(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts that a chunk is packed from; they cover ``data[start:end]``."""
        data, blocks = self.data, self._blocks
        while self._next_block < len(blocks):
            block_start, block_end, kind = blocks[self._next_block]
            if block_start >= end:
                break
            self._next_block += 1
            if block_end <= start:
                continue
            line_start = data.rfind(b"\n", start, block_start) + 1 or start
            if line_start > start and data[start:line_start].strip():
                yield from split(data, start, line_start, Kind.LINES)
            block_end = line_end(data, block_end, end)
            yield from split(data, line_start, block_end, kind)
            start = block_end
        if start < end and data[start:end].strip():
            yield from split(data, start, end, Kind.LINES)

    def _emit(self, start: int, end: int, continues: bool) -> bool:
        text = self.data[start:end]
        end -= len(text) - len(text.rstrip())
        first = start + len(text) - len(text.lstrip())
        start = self.data.rfind(b"\n", start, first) + 1 or start
        body = self.data[start:end].decode()
        if not body or body.isspace():
            return False
        plain = body
        if self._edits:
            plain = md.apply(self.data, start, end, self._edits)
            if plain == body:
                plain = body
        self._append(body, plain, continues, start, end)
        return True

    def _append(self, body: str, plain: str, continues: bool, start: int, end: int) -> None:
        if self._unopened:
            start = self._stack[-self._unopened].start
        self._line += self.data.count(b"\n", self._counted, start)
        first_line = self._line
        last = end - 1 if self.data[end - 1] == 10 else end
        self._line += self.data.count(b"\n", start, last)
        self._counted = last
        self.chunks.append(
            ChunkText(*self._crumbs, body, plain, self._unopened, continues, first_line, self._line)
        )
        self._unopened = 0
