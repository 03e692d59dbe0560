"""Saved runs: what is done is kept as it comes, and a later call goes on there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.runs import Outcome, Provenance, Ranking, RunRecord
from knowledge_nb.evaluation.trec import read_run, write_run

Progress = Callable[[int, int], None]
Done = dict[str, tuple[Outcome, Ranking]]


class Saved:
    """What is done of a run: in memory, and in FILE.partial where it is saved.

    FILE.partial holds JSON lines, the provenance first, then a line a topic; a last line that a
    crash broke off is passed over. `finish` writes FILE and FILE.json and removes it.

    Attributes
    ----------
    done : dict
        Outcome and ranking by qid.
    """

    def __init__(self, target: Path | None, made: Provenance, done: Done) -> None:
        self.done = done
        self._target = target
        self._made = made
        self._waiting: list[str] = []
        if target is not None:
            lines = [json.dumps(asdict(made))]
            lines += [_line(outcome, ranking) for outcome, ranking in done.values()]
            self._partial.parent.mkdir(parents=True, exist_ok=True)
            self._partial.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    @staticmethod
    def open(
        save: str | os.PathLike[str] | None,
        made: Provenance,
        topics: Mapping[str, str],
        *,
        overwrite: bool,
    ) -> Saved:
        """Take up what was saved of the same run.

        Raises
        ------
        EvaluationError
            The file is of a run that was made otherwise or of other topics, or of none of ours.
        """
        if save is None:
            return Saved(None, made, {})
        target = Path(save)
        done: Done = {}
        partial = _partial_of(target)
        if partial.exists() and not overwrite:
            before, done = _read_partial(partial)
            _require_same(partial, before, made)
        elif target.exists() and not overwrite:
            before, done = _read_finished(target)
            _require_same(target, before, made)
        done = {
            qid: (outcome, ranking)
            for qid, (outcome, ranking) in done.items()
            if topics.get(qid) == outcome.query and not outcome.degraded
        }
        return Saved(target, made, done)

    @property
    def _partial(self) -> Path:
        assert self._target is not None
        return _partial_of(self._target)

    def add(self, outcome: Outcome, ranking: Ranking) -> None:
        """Keep one topic."""
        self.done[outcome.qid] = (outcome, ranking)
        if self._target is not None:
            self._waiting.append(_line(outcome, ranking))

    def flush(self) -> None:
        """Write what came since the last call."""
        if self._target is not None and self._waiting:
            with self._partial.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in self._waiting))
            self._waiting = []

    def drop(self) -> None:
        """Remove what was kept of a run that cannot be finished."""
        if self._target is not None:
            self._partial.unlink(missing_ok=True)

    def finish(self, run: RunRecord) -> None:
        """Write the run."""
        if self._target is not None:
            write_run(run, self._target)
            self._partial.unlink(missing_ok=True)


def _partial_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.partial")


def _line(outcome: Outcome, ranking: Ranking) -> str:
    return json.dumps({"outcome": asdict(outcome), "ranking": ranking}, ensure_ascii=False)


def _read_partial(partial: Path) -> tuple[Provenance | None, Done]:
    done: Done = {}
    before: Provenance | None = None
    for number, line in enumerate(partial.read_text("utf-8").split("\n")):
        try:
            record: dict[str, Any] = json.loads(line)
            if number == 0:
                before = Provenance.from_record(record)
                continue
            outcome = Outcome(**{**record["outcome"], "notes": tuple(record["outcome"]["notes"])})
            done[outcome.qid] = (outcome, tuple((d, float(s)) for d, s in record["ranking"]))
        except (ValueError, KeyError, TypeError):
            break
    return before, done


def _read_finished(target: Path) -> tuple[Provenance | None, Done]:
    run = read_run(target)
    done = {each.qid: (each, run.rankings.get(each.qid, ())) for each in run.outcomes}
    return run.provenance, done


def _require_same(file: Path, before: Provenance | None, made: Provenance) -> None:
    if before is None:
        raise EvaluationError(
            f"{file} is there and does not say what made it; name another file to save to, or "
            "pass overwrite=True (--overwrite)"
        )
    differing = before.differences(made)
    if differing:
        raise EvaluationError(
            f"{file} holds a run that was made otherwise ({'; '.join(differing)}); name another "
            "file to save to, or pass overwrite=True (--overwrite)"
        )
