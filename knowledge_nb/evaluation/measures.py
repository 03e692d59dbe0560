"""Measures of effectiveness: ir-measures computes them all, nothing is computed here.

References
----------
MacAvaney, Macdonald, Ounis: Streamlining Evaluation with ir-measures, ECIR 2022.
https://ir-measur.es
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from knowledge_nb.errors import EvaluationError, MissingDependencyError
from knowledge_nb.evaluation.qrels import Qrels
from knowledge_nb.evaluation.runs import Ranking, RunRecord

DEFAULT: Final = ("nDCG@10", "AP", "RR", "R@100")
INSTALL: Final = "pip install 'knowledge-nb[evaluation]'"
EXAMPLES: Final = "examples: nDCG@10, AP, RR, P@5, R@100, and https://ir-measur.es lists them all"
# trec_eval ends the whole process at a cut of 0, and reads a large number into 32 bits.
DEEPEST: Final = 1_000_000
# trec_eval's infAP tells a document of the pool that was not judged (-1) from one outside the pool.
SEES_NEGATIVE: Final = frozenset({"infAP"})

Ties = Literal["rank", "trec_eval"]
Values = dict[str, dict[str, float]]  # measure -> qid -> value


def library() -> Any:
    """ir-measures, loaded at the first use.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import ir_measures
        import pytrec_eval  # noqa: F401 # without it ir-measures would know few measures
    except ImportError as error:
        raise MissingDependencyError(
            f"measures need {error.name}, which is not installed: {INSTALL}"
        ) from error
    return ir_measures


def parse_measures(names: str | Iterable[Any]) -> tuple[Any, ...]:
    """From names to ir-measures' measures, with `Judged@k` after the first measure cut at k.

    Parameters
    ----------
    names : str or iterable
        As ir-measures writes them (`nDCG@10`, `AP(rel=2)`, `R@100`), or its measures.

    Returns
    -------
    tuple
        Each once, in order.

    Raises
    ------
    EvaluationError
        ir-measures knows no such measure.
    """
    ir = library()
    if not isinstance(names, str | ir.Measure) and not isinstance(names, Iterable):
        raise EvaluationError(f"measures are names, not {names!r}; {EXAMPLES}")
    given = [names] if isinstance(names, str | ir.Measure) else list(names)
    if not given:
        raise EvaluationError("no measure was given; name one, such as nDCG@10")
    found: dict[Any, None] = {}
    for name in given:
        measure = name
        if isinstance(name, str):
            try:
                measure = ir.parse_measure(name.strip())
            except Exception as error:  # it evaluates a syntax tree, so any kind may come
                raise EvaluationError(
                    f"ir-measures knows no measure {name!r} ({error}); {EXAMPLES}"
                ) from error
        if not isinstance(measure, ir.Measure):
            raise EvaluationError(f"ir-measures knows no measure {name!r}; {EXAMPLES}")
        _require_sound(measure, name)
        found[measure] = None
        cut = cutoff(measure)
        if cut is not None:
            found[ir.Judged @ cut] = None
    return tuple(found)


def _require_sound(measure: Any, name: Any) -> None:
    """Refuse parameters before a package sees them: some end the process, some give a number."""
    known, given = measure.SUPPORTED_PARAMS, measure.params
    shown = name if isinstance(name, str) else type(measure).__name__.strip("_")
    for param in given:
        if param not in known:
            raise EvaluationError(
                f"measure {shown!r} has no parameter {param!r}; it has "
                f"{', '.join(known) or 'none'}; {EXAMPLES}"
            )
    for param, about in known.items():
        if param not in given:
            if about.required:
                example = {"cutoff": "@10", "recall": "@0.5"}.get(param, f"({param}=...)")
                raise EvaluationError(
                    f"measure {shown!r} needs {param}: write {measure.NAME}{example}; {EXAMPLES}"
                )
            continue
        value = given[param]
        whole = isinstance(value, int) and not isinstance(value, bool)
        wanted = ""
        if param in ("cutoff", "rel", "max_rel"):
            if not whole or not 1 <= value <= DEEPEST:
                wanted = f"a whole number from 1 to {DEEPEST:,}"
        elif param == "recall":
            if not (whole or isinstance(value, float)) or not 0 <= value <= 1:
                wanted = "a number from 0 to 1"
        elif not about.validate(value):
            wanted = "another value"
        if wanted:
            raise EvaluationError(f"{param} of measure {shown!r} is {wanted}, not {value!r}")


def cutoff(measure: Any) -> int | None:
    """The rank at which a measure stops; None where it looks at whole rankings."""
    cut = measure.params.get("cutoff")
    return cut if isinstance(cut, int) else None


def is_sum(measure: Any) -> bool:
    """Whether ir-measures adds a measure up over topics, as NumRet: no mean and no test."""
    return not isinstance(measure.aggregator(), library().MeanAgg)


