"""Charts of the statistics, each of the frame of one method."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knowledge_nb.errors import QueryError
from knowledge_nb.notebook.charts import (
    BLUE,
    INK,
    ORANGE,
    bars,
    chart,
    fonts,
    label,
    new_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def part(shown: int, total: int, noun: str) -> str:
    return f"{shown:,} of {total:,} {noun}" if shown < total else ""


def axes_of(
    title: str, across: str, up: str, height: float = 3.6, note: str = ""
) -> tuple[Figure, Any]:
    figure: Figure = new_figure(height=height)
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(f"{across}\n{note}" if note else across, fontsize=9, color=INK)
    axes.set_ylabel(up, fontsize=9, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    return figure, axes


def place_name(folder: str) -> str:
    """A folder as the other charts write it; "./" is the base itself."""
    return "./" if folder == "." else f"{folder}/"


def empty(axes: Any, text: str = "nothing to draw") -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color=INK)
    axes.set_xticks([])
    axes.set_yticks([])


@chart("files", "statistics.overview")
def overview(frame: pd.DataFrame) -> Figure:
    """Files that the index covers and does not cover."""
    known = frame.result.completeness
    named = [("indexed", known.documents)]
    named += [(f"skipped: {reason}", count) for reason, count in known.skipped.items()]
    named += [(f"other type: {kind}", count) for kind, count in known.other_types.items()]
    shown = named[:20]
    return bars(
        [name for name, _ in shown],
        [("files", [count for _, count in shown], BLUE)],
        title="What the index covers, and what it leaves out",
        axis="files",
        note=part(len(shown), len(named), "kinds"),
    )


@chart("folders", "statistics.by_folder")
def by_folder(frame: pd.DataFrame, column: str = "documents", top: int = 30) -> Figure:
    """One column by folder, largest first."""
    if column not in ("documents", "chunks", "bytes", "words"):
        raise QueryError(f"column is documents, chunks, bytes or words, not {column!r}")
    shown = frame.sort_values([column, "folder"], ascending=[False, True]).head(top)
    return bars(
        [place_name(name) for name in shown["folder"]],
        [(column, list(shown[column]), BLUE)],
        title=f"{column.capitalize()} by folder",
        axis=column,
        note=part(len(shown), len(frame), "folders"),
    )


@chart("sizes", "statistics.documents")
def documents(frame: pd.DataFrame, column: str = "bytes") -> Figure:
    """How many documents have which size, in classes that double."""
    if column not in ("bytes", "chunks", "words", "characters"):
        raise QueryError(f"column is bytes, chunks, words or characters, not {column!r}")
    classes = Counter(int(value).bit_length() for value in frame[column])
    places = range(min(classes, default=0), max(classes, default=-1) + 1)
    return _histogram(
        [_class_name(place) for place in places],
        [classes[place] for place in places],
        title="Sizes of documents",
        across=f"{column} of a document",
        up="documents",
    )


def _class_name(place: int) -> str:
    low = 0 if place == 0 else 1 << (place - 1)
    return f"{low:,}" if place < 2 else f"{low:,}+"


def _histogram(
    names: list[str], counts: list[int], *, title: str, across: str, up: str, note: str = ""
) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure, axes = axes_of(title, across, up, note=note)
    if not names:
        empty(axes)
        return figure
    drawn = axes.bar(range(len(names)), counts, color=BLUE, width=0.85)
    axes.bar_label(
        drawn, [f"{count:,}" if count else "" for count in counts], fontsize=8, padding=2
    )
    axes.set_xticks(range(len(names)), names, fontsize=8, rotation=45 if len(names) > 10 else 0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.margins(y=0.12)
    axes.set_xlim(-0.6, max(len(names), 8) - 0.4)  # a bar alone is a bar, not a wall
    return figure


@chart("sizes", "statistics.chunk_sizes")
def chunk_sizes(frame: pd.DataFrame) -> Figure:
    """Chunks by the length of their body."""
    return _histogram(
        [_class_name(int(low).bit_length()) for low in frame["from_characters"]],
        [int(count) for count in frame["chunks"]],
        title="Lengths of chunks",
        across="characters of the body, in classes that double",
        up="chunks",
        note=" ".join(frame.result.notes),
    )


@chart("headings", "statistics.headings")
def headings(frame: pd.DataFrame, top: int = 25) -> Figure:
    """Headings that most documents have."""
    shown = frame.head(top)
    return bars(
        [text or "(no heading)" for text in shown["heading"]],
        [("documents", list(shown["documents"]), BLUE)],
        title="Headings by documents",
        axis="documents",
        note=part(len(shown), len(frame), "headings"),
    )


@chart("growth", "statistics.vocabulary_growth")
def vocabulary_growth(frame: pd.DataFrame) -> Figure:
    """Different words against words read, with the curve of Heaps' law."""
    figure, axes = axes_of(
        "Growth of the vocabulary",
        "words read",
        "different words",
        note=frame.result.notes[0] if frame.result.notes else "",
    )
    if frame.empty:
        empty(axes)
        return figure
    across, up = list(frame["occurrences"]), list(frame["words"])
    axes.plot(across, up, color=BLUE, label="observed", linewidth=2)
    facts = frame.result.facts
    if facts["beta"] == facts["beta"]:
        fitted = [facts["K"] * number ** facts["beta"] for number in across]
        axes.plot(across, fitted, color=ORANGE, linestyle="--", label="Heaps' law")
    axes.legend(frameon=False, fontsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    return figure


@chart("zipf", "statistics.zipf")
def zipf(frame: pd.DataFrame) -> Figure:
    """Occurrences over rank, both on logarithmic axes."""
    figure, axes = axes_of(
        "Frequency of words by rank",
        "rank",
        "occurrences",
        note=frame.result.notes[0] if frame.result.notes else "",
    )
    if frame.empty:
        empty(axes)
        return figure
    # Every rank of the first hundred, then ever fewer: the line looks the same, the file is small.
    ranks = sorted({min(len(frame), int(1.06**step)) for step in range(1, 400)} | {1})
    axes.loglog(ranks, [frame["occurrences"].iloc[rank - 1] for rank in ranks], color=BLUE)
    last = 0.0
    for rank in ranks:
        if rank >= max(1, last * 3.5) and rank <= len(frame) / 3:
            last = rank
            word, times = frame["word"].iloc[rank - 1], frame["occurrences"].iloc[rank - 1]
            axes.annotate(
                label(word),
                (rank, times),
                xytext=(5, 3),
                textcoords="offset points",
                fontsize=8,
                color=INK,
                family=fonts(),
                parse_math=False,
            )
    return figure


@chart("groups", "statistics.duplicates")
def duplicates(frame: pd.DataFrame, top: int = 25) -> Figure:
    """Groups of equal files by number of copies, named by their first path."""
    first = frame.drop_duplicates("group")
    shown = first.head(top)
    return bars(
        list(shown["path"]),
        [("copies", list(shown["copies"]), ORANGE)],
        title="Equal files",
        axis="copies",
        note=part(len(shown), len(first), "groups") if len(first) else "no two files are equal",
    )


@chart("similarities", "statistics.near_duplicates")
def near_duplicates(frame: pd.DataFrame) -> Figure:
    """How many pairs are how alike."""
    least = frame.result.arguments["threshold"]
    steps = 10
    width = (1 - least) / steps or 1.0
    counts = [0] * steps
    for value in frame["similarity"]:
        counts[min(steps - 1, int((value - least) / width))] += 1
    return _histogram(
        [f"{least + width * place:.2f}" for place in range(steps)] if len(frame) else [],
        counts if len(frame) else [],
        title="Nearly equal documents",
        across="similarity of a pair, from",
        up="pairs",
        note="" if len(frame) else f"no two documents are found to be {least:g} alike",
    )


@chart("ages", "statistics.freshness")
def freshness(frame: pd.DataFrame) -> Figure:
    """Documents by the month, or the year, in which their file was last written."""
    months = frame["modified"].dropna().dt.strftime("%Y-%m")
    named = Counter(months)
    if len(named) > 36:
        named = Counter(months.str.slice(0, 4))
    unknown = len(frame) - len(months)
    names = sorted(named)
    return _histogram(
        names,
        [named[name] for name in names],
        title="When the files were last written",
        across="UTC",
        up="documents",
        note=f"{unknown:,} without a usable time" if unknown else "",
    )
