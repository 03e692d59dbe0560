"""Frames of the evaluation verbs: results with methods, still plain tables to everything else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from knowledge_nb.evaluation.comparing import ComparisonRecord
from knowledge_nb.evaluation.evaluating import EvaluationRecord
from knowledge_nb.evaluation.explaining import ExplanationRecord
from knowledge_nb.evaluation.fusion_grid import GridRecord
from knowledge_nb.evaluation.reconciling import ReconciliationRecord
from knowledge_nb.evaluation.runs import RunRecord, as_run
from knowledge_nb.evaluation.significance import Paired, paired
from knowledge_nb.evaluation.trec import read_run, write_run
from knowledge_nb.notebook.frames import COUNT, NUMBER, RANK, TEXT, ResultFrame, dtype_of

FLAG = "bool"

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "run": {"qid": TEXT, "docno": TEXT, "rank": COUNT, "score": NUMBER},
    "evaluation": {
        "run": TEXT,
        "measure": TEXT,
        "mean": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
        "topics": COUNT,
        "difference": NUMBER,
        "difference_low": NUMBER,
        "difference_high": NUMBER,
        "wins": RANK,
        "ties": RANK,
        "losses": RANK,
        "effect": NUMBER,
        "superiority": NUMBER,
        "p_randomisation": NUMBER,
        "p_randomisation_holm": NUMBER,
        "p_t": NUMBER,
        "p_t_holm": NUMBER,
    },
    "comparison": {
        "qid": TEXT,
        "query": TEXT,
        "overlap": NUMBER,
        "jaccard": NUMBER,
        "rbo": NUMBER,
        "tau": NUMBER,
        "common": COUNT,
        "new": COUNT,
        "lost": COUNT,
        "up": TEXT,
        "up_by": COUNT,
        "down": TEXT,
        "down_by": COUNT,
    },
    "moves": {
        "qid": TEXT,
        "docno": TEXT,
        "rank_a": RANK,
        "rank_b": RANK,
        "change": RANK,
        "move": TEXT,
    },
    "explanation": {
        "tier": TEXT,
        "rank": RANK,
        "ranked": COUNT,
        "document_rank": RANK,
        "documents": COUNT,
        "citation": TEXT,
        "score": NUMBER,
        "distance": NUMBER,
        "in_window": FLAG,
        "contribution": NUMBER,
        "why": TEXT,
    },
    "terms": {
        "term": TEXT,
        "status": TEXT,
        "times": COUNT,
        "weight": NUMBER,
        "chunks": COUNT,
        "place": TEXT,
        "reason": TEXT,
    },
    "entries": {"change": TEXT, "value": NUMBER, "rank": COUNT},
    "reconciliation": {
        "path": TEXT,
        "in_set": FLAG,
        "body_matches": COUNT,
        "words_held": COUNT,
        "lexical_rank": RANK,
        "vector_rank": RANK,
        "fused_rank": RANK,
        "why": TEXT,
    },
    "curve": {"tier": TEXT, "k": COUNT, "found": COUNT, "matched": COUNT, "recall": NUMBER},
    "fusion_grid": {
        "k": NUMBER,
        "window": COUNT,
        "lexical_weight": NUMBER,
        "vector_weight": NUMBER,
        "mean": NUMBER,
        "first_half": NUMBER,
        "second_half": NUMBER,
        "agreement_lexical": NUMBER,
        "agreement_vector": NUMBER,
    },
    "chosen": {
        "chosen_on": TEXT,
        "reported_on": TEXT,
        "topics": COUNT,
        "k": NUMBER,
        "window": COUNT,
        "lexical_weight": NUMBER,
        "vector_weight": NUMBER,
        "tuned": NUMBER,
        "lexical": NUMBER,
        "vector": NUMBER,
        "even": NUMBER,
    },
}


class _EvaluationFrame(ResultFrame):
    """A result frame whose charts are those of `charts_evaluation`."""

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the charts that `chart` can draw; the first is the default."""
        import knowledge_nb.notebook.charts_evaluation  # noqa: F401 # registers them

        return super().charts

    def chart(self, name: str | None = None, *others: pd.DataFrame, **options: Any) -> Any:
        """Draw a chart, offline; see `ResultFrame.chart`."""
        import knowledge_nb.notebook.charts_evaluation  # noqa: F401 # registers them

        return super().chart(name, *others, **options)


