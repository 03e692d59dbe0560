"""The facade's verbs for comparing rankings; `KnowledgeBase` inherits them."""

from __future__ import annotations

import difflib
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from knowledge_nb.errors import QueryError
from knowledge_nb.evaluation.docnos import DocnoRule
from knowledge_nb.records import Mode
from knowledge_nb.refusals import require_answer

if TYPE_CHECKING:
    from knowledge_nb.core import Core
    from knowledge_nb.evaluation.pooling import Pool
    from knowledge_nb.notebook.frames_evaluation import (
        Comparison,
        Evaluation,
        Explanation,
        FusionGrid,
        Reconciliation,
        Run,
    )

Progress = Callable[[int, int], None]


class EvaluationVerbs:
    """`run evaluate compare explain reconcile fusion_grid pool`."""

    core: Core

    def run(
        self,
        topics: Any,
        mode: Mode | None = None,
        k: int = 1000,
        unit: str = "document",
        docno: DocnoRule = "path",
        fusion: dict[str, Any] | None = None,
        under: str = "",
        name: str = "",
        save: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: bool | Progress | None = None,
        **options: Any,
    ) -> Run:
        """Rank for many topics.

        Parameters
        ----------
        topics : dict, frame, TSV file
            Qid to query; a frame or file with `qid query`.
        mode : {"lexical", "vector", "fused"}, optional
            None: the best that the store has.
        k : int
            Documents, or chunks, wanted of each topic.
        unit : {"document", "chunk"}
            The best chunk for its document, or chunks by citation.
        docno : {"path", "stem"} or callable
            How documents are named; two with one name are an error.
        fusion : dict, optional
            `weights`, `rrf_k` and `window` of the fusion, which may also be given by themselves.
        under : str
            A folder.
        save : path, optional
            A TREC run file; a run of these topics that was interrupted goes on there.
        overwrite : bool
            Replace a saved run that was made otherwise, or of other topics.
        progress : bool or callable, optional
            None: a bar in a notebook; True: a bar anywhere.
        **options
            See `evaluation.making.make_run`.

        Returns
        -------
        Run
            `qid docno rank score`. Degraded topics are warned of, and the run's name says so.

        Raises
        ------
        EvaluationError
            Duplicate qids, no topics, colliding docnos, a saved run made otherwise.
        IndexNotBuiltError, CorpusEmptyError, QueryError, ConfigurationError
            QueryError also for an argument that no verb has.
        EmbeddingError
            In mode "vector", which never falls back.
        """
        from knowledge_nb.evaluation.making import make_run
        from knowledge_nb.notebook.frames_evaluation import run_frame

        if fusion is not None and not isinstance(fusion, Mapping):
            raise QueryError(
                f"fusion= is a dict of weights, rrf_k and window, not {fusion!r:.60}; or give "
                "these by themselves"
            )
        for option in fusion or {}:
            if option not in ("weights", "rrf_k", "window"):
                raise QueryError(f"fusion= has weights, rrf_k and window, not {option!r}")
            if option in options:
                raise QueryError(f"{option} is given twice, in fusion= and by itself; give it once")
        require_known("run", options, make_run)
        with _bar(progress) as shown:
            record = make_run(
                self.core,
                topics,
                mode=mode,
                k=k,
                unit=unit,
                docno=docno,
                under=under,
                name=name,
                save=save,
                overwrite=overwrite,
                progress=shown,
                **(fusion or {}),
                **options,
            )
        if record.degraded:
            _warn_degraded(record.notes[0])
        return run_frame(record)

    def evaluate(
        self,
        runs: Any,
        qrels: Any,
        measures: str | Iterable[Any] = ("nDCG@10", "AP", "RR", "R@100"),
        baseline: str | None = None,
        **options: Any,
    ) -> Evaluation:
        """Measure runs against judgements, with significance.

        Parameters
        ----------
        runs : run, list of runs, or dict of label to run
            Runs of ours, frames, TREC files.
        qrels : file, frame, dict
            TREC qrels; frames with `qid docno label`.
        measures : str or iterable
            In ir-measures' words.
        baseline : str, optional
            Label of the run that the others are tested against; else the first.
        **options
            See `evaluation.evaluating.evaluate`.

        Returns
        -------
        Evaluation
            A row a measure and run; `.per_query`, `.table`, `.worse`, `.better`, charts.

        Raises
        ------
        EvaluationError
            A degraded run (unless `allow_degraded=True`), qrels of other topics, a bad measure.
        MissingDependencyError
        """
        from knowledge_nb.evaluation.evaluating import evaluate
        from knowledge_nb.evaluation.known import known_docnos
        from knowledge_nb.evaluation.runs import named_runs
        from knowledge_nb.notebook.frames_evaluation import evaluation_frame

        require_known("evaluate", options, evaluate)
        named = named_runs(runs)
        known = known_docnos(self.core, named.values())
        return evaluation_frame(
            evaluate(named, qrels, measures, baseline=baseline, docnos=known, **options)
        )

    def compare(
        self,
        topics: Any = None,
        a: Any = "lexical",
        b: Any = "fused",
        k: int = 10,
        **options: Any,
    ) -> Comparison:
        """Compare two rankings of each query; no judgements needed.

        Parameters
        ----------
        topics : optional
            As for `run`; needed where a or b is a mode.
        a, b : mode or run
            A run may come from another store or tool.
        k : int
            The top that is compared.
        **options
            See `evaluation.comparing.compare`.

        Returns
        -------
        Comparison
            One row a query, most different first; `.moves`, `.totals`, charts.
        """
        from knowledge_nb.evaluation.comparing import compare
        from knowledge_nb.evaluation.making import make_run
        from knowledge_nb.notebook.frames_evaluation import comparison_frame

        require_known("compare", options, compare, make_run)
        return comparison_frame(compare(self.core, topics, a=a, b=b, k=k, **options))

    def explain(
        self, query: str, target: str, k: int = 10, mode: Mode | None = None, **options: Any
    ) -> Explanation:
        """Why a document or chunk stands where it stands, and what would bring it into the top k.

        Parameters
        ----------
        query : str
            Free text.
        target : str
            A path, or a citation.
        k : int
        mode : Mode, optional
        **options
            See `evaluation.explaining.explain`.

        Returns
        -------
        Explanation
            A row a tier; `.text`, `.terms`, `.entries`, a chart. Of the lexical answer, with a
            `DegradedSearchWarning`, where vectors could not be asked.

        Raises
        ------
        NotFoundError
        """
        from knowledge_nb.evaluation.explaining import explain
        from knowledge_nb.notebook.frames_evaluation import explanation_frame

        require_known("explain", options, explain)
        record = explain(self.core, query, target, k=k, mode=mode, **options)
        if record.degraded:
            _warn_degraded(record.tier)
        return explanation_frame(record)

    def reconcile(self, query: str, k: int = 10, **options: Any) -> Reconciliation:
        """Hold the rankings against the complete set of `enumerate`.

        Parameters
        ----------
        query : str
            In the closed language of `enumerate`.
        k : int
        **options
            See `evaluation.reconciling.reconcile`.

        Returns
        -------
        Reconciliation
            The set with its ranks, then what ranks high outside it; `.recall`, `.curve`, a chart.

        Raises
        ------
        QuerySyntaxError, IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        """
        from knowledge_nb.evaluation.reconciling import reconcile
        from knowledge_nb.notebook.frames_evaluation import reconciliation_frame

        require_known("reconcile", options, reconcile)
        record = reconcile(self.core, query, k=k, **options)
        require_answer(record)
        return reconciliation_frame(record)

    def fusion_grid(self, topics: Any, qrels: Any = None, **options: Any) -> FusionGrid:
        """Try settings of the fusion on one pair of runs.

        Parameters
        ----------
        topics, qrels
            As for `run` and `evaluate`; without qrels only agreement with each tier is shown.
        **options
            `k`, `weights`, `window`, `measure`, `seed`; see `evaluation.fusion_grid`.

        Returns
        -------
        FusionGrid
            A row a setting; `.chosen` is what was tuned on one half and measured on the other.
        """
        from knowledge_nb.evaluation.fusion_grid import fusion_grid
        from knowledge_nb.notebook.frames_evaluation import grid_frame

        require_known("fusion_grid", options, fusion_grid)
        return grid_frame(fusion_grid(self.core, topics, qrels, **options))

    def pool(self, runs: Any, depth: int = 10) -> Pool:
        """The documents that any run ranks among its first `depth`, for `JudgeForm`."""
        from knowledge_nb.evaluation.pooling import pool

        return pool(runs, depth)


