"""What the rest of the package knows of an embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from .probe import same_model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector: TypeAlias = npt.NDArray[np.float32]
else:
    # numpy costs a tenth of a second and is needed only where vectors are made.
    Vector = "numpy.ndarray"


class DocumentText(NamedTuple):
    """One chunk to embed: its heading breadcrumb, "" without one, and its body."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Refused:
    """No vector for this text, and why, in the server's own words where it gave any."""

    message: str


@dataclass(frozen=True, slots=True)
class Blank:
    """No vector for this text because there is nothing in it to embed; it was never sent."""


BLANK: Final = Blank()

if TYPE_CHECKING:
    Embedded: TypeAlias = Vector | Refused | Blank
else:
    Embedded = object


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What must stay the same for stored vectors to be comparable with new ones.

    Parameters
    ----------
    provider, model : str
        "local", "openai" or another; the model's name as configured.
    dimension : int
        Width of every vector.
    model_hash : str or None
        SHA-256 (hex) of the model's file where there is one to hash.
    query_prefix, document_prefix : str
        Written before every text of that kind.
    normalised : bool
        Whether the model's own vectors had unit length; those handed out always have.
    probe_vector : bytes
        The vector of `PROBE_TEXT`, without a prefix, as little-endian float32.
    """

    provider: str
    model: str
    dimension: int
    model_hash: str | None
    query_prefix: str
    document_prefix: str
    normalised: bool
    probe_vector: bytes = field(repr=False)

    def differences(self, live: EmbedderIdentity) -> tuple[str, ...]:
        """Say in what `live` differs from this pinned identity.

        Returns
        -------
        tuple of str
            One sentence a difference, pinned value first; empty when vectors are comparable.
            `normalised` is not compared, since vectors are stored with unit length either way.
        """
        names = (
            "provider",
            "model",
            "dimension",
            "model_hash",
            "query_prefix",
            "document_prefix",
        )
        return tuple(
            f"{name}: pinned {getattr(self, name)!r}, now {getattr(live, name)!r}"
            for name in names
            if getattr(self, name) != getattr(live, name)
        )

    def answers_alike(self, live: EmbedderIdentity) -> bool:
        """Whether the probe text still gets the pinned vector; False: another model answers."""
        return same_model(self.probe_vector, live.probe_vector)


@dataclass(slots=True)
class EmbeddingTally:
    """What happened on the way, for the caller's report; handed in, and added to.

    Parameters
    ----------
    requests : int
        HTTP requests sent, retries and failures included.
    retries : int
        Requests repeated after 429, 503 or a dropped connection.
    waited : float
        Seconds spent waiting because the server asked for it.
    halvings : int
        Batches that failed and were cut in two.
    cut : int
        Documents' texts that were longer than 128 KiB and lost their end.
    query_characters_cut : int
        Characters by which a query was longer than 8,192.
    """

    requests: int = 0
    retries: int = 0
    waited: float = 0.0
    halvings: int = 0
    cut: int = 0
    query_characters_cut: int = 0


class Embedder(Protocol):
    """Turns queries and chunks into vectors of one width and unit length.

    `document_prefix` may hold ``{title}``, which becomes the chunk's breadcrumb, "none" without.
    """

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def query_prefix(self) -> str: ...
    @property
    def document_prefix(self) -> str: ...

    def identity(self) -> EmbedderIdentity:
        """Probe the live model.

        Raises
        ------
        EmbeddingError
        """
        ...

    def embed_query(
        self, text: str, *, timeout: float | None = None, tally: EmbeddingTally | None = None
    ) -> Vector:
        """Embed one query.

        Parameters
        ----------
        text : str
            The query; more than 8,192 characters are cut, and the tally says by how many.
        timeout : float, optional
            Seconds for the whole call, waits and retries included.
        tally : EmbeddingTally, optional
            Added to.

        Returns
        -------
        numpy.ndarray
            float32, shape (dimension,), unit length.

        Raises
        ------
        BlankTextError
            Nothing in it to embed.
        EmbeddingError
        """
        ...

    def embed_documents(
        self,
        texts: Sequence[DocumentText],
        *,
        tally: EmbeddingTally | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Embedded]:
        """Embed chunks.

        Parameters
        ----------
        texts : sequence of DocumentText
            Any number; batching is the embedder's affair.
        tally : EmbeddingTally, optional
            Added to.
        on_progress : callable, optional
            Called with the number of texts settled since the last call.

        Returns
        -------
        list
            Same length and order: a vector as from `embed_query`, `Refused` or `Blank` for each.

        Raises
        ------
        EmbeddingError
            The run must stop: no server, no permission, another width, nothing but failures.
        """
        ...

    def close(self) -> None:
        """Let go of connections; a wait for a busy server in another thread ends at once."""
        ...
