"""`import knowledge_nb` is light, and its door leads to the forms."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "pandas",
    "numpy",
    "ipywidgets",
    "traitlets",
    "IPython",
    "matplotlib",
    "tqdm",
    "duckdb",
    "httpx",
    "apsw",
    "click",
)


def loaded(code: str) -> set[str]:
    """Which of the heavy modules some code loads, in a process of its own."""
    tail = f"\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_the_import_loads_nothing_heavy() -> None:
    """Under 0.2 s is a promise kept by what is not loaded."""
    assert loaded("import knowledge_nb") == set()


def test_opening_and_the_core_load_no_frames_and_no_widgets() -> None:
    """pandas and ipywidgets come with the first frame and the first form."""
    found = loaded("import knowledge_nb as knb; kb = knb.open('nowhere'); kb.stats(); dir(knb)")
    assert not found & {"pandas", "numpy", "ipywidgets", "matplotlib", "tqdm"}


def test_the_forms_are_at_the_door() -> None:
    """`knb.SearchForm` and its sisters, loaded when named."""
    import knowledge_nb as knb

    for name in ("SearchForm", "EnumerateForm", "VocabularyForm", "Explorer", "JudgeForm", "Run"):
        assert name in dir(knb)
        assert getattr(knb, name).__name__ == name
