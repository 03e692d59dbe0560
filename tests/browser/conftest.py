"""A real Chromium, a real JupyterLab, and the promise that no request leaves the machine.

Where one of them is missing the tests are skipped with the reason. That is a failure where the
environment has KNOWLEDGE_NB_BROWSER=required, as `.ci/run` does.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.lab import (
    CHROMIUM,
    FLAGS,
    Notebook,
    Server,
    lab,
    notebook_seven,
    settings,
    voila,
)
from tests.conftest import HANDBOOK


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a browser test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def missing() -> str:
    """What a browser test needs and this machine has not; "" when it has all."""
    if not CHROMIUM.exists():
        return f"no Chromium at {CHROMIUM} (Debian: apt-get install chromium)"
    for name in ("playwright", "jupyterlab", "notebook", "voila", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            return f"no {name} (pip install 'knowledge-nb[browser]')"
    return ""


@pytest.fixture(scope="session", autouse=True)
def needed() -> None:
    """Skip, or fail where the tests are required."""
    reason = missing()
    if reason and os.environ.get("KNOWLEDGE_NB_BROWSER") == "required":
        pytest.fail(f"browser tests are required and cannot run: {reason}")
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium(needed: None) -> Iterator[Any]:
    """One browser for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(needed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for all tests; its root also holds the handbook's store."""
    import knowledge_nb as knb

    root = tmp_path_factory.mktemp("root")
    with knb.open(root / "handbook-store") as kb:
        kb.index(HANDBOOK)
    running = lab(tmp_path_factory.mktemp("home"), root)
    yield running
    running.close()


@pytest.fixture(scope="session")
def notebook_server(needed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Notebook 7."""
    home, root = tmp_path_factory.mktemp("seven-home"), tmp_path_factory.mktemp("seven-root")
    running = notebook_seven(home, root)
    yield running
    running.close()


@pytest.fixture(scope="session")
def voila_server(needed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Voila."""
    running = voila(tmp_path_factory.mktemp("voila-home"), tmp_path_factory.mktemp("voila-root"))
    yield running
    running.close()


# Voila's page template asks for these whatever it shows; here the name does not resolve.
VOILAS_OWN = frozenset(
    f"https://cdn.jsdelivr.net/npm/@fortawesome/fontawesome-free@%5E5/css/{name}.min.css"
    for name in ("all", "v4-shims")
)


def outside(asked: Iterable[str]) -> set[str]:
    """Those addresses that are not on this machine."""
    return {
        url
        for url in asked
        if urlsplit(url).scheme not in ("data", "blob", "about")
        and urlsplit(url).hostname != "127.0.0.1"
    }


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open pages of a width; afterwards, no request of any of them may have left the machine."""
    contexts: list[Any] = []
    asked: list[str] = []

    def opener(width: int = 1000, height: int = 1200) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.set_default_timeout(20_000)
        return page

    yield opener
    for context in contexts:
        context.close()
    assert asked, "no page was opened"
    assert outside(asked) <= VOILAS_OWN


@pytest.fixture
def notebook(open_page: Callable[..., Any], server: Server) -> Iterator[Notebook]:
    """A page on JupyterLab in the light theme; its kernel ends with the test."""
    settings(server.home, dark=False)
    notebook = Notebook(open_page(), server)
    yield notebook
    notebook.shut_down()


@pytest.fixture
def dark_notebook(open_page: Callable[..., Any], server: Server) -> Iterator[Notebook]:
    """The same in the dark theme, 800 pixels wide."""
    settings(server.home, dark=True)
    notebook = Notebook(open_page(width=800), server)
    yield notebook
    notebook.shut_down()
    settings(server.home, dark=False)
