"""Measures of effectiveness: ir-measures computes them all, nothing is computed here.

References
----------
MacAvaney, Macdonald, Ounis: Streamlining Evaluation with ir-measures, ECIR 2022.
https://ir-measur.es
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from knowledge_nb.errors import EvaluationError, MissingDependencyError
from knowledge_nb.evaluation.qrels import Qrels
from knowledge_nb.evaluation.runs import Ranking, RunRecord

DEFAULT: Final = ("nDCG@10", "AP", "RR", "R@100")
INSTALL: Final = "pip install 'knowledge-nb[evaluation]'"

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
    given = [names] if isinstance(names, str) else list(names)
    if not given:
        raise EvaluationError("no measure was given; name one, such as nDCG@10")
    found: dict[Any, None] = {}
    for name in given:
        measure = name
        if isinstance(name, str):
            try:
                measure = ir.parse_measure(name.strip())
            except (NameError, ValueError, SyntaxError, TypeError) as error:
                raise EvaluationError(
                    f"ir-measures knows no measure {name!r} ({error}); examples: nDCG@10, AP, RR, "
                    "P@5, R@100, and https://ir-measur.es lists them all"
                ) from error
        found[measure] = None
        cut = cutoff(measure)
        if cut is not None:
            found[ir.Judged @ cut] = None
    return tuple(found)


def cutoff(measure: Any) -> int | None:
    """The rank at which a measure stops; None where it looks at whole rankings."""
    cut = measure.params.get("cutoff")
    return cut if isinstance(cut, int) else None


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
        No package at hand computes one of the measures; the message is ir-measures' own.
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
    for qid, name, value in _compute(ir, measures, judged, scored):
        found[name][qid] = value
    for measure in measures:
        name = str(measure)
        for qid in judged:
            if is_coverage(name) and qid not in scored:
                found[name].pop(qid, None)
            elif qid not in found[name]:
                found[name][qid] = float(measure.DEFAULT)
    return found


def _compute(
    ir: Any,
    measures: Sequence[Any],
    judged: Mapping[str, Mapping[str, int]],
    scored: Mapping[str, Ranking],
) -> list[tuple[str, str, float]]:
    """(qid, measure, value), as ir-measures gives them."""
    # Some of the packages behind ir-measures go through files of columns and take only numbers
    # for qids; so they see numbers, and names are put back afterwards.
    numbers = {qid: str(number) for number, qid in enumerate(judged, start=1)}
    names = {number: qid for qid, number in numbers.items()}
    ids: dict[str, str] = {}

    def of(docno: str) -> str:
        return ids.setdefault(docno, f"d{len(ids)}")

    truth = {
        numbers[qid]: {of(docno): grade for docno, grade in grades.items()}
        for qid, grades in judged.items()
    }
    # Whole numbers fall strictly in single precision too, so every package sees this very order.
    run = {
        numbers[qid]: {of(d): float(len(ranking) - place) for place, (d, _) in enumerate(ranking)}
        for qid, ranking in scored.items()
    }
    if not run:
        return []
    try:
        found = list(ir.evaluator(list(measures), truth).iter_calc(run))
    except (ValueError, RuntimeError, ImportError, OSError, subprocess.SubprocessError) as error:
        raise EvaluationError(f"ir-measures cannot compute a measure: {error}") from error
    return [(names[each.query_id], str(each.measure), float(each.value)) for each in found]


def _trec_order(ranking: Ranking) -> Ranking:
    from knowledge_nb.evaluation.trec import single_precision

    by_name = sorted(ranking, key=lambda pair: pair[0], reverse=True)
    return tuple(sorted(by_name, key=lambda pair: -single_precision(pair[1])))


def asked(runs: Mapping[str, RunRecord], qrels: Qrels) -> tuple[str, ...]:
    """The topics to report on: all that a run was asked, or, where none says so, all judged ones.

    Returns
    -------
    tuple of str
        In the order of the runs' topics, or of the qrels.
    """
    known = [run.topics for run in runs.values()]
    found: dict[str, None] = {}
    if all(topics is not None for topics in known):
        for topics in known:
            found.update(dict.fromkeys(topics or ()))
        return tuple(found)
    for topics, run in zip(known, runs.values(), strict=True):
        found.update(dict.fromkeys(topics if topics is not None else run.rankings))
    # A file of another tool does not say for which topics it found nothing.
    found.update(dict.fromkeys(qrels.grades))
    return tuple(found)
