"""Making a run: the rankings of many topics on one committed state of the index."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import apsw

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.errors import EvaluationError, MissingDependencyError, QueryError, StoreError
from knowledge_nb.evaluation.coverage import coverage_notes
from knowledge_nb.evaluation.docnos import DocnoRule, docnos, rule_name
from knowledge_nb.evaluation.questions import Question, embed_all
from knowledge_nb.evaluation.resume import Progress, Saved
from knowledge_nb.evaluation.runs import Outcome, Provenance, Ranking, RunRecord
from knowledge_nb.evaluation.topics import read_topics
from knowledge_nb.records import Mode, counted
from knowledge_nb.refusals import require_documents
from knowledge_nb.retrieval import lexical, vector
from knowledge_nb.retrieval.fusion import RRF_K, check_fusion, fuse
from knowledge_nb.retrieval.lexical import CANDIDATES, CommonTerms, LexicalQuery
from knowledge_nb.retrieval.search import Facts, check_texts, look, usable_embedder
from knowledge_nb.retrieval.under import Under, resolve
from knowledge_nb.retrieval.vector import memory_of
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.sql import rows, value

if TYPE_CHECKING:
    from knowledge_nb.core import Core

BATCH: Final = 64  # topics that are embedded together, and saved together
UNITS: Final = ("document", "chunk")

_PATHS = "SELECT id, path FROM documents ORDER BY id"
_SQLITE = "SELECT sqlite_version()"
_CHUNKS = "SELECT count(*) FROM chunks"

Pairs = tuple[tuple[int, float], ...]  # (chunk id, score), best first


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is to rank; see `make_run`."""

    mode: Mode
    k: int = 1000
    unit: str = "document"
    docno: DocnoRule = "path"
    weights: tuple[float, float] = (1.0, 1.0)
    rrf_k: float = RRF_K
    window: int | None = None
    common_terms: CommonTerms = "drop"
    under: str = ""


