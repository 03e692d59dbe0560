"""Charts of comparisons and evaluations; see `charts` for how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_nb.errors import QueryError
from knowledge_nb.notebook.charts import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    chart,
    fonts,
    label,
    new_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#b5483a", "#5b6770")


def _dress(axes: Any, title: str, x: str, y: str, note: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False)
    axes.set_xlabel(f"{x}\n{note}" if note else x, fontsize=9, color=INK, parse_math=False)
    axes.set_ylabel(y, fontsize=9, color=INK, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def _empty(axes: Any, text: str = "nothing to draw") -> None:
    axes.text(0.5, 0.5, text, ha="center", transform=axes.transAxes, color=INK)
    axes.set_xticks([])
    axes.set_yticks([])


def _name(text: str) -> dict[str, Any]:
    """A label of the corpus, with fonts for its letters and no formulas in it."""
    return {"s": label(text), "family": fonts(), "fontsize": 8, "parse_math": False}


@chart("means", "evaluation")
def means(frame: pd.DataFrame) -> Figure:
    """Mean of each measure by run, with 95 % bootstrap intervals."""
    import pandas as pd

    record = frame.result
    shown = [name for name in record.measures if not name.startswith("Judged")]
    figure: Figure = new_figure(width=max(5.0, 1.4 + 1.5 * len(shown)), height=4.0)
    axes = figure.subplots()
    width = 0.8 / len(record.runs)
    for number, run in enumerate(record.runs):
        rows = frame[frame["run"] == run].set_index("measure").loc[shown]
        places = [at + (number - (len(record.runs) - 1) / 2) * width for at in range(len(shown))]
        colour = COLOURS[number % len(COLOURS)]
        axes.bar(places, rows["mean"], width * 0.92, color=colour, label=label(run))
        for place, mean, low, high in zip(
            places, rows["mean"], rows["low"], rows["high"], strict=True
        ):
            if not pd.isna(low):
                axes.plot([place, place], [low, high], color=INK, linewidth=1)
            if not pd.isna(mean):
                # Beside the interval's line, so that neither hides the other.
                axes.text(place, 0.01, f"{mean:.3f}", rotation=90, fontsize=8, color="white",
                          ha="center", va="bottom")  # fmt: skip
    axes.set_xticks(range(len(shown)), shown)
    axes.set_ylim(0, 1.08)
    topics = int(frame["topics"].max())
    _dress(axes, "Means by run", "", "mean over topics", f"{topics} topics; lines: 95 % bootstrap")
    axes.legend(frameon=False, fontsize=8, ncols=len(record.runs), loc="upper left")
    return figure


@chart("per query", "evaluation")
def per_query(frame: pd.DataFrame, run: str | None = None, measure: str | None = None) -> Figure:
    """Difference of one run to the baseline on every topic, best first.

    Parameters
    ----------
    run, measure : str, optional
        None: the last run, the first measure.
    """
    record = frame.result
    others = [name for name in record.runs if name != record.baseline]
    if not others:
        raise QueryError("there is one run here; a difference needs two")
    chosen, name = run or others[-1], measure or record.measures[0]
    if chosen not in others or name not in record.measures:
        raise QueryError(
            f"runs to draw are {', '.join(others)}; measures are {', '.join(record.measures)}"
        )
    base, values = record.values[record.baseline][name], record.values[chosen][name]
    found = sorted(((values[q] - base[q], q) for q in values if q in base), key=lambda p: -p[0])
    figure: Figure = new_figure(width=8.0, height=max(2.2, 1.2 + 0.2 * len(found)))
    axes = figure.subplots()
    if not found:
        _empty(axes)
        return figure
    places = list(range(len(found)))
    colours = [BLUE if each > 0 else ORANGE for each, _ in found]
    axes.barh(places, [each for each, _ in found], color=colours, height=0.7)
    axes.axvline(0, color=INK, linewidth=0.8)
    texts = [label(f"{qid} {record.queries.get(qid, '')}".strip()) for _, qid in found]
    axes.set_yticks(places, texts, fontsize=8, family=fonts())
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    wins = sum(each > 1e-6 for each, _ in found)
    losses = sum(each < -1e-6 for each, _ in found)
    note = f"better on {wins}, equal on {len(found) - wins - losses}, worse on {losses} topics"
    title = f"{name}: {chosen} against {record.baseline}"
    _dress(axes, title, f"difference in {name}", "", note)
    return figure


@chart("overlap distribution", "comparison")
def overlap_distribution(frame: pd.DataFrame) -> Figure:
    """How many queries share how much of their first k."""
    from matplotlib.ticker import MaxNLocator

    record = frame.result
    figure: Figure = new_figure(width=7.0, height=3.6)
    axes = figure.subplots()
    values = frame["overlap"].dropna()
    if values.empty:
        _empty(axes)
        return figure
    bins = min(record.k, 20)
    edges = [(n - 0.5) / bins for n in range(bins + 2)]
    axes.hist(values, bins=edges, color=BLUE, rwidth=0.9)
    axes.axvline(values.mean(), color=ORANGE, linewidth=1.5, label=f"mean {values.mean():.2f}")
    axes.set_xlim(-0.5 / bins, 1 + 0.5 / bins)
    axes.legend(frameon=False, fontsize=8, loc="best")
    title = f"Overlap of {record.a.label} and {record.b.label}"
    _dress(axes, title, f"share of the first {record.k} in both", "queries")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@chart("bump", "comparison")
def bump(frame: pd.DataFrame, qid: str | None = None) -> Figure:
    """Where the documents of one query stand in both rankings.

    Parameters
    ----------
    qid : str, optional
        None: the query that differs most.
    """
    record = frame.result
    if not len(frame):
        raise QueryError("there is no query to draw")
    chosen = qid if qid is not None else str(frame["qid"].iloc[0])
    moves = [move for move in record.moves(chosen) if move.move != "below"]
    figure: Figure = new_figure(width=9.0, height=max(3.0, 1.4 + 0.34 * (record.k + 1)))
    axes = figure.subplots()
    below = record.k + 1.6
    colours = {"new": GREEN, "lost": ORANGE, "up": BLUE, "down": PURPLE, "same": "#8795a1"}
    used: set[str] = set()
    for move in moves:
        left = move.rank_a if move.rank_a and move.rank_a <= record.k else below
        right = move.rank_b if move.rank_b and move.rank_b <= record.k else below
        name = move.move if move.move not in used else None
        used.add(move.move)
        axes.plot([0, 1], [left, right], color=colours[move.move], marker="o", label=name)
        if left <= record.k:
            axes.text(-0.04, left, ha="right", va="center", **_name(move.docno))
        if right <= record.k:
            axes.text(1.04, right, ha="left", va="center", **_name(move.docno))
    axes.axhline(record.k + 0.8, color=PALE, linewidth=0.8)
    axes.set_xlim(-1.3, 2.3)
    axes.set_ylim(below + 0.5, 0.4)
    axes.set_xticks([0, 1], [label(record.a.label), label(record.b.label)])
    axes.set_yticks([*range(1, record.k + 1), below], [*range(1, record.k + 1), f">{record.k}"])
    queries = dict(zip(frame["qid"], frame["query"], strict=True))
    _dress(axes, "", "", "rank")
    title = label(f"{chosen}: {queries.get(chosen, '')}".rstrip(": "))
    axes.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False, family=fonts())
    if used:
        axes.legend(frameon=False, fontsize=8, ncols=5, loc="upper center",
                    bbox_to_anchor=(0.5, -0.08))  # fmt: skip
    return figure


@chart("ranks", "comparison")
def ranks(frame: pd.DataFrame, qid: str | None = None) -> Figure:
    """Rank in a against rank in b, of the documents in both; logarithmic.

    Parameters
    ----------
    qid : str, optional
        None: all queries.
    """
    record = frame.result
    moves = [m for m in record.moves(qid) if m.rank_a is not None and m.rank_b is not None]
    figure: Figure = new_figure(width=5.4, height=5.0)
    axes = figure.subplots()
    if not moves:
        _empty(axes, "no document is in both")
        return figure
    top = [m for m in moves if m.rank_a <= record.k and m.rank_b <= record.k]
    rest = [m for m in moves if not (m.rank_a <= record.k and m.rank_b <= record.k)]
    for group, colour, text in (
        (rest, PALE, "deeper in one"),
        (top, BLUE, f"in both first {record.k}"),
    ):
        axes.scatter(
            [m.rank_a for m in group],
            [m.rank_b for m in group],
            s=14,
            alpha=0.6,
            color=colour,
            label=f"{text} ({len(group):,})",
        )
    deep = max(max(m.rank_a, m.rank_b) for m in moves)
    axes.plot([1, deep], [1, deep], color=INK, linewidth=0.7, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    _dress(axes, "Ranks in both", f"rank in {record.a.label}", f"rank in {record.b.label}")
    return figure


@chart("terms", "explanation")
def terms(frame: pd.DataFrame) -> Figure:
    """What each word adds to the BM25 score of the chunk in the lexical row."""
    found = [each for each in frame.result.term_weights if each.status != "dropped"]
    figure: Figure = new_figure(width=7.0, height=max(2.0, 1.3 + 0.3 * len(found)))
    axes = figure.subplots()
    if not found:
        _empty(axes, "no word is searched")
        return figure
    places = list(range(len(found)))
    axes.barh(places, [each.weight for each in found], color=BLUE, height=0.7)
    texts = [label(f"{each.term} ({each.status})") for each in found]
    axes.set_yticks(places, texts, fontsize=9, family=fonts())
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    axes.invert_yaxis()
    place = frame.result.places[0]
    total = sum(each.weight for each in found)
    _dress(axes, f"Words in {label(place.citation)}", "part of the BM25 score", "",
           f"sum {total:.3f}, rank {place.rank or 'none'} of {place.ranked:,}")  # fmt: skip
    return figure


@chart("recall", "reconciliation")
def recall(frame: pd.DataFrame) -> Figure:
    """Share of the complete set among the first k of each tier, for every k."""
    record = frame.result
    figure: Figure = new_figure(width=7.0, height=3.8)
    axes = figure.subplots()
    curve = frame.curve
    if curve.empty:
        _empty(axes, "the complete set is empty, or nothing ranks it")
        return figure
    deepest = max(int(curve["k"].max()), record.k)
    for number, tier in enumerate(record.tiers):
        rows = curve[curve["tier"] == tier]
        k = [1, *rows["k"], deepest]
        shares = [0.0, *rows["recall"], rows["recall"].max() if len(rows) else 0.0]
        axes.step(k, shares, where="post", color=COLOURS[number], label=tier)
    axes.axvline(record.k, color=INK, linewidth=0.7, linestyle=":")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(0, 1.05)
    axes.legend(frameon=False, fontsize=8, loc="best")
    _dress(axes, "The rankings against the complete set", "documents looked at (k)",
           f"share of {record.matched:,} found")  # fmt: skip
    return figure


@chart("heat map", "fusion_grid")
def heat_map(frame: pd.DataFrame, value: str | None = None) -> Figure:
    """One value of every setting: lexical weight across, k and window down.

    Parameters
    ----------
    value : str, optional
        A column; None: "mean", or "agreement_lexical" without judgements.
    """
    import numpy as np

    record = frame.result
    chosen = value or ("mean" if record.measure else "agreement_lexical")
    values = ("mean", "first_half", "second_half", "agreement_lexical", "agreement_vector")
    if chosen not in values:
        raise QueryError(f"the grid can draw {', '.join(values)}, not {chosen!r}")
    weights = list(dict.fromkeys(zip(frame["lexical_weight"], frame["vector_weight"], strict=True)))
    rows = list(dict.fromkeys(zip(frame["k"], frame["window"], strict=True)))
    grid = np.full((len(rows), len(weights)), np.nan)
    for cell in record.cells:
        found = getattr(cell, chosen)
        at = (
            rows.index((cell.k, cell.window)),
            weights.index((cell.lexical_weight, cell.vector_weight)),
        )
        grid[at] = np.nan if found is None else found
    figure: Figure = new_figure(
        width=max(5.0, 2.6 + 0.62 * len(weights)), height=max(2.4, 1.6 + 0.42 * len(rows))
    )
    axes = figure.subplots()
    image = axes.imshow(grid, aspect="auto", cmap="viridis")
    middle = (np.nanmin(grid) + np.nanmax(grid)) / 2 if np.isfinite(grid).any() else 0.0
    for (down, across), number in np.ndenumerate(grid):
        if np.isfinite(number):
            ink = "white" if number < middle else "black"
            axes.text(across, down, f"{number:.3f}", ha="center", va="center", color=ink,
                      fontsize=7)  # fmt: skip
    axes.set_xticks(range(len(weights)), [f"{a:g}:{b:g}" for a, b in weights])
    axes.set_yticks(range(len(rows)), [f"k={k:g}, {window:,}" for k, window in rows])
    figure.colorbar(image, ax=axes, fraction=0.04)
    what = f"{record.measure}, {chosen.replace('_', ' ')}" if chosen in values[:3] else chosen
    note = "the best cell of all topics is no result: see `chosen`" if record.measure else ""
    _dress(axes, what.replace("_", " "), "weights, lexical : vector", "k, window", note)
    return figure
