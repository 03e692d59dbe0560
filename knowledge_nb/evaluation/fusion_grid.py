"""Settings of the fusion, tried on one pair of runs: no search a cell, no tuning on the test.

Topics are split in two halves. The best cell of one half is reported on the other, and the other
way round; a mean over all topics of the cell that was best on all topics is never reported as a
result. References: Cormack, Clarke, Buettcher: Reciprocal Rank Fusion, SIGIR 2009; Fuhr: Some
Common Mistakes in IR Evaluation, and How They Can Be Avoided, SIGIR Forum 51(3), 2017.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation import measures as measuring
from knowledge_nb.evaluation.coverage import coverage_notes, unknown_notes
from knowledge_nb.evaluation.making import Ranker
from knowledge_nb.evaluation.names import matched
from knowledge_nb.evaluation.overlap import rbo
from knowledge_nb.evaluation.qrels import Qrels, read_qrels
from knowledge_nb.evaluation.questions import embed_all
from knowledge_nb.evaluation.runs import RunRecord
from knowledge_nb.evaluation.topics import read_topics
from knowledge_nb.evaluation.trec import encode_docno
from knowledge_nb.refusals import require_documents
from knowledge_nb.retrieval.fusion import check_fusion
from knowledge_nb.retrieval.search import look, usable_embedder

if TYPE_CHECKING:
    from knowledge_nb.core import Core

K: Final = (10.0, 60.0, 100.0)
WEIGHTS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
WINDOW: Final = (50, 1000)
DEPTH: Final = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting.

    Attributes
    ----------
    k, window : float, int
    lexical_weight, vector_weight : float
    mean : float or None
        Of the measure over all topics; None without judgements.
    first_half, second_half : float or None
    agreement_lexical, agreement_vector : float or None
        Mean rank-biased overlap (p = 0.9) of its first ten documents with each tier's.
    """

    k: float
    window: int
    lexical_weight: float
    vector_weight: float
    mean: float | None
    first_half: float | None
    second_half: float | None
    agreement_lexical: float | None
    agreement_vector: float | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The cell that was best on one half, on the other half, beside what was not tuned.

    Attributes
    ----------
    chosen_on, reported_on : {"first half", "second half"}
    topics : int
        Reported on.
    tuned : float
        Mean of the chosen cell on the half that it was not chosen on.
    lexical, vector, even : float
        Means of both tiers, and of the fusion with k = 60, equal weights and the widest window of
        the grid, on the same topics.
    """

    chosen_on: str
    reported_on: str
    cell: Cell
    topics: int
    tuned: float
    lexical: float
    vector: float
    even: float


@dataclass(frozen=True, slots=True)
class GridRecord:
    """A study of the fusion's settings.

    Attributes
    ----------
    measure : str
        "" without judgements.
    halves : (tuple of str, tuple of str)
        Judged qids, split at random with `seed`.
    cells : tuple of Cell
        By k, window, lexical weight.
    chosen : tuple of Chosen
        Two, one a half; empty without judgements.
    held_out : dict of str to dict of str to float
        By name ("tuned", "lexical", "vector", "even"), value of the measure by qid: each topic
        measured with the cell chosen on the half in which it is not.
    notes : tuple of str
    """

    measure: str
    halves: tuple[tuple[str, ...], tuple[str, ...]]
    cells: tuple[Cell, ...]
    chosen: tuple[Chosen, ...]
    held_out: dict[str, dict[str, float]]
    seed: int
    tier: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Both tiers' chunk rankings of one topic, as arrays of ids, and their documents' names."""

    words: Any
    near: Any


