"""Relevance judgements (qrels): grades by qid and docno."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.given import is_missing, name_of, whole_of
from knowledge_nb.records import counted

_FORMS: Final = (
    "a TREC qrels file, a frame with qid, docno and label, a mapping of qid to docno to grade, or "
    "(qid, docno, grade) triples"
)


@dataclass(frozen=True, slots=True)
class Qrels:
    """Judgements.

    Attributes
    ----------
    grades : dict of str to dict of str to int
        Grade by qid and docno, 0 and up; 0 is "judged, not relevant".
    notes : tuple of str
        What was left out.
    negative : dict of str to dict of str to int
        Negative grades by qid and docno: in the pool, not judged. infAP alone looks at them.
    decoded : frozenset of str
        Qids and docnos that stood percent-encoded in the file that was read; see `names.matched`.
    """

    grades: dict[str, dict[str, int]]
    notes: tuple[str, ...] = ()
    negative: dict[str, dict[str, int]] = field(default_factory=dict)
    decoded: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

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
        A negative grade stands for "not judged", as in trec_eval, and is set aside with a note;
        infAP, which tells documents of the pool from others, is given it.

    Raises
    ------
    EvaluationError
        It is none of these, one document has two grades for a topic, nothing is judged.
    """
    if isinstance(source, Qrels):
        return source
    grades: dict[str, dict[str, int]] = {}
    below: dict[str, dict[str, int]] = {}
    repeated = 0
    triples, decoded = _triples(source)
    for number, (qid, docno, given) in enumerate(triples):
        name = name_of(qid, f"qrels: the qid of judgement {number}")
        document = name_of(docno, f"qrels: the docno of judgement {number}")
        if is_missing(given):
            raise EvaluationError(
                f"qrels: {document!r} has no grade for qid {name} ({given!r}); leave out what was "
                "not judged"
            )
        grade = whole_of(given, f"qrels: the grade of {document!r} for qid {name} is")
        of_topic = (below if grade < 0 else grades).setdefault(name, {})
        repeated += document in of_topic
        if of_topic.setdefault(document, grade) != grade or (
            document in grades.get(name, {}) and document in below.get(name, {})
        ):
            both = {*[of_topic[document], grade], *_graded(document, name, grades, below)}
            raise EvaluationError(
                f"qrels: {document!r} has the grades {' and '.join(map(str, sorted(both)))} for "
                f"qid {name}; a document has one grade a topic"
            )
    if not grades:
        raise EvaluationError("the qrels hold no judgement")
    negative = sum(len(each) for each in below.values())
    notes = []
    if negative:
        notes.append(f"With a negative grade, so not judged: {counted(negative, 'judgement')}.")
    if repeated:
        notes.append(f"Said more than once in the qrels: {counted(repeated, 'judgement')}.")
    return Qrels(grades, tuple(notes), below, decoded)


def _graded(document: str, qid: str, *tables: dict[str, dict[str, int]]) -> list[int]:
    return [table[qid][document] for table in tables if document in table.get(qid, {})]


def _triples(source: Any) -> tuple[Iterable[tuple[Any, Any, Any]], frozenset[str]]:
    """Judgements, and the names among them that were decoded."""
    if isinstance(source, str | os.PathLike):
        from knowledge_nb.evaluation.trec import read_judgements

        return read_judgements(source)
    if hasattr(source, "columns"):
        for names in (("qid", "docno", "label"), ("query_id", "doc_id", "relevance")):
            if all(name in source.columns for name in names):
                return zip(*(source[name] for name in names), strict=True), frozenset()
        raise EvaluationError(
            "the frame of qrels needs the columns qid, docno and label (or query_id, doc_id and "
            f"relevance); it has {', '.join(map(str, source.columns))}"
        )
    if isinstance(source, Mapping):
        for qid, each in source.items():
            if not isinstance(each, Mapping):
                raise EvaluationError(
                    f"qrels: qid {qid} has {type(each).__name__} {each!r:.60} where a mapping of "
                    f"docno to grade is expected; qrels are {_FORMS}"
                )
        pairs = [(qid, docno, g) for qid, each in source.items() for docno, g in each.items()]
        return pairs, frozenset()
    if isinstance(source, Iterable):
        return [_triple(number, each) for number, each in enumerate(source)], frozenset()
    raise EvaluationError(f"qrels are {_FORMS}, not {type(source).__name__} {source!r:.60}")


def _triple(number: int, item: Any) -> tuple[Any, Any, Any]:
    # ir-measures' judgements have a fourth field, the iteration.
    cells = list(item) if isinstance(item, Iterable) and not isinstance(item, str | bytes) else []
    if len(cells) not in (3, 4):
        raise EvaluationError(
            f"qrels: item {number}, {item!r:.60}, is no (qid, docno, grade); qrels are {_FORMS}"
        )
    return cells[0], cells[1], cells[2]
