"""HTML made here: everything from the corpus escaped, no link, no script, no style of its own.

All of it is inert in JupyterLab, Notebook 7, VS Code and Voila: elements carry inline styles only,
with colours from the viewer's theme, and the classes that keep MathJax from reading a document's
dollar signs as formulas (a formula can hold a link).
"""

from __future__ import annotations

import html
import re

# C0 but tab and line feed, DEL, C1, and the characters that reorder the text around them: a file
# name must not read backwards, and a terminal sequence must not hide.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CODE = re.compile("`([^`]+)`")

LONG = 160  # characters of a text that has one line to stand in

NO_MATH = "tex2jax_ignore mathjax_ignore"

TEXT = "var(--jp-content-font-color1, var(--vscode-foreground, inherit))"
DIM = "var(--jp-content-font-color2, var(--vscode-descriptionForeground, inherit))"
LINE = "var(--jp-border-color1, rgba(128, 128, 128, 0.45))"
FAINT = "rgba(128, 128, 128, 0.10)"
MONO = "var(--jp-code-font-family, monospace)"
MARK = f"background: rgba(255, 193, 7, 0.38); color: {TEXT}; border-radius: 2px; padding: 0 1px"
TONES = {
    "plain": "rgba(128, 128, 128, 0.55)",
    "good": "rgba(46, 160, 67, 0.9)",
    "warn": "rgba(230, 140, 0, 0.95)",
    "bad": "rgba(218, 54, 51, 0.95)",
}


def visible(text: str) -> str:
    """Text in which what is invisible and would change its reading is named: ``⟨U+202E⟩``."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def escape(text: object) -> str:
    """A text as HTML, for content and attribute values alike."""
    return html.escape(visible(str(text)), quote=True)


def cut(text: str, most: int = LONG) -> str:
    """A text as HTML; the rest of a longer one is in reach by pointing at it."""
    if len(text) <= most:
        return escape(text)
    return element("span", escape(text[: most - 1]) + "…", title=text)


def prose(text: str) -> str:
    """One of our sentences as HTML: what stands between backticks is set as code."""
    style = f"font-family: {MONO}; font-size: 0.95em; background: {FAINT}; padding: 0 2px"
    return _CODE.sub(lambda found: f'<code style="{style}">{found[1]}</code>', escape(text))


def element(name: str, content: str, style: str = "", **attributes: str) -> str:
    """An element around HTML; attribute values are escaped, `_` in their names is `-`."""
    parts = [name]
    if style:
        parts.append(f'style="{style}"')
    parts += [
        f'{key.strip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    ]
    return f"<{' '.join(parts)}>{content}</{name}>"


def page(content: str) -> str:
    """The outermost element of everything shown."""
    return element(
        "div",
        content,
        f"color: {TEXT}; max-width: 100%; overflow-wrap: anywhere; line-height: 1.4",
        class_=NO_MATH,
    )


def details(summary: str, content: str, *, opened: bool = False) -> str:
    """A part to open; `summary` and `content` are HTML."""
    head = element("summary", summary, "cursor: pointer")
    style = "margin: 2px 0"
    start = f'<details style="{style}"{" open" if opened else ""}>'
    return f"{start}{head}{content}</details>"


def scrolling(content: str, lines: int) -> str:
    """HTML that takes a few lines at most; what is longer scrolls."""
    return element("div", content, f"max-height: {1.45 * lines:.2f}em; overflow: auto")


def box(content: str, tone: str = "plain", role: str = "") -> str:
    """A block with a coloured edge; `role` is an ARIA role."""
    style = (
        f"border-left: 4px solid {TONES[tone]}; background: {FAINT}; padding: 4px 10px;"
        " margin: 2px 0 6px 0; line-height: 1.45"
    )
    return element("div", content, style, **({"role": role} if role else {}))
