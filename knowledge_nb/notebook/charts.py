"""Charts of answers, drawn by matplotlib: a picture in the notebook, no network, no script.

`CHARTS` names them by verb; `frame.chart(name)` is the way in, and other rooms add theirs with
`chart`. Figures are made without pyplot, so that they can be drawn in any thread and leave no
global state.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from knowledge_nb.errors import MissingDependencyError, QueryError
from knowledge_nb.notebook.html import visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INK = "#1f2933"
BLUE, ORANGE, GREEN, PURPLE = "#3b6ea8", "#e08e2b", "#3f8f5f", "#8a5aa8"
PALE = "#b9cde3"
LONGEST_LABEL = 42
NO_GLYPH = "▯"

CHARTS: dict[str, dict[str, Callable[..., Figure]]] = {}


def chart(name: str, *kinds: str) -> Callable[[Callable[..., Figure]], Callable[..., Figure]]:
    """Register a function as the chart `name` of the frames of some verbs."""

    def register(function: Callable[..., Figure]) -> Callable[..., Figure]:
        for kind in kinds:
            CHARTS.setdefault(kind, {})[name] = function
        return function

    return register


def names(frame: Any) -> tuple[str, ...]:
    """Charts of a frame, the default first; empty for a frame that has none."""
    return tuple(CHARTS.get(frame.kind, {}))


def draw(frame: Any, name: str | None, *others: pd.DataFrame, **options: Any) -> Figure:
    """Draw a chart; see `ResultFrame.chart`."""
    known = CHARTS.get(frame.kind, {})
    chosen = name if name is not None else next(iter(known), "")
    if chosen not in known:
        what = ", ".join(repr(each) for each in known) or "none"
        raise QueryError(
            f"there is no chart {chosen!r} of this frame; there is: {what}. "
            "A frame derived from an answer has none: draw the answer's own."
        )
    require_matplotlib()
    return known[chosen](frame, *others, **options)


def require_matplotlib() -> None:
    """Name the fix where charts cannot be drawn.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "charts need matplotlib: pip install 'knowledge-nb[charts]'"
        ) from error


def new_figure(width: float = 7.5, height: float = 4.0) -> Any:
    """An empty figure that shows itself in a notebook.

    Raises
    ------
    MissingDependencyError
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    class Chart(Figure):
        """A figure with its own PNG, so that no pyplot is needed to see it."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=110)
            return buffer.getvalue()

    # White paper in either theme: a transparent chart would have dark ink on a dark page.
    return Chart(figsize=(width, height), layout="constrained", facecolor="white")


def label(text: str) -> str:
    """A text of the corpus as a label: cut, and with a box for letters that no font here has."""
    text = " ".join(visible(text).split())
    if len(text) > LONGEST_LABEL:
        text = text[: LONGEST_LABEL - 1] + "…"
    known = _glyphs()
    return "".join(char if ord(char) in known else NO_GLYPH for char in text)


# Fonts that hold other scripts, asked for by name: opening every installed font takes seconds.
FALLBACK_FONTS = (
    *(
        "Noto Sans",
        "Noto Sans CJK JP",
        "Noto Sans CJK SC",
        "Noto Sans Devanagari",
        "Noto Sans Thai",
    ),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Droid Sans Fallback", "WenQuanYi Micro Hei"),
    *("Arial Unicode MS", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Nirmala UI"),
)


@cache
def fonts() -> tuple[str, ...]:
    """The font families of labels: matplotlib's own, then the fallbacks that are installed."""
    from matplotlib import font_manager, rcParams

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return (
        *rcParams["font.sans-serif"][:1],
        *(name for name in FALLBACK_FONTS if name in installed),
    )


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    known: set[int] = set()
    for name in fonts():
        known.update(FT2Font(findfont(FontProperties(family=[name]))).get_charmap())
    return frozenset(known)


def bars(
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[float], str]],
    *,
    title: str,
    axis: str,
    note: str = "",
) -> Figure:
    """Horizontal bars, first at the top; later series are drawn over earlier ones."""
    figure: Figure = new_figure(height=max(1.8, 1.2 + 0.26 * len(labels)))
    axes = figure.subplots()
    places = range(len(labels))
    for name, values, colour in series:
        drawn = axes.barh(places, values, color=colour, label=name, height=0.72)
    if labels:
        axes.bar_label(drawn, fmt="{:,.0f}", padding=3, fontsize=8, color=INK)
        axes.margins(x=0.08)
    shown = [label(each) for each in labels]
    axes.set_yticks(list(places), shown, fontsize=9, family=fonts())
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)  # `$` in a file name is no formula
    axes.margins(y=0.02)
    axes.invert_yaxis()
    if any(NO_GLYPH in text for text in shown):
        note = "; ".join(filter(None, (note, f"{NO_GLYPH}: no installed font has this letter")))
    _dress(axes, title, axis, note)
    if not labels:
        axes.text(0.5, 0.5, "nothing to draw", ha="center", transform=axes.transAxes, color=INK)
        axes.set_xticks([])
    elif len(series) > 1:
        axes.legend(
            frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(series)
        )
    return figure


