"""From Enter in a form to its table in the page, less the query's own time.

A real JupyterLab on the loopback address and a real Chromium, as in `tests/browser`. The clock is
the page's: from the press of the key to the first frame drawn after the answer's time stood there.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

from knowledge_nb.core import Core
from tests.benchmarks import corpus
from tests.browser.lab import CHROMIUM, FLAGS, Notebook, lab

ASKED = 30
_FORMS = ("SearchForm", "EnumerateForm", "VocabularyForm")

# The status says "Working…" and then the seconds that the query took.
_WATCH = """() => {
    const status = () => [...document.querySelectorAll('.widget-html span[role=status]')]
        .map(span => span.textContent).find(text => /^[0-9.]+ s$/.test(text));
    document.addEventListener('keydown', event => {
        if (event.key !== 'Enter') return;
        window.pressed = performance.now();
        window.answer = null;
        let worked = false;
        const watch = new MutationObserver(() => {
            const took = status();
            if (took === undefined) { worked = true; return; }
            if (!worked) return;
            watch.disconnect();
            requestAnimationFrame(() => requestAnimationFrame(() => {
                window.answer = [performance.now() - window.pressed, 1000 * parseFloat(took)];
            }));
        });
        watch.observe(document.body, {subtree: true, childList: true, characterData: true});
    }, true);
}"""


def run(store: Path | None = None) -> None:
    """Print the figures; without a store one is made of the seeded corpus."""
    with tempfile.TemporaryDirectory(prefix="knowledge-benchmark-") as scratch:
        place = Path(scratch)
        if store is None:
            folder = place / "corpus"
            corpus.write_corpus(folder)
            store = place / "store"
            with contextlib.closing(Core(store)) as core:
                core.index(folder)
        for folder in ("home", "root"):
            (place / folder).mkdir(exist_ok=True)
        server = lab(place / "home", place / "root")
        try:
            _measure(store.resolve(), server)
        finally:
            server.close()


def questions(words: list[str], form: str, seed: int = 5) -> list[str]:
    """What is typed: two words, one of them common, or the beginning of a word."""
    rng = random.Random(seed)
    if form == "VocabularyForm":
        return list(dict.fromkeys(f"{rng.choice(words[:3000])[:4]}*" for _ in range(ASKED)))
    return [f"{rng.choice(words[:200])} {rng.choice(words[:5000])}" for _ in range(ASKED)]


def _measure(store: Path, server: Any) -> None:
    from playwright.sync_api import sync_playwright

    with contextlib.closing(Core(store)) as core:
        known = core.completeness()
        words = [word.word for word in core.vocabulary().words]
    print(f"{known.documents:,} documents, {known.chunks:,} chunks")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for form in _FORMS:
            page = browser.new_page(viewport={"width": 1000, "height": 1200})
            notebook = Notebook(page, server)
            opening = f"import knowledge_nb as knb\nkb = knb.open({str(store)!r})\nknb.{form}(kb)"
            notebook.open(f"{form}.ipynb", [opening])
            notebook.run_all()
            page.evaluate(_WATCH)
            field = page.locator(".widget-text input").first
            found = [_ask(page, field, text) for text in questions(words, form)]
            notebook.shut_down()
            page.close()
            _print(form, found)
        browser.close()


def _ask(page: Any, field: Any, text: str) -> tuple[float, float]:
    field.fill(text)
    field.press("Enter")
    whole, own = page.wait_for_function("() => window.answer", timeout=60_000).json_value()
    return whole, own


def _print(form: str, found: list[tuple[float, float]]) -> None:
    # The first question also reads the vocabulary's state and draws the table's frame.
    (first, first_own), rest = found[0], found[1:]
    over = sorted(whole - own for whole, own in rest)
    own = statistics.median(own for _, own in rest)
    print(
        f"{form}: from Enter to the table less the query's own time (bound 100 ms), {len(rest)}"
        f" answers: median {statistics.median(over):.0f} ms, nine of ten below"
        f" {over[int(len(over) * 0.9)]:.0f}, highest {over[-1]:.0f}; query itself {own:.0f};"
        f" first answer {first - first_own:.0f} over {first_own:.0f}"
    )
