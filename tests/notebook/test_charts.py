"""Charts draw offline, say what they show, and survive any name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from knowledge_nb.errors import QueryError
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.charts import LONGEST_LABEL, folder, label

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_named_chart_draws(handbook: KnowledgeBase) -> None:
    """Each chart that a frame names is a picture, also of an empty answer."""
    frames = [
        handbook.vocabulary(),
        handbook.vocabulary(pattern="^[^a-z0-9]"),
        handbook.vocabulary(prefix="zzzz"),
        handbook.enumerate("freezer"),
        handbook.enumerate("asbestos"),
        handbook.kwic("freezer"),
        handbook.sources(),
        handbook.search("freezer"),
    ]
    for frame in frames:
        assert frame.charts
        for name in frame.charts:
            others = [handbook.search("alarm")] if name == "overlap" else []
            assert frame.chart(name, *others)._repr_png_().startswith(PNG)


def test_bars_are_the_numbers_of_the_frame(handbook: KnowledgeBase) -> None:
    """The longest bar of a frequency chart is the largest count; folders count documents."""
    words = handbook.vocabulary()
    axes = words.chart("documents", top=5).axes[0]
    widths = [bar.get_width() for bar in axes.containers[1]]
    assert widths == list(words["documents"].nlargest(5))
    assert f"5 of {len(words):,} words" in axes.get_xlabel()
    found = handbook.enumerate("freezer")
    axes = found.chart("folders", depth=2).axes[0]
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    counts = dict(zip(names, [bar.get_width() for bar in axes.containers[0]], strict=True))
    assert sum(counts.values()) == len(found)
    assert counts["teams/meetings/"] == sum(found["path"].str.startswith("teams/meetings/"))


def test_overlap_is_a_share(handbook: KnowledgeBase) -> None:
    """A ranking overlaps with itself wholly at every depth; one alone has nothing to compare."""
    frame = handbook.search("freezer alarm", k=10)
    axes = frame.chart("overlap", frame, labels=["a $x$", "b_$"]).axes[0]
    assert set(axes.lines[0].get_ydata()) == {1.0}
    with pytest.raises(QueryError, match="two rankings"):
        frame.chart("overlap")


def test_names_with_tricks(tricks: KnowledgeBase) -> None:
    """Dollar signs are no formula, letters without a font are boxes: nothing warns or fails."""
    frame = tricks.enumerate("lantern")
    frame.chart()._repr_png_()
    words = tricks.vocabulary()
    words.chart()._repr_png_()
    assert label("a\u202eb" + "\U00010a60").startswith("a⟨U+202E⟩b") or "▯" in label("\u202e")
    assert label("\U00010a60") == "▯"
    assert len(label("x" * 500)) == LONGEST_LABEL


def test_an_unknown_chart_names_those_there_are(handbook: KnowledgeBase) -> None:
    """The error lists the charts of the frame."""
    with pytest.raises(QueryError, match="'documents', 'occurrences'"):
        handbook.vocabulary().chart("pie")
    with pytest.raises(QueryError, match="none"):
        handbook.show("index.md").chart()
    assert handbook.show("index.md").charts == ()


def test_folders() -> None:
    """A document of the base itself is in "./"."""
    assert folder("a.md", 1) == "./"
    assert folder("a/b/c.md", 1) == "a/"
    assert folder("a/b/c.md", 9) == "a/b/"


def test_every_chart_names_what_it_needs(handbook: KnowledgeBase) -> None:
    """Without matplotlib each says so with the line that installs it, whatever it draws first."""
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import knowledge_nb as knb\n"
        f"kb = knb.open({str(handbook.core.files.directory)!r})\n"
        "for draw in (kb.statistics.freshness().chart, kb.statistics.zipf().chart,\n"
        "             kb.coverage(['alarm']).heatmap, kb.coverage(['alarm']).upset,\n"
        "             kb.enumerate('alarm').chart, kb.reconcile('alarm').chart):\n"
        "    try:\n"
        "        draw()\n"
        "    except knb.MissingDependencyError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("pip install 'knowledge-nb[charts]'") == 6
