"""The errors of knowledge_nb, one tree.

Each message says what happened, to which path or term, and the next command.

* KnowledgeError
  + ConfigurationError (ValueError)    knowledge.toml or an argument cannot be used
  + MissingDependencyError (ImportError)   an optional package is absent; says how to install
  + StoreError                         knowledge.db or its folder
    - StoreAccessError (OSError)       a symlink in its place, no permission, no space
    - StoreLockedError                 another writer holds the write lock
    - StoreFormatError                 the gate refused the file
      . StoreTooNewError               written by a newer release: upgrade
      . StoreTooOldError               written by an older release: reset and rebuild
      . StoreShapeError                columns or objects differ, or the version pin is gone
      . ForeignStoreError              a file that is no knowledge store
    - StoreDamagedError                SQLite or an integrity check found damage
  + IndexingError
    - RootError (OSError)              a folder to index is missing or cannot be read
    - BaseMismatchError (ValueError)   the store is pinned to another corpus base
    - VectorsMismatchError             the store's vectors are another embedder's
  + QueryError (ValueError)
    - QuerySyntaxError                 refused by the closed query language; holds the fix
  + NotFoundError (LookupError)        no such document or chunk in the index
  + NoAnswerError                      no complete answer could be given; carries `.result`
    - IndexNotBuiltError               no indexing pass ever completed
    - CorpusEmptyError                 a completed pass left no document
    - QueryEmptyError (ValueError)     nothing of the query can be searched
  + SearchTimeoutError (TimeoutError)  the caller's own deadline passed
  + EvaluationError (ValueError)       topics, runs or judgements cannot be used as given
  + ExportError                        an export was refused, or what one wrote is not as it was
    - ExportTargetError (OSError)      the file cannot be written or read
  + EmbeddingError                     see knowledge_nb.embedding.errors
"""

from __future__ import annotations

from typing import Any


class KnowledgeError(Exception):
    """Root of every error that this package raises on purpose."""


class ConfigurationError(KnowledgeError, ValueError):
    """A setting, in knowledge.toml or as an argument, cannot be used."""


class MissingDependencyError(KnowledgeError, ImportError):
    """An optional package is not installed; the message holds the install line."""


class StoreError(KnowledgeError):
    """Something about knowledge.db or its folder.

    Attributes
    ----------
    said : str
        What happened; the message without its last sentences.
    fix : str
        What to do, in whole sentences; "" where the message ends with what happened.
    """

    def __init__(self, said: str, *, fix: str = "") -> None:
        super().__init__(f"{said}. {fix}" if fix else said)
        self.said = said
        self.fix = fix


class StoreAccessError(StoreError, OSError):
    """The store's files cannot be used as they lie on disk."""


class StoreLockedError(StoreError):
    """Another writer holds the store's write lock."""


class StoreFormatError(StoreError):
    """The format gate refused the file."""


class StoreTooNewError(StoreFormatError):
    """The store was written by a newer release: upgrade knowledge-nb."""


class StoreTooOldError(StoreFormatError):
    """The store was written by an older release: reset and rebuild."""


class StoreShapeError(StoreFormatError):
    """Columns or objects differ from this release's schema, or the version pin is gone."""


class ForeignStoreError(StoreFormatError):
    """The file is not a knowledge store at all."""


class StoreDamagedError(StoreError):
    """SQLite, or an integrity check, found damage."""


class IndexingError(KnowledgeError):
    """An indexing pass cannot be run as asked."""


class RootError(IndexingError, OSError):
    """A folder to index is missing or cannot be read; nothing was deleted."""


class BaseMismatchError(IndexingError, ValueError):
    """The store is pinned to another corpus base; the message names --reindex."""


class VectorsMismatchError(IndexingError):
    """The store's vectors and the configured embedder do not belong together; names --reindex."""


class QueryError(KnowledgeError, ValueError):
    """A query cannot be answered as written."""


class QuerySyntaxError(QueryError):
    """The closed query language refuses the query; the message holds the fix."""


class NotFoundError(KnowledgeError, LookupError):
    """No such document, chunk or saved set."""


class NoAnswerError(KnowledgeError):
    """The frame asked for would not have been a complete answer.

    Attributes
    ----------
    result
        The result record, with its status and notes.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class IndexNotBuiltError(NoAnswerError):
    """No indexing pass ever completed in this store."""


class CorpusEmptyError(NoAnswerError):
    """A completed pass left no document in the index."""


class QueryEmptyError(NoAnswerError, ValueError):
    """Nothing of the query can be searched."""


class SearchTimeoutError(KnowledgeError, TimeoutError):
    """The deadline that the caller set has passed; no partial answer is given."""


class EvaluationError(KnowledgeError, ValueError):
    """Topics, runs or judgements cannot be used as given; names the file, line, qid or docno."""


class ExportError(KnowledgeError):
    """An export is refused, or an exported file is not what was written."""


class ExportTargetError(ExportError, OSError):
    """The file to export to, or to verify, cannot be written or read."""


class EmbeddingError(KnowledgeError):
    """Turning text into vectors failed; the tree below it is in knowledge_nb.embedding.errors."""
