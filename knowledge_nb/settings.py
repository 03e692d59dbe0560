"""knowledge.toml -> frozen settings. No file at all is a valid configuration."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from knowledge_nb.errors import ConfigurationError

FILE_NAME = "knowledge.toml"
DEFAULT_DIRECTORY = "knowledge"
DEFAULT_SUFFIXES = (".md", ".markdown", ".txt", ".text")
EXPOSABLE = ("knowledge_search", "knowledge_enumerate")


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """`[knowledge.embeddings]`; without the block the store is lexical.

    Attributes
    ----------
    provider : {"openai", "local"}
    base_url, model : str
        Of an OpenAI-compatible server; not used by the local model.
    api_key_env : str
        Name of an environment variable, never the secret itself.
    timeout : float
        Seconds for one request.
    query_prefix, document_prefix : str
        Put before each text; `{title}` in the latter is the chunk's heading, `none` without one.
    batch_size : int
        Inputs in one request.
    single_input : bool
        Send each text alone, as a string, for servers whose list form is broken.
    """

    provider: str = "openai"
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    timeout: float = 30.0
    query_prefix: str = ""
    document_prefix: str = ""
    batch_size: int = 64
    single_input: bool = False


@dataclass(frozen=True, slots=True)
class McpSettings:
    """`[knowledge.mcp]`: the tools that agents may call; none by default."""

    expose: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """`[knowledge]`.

    Attributes
    ----------
    base : Path or None
        Folder of the settings file, to which document paths are relative; None without a file.
    directory : Path or None
        The store directory; None: the caller's.
    paths : tuple of Path
        Folders and files to index when none are named.
    include : tuple of str
        Suffixes that are indexed, lower case with the dot.
    top_k : int
        Hits of a search that names no k.
    max_injected_tokens : int
        Budget of one agent answer; four characters a token.
    erase_replaced : bool
        Also overwrite the old text of replaced documents in the file (slower; `rm` always does).
    """

    base: Path | None = None
    directory: Path | None = None
    paths: tuple[Path, ...] = ()
    include: tuple[str, ...] = DEFAULT_SUFFIXES
    top_k: int = 5
    max_injected_tokens: int = 4000
    erase_replaced: bool = False
    embeddings: EmbeddingSettings | None = None
    mcp: McpSettings = McpSettings()


def find_settings(
    config: str | os.PathLike[str] | None, store: str | os.PathLike[str] | None
) -> Settings:
    """Load the settings that apply.

    The file named; else `knowledge.toml` beside the store directory where a store is named; else
    the one in the working directory; else the defaults.

    Raises
    ------
    ConfigurationError
        The named file is missing, or a file cannot be used.
    """
    if config is not None:
        return load_settings(config)
    folder = Path(os.path.abspath(store)).parent if store is not None else Path.cwd()
    beside = folder / FILE_NAME
    return load_settings(beside) if beside.is_file() else Settings()


def load_settings(path: str | os.PathLike[str]) -> Settings:
    """Read one settings file.

    Raises
    ------
    ConfigurationError
        Missing or unreadable, not TOML, an unknown key (the nearest known one is named), a value
        of another type or out of range.
    """
    file = Path(os.path.abspath(path))
    try:
        document = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}") from error
    for key in document:
        if key != "knowledge":
            raise ConfigurationError(_unknown(file, "", key, ["knowledge"]))
    block = document.get("knowledge", {})
    if not isinstance(block, dict):
        raise ConfigurationError(f"{file}: [knowledge] must be a table")
    return _settings(file, block)


def _settings(file: Path, block: dict[str, Any]) -> Settings:
    known = [field.name for field in fields(Settings) if field.name != "base"]
    _refuse_unknown(file, "knowledge", block, known)
    base = file.parent
    values: dict[str, Any] = {"base": base}
    if "directory" in block:
        values["directory"] = base / _text(file, "directory", block["directory"])
    if "paths" in block:
        values["paths"] = tuple(base / item for item in _texts(file, "paths", block["paths"]))
    if "include" in block:
        values["include"] = tuple(
            _suffix(file, s) for s in _texts(file, "include", block["include"])
        )
    if "top_k" in block:
        values["top_k"] = _number(file, "top_k", block["top_k"], 1, 10_000)
    if "max_injected_tokens" in block:
        value = block["max_injected_tokens"]
        values["max_injected_tokens"] = _number(file, "max_injected_tokens", value, 1, 10_000_000)
    if "erase_replaced" in block:
        values["erase_replaced"] = _flag(file, "erase_replaced", block["erase_replaced"])
    if "embeddings" in block:
        values["embeddings"] = _embeddings(file, _table(file, "embeddings", block["embeddings"]))
    if "mcp" in block:
        values["mcp"] = _mcp(file, _table(file, "mcp", block["mcp"]))
    return Settings(**values)


def _embeddings(file: Path, block: dict[str, Any]) -> EmbeddingSettings:
    name = "knowledge.embeddings"
    _refuse_unknown(file, name, block, [field.name for field in fields(EmbeddingSettings)])
    values: dict[str, Any] = {}
    for key in ("provider", "base_url", "model", "api_key_env", "query_prefix", "document_prefix"):
        if key in block:
            values[key] = _text(file, f"embeddings.{key}", block[key])
    if "timeout" in block:
        value = block["timeout"]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
            raise ConfigurationError(
                f"{file}: embeddings.timeout must be seconds above 0, at most 3600"
            )
        values["timeout"] = float(value)
    if "batch_size" in block:
        values["batch_size"] = _number(file, "embeddings.batch_size", block["batch_size"], 1, 2048)
    if "single_input" in block:
        values["single_input"] = _flag(file, "embeddings.single_input", block["single_input"])
    settings = EmbeddingSettings(**values)
    if settings.provider not in ("openai", "local"):
        raise ConfigurationError(
            f"{file}: embeddings.provider is {settings.provider!r}; it is 'openai' or 'local'"
        )
    if settings.provider == "openai" and not (settings.base_url and settings.model):
        raise ConfigurationError(
            f'{file}: [knowledge.embeddings] needs base_url and model, or provider = "local"'
        )
    return settings


def _mcp(file: Path, block: dict[str, Any]) -> McpSettings:
    _refuse_unknown(file, "knowledge.mcp", block, ["expose"])
    names = _texts(file, "mcp.expose", block.get("expose", []))
    for name in names:
        if name not in EXPOSABLE:
            raise ConfigurationError(
                f"{file}: mcp.expose names {name!r}; the tools that can be exposed are "
                + " and ".join(EXPOSABLE)
            )
    return McpSettings(expose=tuple(dict.fromkeys(names)))


def _refuse_unknown(file: Path, table: str, block: Mapping[str, Any], known: list[str]) -> None:
    for key in block:
        if key not in known:
            raise ConfigurationError(_unknown(file, table, key, known))


def _unknown(file: Path, table: str, key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    where = f"in [{table}] " if table else ""
    return f"{file}: unknown key {key!r} {where}- did you mean {near[0] if near else known[0]!r}?"


def _table(file: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{file}: {key} must be a table, [knowledge.{key}]")
    return value


def _text(file: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise ConfigurationError(f"{file}: {key} must be text, not {value!r}")
    return value


def _texts(file: Path, key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigurationError(f"{file}: {key} must be a list of texts, not {value!r}")
    return value


def _flag(file: Path, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{file}: {key} must be true or false, not {value!r}")
    return value


def _number(file: Path, key: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigurationError(
            f"{file}: {key} must be a whole number from {low} to {high}, not {value!r}"
        )
    return value


def _suffix(file: Path, text: str) -> str:
    if not text.startswith(".") or len(text) < 2 or "/" in text:
        raise ConfigurationError(f'{file}: include holds {text!r}; write a suffix such as ".rst"')
    return text.lower()
