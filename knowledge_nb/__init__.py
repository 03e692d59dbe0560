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
    ExportError,
    ExportTargetError,
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
    from knowledge_nb.notebook.forms.enumerate import EnumerateForm
    from knowledge_nb.notebook.forms.explorer import Explorer
    from knowledge_nb.notebook.forms.judge import JudgeForm
    from knowledge_nb.notebook.forms.search import SearchForm
    from knowledge_nb.notebook.forms.vocabulary import VocabularyForm
    from knowledge_nb.notebook.frames_evaluation import Run

__version__ = "0.1.0"

# Names whose modules are worth loading only when they are used.
_LAZY = {
    "EnumerateForm": "knowledge_nb.notebook.forms.enumerate",
    "Explorer": "knowledge_nb.notebook.forms.explorer",
    "JudgeForm": "knowledge_nb.notebook.forms.judge",
    "KnowledgeBase": "knowledge_nb.knowledge_base",
    "Run": "knowledge_nb.notebook.frames_evaluation",
    "SearchForm": "knowledge_nb.notebook.forms.search",
    "VocabularyForm": "knowledge_nb.notebook.forms.vocabulary",
    "open": "knowledge_nb.knowledge_base",
}

__all__ = [
    "BaseMismatchError",
    "ConfigurationError",
    "CorpusEmptyError",
    "EmbeddingError",
    "EnumerateForm",
    "EvaluationError",
    "Explorer",
    "ExportError",
    "ExportTargetError",
    "ForeignStoreError",
    "IndexNotBuiltError",
    "IndexingError",
    "JudgeForm",
    "KnowledgeBase",
    "KnowledgeError",
    "MissingDependencyError",
    "NoAnswerError",
    "NotFoundError",
    "QueryEmptyError",
    "QueryError",
    "QuerySyntaxError",
    "RootError",
    "Run",
    "SearchForm",
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
    "VocabularyForm",
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
