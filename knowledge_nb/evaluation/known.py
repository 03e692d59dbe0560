"""The docnos that an index holds, to tell judged documents that it has not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from knowledge_nb.evaluation.docnos import docnos
from knowledge_nb.evaluation.making import Ranker
from knowledge_nb.evaluation.runs import RunRecord

if TYPE_CHECKING:
    from knowledge_nb.core import Core


def known_docnos(core: Core, runs: Iterable[RunRecord]) -> tuple[str, ...] | None:
    """Every docno that a run over this index could name.

    Returns
    -------
    tuple of str or None
        None where that cannot be told: nothing is indexed, a run was made elsewhere or on another
        corpus, names chunks, or named documents by a callable.
    """
    rules = set()
    bases = set()
    for run in runs:
        made = run.provenance
        if made is None or made.unit != "document" or made.docno not in ("path", "stem"):
            return None
        rules.add(made.docno)
        bases.add(made.base)
    if len(rules) != 1 or not core.reader.is_built():
        return None
    with core.reader.snapshot() as connection:
        ranker = Ranker(core, connection)
        if bases != {ranker.base}:
            return None
        return tuple(docnos(ranker.paths, rules.pop()).values())
