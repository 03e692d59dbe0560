"""Charts of the file audit and of coverage reports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knowledge_nb.audit.coverage import CoverageResult, CoverageTerm
from knowledge_nb.audit.coverage_tables import folder_masks
from knowledge_nb.notebook.charts import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    bars,
    chart,
    fonts,
    label,
    new_figure,
)
from knowledge_nb.notebook.charts_statistics import axes_of, empty, part, place_name
from knowledge_nb.records import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

GREY = "#8a94a0"
STATE_COLOURS = {
    "indexed": GREEN,
    "changed": ORANGE,
    "new": BLUE,
    "gone": "#b5443c",
    "unreadable": PURPLE,
    "skipped": GREY,
}


@chart("states", "audit")
def states(frame: pd.DataFrame) -> Figure:
    """Files by what the index and the disk say of them."""
    totals = frame.result.totals
    figure = bars(
        list(totals),
        [("files", [number for number, _ in totals.values()], BLUE)],
        title="Disk against index",
        axis="files and directories",
    )
    for patch, state in zip(figure.axes[0].patches, totals, strict=True):
        patch.set_color(STATE_COLOURS[state])
    return figure


@chart("documents", "coverage")
def coverage_bars(frame: pd.DataFrame, top: int = 40) -> Figure:
    """Documents of each term, and how many of them no other term hits, in list order."""
    result: CoverageResult = frame.result
    terms = result.answered()
    shown = terms[:top]
    return _shared_bars(
        [_name(term) for term in shown],
        [term.documents for term in shown],
        [term.unique_documents for term in shown],
        title=f"{result.documents_hit:,} of {result.documents:,} documents hit by any term",
        unique_="hit by this term only",
        note=_notes(part(len(shown), len(terms), "terms"), _unanswered(result)),
    )


def _shared_bars(
    names: list[str], held: list[int], unique: list[int], *, title: str, unique_: str, note: str
) -> Figure:
    """Bars in two parts: what only this one has, and what others have too."""
    figure, axes = axes_of(
        title, "documents", "", height=max(2.2, 1.3 + 0.26 * len(names)), note=note
    )
    if not names:
        empty(axes)
        return figure
    rows = range(len(names))
    axes.barh(rows, unique, color=BLUE, height=0.72, label=unique_)
    rest = [all_ - own for all_, own in zip(held, unique, strict=True)]
    drawn = axes.barh(rows, rest, left=unique, color=PALE, height=0.72, label="by others too")
    numbers = [
        f"{all_:,} ({own:,})" if own else f"{all_:,}"
        for all_, own in zip(held, unique, strict=True)
    ]
    axes.bar_label(drawn, numbers, padding=3, fontsize=8, color=INK)
    axes.set_yticks(rows, [label(name) for name in names], fontsize=9, family=fonts())
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    axes.set_xlim(0, max(max(held) * 1.12, 1))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_locator(_whole(8))
    figure.legend(frameon=False, fontsize=8, loc="outside lower right", ncols=2)
    return figure


def _whole(most: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, nbins=most)


@chart("heatmap", "coverage", "coverage.by_folder")
def heatmap(frame: pd.DataFrame, depth: int = 1, top: int = 40) -> Figure:
    """Documents of each term in each folder; a cell without any shows a dot, not nothing."""
    result: CoverageResult = frame.result
    masks = folder_masks(result, depth)
    terms = result.answered()
    shown, folders = terms[:top], list(masks)[:30]
    figure: Figure = new_figure(
        width=max(4.5, 3.2 + 0.48 * len(folders)), height=max(2.4, 1.6 + 0.26 * len(shown))
    )
    axes = figure.subplots()
    note = _notes(
        part(len(shown), len(terms), "terms"),
        part(len(folders), len(masks), "folders"),
        _unanswered(result),
    )
    axes.set_title("Documents by term and folder (· none)", loc="left", fontsize=11, color=INK)
    if note:
        axes.set_xlabel(note, fontsize=9, color=INK)
    if not shown or not folders:
        empty(axes)
        return figure
    counts = [[(term.bits & masks[name]).bit_count() for name in folders] for term in shown]
    totals = [masks[name].bit_count() for name in folders]
    shares = [
        [count / total if count else float("nan") for count, total in zip(row, totals, strict=True)]
        for row in counts
    ]
    from matplotlib import colormaps

    colours = colormaps["Blues"].with_extremes(bad="#f6f6f4")
    drawn = axes.pcolormesh(shares, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
    for row, line in enumerate(counts):
        for place, count in enumerate(line):
            dark = bool(count) and shares[row][place] > 0.55
            axes.text(
                place + 0.5,
                row + 0.5,
                f"{count:,}" if count else "·",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else INK if count else GREY,
            )
    names = [
        label(f"{place_name(name)} ({total:,})")
        for name, total in zip(folders, totals, strict=True)
    ]
    axes.set_xticks(
        [place + 0.5 for place in range(len(folders))],
        names,
        rotation=40,
        ha="right",
        fontsize=8,
        family=fonts(),
    )
    axes.set_yticks(
        [row + 0.5 for row in range(len(shown))],
        [label(_name(term)) for term in shown],
        fontsize=9,
        family=fonts(),
    )
    for tick in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        tick.set_parse_math(False)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.6, pad=0.02, aspect=30)
    bar.set_label("share of the folder's documents", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return figure


@chart("upset", "coverage")
def upset(frame: pd.DataFrame, top: int = 15, terms: int = 12) -> Figure:
    """The combinations of terms that most documents have, each document in one combination.

    Parameters
    ----------
    top : int
        Combinations to draw.
    terms : int
        Terms to tell apart: those with most documents. Documents that only others hit are left
        out, and the note says how many.
    """
    result: CoverageResult = frame.result
    ranked = sorted(
        (term for term in result.answered() if term.documents),
        key=lambda term: -term.documents,
    )
    shown = ranked[:terms]
    combinations: Counter[int] = Counter()
    covered = 0
    for place in range(len(result.universe)):
        bit = 1 << place
        held = sum(1 << number for number, term in enumerate(shown) if term.bits & bit)
        if held:
            combinations[held] += 1
            covered += 1
    rows = sorted(combinations.items(), key=lambda item: (-item[1], item[0]))[:top]
    figure: Figure = new_figure(
        width=max(6.0, 3.4 + 0.36 * len(rows)), height=max(3.2, 2.2 + 0.25 * len(shown))
    )
    if not rows:
        axes = figure.subplots()
        axes.set_title("Combinations of terms", loc="left", fontsize=11, color=INK)
        empty(axes, _notes("no term hits any document", _unanswered(result)))
        return figure
    above, below = figure.subplots(
        2, 1, sharex=True, height_ratios=[1.6, max(1.0, 0.22 * len(shown))]
    )
    _combination_bars(above, [count for _, count in rows])
    _combination_dots(below, [held for held, _ in rows], shown)
    left = result.documents_hit - covered
    note = _notes(
        part(len(rows), len(combinations), "combinations"),
        part(len(shown), len(ranked), "terms"),
        f"{left:,} documents hit by other terms only" if left else "",
        _unanswered(result),
    )
    below.set_xlabel(note, fontsize=9, color=INK)
    return figure


def _combination_bars(axes: Any, counts: list[int]) -> None:
    drawn = axes.bar(range(len(counts)), counts, color=BLUE, width=0.62)
    axes.bar_label(drawn, [f"{count:,}" for count in counts], fontsize=8, padding=2)
    axes.set_title(
        "Documents by the exact combination of terms that hits them",
        loc="left",
        fontsize=11,
        color=INK,
    )
    axes.set_ylabel("documents", fontsize=9, color=INK)
    axes.yaxis.set_major_locator(_whole(5))
    axes.margins(y=0.15)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(labelsize=9, bottom=False)


def _combination_dots(axes: Any, combinations: list[int], shown: list[CoverageTerm]) -> None:
    for row in range(len(shown)):
        if row % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, color="#f3f4f5", zorder=0)
    for place, held in enumerate(combinations):
        rows = [row for row in range(len(shown)) if held >> row & 1]
        axes.scatter([place] * len(shown), range(len(shown)), s=26, color="#d9dde1", zorder=1)
        axes.scatter([place] * len(rows), rows, s=34, color=INK, zorder=3)
        axes.plot([place, place], [min(rows), max(rows)], color=INK, linewidth=1.6, zorder=2)
    names = [label(f"{_name(term)} ({term.documents:,})") for term in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=9, family=fonts())
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


@chart("gain", "coverage")
def gain(frame: pd.DataFrame) -> Figure:
    """Documents hit by the first terms of the list, and by the smallest cover found."""
    result: CoverageResult = frame.result
    figure, axes = axes_of(
        "Documents hit, term by term", "terms", "documents hit", note=_unanswered(result)
    )
    terms = result.answered()
    if not terms:
        empty(axes)
        return figure
    for name, added, colour in (
        ("in list order", [term.new_documents for term in terms], BLUE),
        ("smallest cover found", [number for _, number in result.cover()[0]], ORANGE),
    ):
        reached = [0]
        for number in added:
            reached.append(reached[-1] + number)
        axes.step(range(len(reached)), reached, where="post", color=colour, label=name)
    axes.axhline(result.documents, color=GREY, linewidth=1, linestyle=":")
    axes.annotate(
        f"all {result.documents:,} documents looked at",
        (0, result.documents),
        xytext=(4, -11),
        textcoords="offset points",
        fontsize=8,
        color=GREY,
    )
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


@chart("groups", "coverage.groups")
def groups(frame: pd.DataFrame) -> Figure:
    """Documents of each group of terms, and those that no other group hits."""
    result: CoverageResult = frame.result
    found = [group for group in result.groups() if not group.error]
    return _shared_bars(
        [group.group or "(no group)" for group in found],
        [group.documents for group in found],
        [group.unique_documents for group in found],
        title="Documents by group of terms",
        unique_="hit by this group only",
        note=_unanswered(result),
    )


def _notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _unanswered(result: CoverageResult) -> str:
    """What a chart cannot show: terms of which nothing is known."""
    errors = len(result.errors)
    return f"{counted(errors, 'term')} not answered, and not drawn" if errors else ""


def _name(term: CoverageTerm) -> str:
    return term.label or term.term