def aggregate(measure: Any, sample: Iterable[float]) -> float | None:
    """The measure's own aggregation over topics; None without any."""
    total = measure.aggregator()
    number = 0
    for value in sample:
        total.add(value)
        number += 1
    return float(total.result()) if number else None


def is_coverage(name: str) -> bool:
    """Whether a measure says how much was judged, not how good a ranking is."""
    return name.startswith("Judged")


def values(
    run: RunRecord,
    qrels: Qrels,
    qids: Sequence[str],
    measures: Sequence[Any],
    *,
    ties: Ties = "rank",
) -> Values:
    """Measure one run, topic by topic.

    Parameters
    ----------
    run : RunRecord
    qrels : Qrels
    qids : sequence of str
        Topics to measure; those without a judgement are left out of the answer.
    measures : sequence
        As from `parse_measures`.
    ties : {"rank", "trec_eval"}
        "rank": equal scores stand as the run ranks them. "trec_eval": scores are rounded to single
        precision and equal ones ordered by docno from z to a, as trec_eval orders them.

    Returns
    -------
    dict of str to dict of str to float
        By measure, then qid, for every judged topic. Without hits a measure is 0 by ir-measures'
        own rule; `Judged@k`, a share of nothing, has no value there and is left out.

    Raises
    ------
    EvaluationError
        No package at hand computes one of the measures (the message is ir-measures' own), or one
        gives no value for a topic that has rows and a relevant document.
    """
    ir = library()
    if ties not in ("rank", "trec_eval"):
        raise EvaluationError(f'ties is "rank" or "trec_eval", not {ties!r}')
    judged = {qid: qrels.grades[qid] for qid in qids if qid in qrels.grades}
    found: Values = {str(measure): {} for measure in measures}
    if not judged:
        return found
    scored = {
        qid: _trec_order(run.rankings[qid]) if ties == "trec_eval" else run.rankings[qid]
        for qid in judged
        if run.rankings.get(qid)
    }
    numbers = _Numbers(judged, qrels.negative, scored)
    for measure in measures:
        name = str(measure)
        of_measure = numbers.compute(ir, measure) if scored else {}
        given = {qid: value for qid, value in of_measure.items() if not math.isnan(value)}
        found[name].update(given)
        for qid, grades in judged.items():
            if qid in given:
                continue
            if qid in scored and any(grade > 0 for grade in grades.values()):
                raise EvaluationError(
                    f"ir-measures gives no value of {name} for topic {qid}, which is judged and "
                    "has rows; a mean without it would not be one over these topics"
                )
            if not is_coverage(name):
                found[name][qid] = float(measure.DEFAULT)
    return found


class _Numbers:
    """Judgements and rankings as the packages behind ir-measures are given them.

    Some go through files of columns and take only numbers for qids; so they see numbers, and names
    are put back afterwards.
    """

    def __init__(
        self,
        judged: Mapping[str, Mapping[str, int]],
        negative: Mapping[str, Mapping[str, int]],
        scored: Mapping[str, Ranking],
    ) -> None:
        numbers = {qid: str(number) for number, qid in enumerate(judged, start=1)}
        self._names = {number: qid for qid, number in numbers.items()}
        ids: dict[str, str] = {}

        def of(docno: str) -> str:
            return ids.setdefault(docno, f"d{len(ids)}")

        self._truth = {
            numbers[qid]: {of(docno): grade for docno, grade in grades.items()}
            for qid, grades in judged.items()
        }
        self._pool = {
            numbers[qid]: {of(docno): grade for docno, grade in negative.get(qid, {}).items()}
            for qid in judged
        }
        # Whole numbers fall strictly in single precision too: every package sees this very order.
        self._run = {
            numbers[qid]: {
                of(d): float(len(ranking) - place) for place, (d, _) in enumerate(ranking)
            }
            for qid, ranking in scored.items()
        }

    def compute(self, ir: Any, measure: Any) -> dict[str, float]:
        """Values of one measure by qid; NaN or nothing where ir-measures gave none."""
        truth = self._truth
        if measure.NAME in SEES_NEGATIVE:
            truth = {number: {**self._pool[number], **grades} for number, grades in truth.items()}
        # ir-measures puts DEFAULT for a value that a package did not give; NaN tells that apart.
        alone = measure()
        alone.DEFAULT = math.nan
        try:
            # One evaluator a measure: together, gains of one nDCG have been applied to another.
            found = list(ir.evaluator([alone], truth).iter_calc(self._run))
        except Exception as error:  # whatever package it was; none of them is ours to trust
            raise EvaluationError(
                f"ir-measures cannot compute {measure}: {error or type(error).__name__}"
            ) from error
        return {self._names[each.query_id]: float(each.value) for each in found}


def _trec_order(ranking: Ranking) -> Ranking:
    from knowledge_nb.evaluation.trec import single_precision

    by_name = sorted(ranking, key=lambda pair: pair[0], reverse=True)
    return tuple(sorted(by_name, key=lambda pair: -single_precision(pair[1])))
