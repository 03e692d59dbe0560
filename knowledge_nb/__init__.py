"""Honest search over a folder of documents, inside a notebook."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from knowledge_nb.errors import (
    BaseMismatchError,
    ConfigurationError,
    CorpusEmptyError,
    EmbeddingError,
    EvaluationError,
    ForeignStoreError,
    IndexingError,
    IndexNotBuiltError,
    KnowledgeError,
    MissingDependencyError,
    NoAnswerError,
    NotFoundError,
    QueryEmptyError,
    QueryError,
    QuerySyntaxError,
    RootError,
    SearchTimeoutError,
    StoreAccessError,
    StoreDamagedError,
    StoreError,
    StoreFormatError,
    StoreLockedError,
    StoreShapeError,
    StoreTooNewError,
    StoreTooOldError,
    VectorsMismatchError,
)

if TYPE_CHECKING:
    from knowledge_nb.knowledge_base import KnowledgeBase, open

__version__ = "0.1.0"

# Names whose modules are worth loading only when they are used.
_LAZY = {
    "KnowledgeBase": "knowledge_nb.knowledge_base",
    "open": "knowledge_nb.knowledge_base",
}

__all__ = [
    "BaseMismatchError",
    "ConfigurationError",
    "CorpusEmptyError",
    "EmbeddingError",
    "EvaluationError",
    "ForeignStoreError",
    "IndexNotBuiltError",
    "IndexingError",
    "KnowledgeBase",
    "KnowledgeError",
    "MissingDependencyError",
    "NoAnswerError",
    "NotFoundError",
    "QueryEmptyError",
    "QueryError",
    "QuerySyntaxError",
    "RootError",
    "SearchTimeoutError",
    "StoreAccessError",
    "StoreDamagedError",
    "StoreError",
    "StoreFormatError",
    "StoreLockedError",
    "StoreShapeError",
    "StoreTooNewError",
    "StoreTooOldError",
    "VectorsMismatchError",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    try:
        module = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'knowledge_nb' has no attribute {name!r}") from None
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return __all__
