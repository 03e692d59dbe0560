"""What the index of a run did not cover, as notes: an absence must not read as a result."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge_nb.evaluation.asked import some
from knowledge_nb.evaluation.qrels import Qrels
from knowledge_nb.evaluation.trec import encode_docno
from knowledge_nb.records import Completeness, Mode, counted


def coverage_notes(known: Completeness, mode: Mode) -> tuple[str, ...]:
    """What is missing from the state that was ranked.

    Parameters
    ----------
    known : Completeness
        Of that state.
    mode : {"lexical", "vector", "fused"}
        Missing vectors count only where vectors rank.

    Returns
    -------
    tuple of str
        Empty where every file was looked at, read, and has the vectors it should have.
    """
    notes = []
    if known.without_vector and mode != "lexical":
        notes.append(
            f"{known.without_vector:,} of {known.chunks:,} chunks without a vector: the vector "
            "ranking cannot show them. `knowledge index` tries them again."
        )
    if known.stale or known.skipped or known.older_passes or known.removed_by_hand:
        notes.append(known.statement())  # the warning of an unfinished pass is part of it
    elif warning := known.unfinished():
        notes.append(warning)
    return tuple(notes)


def unknown_notes(qrels: Qrels, docnos: Iterable[str]) -> tuple[str, ...]:
    """Judged documents that an index has not: no ranking of it can show them.

    Parameters
    ----------
    qrels : Qrels
    docnos : iterable of str
        What the index holds.

    Returns
    -------
    tuple of str
        One note, or none.
    """
    held = set(docnos)
    # A name of a file that was decoded may be meant as it stood there.
    unknown = [
        d for d in qrels.unknown(held) if d not in qrels.decoded or encode_docno(d) not in held
    ]
    if not unknown:
        return ()
    return (
        f"Judged but not in the index, so missed by every run: "
        f"{counted(len(unknown), 'document')} ({some(unknown)}).",
    )
