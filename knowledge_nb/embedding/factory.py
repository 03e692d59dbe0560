"""From settings to an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_nb.errors import ConfigurationError

from .protocol import Embedder

if TYPE_CHECKING:
    from knowledge_nb.settings import EmbeddingSettings


def open_embedder(settings: EmbeddingSettings, *, dimension: int | None = None) -> Embedder:
    """Make the embedder that the settings name; nothing is loaded or contacted yet.

    Parameters
    ----------
    settings : EmbeddingSettings
        The block `[knowledge.embeddings]`.
    dimension : int, optional
        The width pinned in the store; a server's vectors of another width are an error. Without it
        the first vector pins it for the life of the embedder.

    Raises
    ------
    ConfigurationError
        A setting cannot be used.
    """
    if settings.provider == "local":
        from .local import LocalEmbedder

        return LocalEmbedder(
            query_prefix=settings.query_prefix, document_prefix=settings.document_prefix
        )
    if settings.provider == "openai":
        from .openai import OpenAIEmbedder

        return OpenAIEmbedder(
            settings.base_url,
            settings.model,
            api_key_env=settings.api_key_env,
            timeout=settings.timeout,
            query_prefix=settings.query_prefix,
            document_prefix=settings.document_prefix,
            batch_size=settings.batch_size,
            single_input=settings.single_input,
            dimension=dimension,
        )
    raise ConfigurationError(
        f"embeddings.provider is {settings.provider!r}; it is 'openai' or 'local'"
    )
