"""Names that one side has percent-encoded and the other has not.

Our files encode what cannot stand in a column, so what a file holds in that form is decoded. A
foreign name may look the same: `http://x/a%20b`. The rule, for qids and docnos: names match as
they are; only where a name of a file that was decoded has no match, the form in which it stood in
the file is tried. That form stands for no second name, so nothing collides. Two sides that were
both in memory, or both in files, are compared as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from knowledge_nb.evaluation.runs import RunRecord
from knowledge_nb.evaluation.trec import decode_docno, encode_docno
from knowledge_nb.records import counted


def matched(
    run: RunRecord, names: Mapping[str, Collection[str]], decoded: frozenset[str]
) -> RunRecord:
    """A run under the names of another side.

    Parameters
    ----------
    run : RunRecord
    names : mapping of str to collection of str
        The other side's docnos by qid.
    decoded : frozenset of str
        Those of its qids and docnos that were decoded.

    Returns
    -------
    RunRecord
        With a note where names were exchanged; the very run where none was.
    """
    if not run.decoded and not decoded:
        return run
    exchanged: dict[str, str] = {}

    def of(name: str, others: Collection[str], mine: Collection[str]) -> str:
        if name in others:
            return name
        found = encode_docno(name) if name in run.decoded else decode_docno(name)
        if found == name or found not in others or found in mine:
            return name
        if name not in run.decoded and found not in decoded:
            return name
        exchanged[name] = found
        return found

    qids = {qid: of(qid, names, run.rankings) for qid in run.rankings}
    rankings = {}
    for qid, ranking in run.rankings.items():
        others = names.get(qids[qid], ())
        mine = {docno for docno, _ in ranking}
        rankings[qids[qid]] = tuple((of(docno, others, mine), score) for docno, score in ranking)
    if not exchanged:
        return run
    name, found = next(iter(exchanged.items()))
    note = (
        f"Percent-encoded on one side only, and taken as the same: "
        f"{counted(len(exchanged), 'name')} ({name!r} as {found!r})."
    )
    outcomes = tuple(replace(each, qid=qids.get(each.qid, each.qid)) for each in run.outcomes)
    return replace(run, rankings=rankings, outcomes=outcomes, notes=(*run.notes, note))


def docnos_by_qid(run: RunRecord) -> dict[str, set[str]]:
    """A run's docnos by qid, as `matched` takes them."""
    return {qid: {docno for docno, _ in ranking} for qid, ranking in run.rankings.items()}
