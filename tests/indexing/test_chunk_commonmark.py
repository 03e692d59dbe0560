"""Headings against markdown-it-py, an independent implementation of CommonMark."""

import re
import sysconfig
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_nb.indexing.chunk import chunk_text, headings_of, normalise

FILES_PER_PLACE = 150
LARGEST = 256 * 1024  # bytes; markdown-it-py reads about 1 MB a second

_CHECKOUT = Path(__file__).resolve().parents[2]
_ORACLE = MarkdownIt("commonmark", {"maxNesting": 1_000})
_SUFFIXES = (".md", ".markdown")


def _expected(text: str) -> list[tuple[int, str, int]]:
    text = normalise(text)
    front = re.match(r"---[ \t]*\n(?![ \t]*\n)(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", text)
    cut = front.end() if front else 0
    line = 1 + text.count("\n", 0, cut)
    tokens = _ORACLE.parse(text[cut:])
    return [
        (int(opening.tag[1]), " ".join(inline.content.split()), line + (opening.map or [0])[0])
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open"
    ]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file() and path.stat().st_size <= LARGEST:
            yield path


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(Path(sysconfig.get_path("purelib")), id="installed packages"),
        pytest.param(Path("/usr/share/doc"), id="system documentation"),
        pytest.param(_CHECKOUT / "data", id="handbook"),
        pytest.param(_CHECKOUT.parent / "shared" / "corpora", id="corpora"),
    ],
)
def test_headings_of_real_files(folder: Path) -> None:
    """On real files level, text and line of every heading are those of markdown-it-py."""
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    files = list(islice(_files(folder), FILES_PER_PLACE))
    if not files:
        pytest.skip(f"no Markdown file in {folder}")
    for path in files:
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
        assert headings_of(text) == _expected(text), path


# Left out: tables, which are GitHub's, and text right below a link definition, where the parsers
# disagree on what follows (pyromark is with cmark: a definition is the start of a paragraph).
_PIECES = st.sampled_from(
    [
        *["# ", "##", "###### ", "#", "- ", "* ", "+ ", "1. ", "> ", ">", "    ", "  ", "\t", "\n"],
        *["\n", "\n\n", "\r\n", "```", "~~~", "````", "===", "=", "---", "-", "***", "a", "word"],
        *[
            "\n\n[x]: /u\n\n",
            "[x]",
            "`",
            "*",
            "_",
            "<div>",
            "</div>",
            "<!--",
            "-->",
            "<pre>",
            "<b>",
        ],
        *["&amp;", "\\", "é", "漢", "\f", "\v", "\u2028", "\u00a0", "---\na: b\n---\n"],
    ]
)


def _made_up(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    texts = st.lists(pieces, max_size=40).map("".join)
    # Right below a block quote markdown-it-py takes `    >`, which is code, for a block quote.
    return texts.filter(lambda text: not re.search(r"(?: {4}|\t) *>", text))


@settings(deadline=None, max_examples=400)
@given(_made_up(_PIECES))
@example("| a\n---\n")
@example("> a\nb\n===\n")
@example("- - # A\n  - # B\n")
def test_headings_of_made_up_text(text: str) -> None:
    """On any mixture of marks the headings, and their lines, are those of markdown-it-py."""
    assert headings_of(text) == _expected(text)


def _expected_paths(text: str) -> list[tuple[str, ...]]:
    """Return the breadcrumb of each heading that has text, by the nesting of its containers."""
    paths: list[tuple[str, ...]] = []
    scopes: list[list[tuple[int, str]]] = [[]]
    tokens = _ORACLE.parse(normalise(text))
    for opening, inline in pairwise(tokens):
        if opening.type in ("blockquote_open", "list_item_open"):
            scopes.append([])
        elif opening.type in ("blockquote_close", "list_item_close"):
            scopes.pop()
        elif opening.type == "heading_open":
            level, source = int(opening.tag[1]), " ".join(inline.content.split())
            scope = scopes[-1]
            while scope and scope[-1][0] >= level:
                scope.pop()
            if source:
                scope.append((level, source))
                paths.append(tuple(heading for scope in scopes for _, heading in scope))
    return paths


_NESTED = st.sampled_from(
    [
        *["# a\n", "## b\n", "### c\n", "## d\n", "#\n", "e\n", "e\n===\n", "\n", "\n\n", "```\n"],
        *["> ", "> ", "- ", "- ", "1. ", "   ", "  "],
    ]
)


@settings(deadline=None, max_examples=400)
@given(_made_up(_NESTED))
@example("- # A\n  > # B\n  > b")
@example("> # a\n\n- > ## b\n\n  # c\n\n# d\n")
def test_breadcrumbs_of_nested_headings(text: str) -> None:
    """Every heading is opened under those of its own container and of the ones around it."""
    paths = [
        chunk.headings[: len(chunk.headings) - rest]
        for chunk in chunk_text(text, markdown=True).chunks
        for rest in reversed(range(chunk.opens))
    ]
    assert paths == _expected_paths(text)
