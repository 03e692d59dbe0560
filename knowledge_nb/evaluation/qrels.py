"""Relevance judgements (qrels): grades by qid and docno."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.runs import counted


@dataclass(frozen=True, slots=True)
class Qrels:
    """Judgements.

    Attributes
    ----------
    grades : dict of str to dict of str to int
        Grade by qid and docno, 0 and up; 0 is "judged, not relevant".
    notes : tuple of str
        What was left out.
    """

    grades: dict[str, dict[str, int]]
    notes: tuple[str, ...] = ()

    @property
    def judgements(self) -> int:
        """Pairs of topic and document that were judged."""
        return sum(len(each) for each in self.grades.values())

    def unknown(self, docnos: Iterable[str]) -> tuple[str, ...]:
        """Judged docnos that are not among those given, sorted."""
        known = set(docnos)
        return tuple(sorted({d for each in self.grades.values() for d in each} - known))


def read_qrels(source: Any) -> Qrels:
    """Read judgements.

    Parameters
    ----------
    source : Qrels, frame, mapping, iterable, str or path
        A frame has `qid docno label` (PyTerrier) or `query_id doc_id relevance` (ir-measures); a
        mapping is qid to docno to grade; an iterable holds (qid, docno, grade); a string or path
        names a TREC qrels file.

    Returns
    -------
    Qrels
        A negative grade stands for "not judged", as in trec_eval, and is left out with a note.

    Raises
    ------
    EvaluationError
        It is none of these, one document has two grades for a topic, nothing is judged.
    """
    if isinstance(source, Qrels):
        return source
    grades: dict[str, dict[str, int]] = {}
    negative = repeated = 0
    for qid, docno, grade in _triples(source):
        if int(grade) != grade:
            raise EvaluationError(
                f"qrels: the grade of {docno!r} for {qid} is {grade!r}; no number"
                " with a fraction is a grade"
            )
        of_topic = grades.setdefault(str(qid), {})
        if grade < 0:
            negative += 1
        elif of_topic.setdefault(str(docno), int(grade)) != int(grade):
            raise EvaluationError(
                f"qrels: {docno!r} has the grades {of_topic[str(docno)]} and {int(grade)} for qid "
                f"{qid}; a document has one grade a topic"
            )
        else:
            repeated += 1
    grades = {qid: each for qid, each in grades.items() if each}
    if not grades:
        raise EvaluationError("the qrels hold no judgement")
    repeated -= sum(len(each) for each in grades.values())
    notes = []
    if negative:
        notes.append(f"With a negative grade, so not judged: {counted(negative, 'judgement')}.")
    if repeated:
        notes.append(f"Said more than once in the qrels: {counted(repeated, 'judgement')}.")
    return Qrels(grades, tuple(notes))


def _triples(source: Any) -> Iterable[tuple[Any, Any, Any]]:
    if isinstance(source, str | os.PathLike):
        from knowledge_nb.evaluation.trec import read_judgements

        return read_judgements(source)
    if hasattr(source, "columns"):
        for names in (("qid", "docno", "label"), ("query_id", "doc_id", "relevance")):
            if all(name in source.columns for name in names):
                return zip(*(source[name] for name in names), strict=True)
        raise EvaluationError(
            "the frame of qrels needs the columns qid, docno and label (or query_id, doc_id and "
            f"relevance); it has {', '.join(map(str, source.columns))}"
        )
    if isinstance(source, Mapping):
        return [(qid, docno, g) for qid, each in source.items() for docno, g in dict(each).items()]
    if isinstance(source, Iterable):
        return (tuple(each)[:3] for each in source)
    raise EvaluationError(
        "qrels are a TREC qrels file, a frame, a mapping of qid to docno to grade or triples, not "
        f"{type(source).__name__}"
    )
