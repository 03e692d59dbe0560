"""What can go wrong while text becomes vectors; the type alone says which step failed.

* EmbeddingError
  + EmbedderUnavailable                a search may go on without vectors, and must say why
    - EmbedderPackageMissing (ImportError)  no local model; the message holds the install line
    - EmbedderKeyMissing               the variable named by api_key_env is unset or unusable
    - EmbedderUnreachable (ConnectionError)  no connection to the server
      . EmbedderDropped                connected, and dropped before the answer was complete
    - EmbedderTimeout (TimeoutError)   the client's own timeout, or the caller's, ran out
    - EmbedderRefused                  an answer, with an HTTP status that is not success
      . EmbedderBusy                   still 429 or 503 after the allowed waits
    - EmbedderProtocolError            a 200 that cannot be mapped onto the texts sent
  + DimensionMismatch (ValueError)     vectors of another width than the pinned one: never degrade
  + BlankTextError (ValueError)        a query with nothing in it to embed
"""

from __future__ import annotations

from knowledge_nb.errors import EmbeddingError, MissingDependencyError

__all__ = [
    "BlankTextError",
    "DimensionMismatch",
    "EmbedderBusy",
    "EmbedderDropped",
    "EmbedderKeyMissing",
    "EmbedderPackageMissing",
    "EmbedderProtocolError",
    "EmbedderRefused",
    "EmbedderTimeout",
    "EmbedderUnavailable",
    "EmbedderUnreachable",
    "EmbeddingError",
]


class EmbedderUnavailable(EmbeddingError):
    """No vector came, for a reason that leaves a lexical answer right, only narrower."""


class EmbedderPackageMissing(EmbedderUnavailable, MissingDependencyError):
    """The local model, or a package that reads it, is not installed."""


class EmbedderKeyMissing(EmbedderUnavailable):
    """The environment variable that should hold the API key is unset or no usable key."""


class EmbedderUnreachable(EmbedderUnavailable, ConnectionError):
    """The server could not be connected to."""


class EmbedderDropped(EmbedderUnreachable):
    """The server took the connection and dropped it before its answer was complete."""


class EmbedderTimeout(EmbedderUnavailable, TimeoutError):
    """Time ran out before the server answered.

    Attributes
    ----------
    deadline : bool
        True when it was the caller's `timeout` that ran out, False for the client's own.
    """

    def __init__(self, message: str, *, deadline: bool = False) -> None:
        super().__init__(message)
        self.deadline = deadline


class EmbedderRefused(EmbedderUnavailable):
    """The server answered with an HTTP status that is not success.

    Attributes
    ----------
    status : int
        The HTTP status.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class EmbedderBusy(EmbedderRefused):
    """The server still answered 429 or 503 after every allowed wait."""


class EmbedderProtocolError(EmbedderUnavailable):
    """The server's answer cannot be mapped onto the texts sent; none of it was used."""


class DimensionMismatch(EmbeddingError, ValueError):
    """Vectors of another width than the pinned one; an answer from them would be wrong.

    Attributes
    ----------
    expected, got : int
        The pinned width and the one that came.
    """

    def __init__(self, message: str, *, expected: int, got: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.got = got


class BlankTextError(EmbeddingError, ValueError):
    """The query holds nothing that could be embedded."""
