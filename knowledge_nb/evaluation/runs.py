"""A run: one ranking of documents for each topic, with what made it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.given import is_missing, name_of, number_of, whole_of
from knowledge_nb.records import counted

Ranking = tuple[tuple[str, float], ...]  # (docno, score), best first, rank 1 first

FORMS: Final = (
    "a run of kb.run, a frame with qid, docno and score, a mapping of qid to docno to score, or a "
    "TREC run file"
)


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
    topics_sha256 : str
        Of the qids and queries asked, whatever their order.
    docnos_sha256 : str
        Of the docnos that a callable made, in the order of the documents; "" without one.
    stale, skipped : int
        Documents whose text may be old, and what the last pass left out.
    unfinished : str
        The warning of a pass that did not finish; "" where there is none.
    coverage : str
        The completeness statement of that state.
    store_id : str
        Which store; "" in runs saved by versions that did not say.
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
    topics_sha256: str = ""
    docnos_sha256: str = ""
    stale: int = 0
    skipped: int = 0
    unfinished: str = ""
    coverage: str = ""
    store_id: str = ""

    def differences(self, other: Provenance) -> tuple[str, ...]:
        """In what `other` differs, in words; empty where both make the same run."""
        mine, theirs = asdict(self), asdict(other)
        if not (self.store_id and other.store_id):
            del mine["store_id"]
        hashes = {
            "topics_sha256": "topics: other qids or queries there than now",
            "docnos_sha256": "docno: the callable gave other names there than now",
            "store_id": "store: another one there than now",
        }
        return tuple(
            hashes.get(name) or f"{name}: {mine[name]!r} there, {theirs[name]!r} now"
            for name in mine
            # Sentences on what the fields beside them count.
            if name not in ("coverage", "unfinished") and mine[name] != theirs[name]
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
    decoded : frozenset of str
        Qids and docnos that stood percent-encoded in the file that was read; see `names.matched`.
    """

    name: str
    rankings: dict[str, Ranking]
    outcomes: tuple[Outcome, ...] = ()
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()
    decoded: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

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
        line += f", index generation {made.generation}"
        if made.without_vector and made.mode != "lexical":
            line += f" - {counted(made.without_vector, 'chunk')} without a vector"
        return line

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
        return replace(self, rankings={q: ranking[:k] for q, ranking in self.rankings.items()})


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
        It is none of these, a docno stands twice in a topic, a score is no number, or it is a
        frame of ours whose rows were changed: whoever changed them measures them as a run of
        their own, `pd.DataFrame(run)`, without the name and provenance of the one it was.
    """
    if isinstance(source, RunRecord):
        return source
    if isinstance(getattr(source, "result", None), RunRecord):
        found: RunRecord = source.result
        if hasattr(source, "columns"):
            _require_unchanged(source, found)
        return found
    if hasattr(source, "columns"):
        return ordered(_frame_rows(source), name or "run")
    if isinstance(source, Mapping):
        return ordered(_mapping_rows(source), name or "run")
    if isinstance(source, str | os.PathLike):
        from knowledge_nb.evaluation.trec import read_run

        return read_run(source, name=name)
    raise EvaluationError(f"{type(source).__name__} {source!r:.60} is no run; a run is {FORMS}")


def _require_unchanged(frame: Any, record: RunRecord) -> None:
    """Refuse a run's frame whose rows are no longer those of its record.

    Raises
    ------
    EvaluationError
    """
    pairs = [(qid, *each) for qid, ranking in record.rankings.items() for each in ranking]
    ranks = [rank for each in record.rankings.values() for rank in range(1, len(each) + 1)]
    columns = {
        "qid": [qid for qid, _, _ in pairs],
        "docno": [docno for _, docno, _ in pairs],
        "rank": ranks,
        "score": [score for _, _, score in pairs],
    }
    changed = [
        name
        for name, values in columns.items()
        if name not in frame.columns or frame[name].tolist() != values
    ]
    if changed:
        raise EvaluationError(
            f"the frame of run {record.label} was changed since it was made (its "
            f"{', '.join(changed)}: {len(frame):,} rows, made with {len(pairs):,}), so it is no "
            "longer that run. Pass pd.DataFrame(run) to use its rows as they are now, as a run of "
            "your own; or make the run again."
        )


def _mapping_rows(source: Mapping[Any, Any]) -> list[tuple[str, str, int | None, float]]:
    rows: list[tuple[str, str, int | None, float]] = []
    for qid, scores in source.items():
        name = name_of(qid, "a qid of the run")
        if not isinstance(scores, Mapping):
            raise EvaluationError(
                f"qid {name} of the run has {type(scores).__name__} {scores!r:.60} where a mapping "
                f"of docno to score is expected; a run is {FORMS}"
            )
        for docno, score in scores.items():
            document = name_of(docno, f"a docno of qid {name}")
            rows.append((name, document, None, _score(score, name, document)))
    return rows


def _score(score: Any, qid: str, docno: str) -> float:
    return number_of(score, f"the run's qid {qid}, {docno!r} has the score")


def _frame_rows(frame: Any) -> list[tuple[str, str, int | None, float]]:
    columns = list(frame.columns)
    names = ("qid", "docno") if "qid" in columns else ("query_id", "doc_id")
    missing = [name for name in (*names, "score") if name not in columns]
    if missing:
        raise EvaluationError(
            f"the frame of a run has no column {', '.join(missing)}; it needs qid, docno, score"
        )
    ranks = frame["rank"] if "rank" in columns else [None] * len(frame)
    rows: list[tuple[str, str, int | None, float]] = []
    for number, (qid, docno, rank, score) in enumerate(
        zip(frame[names[0]], frame[names[1]], ranks, frame["score"], strict=True)
    ):
        name = name_of(qid, f"the qid of row {number}")
        document = name_of(docno, f"the docno of row {number}")
        place = None
        if "rank" in columns:
            if is_missing(rank):
                raise EvaluationError(
                    f"the run's qid {name}, {document!r} has no rank ({rank!r}); fill the column, "
                    "or drop it: the scores decide"
                )
            place = whole_of(rank, f"the run's qid {name}, {document!r} has the rank")
        rows.append((name, document, place, _score(score, name, document)))
    return rows


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
        See `as_run`. A mapping of qid to docno to score is one run.

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
    return not isinstance(next(iter(first.values()), None), Mapping)


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
