"""What holds for every document: nothing lost, nothing doubled, everything in its place."""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_nb.indexing.chunk import ChunkText, chunk_text, headings_of, normalise
from knowledge_nb.indexing.split import OVERSIZED
from knowledge_nb.text import index_text

_WORDS = st.sampled_from(
    [
        *["alpha", "beta", "Größe", "naïve", "e\u0301te\u0323", "слово", "λόγος", "שלום", "كتاب"],
        *["हिन्दी", "한국어", "snake_case", "x1", "漢字かな交じり文", "ภาษาไทยน้ำ", "ខ្មែរ", "မြန်မာ"],
        *["abc漢字def", "👩\u200d👧", "❤\ufe0f", "…", "—", "https://example.org/a/b?c=d"],
        *["w" * 1_700, "日本語の文章" * 120],
    ]
)
_SENTENCE = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(_WORDS, min_size=1, max_size=12),
    st.sampled_from([".", "!", "?", "。", "", ",", "\n", ".\n"]),
)
_PROSE = st.builds(
    lambda sentences, times: " ".join(sentences * times),
    st.lists(_SENTENCE, min_size=1, max_size=6),
    st.integers(1, 12),
)
_LINES = st.lists(st.builds(" ".join, st.lists(_WORDS, min_size=1, max_size=5)), max_size=40)


def _prefixed(prefix: str) -> st.SearchStrategy[str]:
    return _LINES.map(lambda lines: "\n".join(prefix + line for line in lines))


_BLOCK = st.one_of(
    _PROSE,
    st.builds(
        lambda level, text: f"{'#' * level} {text}",
        st.integers(1, 6),
        st.builds(" ".join, st.lists(_WORDS, max_size=4)),
    ),
    st.builds("{}\n{}".format, _SENTENCE, st.sampled_from(["===", "---"])),
    st.builds("{0}\n{1}\n{0}".format, st.sampled_from(["```", "~~~~"]), _prefixed("# ")),
    st.sampled_from(["- ", "1. ", "> ", "    ", "> - ", "[r]: /", "- # ", "> ## "]).flatmap(
        _prefixed
    ),
    _LINES.map(lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | x |" for row in rows)),
    st.builds("<div>\n{}\n</div>".format, _PROSE),
    st.builds("<!-- {} -->".format, _PROSE),
    st.sampled_from(["---", "```", "> # Q\n> text\n\nlazy", "- a\n\n  # L\n\n  b\n- c", "#", ""]),
)
_DOCUMENT = st.builds(
    lambda front, blocks, gap: front + gap.join(blocks),
    st.sampled_from(["", "", "\ufeff", "---\ntitle: of it\n---\n", "---\n\n"]),
    st.lists(_BLOCK, max_size=12),
    st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \n\n"]),
)
_SOUP = st.text(
    st.sampled_from([*"#>-*_`~=|[]()<>!&;:\\.0 \t\n\r\0aé漢ไ", "\u0301", "\u200d", "\u0e49"]),
    max_size=200,
)
_ANY_TEXT = st.one_of(
    _DOCUMENT, _SOUP, st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
)

_connection = apsw.Connection(":memory:")
_tokenizer = _connection.fts5_tokenizer(
    "unicode61", ["remove_diacritics", "0", "categories", "L* N* Co Mn Mc"]
)


def _tokens(text: str) -> Counter[str]:
    data = index_text(text).encode()
    found = _tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return Counter(str(token) for tokens in found for token in tokens)


def _opened(chunk: ChunkText) -> tuple[str, ...]:
    return chunk.headings[len(chunk.headings) - chunk.opens :]


@settings(deadline=None)
@given(_ANY_TEXT, st.booleans())
def test_tokens_of_the_chunks_are_those_of_the_document(text: str, markdown: bool) -> None:
    """Every token of the document is in exactly one body, or in a heading that is opened once."""
    found: Counter[str] = Counter()
    for chunk in chunk_text(text, markdown=markdown).chunks:
        for part in (chunk.body, *_opened(chunk)):
            found += _tokens(part)
    assert found == _tokens(normalise(text))


def _places(source: str, chunks: tuple[ChunkText, ...]) -> Iterator[tuple[ChunkText, int]]:
    """Yield each chunk that has a body, and where in the source it starts."""
    lines = source.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    position = 0
    for chunk in chunks:
        if chunk.body:
            first = chunk.last_line - chunk.body.count("\n")
            start = source.index(chunk.body, max(position, starts[first - 1]))
            assert start < starts[first]
            yield chunk, start
            position = start + len(chunk.body)


@settings(deadline=None)
@given(_ANY_TEXT, st.booleans())
def test_bodies_are_slices_in_order(text: str, markdown: bool) -> None:
    """Each body is a slice of the text after the one before, on the lines that the chunk names."""
    source = normalise(text)
    chunks = chunk_text(text, markdown=markdown).chunks
    assert [chunk for chunk, _ in _places(source, chunks)] == [c for c in chunks if c.body]
    last = 0
    for chunk in chunks:
        assert last <= chunk.last_line <= source.count("\n") + 1
        assert 1 <= chunk.first_line <= chunk.last_line
        assert chunk.body.strip() or (_opened(chunk) and not chunk.body)
        assert chunk.opens or chunk.last_line - chunk.first_line == chunk.body.count("\n")
        last = chunk.last_line


@settings(deadline=None)
@given(_ANY_TEXT)
def test_every_heading_is_opened_once(text: str) -> None:
    """The opened headings, chunk after chunk, are the headings of the document that have text."""
    result = chunk_text(text, markdown=True)
    opened = [heading for chunk in result.chunks for heading in _opened(chunk)]
    assert opened == [source for _, source, _ in headings_of(text) if source]
    for chunk in result.chunks:
        assert len(chunk.headings) == len(chunk.headings_plain)
        assert chunk.opens <= len(chunk.headings)
        assert not (chunk.continues and chunk.opens)


@settings(deadline=None)
@given(_ANY_TEXT, st.booleans())
def test_a_continuing_chunk_leaves_out_white_space_only(text: str, markdown: bool) -> None:
    """Between a chunk and the one that continues it there is nothing but white space."""
    source = normalise(text)
    end = 0
    for chunk, start in _places(source, chunk_text(text, markdown=markdown).chunks):
        if chunk.continues:
            assert not source[end:start].strip()
        end = start + len(chunk.body)


@settings(deadline=None)
@given(_ANY_TEXT, st.booleans())
def test_same_text_same_chunks(text: str, markdown: bool) -> None:
    """Chunking is deterministic, and blind to how lines end."""
    result = chunk_text(text, markdown=markdown)
    assert chunk_text(text, markdown=markdown) == result
    assert chunk_text(normalise(text), markdown=markdown) == result
    assert chunk_text(normalise(text).replace("\n", "\r\n"), markdown=markdown) == result


@settings(deadline=None)
@given(st.lists(_SENTENCE.filter(lambda s: "w" * 1_700 not in s), min_size=1, max_size=80))
def test_plain_text_chunks_are_small(sentences: list[str]) -> None:
    """Text whose words are shorter than the limit makes no chunk above the limit."""
    for chunk in chunk_text(" ".join(sentences), markdown=False).chunks:
        assert len(chunk.body.encode()) <= OVERSIZED
