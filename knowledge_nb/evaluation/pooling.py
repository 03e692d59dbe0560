"""Pools for judging: the documents that any of some runs ranks high, blind to which run it was.

References
----------
Sparck Jones, van Rijsbergen: Report on the need for and provision of an ideal information
retrieval test collection, 1975; Voorhees, Harman (eds.): TREC, MIT Press 2005, chapter 3.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.names import matched
from knowledge_nb.evaluation.runs import named_runs


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents to judge.

    Attributes
    ----------
    documents : dict of str to tuple of str
        Docnos by qid, in an order that depends on their names alone, so that it tells nothing of
        the runs, their ranks or their agreement.
    queries : dict of str to str
        By qid, where a run knows them.
    depth : int
    """

    documents: dict[str, tuple[str, ...]]
    queries: dict[str, str]
    depth: int

    def __len__(self) -> int:
        return sum(len(each) for each in self.documents.values())


def pool(runs: Any, depth: int = 10) -> Pool:
    """Pool the first `depth` documents of every run.

    Parameters
    ----------
    runs : see `runs.named_runs`
        Their docnos must be of one kind (paths, or stems).
    depth : int
        Ranks taken from each run.

    Returns
    -------
    Pool
        Topics in the order of the runs; those without hits are left out.

    Raises
    ------
    EvaluationError
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise EvaluationError(
            f"the depth of a pool is a whole number of ranks from 1 up, not {depth!r}"
        )
    found: dict[str, set[str]] = {}
    queries: dict[str, str] = {}
    decoded: frozenset[str] = frozenset()
    for given in named_runs(runs).values():
        run = matched(given, found, decoded)
        decoded |= run.decoded
        queries = {**(run.topics or {}), **queries}
        for qid, ranking in run.rankings.items():
            if ranking:
                found.setdefault(qid, set()).update(docno for docno, _ in ranking[:depth])
    if not found:
        raise EvaluationError("no run has a hit, so there is nothing to judge")
    documents = {
        qid: tuple(sorted(each, key=lambda docno, qid=qid: _shuffled(qid, docno)))  # type: ignore[misc]
        for qid, each in found.items()
    }
    return Pool(documents, queries, depth)


def _shuffled(qid: str, docno: str) -> bytes:
    return hashlib.sha256(f"{qid}\0{docno}".encode()).digest()