def require_known(verb: str, options: Mapping[str, Any], *verbs: Callable[..., Any]) -> None:
    """Refuse an argument that the functions behind a verb do not have.

    Raises
    ------
    QueryError
    """
    known = [
        name
        for function in verbs
        for name, about in inspect.signature(function).parameters.items()
        if about.kind is about.KEYWORD_ONLY
    ]
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
            raise QueryError(f"{verb} has no argument {option!r}{hint}")


def _warn_degraded(said: str) -> None:
    from knowledge_nb.retrieval.tier import DegradedSearchWarning

    warnings.warn(said, DegradedSearchWarning, stacklevel=3)


class _bar:  # used as a function
    """The progress to call, and a bar that is closed at the end where there is one."""

    def __init__(self, progress: bool | Progress | None) -> None:
        self._progress = progress
        self._tqdm: Any = None

    def __enter__(self) -> Progress | None:
        from knowledge_nb.notebook.progress import in_notebook

        if callable(self._progress):
            return self._progress
        if not self._progress and not (self._progress is None and in_notebook()):
            return None
        from tqdm.auto import tqdm

        self._tqdm = tqdm(unit="topic", desc="Ranking", mininterval=0.1)
        return self._show

    def _show(self, done: int, total: int) -> None:
        self._tqdm.total = total
        self._tqdm.update(done - self._tqdm.n)

    def __exit__(self, *error: object) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