def fusion_grid(
    core: Core,
    topics: Any,
    qrels: Any = None,
    *,
    k: Iterable[float] = K,
    weights: Iterable[float | tuple[float, float]] = WEIGHTS,
    window: Iterable[int] = WINDOW,
    measure: str = "nDCG@10",
    seed: int = 0,
) -> GridRecord:
    """Try settings of the fusion.

    Parameters
    ----------
    core : Core
        With vectors.
    topics : see `topics.read_topics`
    qrels : optional
        See `qrels.read_qrels`; docnos are paths. Without them cells show agreement only.
    k : iterable of float
        The constant of reciprocal rank fusion.
    weights : iterable of float or (float, float)
        Share of the lexical ranking, 0 to 1, the rest being the vector ranking's; or both weights.
        0 turns a tier off, see `fusion.fuse`.
    window : iterable of int
        Chunk ranks of each tier that are fused.
    measure : str
        In ir-measures' words.
    seed : int
        Of the split.

    Returns
    -------
    GridRecord

    Raises
    ------
    EvaluationError
        Too few judged topics to split, an empty list, a measure that is none.
    QueryError, ConfigurationError, EmbeddingError
        A value is out of range; there are no vectors; they cannot be asked.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise EvaluationError(f"seed is a whole number, not {seed!r}")
    settings = _settings(k, weights, window)
    asked = read_topics(topics)
    judged = None if qrels is None else read_qrels(qrels)
    measures = () if judged is None else measuring.parse_measures(measure)[:1]
    if measures and measuring.is_sum(measures[0]):
        raise EvaluationError(f"{measures[0]} is a sum over topics; a grid needs a mean: nDCG@10")
    if not isinstance(measure, str) and len(list(measure)) > 1:
        raise EvaluationError(f"a grid is of one measure, not {measure!r}")
    pairs, names, tier, missing = _pairs(core, asked, max(each[1] for each in settings))
    name = str(measures[0]) if measures else ""
    # A measure that stops at a rank needs no more than that, agreement the first ten.
    cut = measuring.cutoff(measures[0]) if measures else 10
    depth = DEPTH if cut is None else max(10, cut)
    if judged is not None:
        _require_paths(judged, asked, names)
    halves = ((), ()) if judged is None else split(asked, judged, seed)

    def rank(n: float, size: int, w: tuple[float, float]) -> RunRecord:
        return RunRecord(
            f"k={n:g} window={size} weights={w}",
            {qid: _fused(pair, n, size, w, names, depth) for qid, pair in pairs.items()},
        )

    tiers = {
        "lexical": {qid: _alone(pair.words, names, depth) for qid, pair in pairs.items()},
        "vector": {qid: _alone(pair.near, names, depth) for qid, pair in pairs.items()},
    }
    alone = {side: RunRecord(side, rankings) for side, rankings in tiers.items()}

    def measured(run: RunRecord) -> dict[str, float]:
        if judged is None:
            return {}
        run = matched(run, judged.grades, judged.decoded)
        return measuring.values(run, judged, list(asked), measures)[name]

    cells: list[Cell] = []
    by_cell: list[dict[str, float]] = []
    for n, size, pair_of_weights in settings:
        run = rank(n, size, pair_of_weights)
        found = measured(run)
        by_cell.append(found)
        cells.append(
            Cell(
                n,
                size,
                *pair_of_weights,
                _mean(found, found),
                _mean(found, halves[0]),
                _mean(found, halves[1]),
                _agreement(run, alone["lexical"]),
                _agreement(run, alone["vector"]),
            )
        )
    chosen: tuple[Chosen, ...] = ()
    held_out: dict[str, dict[str, float]] = {}
    if judged is not None:
        base = {side: measured(run) for side, run in alone.items()}
        even = measured(rank(60.0, max(each[1] for each in settings), (1.0, 1.0)))
        chosen, tuned = _choose(cells, by_cell, halves, {**base, "even": even})
        half = {*halves[0], *halves[1]}
        held_out = {
            "tuned": tuned,
            **{side: {q: v for q, v in of.items() if q in half} for side, of in base.items()},
            "even": {q: v for q, v in even.items() if q in half},
        }
    notes = [*missing, *(judged.notes if judged else ())]
    without = [qid for qid in asked if judged is not None and qid not in judged.grades]
    if without:
        notes.append(f"{len(without):,} topics without a judgement are in no mean.")
    if judged is not None:
        notes += unknown_notes(judged, names.values())
        notes.append(
            "A cell's mean over all topics is no result: the best of many cells is best partly by "
            "chance. `chosen` holds means on topics that the cell was not chosen on."
        )
    return GridRecord(name, halves, tuple(cells), chosen, held_out, seed, tier, tuple(notes))


def _settings(
    k: Iterable[float], weights: Iterable[float | tuple[float, float]], window: Iterable[int]
) -> list[tuple[float, int, tuple[float, float]]]:
    pairs: list[Any] = []
    for each in _several("weights", weights):
        if isinstance(each, int | float):
            if isinstance(each, bool) or not 0 <= each <= 1:
                raise EvaluationError(
                    f"a weight of the grid is the lexical share, 0 to 1, or a pair, not {each!r}"
                )
            pairs.append((float(each), round(1.0 - each, 12)))
        else:
            pairs.append(each)
    found = [
        (n, size, pair)
        for n in _several("k", k)
        for size in _several("window", window)
        for pair in pairs
    ]
    if not found:
        raise EvaluationError("the grid is empty: give at least one k, weight and window")
    for n, size, pair in found:
        check_fusion(2, k=n, weights=pair, window=size)
        if size is None:
            raise EvaluationError("a window of the grid is a number of ranks, not None")
    return list(
        dict.fromkeys(
            (float(n), int(size), (float(pair[0]), float(pair[1]))) for n, size, pair in found
        )
    )


def _require_paths(qrels: Qrels, topics: Iterable[str], names: Mapping[int, str]) -> None:
    """Refuse judgements that name none of the index's documents: every mean would be 0."""
    judged = {docno for qid in topics for docno in qrels.grades.get(qid, ())}
    paths = set(names.values())
    if judged and not any(name in paths or encode_docno(name) in paths for name in judged):
        raise EvaluationError(
            "not one docno of the judgements is a path of this index (judgements have "
            f"{min(judged)!r}, the index has {min(paths)!r}); a grid names documents by path"
        )