def _dress(axes: Any, title: str, axis: str, note: str = "") -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False)
    axes.set_xlabel(f"{axis}\n{note}" if note else axis, fontsize=9, color=INK, parse_math=False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


@chart("documents", "vocabulary")
def document_frequency(frame: pd.DataFrame, top: int = 25) -> Figure:
    """Documents that hold each word: as it stands, over any form of its stem."""
    shown = frame.sort_values(["documents", "word"], ascending=[False, True]).head(top)
    return bars(
        list(shown["word"]),
        [
            ("any form of the stem", list(shown["documents_any_form"]), PALE),
            ("this very word", list(shown["documents"]), BLUE),
        ],
        title="Document frequency",
        axis="documents",
        note=_part(len(shown), len(frame), "words"),
    )


@chart("occurrences", "vocabulary")
def word_frequency(frame: pd.DataFrame, top: int = 25) -> Figure:
    """Occurrences of each word in the corpus."""
    shown = frame.sort_values(["occurrences", "word"], ascending=[False, True]).head(top)
    return bars(
        list(shown["word"]),
        [("occurrences", list(shown["occurrences"]), GREEN)],
        title="Word frequency",
        axis="occurrences in bodies and headings",
        note=_part(len(shown), len(frame), "words"),
    )


@chart("folders", "search", "enumerate", "kwic", "sources")
def hits_by_folder(frame: pd.DataFrame, depth: int = 1, top: int = 25) -> Figure:
    """Rows of an answer by the folder of their document, `depth` levels deep."""
    if depth < 1:
        raise QueryError(f"depth is a whole number of folder levels from 1, not {depth}")
    counts = Counter(folder(path, depth) for path in frame["path"])
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ranked[:top]
    noun = {"search": "hits", "kwic": "places"}.get(getattr(frame, "kind", ""), "documents")
    return bars(
        [name for name, _ in shown],
        [(noun, [count for _, count in shown], BLUE)],
        title=f"{noun.capitalize()} by folder",
        axis=noun,
        note=_part(len(shown), len(ranked), "folders"),
    )


def folder(path: str, depth: int) -> str:
    """The folder of a document, `depth` levels deep; "./" for one in the base itself."""
    parts = path.split("/")[:-1][:depth]
    return "/".join(parts) + "/" if parts else "./"


@chart("overlap", "search")
def ranking_overlap(
    frame: pd.DataFrame, *others: pd.DataFrame, labels: Sequence[str] = ()
) -> Figure:
    """Share of common chunks among the first k of each pair of rankings, for every k.

    Parameters
    ----------
    frame, *others : DataFrame
        Search frames. A fused one alone is compared with the order of its two tiers.
    labels : sequence of str, optional
        A name for each.

    Raises
    ------
    QueryError
        There is only one ranking.
    """
    rankings = _rankings((frame, *others), labels)
    if len(rankings) < 2:
        raise QueryError(
            "an overlap needs two rankings: give another search frame, such as "
            '`a.chart("overlap", b)`, or search with mode="fused"'
        )
    figure: Figure = new_figure(height=3.4)
    axes = figure.subplots()
    colours = [BLUE, ORANGE, GREEN, PURPLE, INK, PALE]
    for at, ((first, one), (second, two)) in enumerate(combinations(rankings, 2)):
        depth = max(len(one), len(two))
        shares = [len(set(one[:k]) & set(two[:k])) / k if k else 0.0 for k in range(1, depth + 1)]
        axes.plot(
            range(1, depth + 1),
            shares,
            marker="o" if depth <= 30 else "",
            markersize=4,
            color=colours[at % len(colours)],
            linestyle=("-", "--", ":")[at // len(colours) % 3],
            label=f"{label(first)} and {label(second)}",
        )
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("share of common chunks", fontsize=9, color=INK)
    _dress(axes, "Overlap of rankings", "first k hits")
    for text in axes.legend(frameon=False, fontsize=8).get_texts():
        text.set_parse_math(False)
    return figure


def _rankings(frames: Sequence[pd.DataFrame], labels: Sequence[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for number, frame in enumerate(frames):
        result = getattr(frame, "result", None)
        given = labels[number] if number < len(labels) else ""
        name = given or getattr(result, "mode", "") or f"ranking {number + 1}"
        if any(name == known for known, _ in found):
            name = f"{name} ({number + 1})"
        found.append((name, list(frame["citation"])))
    if len(frames) == 1 and getattr(getattr(frames[0], "result", None), "mode", "") == "fused":
        for tier in ("lexical", "vector"):
            ranked = frames[0].dropna(subset=[f"{tier}_rank"]).sort_values(f"{tier}_rank")
            if len(ranked):
                found.append((f"{tier} order", list(ranked["citation"])))
    return found


def _part(shown: int, total: int, noun: str) -> str:
    return f"{shown:,} of {total:,} {noun}" if shown < total else ""
