"""A run: one ranking of documents for each topic, with what made it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from knowledge_nb.errors import EvaluationError

Ranking = tuple[tuple[str, float], ...]  # (docno, score), best first, rank 1 first


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a run; two runs with equal settings on one generation are the same run.

    Attributes
    ----------
    mode : str
        Asked for; whether each topic got it stands in the run's outcomes.
    unit : {"document", "chunk"}
    docno : str
        "path", "stem", or the name of the callable.
    k : int
        Ranks wanted of each topic.
    window : int
        Chunk ranks of each tier that were fused; see `making.make_run`.
    window_given : bool
        Whether it was asked for, so that it was never widened.
    rrf_k : float
    weights : tuple of float
        Of the lexical and of the vector ranking.
    common_terms, under : str
        As in a search.
    model : str
        Of the vectors; "" for a lexical run.
    dimension : int or None
    generation : int
        Committed state of the index that was ranked.
    index_completed : str
        UTC time of that state's last completed pass.
    base : str
    documents, chunks, without_vector : int
        In that state.
    versions : dict of str to str
        Of the packages, SQLite and Python at work.
    """

    mode: str
    unit: str
    docno: str
    k: int
    window: int
    window_given: bool
    rrf_k: float
    weights: tuple[float, float]
    common_terms: str
    under: str
    model: str
    dimension: int | None
    generation: int
    index_completed: str
    base: str
    documents: int
    chunks: int
    without_vector: int
    versions: dict[str, str] = field(default_factory=dict)

    def differences(self, other: Provenance) -> tuple[str, ...]:
        """In what `other` differs, in words; empty where both make the same run."""
        mine, theirs = asdict(self), asdict(other)
        return tuple(
            f"{name}: {mine[name]!r} there, {theirs[name]!r} now"
            for name in mine
            if mine[name] != theirs[name]
        )

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Provenance:
        """From the dict that `asdict`, through JSON, gave."""
        known = dict(record)
        known["weights"] = tuple(known["weights"])
        return Provenance(**known)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one topic.

    Attributes
    ----------
    status : {"ok", "no_hits", "query_empty"}
        "no_hits": searched, nothing ranked. "query_empty": nothing of it can be searched.
    degraded : str
        Why words alone were ranked where a fused ranking was asked for; "" where it was fused.
    widened : bool
        Whether the whole rankings were fused, since the window gave fewer than k documents.
    notes : tuple of str
    """

    qid: str
    query: str
    status: str
    degraded: str = ""
    widened: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One ranking a topic.

    Attributes
    ----------
    name : str
        As shown in tables; `label` adds a degradation to it.
    rankings : dict of str to ranking
        By qid, in the order of the topics; only topics with hits where the run was read from a
        file of another tool.
    outcomes : tuple of Outcome
        One a topic, in their order; empty where the run was read from another tool's file.
    provenance : Provenance or None
        None for a run of another tool.
    notes : tuple of str
    """

    name: str
    rankings: dict[str, Ranking]
    outcomes: tuple[Outcome, ...] = ()
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()

    @property
    def degraded(self) -> tuple[str, ...]:
        """Qids whose ranking is not of the mode asked for."""
        return tuple(each.qid for each in self.outcomes if each.degraded)

    @property
    def label(self) -> str:
        """The name; of a degraded run, one that cannot be taken for the mode asked for."""
        if not self.degraded:
            return self.name
        return f"{self.name}-DEGRADED-{len(self.degraded)}-of-{len(self.outcomes)}"

    @property
    def tier(self) -> str:
        """One line on what made the run."""
        made = self.provenance
        if made is None:
            return f"run {self.name}: made elsewhere"
        line = f"run {self.label}: {made.mode}, {made.unit}s, k={made.k}"
        if made.mode == "fused":
            line += f", RRF k={made.rrf_k:g} weights={made.weights} window={made.window}"
        return f"{line}, index generation {made.generation}"

    @property
    def topics(self) -> dict[str, str] | None:
        """Queries by qid; None where they are not known."""
        return {each.qid: each.query for each in self.outcomes} or None

    @property
    def tied(self) -> int:
        """Neighbours in the rankings whose scores are equal."""
        return sum(
            one[1] == two[1]
            for ranking in self.rankings.values()
            for one, two in itertools.pairwise(ranking)
        )

    def cut(self, k: int) -> RunRecord:
        """The same run to depth k."""
        return RunRecord(
            self.name,
            {qid: ranking[:k] for qid, ranking in self.rankings.items()},
            self.outcomes,
            self.provenance,
            self.notes,
        )


