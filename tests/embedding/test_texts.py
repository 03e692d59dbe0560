"""What is done to a text before it is sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.embedding.protocol import DocumentText
from knowledge_nb.embedding.texts import (
    INPUT_BYTES,
    QUERY_CHARACTERS,
    is_blank,
    prepare_document,
    prepare_query,
)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\t\r", "\u200b\u200d\ufeff", "![]()", "---", "***", "\u3164", "\u00ad", "\ufe0f"],
)
def test_blank(text: str) -> None:
    """White space, zero-width characters, fillers and bare punctuation hold nothing (E13)."""
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " 7 ", "日", "ไม่", "→", "🦉", "½", "\u200bx"])
def test_not_blank(text: str) -> None:
    """One letter, number or symbol in any script is a text."""
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("prefix", "document", "sent"),
    [
        ("", DocumentText("Loans", "body"), "body"),
        ("passage: ", DocumentText("Loans", "body"), "passage: body"),
        ("title: {title} | text: ", DocumentText("A > B", "body"), "title: A > B | text: body"),
        ("title: {title} | text: ", DocumentText("", "body"), "title: none | text: body"),
        ("title: {title} | text: ", DocumentText(" \n", "body"), "title: none | text: body"),
        ("{title} {0} {}", DocumentText("{body}", "x"), "{body} {0} {}x"),
        ("{title}: ", DocumentText("Only a heading", " "), "Only a heading:  "),
    ],
)
def test_document_prefix(prefix: str, document: DocumentText, sent: str) -> None:
    """`{title}` becomes the breadcrumb, "none" without one; other braces are left alone."""
    prepared = prepare_document(document, prefix)
    assert prepared is not None
    assert (prepared.text, prepared.cut) == (sent, 0)


@pytest.mark.parametrize(
    ("prefix", "document"),
    [
        ("", DocumentText("Heading", " ")),
        ("passage: ", DocumentText("", "![]()")),
        ("title: {title} | text: ", DocumentText("", "\u200b")),
    ],
)
def test_blank_document_is_not_prepared(prefix: str, document: DocumentText) -> None:
    """A prefix alone does not make a text of a blank body."""
    assert prepare_document(document, prefix) is None


@given(st.text(max_size=8), st.integers(-3, 3), st.sampled_from(["a", "ü", "漢", "🦉"]))
def test_long_document_is_cut_between_characters(prefix: str, more: int, letter: str) -> None:
    """128 KiB of UTF-8 is the limit; no character is cut in two and every lost one is counted."""
    count = INPUT_BYTES // len(letter.encode()) + more
    prepared = prepare_document(DocumentText("", letter * count), prefix)
    assert prepared is not None
    size = len(prepared.text.encode())
    assert size <= INPUT_BYTES
    assert len(prepared.text) + prepared.cut == len(prefix) + count
    assert prepared.cut == 0 or size > INPUT_BYTES - 4


def test_long_query_is_cut() -> None:
    """8,192 characters of a query are kept, not counting the prefix; the rest is counted."""
    prepared = prepare_query("é" * (QUERY_CHARACTERS + 5), "query: ")
    assert prepared.text == "query: " + "é" * QUERY_CHARACTERS
    assert prepared.cut == 5


@given(st.text(st.characters(codec=None)))
def test_every_text_can_be_encoded(text: str) -> None:
    """Lone surrogates, as a shell may hand them over, become U+FFFD; all else is kept."""
    sent = prepare_query(text, "").text
    sent.encode()
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert sent == text
