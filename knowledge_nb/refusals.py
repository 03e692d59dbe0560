"""From a soft status to the error that the facade raises in place of an incomplete frame."""

from __future__ import annotations

from typing import Any

from knowledge_nb.errors import CorpusEmptyError, IndexNotBuiltError, NoAnswerError, QueryEmptyError
from knowledge_nb.records import Completeness, Status

_REFUSALS: dict[Status, type[NoAnswerError]] = {
    Status.INDEX_NOT_BUILT: IndexNotBuiltError,
    Status.CORPUS_EMPTY: CorpusEmptyError,
    Status.QUERY_EMPTY: QueryEmptyError,
}


def require_answer(result: Any) -> None:
    """Refuse a result that is no answer about the corpus.

    Raises
    ------
    IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        With the notes of the result, and the result.
    """
    refusal = _REFUSALS.get(result.status)
    if refusal is not None:
        raise refusal(" ".join(result.notes) or str(result.status), result)


def require_documents(completeness: Completeness) -> None:
    """Refuse a store that cannot answer any question.

    Raises
    ------
    IndexNotBuiltError, CorpusEmptyError
    """
    refusal = _REFUSALS.get(completeness.status)
    if refusal is not None:
        raise refusal(completeness.emptiness(), completeness)
