"""Two runs side by side, query by query, no judgements needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.asked import some
from knowledge_nb.evaluation.making import make_run
from knowledge_nb.evaluation.names import docnos_by_qid, matched
from knowledge_nb.evaluation.overlap import PERSISTENCE, jaccard, overlap, rbo, tau
from knowledge_nb.evaluation.runs import RunRecord, as_run, refuse_degraded
from knowledge_nb.evaluation.states import state_notes
from knowledge_nb.records import Mode, counted
from knowledge_nb.retrieval.lexical import CANDIDATES

if TYPE_CHECKING:
    from knowledge_nb.core import Core

DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Move:
    """Where one document stands in both rankings of a query.

    Attributes
    ----------
    rank_a, rank_b : int or None
        From 1; None beyond the depth that was looked at.
    change : int or None
        Ranks gained from a to b, negative for ranks lost; None where a rank is unknown.
    move : {"new", "lost", "up", "down", "same", "below"}
        "new" and "lost" are said of the top k; "below" stands in neither top k.
    """

    qid: str
    docno: str
    rank_a: int | None
    rank_b: int | None
    change: int | None
    move: str


@dataclass(frozen=True, slots=True)
class QueryComparison:
    """One query. Shares are 0 to 1, None where both rankings are empty (see `overlap`).

    Attributes
    ----------
    overlap, jaccard, rbo : float or None
        Of the top k.
    tau : float or None
        Over the `common` documents of both rankings, as deep as they were looked at.
    new, lost : int
        Documents of the top k of b that are not in that of a, and the other way round.
    up, down : str
        The document with the biggest gain, and loss, among those that stand in a top k and have
        both ranks; "" where none moved.
    up_by, down_by : int
        Ranks, from 0 up.
    """

    qid: str
    query: str
    overlap: float | None
    jaccard: float | None
    rbo: float | None
    tau: float | None
    common: int
    new: int
    lost: int
    up: str
    up_by: int
    down: str
    down_by: int


@dataclass(frozen=True, slots=True)
class ComparisonRecord:
    """Two runs compared.

    Attributes
    ----------
    a, b : RunRecord
    k, depth : int
    queries : tuple of QueryComparison
        Most different first (lowest rank-biased overlap), ties in the order of the topics; queries
        without any hit last.
    totals : dict of str to (float or None)
        Means over the queries that have a value, and counts.
    notes : tuple of str
    """

    a: RunRecord
    b: RunRecord
    k: int
    depth: int
    queries: tuple[QueryComparison, ...]
    totals: dict[str, float | int | None]
    notes: tuple[str, ...]

    @property
    def tier(self) -> str:
        """One line on what was compared."""
        return f"a: {self.a.tier}; b: {self.b.tier}"

    def moves(self, qid: str | None = None) -> tuple[Move, ...]:
        """Every document of a query, or of all queries, within the depth.

        Returns
        -------
        tuple of Move
            By query as in `queries`, then by the better of both ranks, then docno.
        """
        if qid is not None and qid not in {each.qid for each in self.queries}:
            raise EvaluationError(f"the comparison has no query {qid!r}")
        wanted = [each.qid for each in self.queries] if qid is None else [qid]
        return tuple(move for each in wanted for move in _moves(each, self))


def compare(
    core: Core,
    topics: Any = None,
    *,
    a: Any = "lexical",
    b: Any = "fused",
    k: int = 10,
    depth: int | None = None,
    p: float = PERSISTENCE,
    allow_degraded: bool = False,
    **options: Any,
) -> ComparisonRecord:
    """Compare two rankings of each query.

    Parameters
    ----------
    core : Core
    topics : optional
        See `topics.read_topics`; needed where a or b is a mode, else the runs' own.
    a, b : mode or run
        "lexical", "vector" or "fused" is run here, as a search for k ranks; anything else is a run,
        see `runs.as_run`, also of another store or tool.
    k : int
        The top that overlap, Jaccard, rank-biased overlap, new and lost are about.
    depth : int, optional
        Ranks looked at for moves and tau; the larger of 100 and k by default.
    p : see `overlap.rbo`
    allow_degraded : bool
        See `evaluating.evaluate`.
    **options
        Of `making.make_run`, for modes.

    Raises
    ------
    EvaluationError
        k or depth is out of range, there are no topics, a run cannot be used, one run is of
        documents and the other of chunks.
    """
    deep = (max(DEPTH, k) if isinstance(k, int) else k) if depth is None else depth
    for name, given in (("k", k), ("depth", deep)):
        if isinstance(given, bool) or not isinstance(given, int):
            raise EvaluationError(f"{name} is a whole number of ranks from 1 up, not {given!r}")
    if k < 1 or deep < k:
        raise EvaluationError(f"k is at least 1 and depth at least k, not k={k}, depth={deep}")
    options.setdefault("window", max(CANDIDATES, k))
    modes = [each for each in (a, b) if _is_mode(each)]
    if modes and topics is None:
        known = [as_run(each).topics for each in (a, b) if not _is_mode(each)]
        topics = next((each for each in known if each), None)
        if topics is None:
            raise EvaluationError(f"topics are needed to rank in mode {modes[0]}")

    def run_of(source: Any, name: str) -> RunRecord:
        if _is_mode(source):
            return make_run(core, topics, mode=cast("Mode", source), k=deep, **options)
        return as_run(source, "" if isinstance(source, str | os.PathLike) else name)

    one, two = run_of(a, "a"), run_of(b, "b")
    if not allow_degraded:
        refuse_degraded({one.label: one, two.label: two})
    return compare_runs(one, two, k=k, depth=deep, p=p)


def _is_mode(source: Any) -> bool:
    return isinstance(source, str) and source in get_args(Mode)


def compare_runs(
    a: RunRecord, b: RunRecord, *, k: int = 10, depth: int = DEPTH, p: float = PERSISTENCE
) -> ComparisonRecord:
    """Compare two runs on the topics that both were asked; see `compare`.

    Raises
    ------
    EvaluationError
        They have no topic in common, or one is of documents and the other of chunks.
    """
    units = [run.provenance.unit for run in (a, b) if run.provenance is not None]
    if len(set(units)) > 1:
        raise EvaluationError(
            f"a ({a.label}) ranks {units[0]}s and b ({b.label}) ranks {units[1]}s, which have no "
            "name in common; make both with the same unit="
        )
    b = matched(b, docnos_by_qid(a), a.decoded)
    a, b = a.cut(depth), b.cut(depth)
    asked_a, asked_b = _asked(a), _asked(b)
    qids = [qid for qid in asked_a if qid in asked_b]
    # A file of another tool is silent on topics for which it found nothing.
    if a.topics is None or b.topics is None:
        qids += [qid for qid in asked_a if qid not in asked_b and b.topics is None]
        qids += [qid for qid in asked_b if qid not in asked_a and a.topics is None]
    if not qids:
        raise EvaluationError(f"runs {a.label} and {b.label} have no topic in common")
    notes = list(state_notes({f"a ({a.label})": a, f"b ({b.label})": b}))
    notes += [f"Run {run.label}: {note}" for run in (a, b) for note in run.notes]
    if _strangers(a, b, qids):
        notes.insert(
            0,
            f"WARNING: not one docno of b ({b.label}) occurs in a ({a.label}), whatever the "
            "topic; are documents named otherwise there?",
        )
    left_out = len({*asked_a, *asked_b}) - len(qids)
    if left_out:
        notes.append(f"Topics that only one of the runs was asked, and so left out: {left_out:,}.")
    for run in (a, b):
        silent = [qid for qid in qids if run.topics is None and not run.rankings.get(qid)]
        if silent:
            notes.append(
                f"Run {run.label} has no row for {counted(len(silent), 'topic')} ({some(silent)}), "
                "taken as empty: not asked, or nothing found."
            )
    queries = {**(b.topics or {}), **(a.topics or {})}
    differing = [qid for qid in qids if a.topics and b.topics and a.topics[qid] != b.topics[qid]]
    if differing:
        notes.append(
            f"WARNING: the runs were asked different queries under the same qid: "
            f"{', '.join(differing[:5])}."
        )
    record = ComparisonRecord(a, b, k, depth, (), {}, ())
    rows = [_query(qid, queries.get(qid, ""), record, p) for qid in qids]
    rows.sort(key=lambda row: 2.0 if row.rbo is None else row.rbo)
    return ComparisonRecord(a, b, k, depth, tuple(rows), _totals(rows, a, b), tuple(notes))


def _strangers(a: RunRecord, b: RunRecord, qids: Sequence[str]) -> bool:
    """Whether both runs name documents, and none that is the same."""
    names_a, names_b = (
        {docno for qid in qids for docno, _ in run.rankings.get(qid, ())} for run in (a, b)
    )
    return bool(names_a and names_b) and not names_a & names_b


def _asked(run: RunRecord) -> dict[str, None]:
    return dict.fromkeys(run.topics if run.topics is not None else run.rankings)


def _ranks(run: RunRecord, qid: str) -> dict[str, int]:
    return {docno: rank for rank, (docno, _) in enumerate(run.rankings.get(qid, ()), start=1)}


def _moves(qid: str, record: ComparisonRecord) -> list[Move]:
    ranks_a, ranks_b = _ranks(record.a, qid), _ranks(record.b, qid)
    found = []
    for docno in {**ranks_a, **ranks_b}:
        one, two = ranks_a.get(docno), ranks_b.get(docno)
        in_a = one is not None and one <= record.k
        in_b = two is not None and two <= record.k
        change = one - two if one is not None and two is not None else None
        if not in_a and not in_b:
            move = "below"
        elif in_a != in_b:
            move = "new" if in_b else "lost"
        else:
            move = "same" if not change else "up" if change > 0 else "down"
        found.append(Move(qid, docno, one, two, change, move))
    deepest = record.depth + 1
    found.sort(key=lambda m: (min(m.rank_a or deepest, m.rank_b or deepest), m.docno))
    return found


def _query(qid: str, query: str, record: ComparisonRecord, p: float) -> QueryComparison:
    ranking_a, ranking_b = record.a.rankings.get(qid, ()), record.b.rankings.get(qid, ())
    top_a = [docno for docno, _ in ranking_a[: record.k]]
    top_b = [docno for docno, _ in ranking_b[: record.k]]
    agreement, common = tau(ranking_a, ranking_b)
    moved = [m for m in _moves(qid, record) if m.move != "below" and m.change]
    up = max(moved, key=lambda m: m.change or 0, default=None)
    down = min(moved, key=lambda m: m.change or 0, default=None)
    up_by = max(0, (up.change or 0) if up else 0)
    down_by = max(0, -((down.change or 0) if down else 0))
    return QueryComparison(
        qid,
        query,
        overlap(top_a, top_b),
        jaccard(top_a, top_b),
        rbo(top_a, top_b, p),
        agreement,
        common,
        len(set(top_b) - set(top_a)),
        len(set(top_a) - set(top_b)),
        up.docno if up and up_by else "",
        up_by,
        down.docno if down and down_by else "",
        down_by,
    )


def _totals(
    rows: Sequence[QueryComparison], a: RunRecord, b: RunRecord
) -> dict[str, float | int | None]:
    def mean(name: str) -> float | None:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        return sum(known) / len(known) if known else None

    def first(run: RunRecord, qid: str) -> str:
        ranking = run.rankings.get(qid, ())
        return ranking[0][0] if ranking else ""

    return {
        "queries": len(rows),
        "without_hits": sum(row.rbo is None for row in rows),
        "overlap": mean("overlap"),
        "jaccard": mean("jaccard"),
        "rbo": mean("rbo"),
        "tau": mean("tau"),
        "new": sum(row.new for row in rows),
        "lost": sum(row.lost for row in rows),
        "same_set": sum(row.jaccard == 1 for row in rows),
        "other_first": sum(first(a, row.qid) != first(b, row.qid) for row in rows),
    }
