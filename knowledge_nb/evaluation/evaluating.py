"""Evaluation: runs against judgements, per topic and on average, with significance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation import measures as measuring
from knowledge_nb.evaluation.asked import asked, asked_notes, some
from knowledge_nb.evaluation.coverage import unknown_notes
from knowledge_nb.evaluation.measures import DEFAULT, Ties, Values, is_coverage
from knowledge_nb.evaluation.names import matched
from knowledge_nb.evaluation.qrels import Qrels, read_qrels
from knowledge_nb.evaluation.runs import RunRecord, named_runs, refuse_degraded
from knowledge_nb.evaluation.significance import Paired, holm, interval, paired
from knowledge_nb.evaluation.states import state_notes
from knowledge_nb.records import counted


@dataclass(frozen=True, slots=True)
class Mean:
    """One run's mean of one measure, with its 95 % bootstrap interval.

    Of a measure that ir-measures adds up (NumRet, NumRel, NumQ) it is the sum, without an interval.
    """

    run: str
    measure: str
    mean: float | None  # None where no topic has a value
    low: float | None
    high: float | None
    topics: int  # with a value
    summed: bool = False  # whether `mean` is the sum


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
        Labels, names of measures (`Judged@k` beside each cut), topics reported on: those that
        every run was asked, see `asked`.
    queries : dict of str to str
        By qid, where a run knows them.
    values : dict of str to Values
        By run, measure, qid. A topic without any judgement has no value (NA in frames) and no part
        in means. A judged topic without hits has 0, and no value of `Judged@k`.
    means : tuple of Mean
        By measure, then run.
    differences : tuple of Difference
        Against the baseline, by measure, then run; `Judged@k` and sums are not tested.
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

    Means and tests are over the topics that every run of ours was asked; a run of another tool
    cannot know what it was asked, and is taken as asked for all. Notes say what was left out, and
    which runs are of which index generation where these differ.

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
        A run, the qrels, a measure or the baseline cannot be used; no topic of the runs is judged;
        runs have no topic in common; a run of chunks meets judgements of documents.
    MissingDependencyError
    """
    named = named_runs(runs)
    if not allow_degraded:
        refuse_degraded(named)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise EvaluationError(f"seed is a whole number from 0 up, not {seed!r}")
    judged = read_qrels(qrels)
    named = {label: matched(run, judged.grades, judged.decoded) for label, run in named.items()}
    chosen = measuring.parse_measures(measures)
    names = tuple(str(measure) for measure in chosen)
    first = baseline if baseline is not None else next(iter(named))
    if first not in named:
        raise EvaluationError(f"no run is called {first!r}; there are {', '.join(named)}")
    qids = asked(named, judged)
    if not any(qid in judged.grades for qid in qids):
        raise EvaluationError(
            "no topic of the runs has a judgement; qids differ: runs have "
            f"{', '.join(qids[:3])}, qrels have {', '.join(list(judged.grades)[:3])}"
        )
    strangers = _strangers(named, judged, qids)
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
        means=_means(values, chosen, seed),
        differences=_differences(values, chosen, first, seed),
        baseline=first,
        notes=(
            *strangers,
            *state_notes(named),
            *judged.notes,
            *_summed(chosen),
            *_notes(named, judged, qids, docnos, ties),
        ),
    )


def _strangers(named: dict[str, RunRecord], qrels: Qrels, qids: tuple[str, ...]) -> list[str]:
    """Warnings of runs that name no judged document: then 0 is the names' doing, not the run's.

    Raises
    ------
    EvaluationError
        Such a run is known to name chunks.
    """
    warnings = []
    for label, run in named.items():
        judged = [qid for qid in qids if qid in qrels.grades and run.rankings.get(qid)]
        if not judged or any(
            docno in qrels.grades[qid] for qid in judged for docno, _ in run.rankings[qid]
        ):
            continue
        ours = run.rankings[judged[0]][0][0]
        theirs = next(iter(qrels.grades[judged[0]]))
        said = (
            f"not one docno of run {label} occurs in the judgements (topic {judged[0]}: the run "
            f"has {ours!r}, the judgements have {theirs!r})"
        )
        if run.provenance is not None and run.provenance.unit == "chunk":
            raise EvaluationError(
                f'{said}, since it ranks chunks: make it with unit="document", or judge chunks'
            )
        warnings.append(f"WARNING: {said}; is a document named otherwise there?")
    return warnings


def _summed(measures: tuple[Any, ...]) -> list[str]:
    found = [str(measure) for measure in measures if measuring.is_sum(measure)]
    if not found:
        return []
    return [f"Summed over the topics as ir-measures does, no mean and not tested: {some(found)}."]


def _means(values: dict[str, Values], measures: tuple[Any, ...], seed: int) -> tuple[Mean, ...]:
    means = []
    for measure in measures:
        name = str(measure)
        summed = measuring.is_sum(measure)
        for label, of_run in values.items():
            sample = list(of_run[name].values())
            low, high = (None, None) if summed else interval(sample, seed=seed)
            mean = measuring.aggregate(measure, sample)
            means.append(Mean(label, name, mean, low, high, len(sample), summed))
    return tuple(means)


def _differences(
    values: dict[str, Values], measures: tuple[Any, ...], baseline: str, seed: int
) -> tuple[Difference, ...]:
    tests: list[tuple[str, str, Paired]] = []
    for measure in measures:
        name = str(measure)
        if is_coverage(name) or measuring.is_sum(measure):
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
    notes += asked_notes(named, qrels, qids)
    for label, run in named.items():
        if run.tied:
            order = "as the run ranks them" if ties == "rank" else "as trec_eval orders them"
            notes.append(
                f"Run {label} has {counted(run.tied, 'pair')} of equal scores, taken {order}."
            )
        notes += [f"Run {label}: {note}" for note in run.notes]
    if docnos is not None:
        notes += unknown_notes(qrels, docnos)
    return notes