def make_run(
    core: Core,
    topics: Any,
    *,
    mode: Mode | None = None,
    k: int = 1000,
    unit: str = "document",
    docno: DocnoRule = "path",
    weights: tuple[float, float] = (1.0, 1.0),
    rrf_k: float = RRF_K,
    window: int | None = None,
    common_terms: CommonTerms = "drop",
    under: str = "",
    name: str = "",
    save: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> RunRecord:
    """Rank for many topics, as a search with the same arguments ranks for one.

    Parameters
    ----------
    core : Core
    topics
        See `topics.read_topics`.
    mode : {"lexical", "vector", "fused"}, optional
        None: the best that the store has.
    k : int
        Documents (or chunks) wanted of each topic, from 1.
    unit : {"document", "chunk"}
        "document": the best chunk stands for its document, until there are k documents or nothing
        more ranks. "chunk": chunks by citation, exactly as `search` with that k.
    docno : {"path", "stem"} or callable
        How documents are named; see `docnos`.
    weights, rrf_k : see `fusion.fuse`
    window : int, optional
        Chunk ranks of each tier that are fused. None: the larger of 50 and k, as in a search; where
        that gives fewer than k documents, the whole rankings are fused for that topic.
    common_terms, under : see `search`
    name : str
        Of the run; else its mode.
    save : path, optional
        A TREC run file. What is done is kept in FILE.partial, and a later call with the same topics
        and settings goes on there; a finished file is read back, and only topics that degraded
        are asked again. Where the index changes meanwhile, FILE.partial is dropped.
    overwrite : bool
        Replace a saved run that was made otherwise, or of other topics.
    progress : callable, optional
        Called with topics done and topics in all.

    Returns
    -------
    RunRecord
        A topic of which nothing can be searched, and one for which nothing ranks, has no row; its
        outcome says which. In mode "fused" a topic whose query could not be embedded is ranked by
        words alone, its outcome says why, and the run's label is another one. Notes and provenance
        say what the index did not cover.

    Raises
    ------
    EvaluationError
        Topics, docnos or saved run cannot be used, or the index changed while the run was made.
    IndexNotBuiltError, CorpusEmptyError
    QueryError, ConfigurationError, VectorsMismatchError
        As for a search.
    EmbeddingError
        In mode "vector", which never falls back.
    """
    asked = read_topics(topics)
    if save is not None:
        if not isinstance(save, str | os.PathLike):
            raise EvaluationError(f"save= is the path of a run file, not {save!r}")
        if Path(save).is_dir():
            raise EvaluationError(f"save= names the folder {save}; name a file in it")
        if Path(save).resolve().parent == core.files.directory.resolve():
            raise EvaluationError(f"{save} lies in the store's own directory; name another place")
    check_fusion(2, k=rrf_k, weights=weights, window=window)
    check_texts("", under)
    check_arguments(mode, k, unit, common_terms)
    if not isinstance(name, str):
        raise QueryError(f"the name of a run is text, not {name!r}")
    facts = look(core.reader, None)
    require_documents(facts.completeness)
    embedder = None if mode == "lexical" else core.matching_embedder()
    if mode is None:
        mode = "fused" if facts.dimension is not None and embedder is not None else "lexical"
    if mode != "lexical":
        embedder = usable_embedder(embedder, facts, mode)
    settings = Settings(
        mode, k, unit, docno, (float(weights[0]), float(weights[1])), rrf_k, window,
        common_terms, under,
    )  # fmt: skip
    with core.reader.snapshot() as connection:
        used = versions(connection)
        scope = resolve(connection, under)
        named = docnos(dict(rows(connection, _PATHS)), docno)
    made = replace(
        _provenance(settings, facts, embedder.model if embedder is not None else "", used),
        topics_sha256=_sha256(sorted(asked.items())),
        # Two callables may have one name.
        docnos_sha256=_sha256(list(named.values())) if callable(docno) else "",
    )
    saved = Saved.open(save, made, asked, overwrite=overwrite)
    todo = [qid for qid in asked if qid not in saved.done]
    if progress is not None:
        progress(len(asked) - len(todo), len(asked))
    for start in range(0, len(todo), BATCH):
        batch = {qid: asked[qid] for qid in todo[start : start + BATCH]}
        questions = embed_all(embedder, batch, mode)
        try:
            for outcome, ranking in _rank_batch(core, questions, settings, made.generation):
                saved.add(outcome, ranking)
                if progress is not None:
                    progress(len(saved.done), len(asked))
        except _IndexChangedError:
            saved.drop()  # of a state that is gone: no later call could go on there
            raise
        saved.flush()
    outcomes = tuple(saved.done[qid][0] for qid in asked)
    notes = [*_notes(outcomes), *coverage_notes(facts.completeness, mode)]
    if scope.unknown:
        notes.insert(any(each.degraded for each in outcomes), scope.note())
    rankings = {qid: saved.done[qid][1] for qid in asked}
    run = RunRecord(name or mode, rankings, outcomes, made, tuple(notes))
    saved.finish(run)
    return run


class _IndexChangedError(EvaluationError):
    """The index is another one than when the run began."""


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def check_arguments(mode: Any, k: Any, unit: Any, common_terms: Any) -> None:
    """Refuse what no ranking can be made with.

    Raises
    ------
    QueryError
    """
    if mode is not None and mode not in get_args(Mode):
        raise QueryError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k is a whole number from 1 up, not {k!r}")
    if unit not in UNITS:
        raise QueryError(f'unit is "document" or "chunk", not {unit!r}')
    if common_terms not in get_args(CommonTerms):
        raise QueryError(f"common_terms is 'drop' or 'keep', not {common_terms!r}")


def versions(connection: apsw.Connection) -> dict[str, str]:
    """Versions of what takes part in ranking."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "sqlite": value(connection, _SQLITE)}
    for package in ("knowledge-nb", "apsw", "sqlite-vec", "numpy", "wordllama", "tokenizers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _provenance(settings: Settings, facts: Facts, model: str, used: dict[str, str]) -> Provenance:
    known = facts.completeness
    return Provenance(
        mode=settings.mode,
        unit=settings.unit,
        docno=rule_name(settings.docno),
        k=settings.k,
        window=settings.window or max(CANDIDATES, settings.k),
        window_given=settings.window is not None,
        rrf_k=settings.rrf_k,
        weights=settings.weights,
        common_terms=settings.common_terms,
        under=settings.under,
        model=model,
        dimension=facts.dimension if settings.mode != "lexical" else None,
        generation=known.generation,
        index_completed=known.last_completed,
        base=known.base,
        documents=known.documents,
        chunks=known.chunks,
        without_vector=known.without_vector,
        versions=used,
        stale=known.stale,
        skipped=sum(known.skipped.values()),
        unfinished=known.unfinished(),
        coverage=known.statement(),
        store_id=known.store_id,
    )


def _rank_batch(
    core: Core, questions: Mapping[str, Question], settings: Settings, generation: int
) -> Iterator[tuple[Outcome, Ranking]]:
    with core.reader.snapshot() as connection:
        ranker = Ranker(core, connection, settings.under)
        if ranker.generation != generation:
            raise _IndexChangedError(
                f"the index changed while the run was made (generation {generation}, now "
                f"{ranker.generation}), and a run is of one state: run it again."
            )
        names = docnos(ranker.paths, settings.docno)
        for question in questions.values():
            asked = ranker.answerable(question, settings.mode)
            outcome, pairs = _rank_one(ranker, asked, settings)
            if settings.unit == "chunk":
                yield outcome, tuple((ranker.name_chunk(n, names), score) for n, score in pairs)
            else:
                yield outcome, tuple((names[n], score) for n, score in pairs)


class Ranker:
    """Both tiers' rankings, to any depth, in one read transaction.

    Parameters
    ----------
    core : Core
    connection : apsw.Connection
        In that transaction.
    under : str
    """

    def __init__(self, core: Core, connection: apsw.Connection, under: str = "") -> None:
        from knowledge_nb.store.status import read_completeness

        self.connection = connection
        known = read_completeness(connection)
        self.completeness = known
        self.generation, self.base = known.generation, known.base
        self.paths: dict[int, str] = dict(rows(connection, _PATHS))
        self.chunks: int = value(connection, _CHUNKS)
        self.scope: Under = resolve(connection, under)
        self.memory = memory_of(core.reader)

    def name_chunk(self, chunk_id: int, names: Mapping[int, str]) -> str:
        """Docno of a chunk: its document's, `#` and the ordinal; for paths, the citation."""
        return f"{names[chunk_id >> ORDINAL_BITS]}#{chunk_id & ((1 << ORDINAL_BITS) - 1)}"

    def by_words(
        self, parsed: LexicalQuery, depth: int, needed: int, common_terms: CommonTerms
    ) -> lexical.LexicalRanking:
        """The lexical ranking to a depth."""
        return lexical.rank(
            self.connection,
            parsed.terms,
            limit=depth,
            needed=needed,
            under=self.scope,
            common_terms=common_terms,
        )

    def answerable(self, question: Question, mode: Mode) -> Question:
        """The question; in "fused" without its vector, and why, where sqlite-vec cannot be used."""
        if mode != "fused" or question.vector is None:
            return question
        try:
            stored.load(self.connection)
        except (MissingDependencyError, StoreError) as error:
            return replace(question, vector=None, reason=str(error))
        return question

    def by_vector(self, question: Question, depth: int) -> vector.VectorRanking:
        """The vector ranking to a depth; empty for a question without a vector."""
        if question.vector is None:
            return vector.VectorRanking()
        stored.load(self.connection)
        # The vectors are read once for the whole run, not from the second topic on.
        self.memory.vectors(self.connection, at_once=True)
        return vector.rank(
            self.connection, question.vector, limit=depth, under=self.scope, memory=self.memory
        )


def _rank_one(ranker: Ranker, question: Question, settings: Settings) -> tuple[Outcome, Pairs]:
    mode: Mode = settings.mode
    depth = settings.window if settings.window and mode == "fused" else None
    depth = depth or max(CANDIDATES, settings.k)
    if mode == "fused" and question.reason:
        mode = "lexical"
    searchable = bool(question.parsed.terms) and mode != "vector"
    if not searchable and (mode == "lexical" or question.vector is None):
        return _outcome(question, settings, "query_empty"), ()
    depths = [depth]
    # A given window stays; else what the tiers hold beyond it fills a ranking that is too short.
    if depth < ranker.chunks and not (mode == "fused" and settings.window):
        depths.append(ranker.chunks)
        # One tier's order does not depend on the depth: a small corpus is ranked whole at once.
        if mode != "fused" and settings.unit == "document" and ranker.chunks <= 4 * depth:
            depths = depths[1:]
    pairs: Pairs = ()
    widened = False
    for depth in depths:
        ranking = chunk_ranking(ranker, question, mode, depth, settings)
        pairs = ranking[: settings.k]
        if settings.unit == "document":
            pairs = best_chunks(ranking, settings.k)
        widened = mode == "fused" and depth != depths[0]
        if len(pairs) >= settings.k or settings.unit == "chunk":
            break
    status = "ok" if pairs else "no_hits"
    return replace(_outcome(question, settings, status), widened=widened), pairs


def chunk_ranking(
    ranker: Ranker, question: Question, mode: Mode, depth: int, settings: Settings
) -> Pairs:
    """Chunks in the order in which a search ranks them, with the scores that it gives."""
    if mode == "vector":
        near = ranker.by_vector(question, depth)
        pairs = zip(near.chunk_ids, near.distances, strict=True)
        return tuple((n, 1 - distance * distance / 2) for n, distance in pairs)
    whole = mode == "fused" or settings.unit == "document"
    needed = depth if whole else min(settings.k, depth)
    words = ranker.by_words(question.parsed, depth, needed, settings.common_terms)
    if mode == "lexical":
        return tuple(zip(words.chunk_ids, words.scores, strict=True))
    near = ranker.by_vector(question, depth)
    fused = fuse(
        [words.chunk_ids, near.chunk_ids],
        k=settings.rrf_k,
        weights=settings.weights,
        window=depth,
    )
    return tuple((each.chunk_id, each.score) for each in fused)


def best_chunks(pairs: Pairs, k: int) -> Pairs:
    """(document id, score of its best chunk), in the order of those chunks, at most k."""
    found: dict[int, float] = {}
    for chunk_id, score in pairs:
        document = chunk_id >> ORDINAL_BITS
        if document not in found:
            if len(found) == k:
                break
            found[document] = score
    return tuple(found.items())


def _outcome(question: Question, settings: Settings, status: str) -> Outcome:
    notes = []
    if question.parsed.dropped and settings.mode != "vector":
        named = ", ".join(f"{word[:40]!r} ({why})" for word, why in question.parsed.dropped[:5])
        notes.append(f"Not searched: {named}.")
    if question.cut:
        notes.append(f"The embedder did not see the last {question.cut:,} characters.")
    degraded = question.reason if settings.mode == "fused" else ""
    return Outcome(question.qid, question.query, status, degraded, notes=tuple(notes))


def _notes(outcomes: tuple[Outcome, ...]) -> tuple[str, ...]:
    def some(chosen: list[str]) -> str:
        return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")

    notes = []
    degraded = [each for each in outcomes if each.degraded]
    if degraded:
        notes.append(
            f"DEGRADED: {len(degraded)} of {len(outcomes)} topics were ranked by words alone "
            f"({some([each.qid for each in degraded])}): {degraded[0].degraded}"
        )
    for status, text in (
        ("query_empty", "of which nothing can be searched: no row"),
        ("no_hits", "for which nothing ranks: no row"),
    ):
        found = [each.qid for each in outcomes if each.status == status]
        if found:
            notes.append(f"{counted(len(found), 'topic')} {text} ({some(found)}).")
    widened = [each.qid for each in outcomes if each.widened]
    if widened:
        notes.append(
            f"The window held fewer than k documents for {counted(len(widened), 'topic')}; the "
            f"whole rankings were fused there ({some(widened)})."
        )
    return tuple(notes)