def counted(number: int, noun: str) -> str:
    """A number with its noun, for notes."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_run(source: Any, name: str = "") -> RunRecord:
    """Take a run in whatever form it comes.

    Parameters
    ----------
    source : RunRecord, frame, mapping, str or path
        A frame has `qid docno score` and perhaps `rank` (PyTerrier), or ir-measures'
        `query_id doc_id score`; a frame whose `.result` is a run is that run. A mapping is qid to
        docno to score (pytrec_eval, ranx). A string or path names a TREC run file.
    name : str
        For a run that has none.

    Raises
    ------
    EvaluationError
        It is none of these, a docno stands twice in a topic, a score is no number.
    """
    if isinstance(source, RunRecord):
        return source
    if isinstance(getattr(source, "result", None), RunRecord):
        found: RunRecord = source.result
        return found
    if hasattr(source, "columns"):
        return ordered(_frame_rows(source), name or "run")
    if isinstance(source, Mapping):
        rows = [
            (str(qid), str(docno), None, float(score))
            for qid, scores in source.items()
            for docno, score in dict(scores).items()
        ]
        return ordered(rows, name or "run")
    from knowledge_nb.evaluation.trec import read_run

    return read_run(source, name=name)


def _frame_rows(frame: Any) -> list[tuple[str, str, int | None, float]]:
    columns = list(frame.columns)
    names = ("qid", "docno") if "qid" in columns else ("query_id", "doc_id")
    missing = [name for name in (*names, "score") if name not in columns]
    if missing:
        raise EvaluationError(
            f"the frame of a run has no column {', '.join(missing)}; it needs qid, docno, score"
        )
    ranks = frame["rank"] if "rank" in columns else [None] * len(frame)
    return [
        (str(qid), str(docno), None if rank is None else int(rank), float(score))
        for qid, docno, rank, score in zip(
            frame[names[0]], frame[names[1]], ranks, frame["score"], strict=True
        )
    ]


def ordered(
    rows: Iterable[tuple[str, str, int | None, float]], name: str, notes: Iterable[str] = ()
) -> RunRecord:
    """Make a run of rows (qid, docno, rank or None, score) in any order.

    The score decides, higher first; equal scores stand in the order of the rank, then of the rows.

    Raises
    ------
    EvaluationError
        A docno twice for one qid, or a score that is not finite.
    """
    by_qid: dict[str, list[tuple[float, int, int, str]]] = {}
    ranked = True
    seen: set[tuple[str, str]] = set()
    for place, (qid, docno, rank, score) in enumerate(rows):
        if (qid, docno) in seen:
            raise EvaluationError(
                f"run {name}: {docno!r} stands twice for qid {qid}; a ranking holds a document once"
            )
        if not abs(score) < float("inf"):
            raise EvaluationError(f"run {name}: qid {qid}, {docno!r} has the score {score}")
        seen.add((qid, docno))
        ranked = ranked and rank is not None
        by_qid.setdefault(qid, []).append((-score, place if rank is None else rank, place, docno))
    said = list(notes)
    rankings: dict[str, Ranking] = {}
    against = 0
    for qid, found in by_qid.items():
        in_order = sorted(found)
        against += any(one[1] > two[1] for one, two in itertools.pairwise(in_order))
        rankings[qid] = tuple((docno, -negative) for negative, _, _, docno in in_order)
    if against and ranked:
        said.append(
            f"The rank column contradicts the scores in {counted(against, 'topic')}; the scores "
            "decide, as in trec_eval."
        )
    return RunRecord(name, rankings, notes=tuple(said))


def named_runs(runs: Any) -> dict[str, RunRecord]:
    """Take one run or several, each under a label of its own.

    Parameters
    ----------
    runs : run, mapping of label to run, or iterable of runs
        See `as_run`. A mapping whose values are mappings of numbers is one run.

    Returns
    -------
    dict of str to RunRecord
        In the order given; a second run with the label of an earlier one gets " (2)".
    """
    if isinstance(runs, Mapping) and not _is_scores(runs):
        given = [(str(label), run) for label, run in runs.items()]
    elif isinstance(runs, list | tuple):
        given = [("", run) for run in runs]
    else:
        given = [("", runs)]
    named: dict[str, RunRecord] = {}
    for label, run in given:
        record = as_run(run, label)
        wanted = label or record.label
        if label and record.degraded and "DEGRADED" not in label:
            wanted = f"{label}-DEGRADED-{len(record.degraded)}-of-{len(record.outcomes)}"
        free, number = wanted, 1
        while free in named:
            number += 1
            free = f"{wanted} ({number})"
        named[free] = record
    if not named:
        raise EvaluationError("no run was given")
    return named


def _is_scores(runs: Mapping[Any, Any]) -> bool:
    first = next(iter(runs.values()), None)
    if not isinstance(first, Mapping):
        return False
    score = next(iter(first.values()), None)
    return score is None or isinstance(score, int | float)


def refuse_degraded(runs: Mapping[str, RunRecord]) -> None:
    """Refuse runs that are not of the mode that they were asked for.

    Raises
    ------
    EvaluationError
    """
    for label, run in runs.items():
        if run.degraded:
            first = next(each for each in run.outcomes if each.degraded)
            raise EvaluationError(
                f"run {label} is not what it was asked to be: {len(run.degraded)} of "
                f"{len(run.outcomes)} topics were ranked by words alone (first {first.qid}: "
                f"{first.degraded}). Mend the embeddings server and run it again (with save= only "
                "those topics are), or pass allow_degraded=True to use it under its label."
            )
