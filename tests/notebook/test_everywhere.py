"""Every public call works where a notebook may make it: event loop, `async def`, threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import knowledge_nb as knb
from knowledge_nb.knowledge_base import KnowledgeBase

CALLS: dict[str, Callable[[KnowledgeBase], Any]] = {
    "index": lambda kb: kb.index(),
    "search": lambda kb: kb.search("door"),
    "enumerate": lambda kb: kb.enumerate("door"),
    "vocabulary": lambda kb: kb.vocabulary(),
    "kwic": lambda kb: kb.kwic("door"),
    "show": lambda kb: kb.show("a.md#0"),
    "sources": lambda kb: kb.sources(),
    "stats": lambda kb: kb.stats(),
    "chart": lambda kb: kb.enumerate("door").chart()._repr_png_(),
    "html": lambda kb: kb.search("door")._repr_html_(),
    "form": lambda kb: knb.SearchForm(kb).ask("door"),
    "explorer": lambda kb: knb.Explorer(kb).enumerate.ask("door"),
}


@pytest.fixture
def kb(kb_of: Callable[[dict[str, str]], KnowledgeBase]) -> KnowledgeBase:
    """A small corpus."""
    return kb_of({"a.md": "# Top\n\nA door.\n", "b.md": "Two doors.\n"})


@pytest.mark.parametrize("name", sorted(CALLS))
def test_inside_a_running_event_loop(kb: KnowledgeBase, name: str) -> None:
    """A cell of `async def`, and any cell: Jupyter runs them all inside a loop."""

    async def cell() -> Any:
        return CALLS[name](kb)

    asyncio.run(cell())


@pytest.mark.parametrize("name", sorted(CALLS))
def test_in_a_thread_of_a_loop(kb: KnowledgeBase, name: str) -> None:
    """`asyncio.to_thread`, as a notebook does not to block."""

    async def cell() -> Any:
        return await asyncio.to_thread(CALLS[name], kb)

    asyncio.run(cell())


def test_many_threads_at_once(kb: KnowledgeBase) -> None:
    """Readers in eight threads while one thread indexes; every answer is whole."""
    wrong: list[object] = []

    def ask(number: int) -> None:
        if len(kb.enumerate("door")) != 2 or len(kb.search("door")) != 2:
            wrong.append(number)

    with ThreadPoolExecutor(8) as pool:
        passes = [pool.submit(kb.index) for _ in range(1)]
        asked = [pool.submit(ask, number) for number in range(60)]
        for each in (*passes, *asked):
            each.result()
    assert wrong == []


def test_a_form_asked_from_a_thread_prints_nothing(
    kb: KnowledgeBase, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error in a thread is in the form, not on the terminal."""
    form = knb.EnumerateForm(kb)
    thread = threading.Thread(target=form.ask, args=("a OR b",))
    thread.start()
    thread.join()
    assert form.error is not None
    assert capfd.readouterr() == ("", "")


def test_two_kernels(kb: KnowledgeBase, tmp_path: Path) -> None:
    """A second handle on the store reads while the first writes, and sees what was committed."""
    with knb.open(tmp_path / "store") as other:
        (tmp_path / "corpus" / "c.md").write_text("door three")
        kb.index()
        assert len(other.enumerate("door")) == 3
