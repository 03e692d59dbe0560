"""What comes from the corpus is inert wherever it is shown."""

from __future__ import annotations

import re

import pytest

from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.forms.enumerate import EnumerateForm, KwicForm
from knowledge_nb.notebook.forms.parts import copyable
from knowledge_nb.notebook.forms.search import SearchForm
from knowledge_nb.notebook.forms.vocabulary import VocabularyForm
from knowledge_nb.notebook.html import NO_MATH, escape, page, prose, visible
from tests.notebook import hostile
from tests.notebook.reading import Page

OURS = {
    *("div", "span", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "em", "bdi", "mark"),
    *("details", "summary", "code", "pre", "br", "wbr"),
}
ATTRIBUTES = {"style", "class", "role", "scope", "title", "aria-label", "tabindex", "open"}


def assert_inert(html: str, *, buttons: bool = False) -> None:
    """Only our elements, no event handler but the one constant, no address anywhere."""
    read = Page(html)
    assert read.tags <= (OURS | {"button"} if buttons else OURS)
    for tag, attributes in read.elements:
        if tag == "button":
            assert set(attributes) == {"type", "data-copy", "style", "onclick"}
            assert attributes["onclick"] == Page(copyable("x", "y")).elements[-1][1]["onclick"]
        else:
            assert set(attributes) <= ATTRIBUTES
        assert "url(" not in attributes.get("style", "")
        assert "position" not in attributes.get("style", "")


@pytest.mark.parametrize("verb", ["search", "enumerate", "kwic", "vocabulary", "show", "sources"])
def test_frames_of_hostile_documents(tricks: KnowledgeBase, verb: str) -> None:
    """Every verb shows them as text, outside the reach of MathJax."""
    frame = {
        "search": lambda: tricks.search("lantern onerror", k=50),
        "enumerate": lambda: tricks.enumerate("lantern"),
        "kwic": lambda: tricks.kwic("lantern"),
        "vocabulary": lambda: tricks.vocabulary(),
        "show": lambda: tricks.show("script.md"),
        "sources": lambda: tricks.sources(),
    }[verb]()
    html = frame._repr_html_()
    assert_inert(html)
    assert dict(Page(html).elements[:1])["div"]["class"] == NO_MATH
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\x07]", html)


def test_forms_over_hostile_documents(tricks: KnowledgeBase) -> None:
    """Rows, texts, notes and calls of every form are as inert; names of buttons are plain text."""
    forms = [SearchForm(tricks), EnumerateForm(tricks), KwicForm(tricks)]
    for form in forms:
        form.ask("lantern <img src=x onerror=1>" if isinstance(form, SearchForm) else "lantern")
        assert form.error is None
        for button, cell in zip(form._rows._buttons, form._rows._cells, strict=True):
            assert_inert(cell.value)
            assert "\u202e" not in button.description + (button.tooltip or "")
            button.click()
            assert form.error is None
            assert_inert(form._view._title.value, buttons=True)
            assert_inert(form._view._text.value)
        assert_inert(form._banner.value)
        assert_inert(form._call.value, buttons=True)
    form = EnumerateForm(tricks)
    form.ask(hostile.TEXTS["onerror"])
    assert_inert(form._message.value)
    words = VocabularyForm(tricks)
    words.ask("onerror")
    words._rows._buttons[0].click()
    assert_inert(words._view._title.value, buttons=True)


def test_an_error_text_is_escaped(tricks: KnowledgeBase) -> None:
    """An error that quotes a document or a query is shown as text."""
    form = SearchForm(tricks)
    form.under.value = "<script>x</script>"
    form.ask("lantern")
    assert_inert(form._message.value + form._banner.value)


def test_what_would_mislead_the_eye_is_named() -> None:
    """Controls and reordering characters are named; other scripts and joiners stay."""
    assert visible("a\u202eb\x1bc\x00") == "a⟨U+202E⟩b⟨U+001B⟩c⟨U+0000⟩"
    kept = "Ärger\tתל אביב क्\u200dष\nline"
    assert visible(kept) == kept
    assert "\ud800" not in escape("\ud800")


def test_prose_marks_code_and_escapes() -> None:
    """Backticks are code; what stands between them is escaped."""
    assert Page(prose("run `a <b>` now")).text == "run a <b> now"
    assert Page(prose("`<script>`")).tags == {"code"}


def test_copyable_carries_the_text_as_it_is() -> None:
    """The copied text is verbatim, whatever it holds; the shown one names what is hidden."""
    text = "a \"b\" 'c' <d> & \u202ee\nf`);alert(1)//"
    read = Page(copyable(text, "Copy"))
    assert read.elements[-1][1]["data-copy"] == text
    assert "\u202e" not in read.text


def test_a_page_is_out_of_reach_of_formulas() -> None:
    """MathJax would turn two prices into a formula, and a formula can hold a link."""
    assert Page(page("$1 and $2")).elements[0][1]["class"] == "tex2jax_ignore mathjax_ignore"
