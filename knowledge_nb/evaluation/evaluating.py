"""Evaluation: runs against judgements, per topic and on average, with significance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation import measures as measuring
from knowledge_nb.evaluation.measures import DEFAULT, Ties, Values, is_coverage
from knowledge_nb.evaluation.qrels import Qrels, read_qrels
from knowledge_nb.evaluation.runs import RunRecord, counted, named_runs, refuse_degraded
from knowledge_nb.evaluation.significance import Paired, holm, interval, paired


@dataclass(frozen=True, slots=True)
class Mean:
    """One run's mean of one measure, with its 95 % bootstrap interval."""

    run: str
    measure: str
    mean: float | None  # None where no topic has a value
    low: float | None
    high: float | None
    topics: int  # with a value


@dataclass(frozen=True, slots=True)
class Difference:
    """One run against the baseline on one measure; the p values also after Holm's correction.

    The correction is over all runs and measures of one evaluation.
    """

    run: str
    baseline: str
    measure: str
    test: Paired
    p_randomisation_holm: float | None
    p_t_holm: float | None


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """Runs measured against judgements.

    Attributes
    ----------
    runs, measures, qids : tuple of str
        Labels, names of measures (`Judged@k` beside each cut), topics reported on.
    queries : dict of str to str
        By qid, where a run knows them.
    values : dict of str to Values
        By run, measure, qid. A topic without any judgement has no value (NA in frames) and no part
        in means. A judged topic without hits has 0, and no value of `Judged@k`.
    means : tuple of Mean
        By measure, then run.
    differences : tuple of Difference
        Against the baseline, by measure, then run; `Judged@k` is not tested.
    baseline : str
    notes : tuple of str
    """

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    qids: tuple[str, ...]
    queries: dict[str, str]
    values: dict[str, Values]
    means: tuple[Mean, ...]
    differences: tuple[Difference, ...]
    baseline: str
    notes: tuple[str, ...]

    @property
    def tier(self) -> str:
        """One line on what was measured."""
        return f"evaluation of {', '.join(self.runs)} on {len(self.qids)} topics"


def evaluate(
    runs: Any,
    qrels: Any,
    measures: str | Iterable[Any] = DEFAULT,
    *,
    baseline: str | None = None,
    ties: Ties = "rank",
    docnos: Iterable[str] | None = None,
    allow_degraded: bool = False,
    seed: int = 0,
) -> EvaluationRecord:
    """Measure runs and test their differences.

    Parameters
    ----------
    runs : see `runs.named_runs`
    qrels : see `qrels.read_qrels`
    measures : see `measures.parse_measures`
    baseline : str, optional
        Label of the run that the others are tested against; else the first.
    ties : see `measures.values`
    docnos : iterable of str, optional
        What the index holds; judged documents beyond it are counted in a note.
    allow_degraded : bool
        Take a run in which topics were ranked otherwise than asked for; its label says so.
    seed : int
        Of the resampling.

    Returns
    -------
    EvaluationRecord

    Raises
    ------
    EvaluationError
        A run, the qrels, a measure or the baseline cannot be used; no topic of the runs is judged.
    MissingDependencyError
    """
    named = named_runs(runs)
    if not allow_degraded:
        refuse_degraded(named)
    judged = read_qrels(qrels)
    chosen = measuring.parse_measures(measures)
    names = tuple(str(measure) for measure in chosen)
    first = baseline if baseline is not None else next(iter(named))
    if first not in named:
        raise EvaluationError(f"no run is called {first!r}; there are {', '.join(named)}")
    qids = measuring.asked(named, judged)
    if not any(qid in judged.grades for qid in qids):
        raise EvaluationError(
            "no topic of the runs has a judgement; qids differ: runs have "
            f"{', '.join(qids[:3])}, qrels have {', '.join(list(judged.grades)[:3])}"
        )
    values = {
        label: measuring.values(run, judged, qids, chosen, ties=ties)
        for label, run in named.items()
    }
    queries: dict[str, str] = {}
    for run in named.values():
        queries = {**(run.topics or {}), **queries}
    return EvaluationRecord(
        runs=tuple(named),
        measures=names,
        qids=qids,
        queries=queries,
        values=values,
        means=_means(values, names, seed),
        differences=_differences(values, names, first, seed),
        baseline=first,
        notes=(*judged.notes, *_notes(named, judged, qids, docnos, ties)),
    )


def _means(values: dict[str, Values], names: tuple[str, ...], seed: int) -> tuple[Mean, ...]:
    means = []
    for name in names:
        for label, of_run in values.items():
            sample = list(of_run[name].values())
            low, high = interval(sample, seed=seed)
            mean = sum(sample) / len(sample) if sample else None
            means.append(Mean(label, name, mean, low, high, len(sample)))
    return tuple(means)


def _differences(
    values: dict[str, Values], names: tuple[str, ...], baseline: str, seed: int
) -> tuple[Difference, ...]:
    tests: list[tuple[str, str, Paired]] = []
    for name in names:
        if is_coverage(name):
            continue
        base = values[baseline][name]
        for label, of_run in values.items():
            if label == baseline:
                continue
            common = [qid for qid in base if qid in of_run[name]]
            one = [of_run[name][qid] for qid in common]
            tests.append((label, name, paired(one, [base[qid] for qid in common], seed=seed)))
    randomised = holm([test.p_randomisation for _, _, test in tests])
    by_t = holm([test.p_t for _, _, test in tests])
    return tuple(
        Difference(label, baseline, name, test, p, t)
        for (label, name, test), p, t in zip(tests, randomised, by_t, strict=True)
    )


def _notes(
    named: dict[str, RunRecord],
    qrels: Qrels,
    qids: tuple[str, ...],
    docnos: Iterable[str] | None,
    ties: Ties,
) -> list[str]:
    def some(found: list[str]) -> str:
        return ", ".join(found[:5]) + (f" and {len(found) - 5:,} more" if len(found) > 5 else "")

    notes = []
    unjudged = [qid for qid in qids if qid not in qrels.grades]
    if unjudged:
        notes.append(
            f"Without a judgement, so NA and in no mean: {counted(len(unjudged), 'topic')} "
            f"({some(unjudged)})."
        )
    fruitless = [qid for qid in qids if qid in qrels.grades and not any(qrels.grades[qid].values())]
    if fruitless:
        notes.append(
            f"Without a relevant document, so 0 for every run: {counted(len(fruitless), 'topic')} "
            f"({some(fruitless)})."
        )
    not_asked = [qid for qid in qrels.grades if qid not in set(qids)]
    if not_asked:
        notes.append(f"Judged but not asked, and left out: {counted(len(not_asked), 'topic')}.")
    for label, run in named.items():
        empty = [qid for qid in qids if qid in qrels.grades and not run.rankings.get(qid)]
        if empty:
            notes.append(
                f"Run {label} has no hit, so 0, for {counted(len(empty), 'judged topic')} "
                f"({some(empty)})."
            )
        if run.tied:
            order = "as the run ranks them" if ties == "rank" else "as trec_eval orders them"
            notes.append(
                f"Run {label} has {counted(run.tied, 'pair')} of equal scores, taken {order}."
            )
        notes += [f"Run {label}: {note}" for note in run.notes]
    if docnos is not None:
        unknown = qrels.unknown(docnos)
        if unknown:
            notes.append(
                f"Judged but not in the index, so missed by every run: "
                f"{counted(len(unknown), 'document')} ({some(list(unknown))})."
            )
    return notes
