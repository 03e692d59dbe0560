"""Which topics runs are measured on: those that every run was asked.

A run of ours knows its topics, also when it is read back with FILE.json. Means and tests are over
the topics that all such runs were asked, so that no run gets 0 for a question it never had. A run
of another tool does not know; it is taken as asked for all, and a judged topic without a row
counts 0, which a note says. Where no run knows, the topics are those of their rows and all judged
ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.qrels import Qrels
from knowledge_nb.evaluation.runs import RunRecord
from knowledge_nb.records import counted


def asked(runs: Mapping[str, RunRecord], qrels: Qrels) -> tuple[str, ...]:
    """The topics to report on; see this module.

    Returns
    -------
    tuple of str
        In the order of the first run's topics, or of rows and qrels.

    Raises
    ------
    EvaluationError
        Runs of ours have no topic in common.
    """
    known = {label: topics for label, run in runs.items() if (topics := run.topics) is not None}
    if known:
        first = next(iter(known.values()))
        common = tuple(qid for qid in first if all(qid in topics for topics in known.values()))
        if not common:
            raise EvaluationError(
                f"no topic was asked of every run ({', '.join(known)}), so there is nothing to "
                "compare; evaluate them one by one, or run them on the same topics"
            )
        return common
    found: dict[str, None] = {}
    for run in runs.values():
        found.update(dict.fromkeys(run.rankings))
    found.update(dict.fromkeys(qrels.grades))
    return tuple(found)


def asked_notes(
    runs: Mapping[str, RunRecord], qrels: Qrels, qids: Sequence[str]
) -> tuple[str, ...]:
    """What was left out of the topics, and what counts 0 without being known to be asked."""
    notes = []
    known = {label: topics for label, run in runs.items() if (topics := run.topics) is not None}
    in_question = dict.fromkeys(qid for topics in known.values() for qid in topics)
    for label, topics in known.items():
        lacking = [qid for qid in in_question if qid not in topics]
        if lacking:
            notes.append(
                f"Run {label} was not asked {counted(len(lacking), 'topic')} ({some(lacking)}) "
                "that another run was asked: left out for every run."
            )
    differing = [
        qid for qid in qids if len({topics[qid] for topics in known.values() if qid in topics}) > 1
    ]
    if differing:
        notes.append(
            f"WARNING: the runs were asked different queries under the same qid: {some(differing)}."
        )
    judged = set(qrels.grades)
    if known:
        beyond = [qid for qid in qrels.grades if qid not in in_question]
        if beyond:
            notes.append(f"Judged but not asked, and left out: {counted(len(beyond), 'topic')}.")
    for label, run in runs.items():
        empty = [qid for qid in qids if qid in judged and not run.rankings.get(qid)]
        if empty and label in known:
            notes.append(
                f"Run {label} has no hit, so 0, for {counted(len(empty), 'judged topic')} "
                f"({some(empty)})."
            )
        elif empty:
            notes.append(
                f"Run {label} has no row for {counted(len(empty), 'judged topic')} "
                f"({some(empty)}), which count 0: not asked, or nothing found."
            )
        elif label not in known and known:
            extra = [qid for qid in run.rankings if qid not in set(qids)]
            if extra:
                notes.append(
                    f"Run {label} has rows for {counted(len(extra), 'topic')} ({some(extra)}) "
                    "that another run was not asked: left out."
                )
    return tuple(notes)


def some(found: Sequence[str]) -> str:
    """The first five, and how many more."""
    return ", ".join(found[:5]) + (f" and {len(found) - 5:,} more" if len(found) > 5 else "")
