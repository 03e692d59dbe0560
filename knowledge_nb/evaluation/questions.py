"""Topics made ready for ranking: parsed for the words, embedded in batches for the vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_nb.embedding.errors import DimensionMismatch, EmbeddingError
from knowledge_nb.embedding.texts import is_blank
from knowledge_nb.records import Mode
from knowledge_nb.retrieval import lexical
from knowledge_nb.retrieval.lexical import LexicalQuery
from knowledge_nb.retrieval.search import Embedding, embed_question

if TYPE_CHECKING:
    from knowledge_nb.embedding.protocol import Embedder, Vector

# A server that hangs would cost its time limit for every one of hundreds of topics.
FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class Question:
    """One topic, ready.

    Attributes
    ----------
    parsed : LexicalQuery
    vector : numpy.ndarray or None
        None where none was asked for, where there is nothing to embed, and where `reason` says why.
    reason : str
        Why there is no vector although one was asked for; "" otherwise.
    cut : int
        Characters of the query that the embedder did not see.
    """

    qid: str
    query: str
    parsed: LexicalQuery
    vector: Vector | None = None
    reason: str = ""
    cut: int = 0


def embed_all(
    embedder: Embedder | None, topics: Mapping[str, str], mode: Mode
) -> dict[str, Question]:
    """Parse and embed topics.

    An embedder with a method `embed_queries(texts) -> list of vectors` gets all of them at once;
    where that fails, and for other embedders, each is asked for alone, so that one refused query
    does not take the others' vectors. After three failures in a row the rest are not asked for.

    Parameters
    ----------
    embedder : Embedder or None
        None in mode "lexical".
    topics : mapping of str to str
    mode : Mode
        In "vector" a failure is raised, in "fused" it is the question's reason.

    Returns
    -------
    dict of str to Question
        By qid, in order.

    Raises
    ------
    DimensionMismatch
    EmbeddingError
        In mode "vector".
    """
    texts = {qid: _storable(query) for qid, query in topics.items()}
    parsed = {qid: lexical.parse(text) for qid, text in texts.items()}
    made: dict[str, Embedding] = {}
    if embedder is not None:
        made = _together(embedder, texts)
    in_a_row = 0
    questions = {}
    for qid, text in texts.items():
        found = made.get(qid, Embedding())
        if embedder is not None and qid not in made:
            if in_a_row < FAILURES:
                found = embed_question(embedder, text, mode, None)
                in_a_row = in_a_row + 1 if found.reason else 0
                last = found.reason or ""
            else:
                found = Embedding(reason=f"not asked, since {FAILURES} in a row failed: {last}")
        reason = found.reason
        if found.blank and parsed[qid].terms and not reason:
            reason = "the query holds nothing that can be embedded"
        questions[qid] = Question(qid, text, parsed[qid], found.vector, reason, found.cut)
    return questions


def _together(embedder: Embedder, texts: Mapping[str, str]) -> dict[str, Embedding]:
    embed_queries = getattr(embedder, "embed_queries", None)
    some = {qid: text for qid, text in texts.items() if not is_blank(text)}
    if embed_queries is None or len(some) < 2:
        return {}
    from knowledge_nb.embedding.protocol import EmbeddingTally

    tally = EmbeddingTally()
    try:
        vectors = embed_queries(list(some.values()), tally=tally)
    except DimensionMismatch:
        raise
    except EmbeddingError:
        return {}
    if tally.query_characters_cut:  # whose, only single calls tell
        return {}
    return {qid: Embedding(vector) for qid, vector in zip(some, vectors, strict=True)}


def _storable(text: str) -> str:
    # Lone surrogates, which no file, driver or JSON can hold, become U+FFFD, as in a search.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
