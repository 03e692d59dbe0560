"""From settings to an embedder."""

from __future__ import annotations

from knowledge_nb.errors import ConfigurationError

from .protocol import Embedder


def open_embedder(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    timeout: float = 30.0,
    query_prefix: str = "",
    document_prefix: str = "",
    batch_size: int = 64,
    single_input: bool = False,
    dimension: int | None = None,
) -> Embedder:
    """Make the embedder that the settings name; nothing is loaded or contacted yet.

    Parameters
    ----------
    provider : {"local", "openai"}
        The model files of the `wordllama` package, or an OpenAI-compatible server.
    model : str, optional
        The server's name for its model; needed for "openai", not used by "local".
    base_url, api_key_env, timeout, batch_size, single_input, dimension
        See `OpenAIEmbedder`; not used by "local".
    query_prefix, document_prefix : str
        Written before every text; see `Embedder`.

    Raises
    ------
    ConfigurationError
        A setting cannot be used.
    """
    if provider == "local":
        from .local import LocalEmbedder

        return LocalEmbedder(query_prefix=query_prefix, document_prefix=document_prefix)
    if provider == "openai":
        from .openai import OpenAIEmbedder

        if not base_url or not model:
            raise ConfigurationError(
                'provider = "openai" needs base_url and model in [embeddings] of knowledge.toml'
            )
        return OpenAIEmbedder(
            base_url,
            model,
            api_key_env=api_key_env,
            timeout=timeout,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            batch_size=batch_size,
            single_input=single_input,
            dimension=dimension,
        )
    raise ConfigurationError(f'provider is "local" or "openai", not {provider!r}')
