"""Reads HTML as a browser would: what elements there are, and what text a person sees."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Elements with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.marked: list[str] = []
        self._parts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("br", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self._parts.append(data)
        if "mark" in self._open:
            self.marked.append(data)

    @property
    def text(self) -> str:
        """All text, in order."""
        return "".join(self._parts)

    @property
    def tags(self) -> set[str]:
        """Names of all elements."""
        return {tag for tag, _ in self.elements}