def _several(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise EvaluationError(
            f"{name} of a grid lists the values to try, so write {name}=({values!r},), not "
            f"{name}={values!r}"
        )
    return list(values)


def split(
    topics: Iterable[str], qrels: Qrels, seed: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the judged topics in two halves at random; the same seed gives the same halves.

    Raises
    ------
    EvaluationError
        Fewer than four are judged.
    """
    judged = sorted(qid for qid in topics if qid in qrels.grades)
    if len(judged) < 4:
        raise EvaluationError(
            f"{len(judged)} judged topics are too few to tune on one half and report on the other; "
            "four are the least"
        )
    random.Random(seed).shuffle(judged)
    middle = len(judged) // 2
    return tuple(sorted(judged[:middle])), tuple(sorted(judged[middle:]))


def _pairs(
    core: Core, topics: Mapping[str, str], depth: int
) -> tuple[dict[str, _Pair], dict[int, str], str, tuple[str, ...]]:
    import numpy as np

    facts = look(core.reader, None)
    require_documents(facts.completeness)
    embedder = usable_embedder(core.matching_embedder(), facts, "vector")
    questions = embed_all(embedder, topics, "vector")
    with core.reader.snapshot() as connection:
        ranker = Ranker(core, connection)
        found = {}
        for qid, question in questions.items():
            words = ranker.by_words(question.parsed, depth, depth, "drop")
            near = ranker.by_vector(question, depth)
            found[qid] = _Pair(
                np.array(words.chunk_ids, dtype=np.int64), np.array(near.chunk_ids, dtype=np.int64)
            )
        line = f"fusion of lexical and vector rankings, generation {ranker.generation}"
        known = ranker.completeness
        if known.without_vector:
            line += f" - {known.without_vector:,} chunks without a vector"
        missing = coverage_notes(known, "fused")
        return found, ranker.paths, f"{line}, model={embedder.model}", missing


def _fused(
    pair: _Pair,
    k: float,
    window: int,
    weights: tuple[float, float],
    names: Mapping[int, str],
    depth: int,
) -> tuple[tuple[str, float], ...]:
    """Documents of the fused ranking: `fusion.fuse`, to the last bit, on arrays."""
    import numpy as np

    # As in `fuse`, weight 0 turns a tier off.
    words = pair.words[: window if weights[0] else 0]
    near = pair.near[: window if weights[1] else 0]
    ids, places = np.unique(np.concatenate([words, near]), return_inverse=True)
    scores = np.zeros(len(ids))
    start = 0
    for ranking, weight in ((words, weights[0]), (near, weights[1])):
        at = places[start : start + len(ranking)]
        scores[at] += weight / (k + np.arange(1, len(ranking) + 1))
        start += len(ranking)
    order = np.lexsort((ids, -scores))
    return _documents(ids[order].tolist(), scores[order].tolist(), names, depth)


def _alone(ids: Any, names: Mapping[int, str], depth: int) -> tuple[tuple[str, float], ...]:
    return _documents(ids.tolist(), [float(len(ids) - n) for n in range(len(ids))], names, depth)


def _documents(
    ids: Sequence[int], scores: Sequence[float], names: Mapping[int, str], depth: int
) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for chunk_id, score in zip(ids, scores, strict=True):
        found.setdefault(names[chunk_id >> 20], score)
        if len(found) == depth:
            break
    return tuple(found.items())


def _mean(values: Mapping[str, float], qids: Iterable[str]) -> float | None:
    known = [values[qid] for qid in qids if qid in values]
    return sum(known) / len(known) if known else None


def _agreement(run: RunRecord, tier: RunRecord) -> float | None:
    found = []
    for qid, ranking in run.rankings.items():
        alike = rbo([d for d, _ in ranking[:10]], [d for d, _ in tier.rankings[qid][:10]])
        if alike is not None:
            found.append(alike)
    return sum(found) / len(found) if found else None


def _choose(
    cells: Sequence[Cell],
    by_cell: Sequence[dict[str, float]],
    halves: tuple[tuple[str, ...], tuple[str, ...]],
    untuned: Mapping[str, dict[str, float]],
) -> tuple[tuple[Chosen, ...], dict[str, float]]:
    names = ("first half", "second half")
    chosen = []
    tuned: dict[str, float] = {}
    for here, there in ((0, 1), (1, 0)):
        # Among equals the first of the grid, whatever the machine.
        means = [_mean(found, halves[here]) or 0.0 for found in by_cell]
        best = max(range(len(cells)), key=lambda n: (means[n], -n))
        tuned.update({qid: by_cell[best][qid] for qid in halves[there]})
        report = {name: _mean(of, halves[there]) or 0.0 for name, of in untuned.items()}
        chosen.append(
            Chosen(
                names[here],
                names[there],
                cells[best],
                len(halves[there]),
                _mean(by_cell[best], halves[there]) or 0.0,
                **report,
            )
        )
    return tuple(chosen), tuned