class Run(_EvaluationFrame):
    """`qid docno rank score`: one ranking a topic, topics and ranks in order, ranks from 1.

    `.result` is the record, with outcomes and provenance. What is derived from the frame is a
    plain DataFrame, which `evaluate` and `compare` take as a run made elsewhere. A frame whose own
    rows were changed is refused: `pd.DataFrame(run)` takes them as they are.
    """

    def to_trec(self, path: str | os.PathLike[str]) -> Path:
        """Write a TREC run file, and FILE.json with what made it; see `trec.write_run`.

        Raises
        ------
        EvaluationError
            The frame's rows were changed since it was made.
        """
        return write_run(as_run(self), path)

    @classmethod
    def from_trec(cls, path: str | os.PathLike[str], name: str = "") -> Run:
        """Read a TREC run file, ours or another tool's; see `trec.read_run`."""
        return run_frame(read_run(path, name=name))

    @classmethod
    def of(cls, source: Any, name: str = "") -> Run:
        """Take a run in any form: frame, mapping, file; see `runs.as_run`."""
        return run_frame(as_run(source, name))

    @property
    def name(self) -> str:
        """The run's label; a degraded run's says so."""
        return str(self.result.label)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Qids that were ranked by words alone although a fused ranking was asked for."""
        found: tuple[str, ...] = self.result.degraded
        return found

    @property
    def outcomes(self) -> pd.DataFrame:
        """`qid query status degraded widened notes`: what became of each topic."""
        rows = [{**asdict(each), "notes": " ".join(each.notes)} for each in self.result.outcomes]
        names = ("qid", "query", "status", "degraded", "widened", "notes")
        return pd.DataFrame(rows, columns=list(names))


class Evaluation(_EvaluationFrame):
    """`run measure mean low high topics`, and each run against the baseline.

    By measure, then run. NA in `difference` and after for the baseline and for `Judged@k`. See
    `evaluating.EvaluationRecord` and `significance.Paired` for what the columns mean.
    """

    @property
    def per_query(self) -> pd.DataFrame:
        """`qid query run` and a column a measure; NA where a topic has no value."""
        record: EvaluationRecord = self.result
        columns: dict[str, list[Any]] = {"qid": [], "query": [], "run": []}
        for qid in record.qids:
            for run in record.runs:
                columns["qid"].append(qid)
                columns["query"].append(record.queries.get(qid, ""))
                columns["run"].append(run)
        frame = pd.DataFrame(
            {name: pd.Series(v, dtype=dtype_of(TEXT)) for name, v in columns.items()}
        )
        for measure in record.measures:
            frame[measure] = pd.Series(
                [
                    record.values[run][measure].get(qid)
                    for qid in record.qids
                    for run in record.runs
                ],
                dtype=NUMBER,
            )
        return frame

    @property
    def table(self) -> pd.DataFrame:
        """Means: a row a run, a column a measure."""
        record: EvaluationRecord = self.result
        means = pd.DataFrame({"run": self["run"], "measure": self["measure"], "mean": self["mean"]})
        wide = means.pivot(index="run", columns="measure", values="mean")
        return wide.loc[list(record.runs), list(record.measures)]

    @property
    def worse(self) -> pd.DataFrame:
        """`run measure qid query baseline value difference`: where a run loses, most first."""
        return _against_baseline(self.result, below=True)

    @property
    def better(self) -> pd.DataFrame:
        """The same where a run wins."""
        return _against_baseline(self.result, below=False)


class Comparison(_EvaluationFrame):
    """One row a query, most different first; see `comparing.QueryComparison`."""

    @property
    def moves(self) -> pd.DataFrame:
        """`qid docno rank_a rank_b change move`: every document of every query."""
        return _plain("moves", self.result.moves())

    @property
    def totals(self) -> dict[str, Any]:
        """Means and counts over the queries."""
        return dict(self.result.totals)


class Explanation(_EvaluationFrame):
    """One row a tier: where the document stands in it; see `explaining_words.Place`."""

    @property
    def terms(self) -> pd.DataFrame:
        """`term status times weight chunks place reason`: the words and what each adds to BM25."""
        return _plain("terms", self.result.term_weights)

    @property
    def entries(self) -> pd.DataFrame:
        """`change value rank`: single changes that bring it into the top k."""
        return _plain("entries", self.result.entries)

    @property
    def text(self) -> str:
        """The explanation in words, a sentence a line; of a degraded answer it says so first."""
        return str(self.result.text)


class Reconciliation(_EvaluationFrame):
    """The complete set, then what ranks high outside it; see `reconciling.Reconciled`."""

    def recall(self, k: int | None = None, tier: Any = None) -> float | None:
        """Share of the complete set among the first k of a tier; None for an empty set."""
        found: float | None = self.result.recall(k, tier)
        return found

    @property
    def curve(self) -> pd.DataFrame:
        """`tier k found matched recall`: at every k at which a tier finds one more."""
        record: ReconciliationRecord = self.result
        rows = []
        for tier in record.tiers:
            ranks = sorted(
                rank
                for each in record.documents
                if each.in_set and (rank := getattr(each, f"{tier}_rank")) is not None
            )
            for found, rank in enumerate(ranks, start=1):
                rows.append((tier, rank, found, record.matched, found / record.matched))
        return _columns("curve", list(zip(*rows, strict=True)) or [()] * 5)


class FusionGrid(_EvaluationFrame):
    """One row a setting; see `fusion_grid.Cell`. The result to report is `chosen`."""

    @property
    def chosen(self) -> pd.DataFrame:
        """The best setting of each half of the topics, on the other half."""
        rows = [
            {
                **asdict(each.cell),
                **{n: getattr(each, n) for n in COLUMNS["chosen"] if n not in CELL},
            }
            for each in self.result.chosen
        ]
        return _columns("chosen", [[row[name] for row in rows] for name in COLUMNS["chosen"]])

    @property
    def held_out(self) -> pd.DataFrame:
        """`qid tuned lexical vector even`: each topic with the setting chosen without it."""
        held = self.result.held_out
        qids = sorted(held.get("tuned", ()))
        frame = pd.DataFrame({"qid": pd.Series(qids, dtype=dtype_of(TEXT))})
        for name in ("tuned", "lexical", "vector", "even"):
            frame[name] = pd.Series([held[name][qid] for qid in qids], dtype=NUMBER)
        return frame

    def test(self, baseline: str = "lexical", run: str = "tuned") -> Paired:
        """A paired test on the held-out values; see `significance.paired`."""
        frame = self.held_out
        return paired(list(frame[run]), list(frame[baseline]))


CELL = ("k", "window", "lexical_weight", "vector_weight")

_CLASSES: Mapping[str, type[_EvaluationFrame]] = {
    "run": Run,
    "evaluation": Evaluation,
    "comparison": Comparison,
    "explanation": Explanation,
    "reconciliation": Reconciliation,
    "fusion_grid": FusionGrid,
}


def _columns(kind: str, values: Iterable[Iterable[Any]]) -> pd.DataFrame:
    pairs = zip(COLUMNS[kind].items(), values, strict=True)
    return pd.DataFrame({n: pd.Series(list(v), dtype=dtype_of(t)) for (n, t), v in pairs})


def _plain(kind: str, records: Iterable[Any]) -> pd.DataFrame:
    held = list(records)
    return _columns(kind, [[getattr(each, name) for each in held] for name in COLUMNS[kind]])


def _dressed(kind: str, frame: pd.DataFrame, result: Any) -> Any:
    made = _CLASSES[kind](frame)
    made._result, made._kind = result, kind
    return made


def run_frame(record: RunRecord) -> Run:
    """`qid docno rank score`, topics and ranks in order."""
    columns: tuple[list[Any], ...] = ([], [], [], [])
    for qid, ranking in record.rankings.items():
        columns[0].extend([qid] * len(ranking))
        columns[1].extend(docno for docno, _ in ranking)
        columns[2].extend(range(1, len(ranking) + 1))
        columns[3].extend(score for _, score in ranking)
    made: Run = _dressed("run", _columns("run", columns), record)
    return made


def evaluation_frame(record: EvaluationRecord) -> Evaluation:
    """Means, with each run against the baseline."""
    tests = {(each.run, each.measure): each for each in record.differences}
    rows = []
    for mean in record.means:
        found = tests.get((mean.run, mean.measure))
        test: Any = found.test if found is not None else None
        rows.append(
            [getattr(mean, name) for name in ("run", "measure", "mean", "low", "high", "topics")]
            + [getattr(test, name, None) for name in ("difference", "low", "high")]
            + [getattr(test, name, None) for name in ("wins", "ties", "losses", "effect")]
            + [getattr(test, name, None) for name in ("superiority", "p_randomisation")]
            + [found.p_randomisation_holm if found else None]
            + [getattr(test, "p_t", None), found.p_t_holm if found else None]
        )
    frame = _columns("evaluation", list(zip(*rows, strict=True)))
    made: Evaluation = _dressed("evaluation", frame, record)
    return made


def comparison_frame(record: ComparisonRecord) -> Comparison:
    """One row a query, most different first."""
    made: Comparison = _dressed("comparison", _plain("comparison", record.queries), record)
    return made


def explanation_frame(record: ExplanationRecord) -> Explanation:
    """One row a tier."""
    made: Explanation = _dressed("explanation", _plain("explanation", record.places), record)
    return made


def reconciliation_frame(record: ReconciliationRecord) -> Reconciliation:
    """The set, then what ranks high outside it."""
    frame = _plain("reconciliation", record.documents)
    made: Reconciliation = _dressed("reconciliation", frame, record)
    return made


def grid_frame(record: GridRecord) -> FusionGrid:
    """One row a setting."""
    made: FusionGrid = _dressed("fusion_grid", _plain("fusion_grid", record.cells), record)
    return made


def _against_baseline(record: EvaluationRecord, *, below: bool) -> pd.DataFrame:
    names = ("run", "measure", "qid", "query", "baseline", "value", "difference")
    rows = []
    for each in record.differences:
        base = record.values[record.baseline][each.measure]
        for qid, value in record.values[each.run][each.measure].items():
            if qid not in base or abs(value - base[qid]) <= 1e-6 or (value < base[qid]) != below:
                continue
            query = record.queries.get(qid, "")
            rows.append((each.run, each.measure, qid, query, base[qid], value, value - base[qid]))
    rows.sort(key=lambda row: (-abs(row[6]), row[2]))
    frame = pd.DataFrame(rows, columns=list(names))
    return frame.astype({"baseline": NUMBER, "value": NUMBER, "difference": NUMBER})
