"""knowledge.toml: every mistake is named with its mend, and no file at all works."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_nb.errors import ConfigurationError
from knowledge_nb.settings import Settings, find_settings, load_settings


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "knowledge.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_no_file_gives_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any configuration the defaults hold."""
    monkeypatch.chdir(tmp_path)
    assert find_settings(None, None) == Settings()


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """Folders in the file mean the same whatever the working directory."""
    path = write(tmp_path, '[knowledge]\npaths = ["notes"]\ndirectory = "index"\ntop_k = 7')
    settings = load_settings(path)
    assert settings.base == tmp_path
    assert settings.paths == (tmp_path / "notes",)
    assert settings.directory == tmp_path / "index"
    assert settings.top_k == 7


def test_a_named_store_takes_the_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory's file does not leak into a store that lies elsewhere."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    write(here, "[knowledge]\ntop_k = 9")
    write(there, "[knowledge]\ntop_k = 3")
    monkeypatch.chdir(here)
    assert find_settings(None, None).top_k == 9
    assert find_settings(None, there / "store").top_k == 3
    assert find_settings(None, tmp_path / "else" / "store").top_k == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[knowledge]\ntopk = 3", ["topk", "top_k"]),
        ("[knowlege]", ["knowlege", "knowledge"]),
        ("[knowledge.embeddings]\nbaseurl = 'x'", ["baseurl", "base_url"]),
        ("[knowledge.embeddings]\nprovider = 'x'", ["'local'"]),
        ("[knowledge.embeddings]\nprovider = 'openai'", ["base_url"]),
        ("[knowledge.mcp]\nexpose = ['knowledge_rm']", ["knowledge_search", "knowledge_enumerate"]),
        ("[knowledge]\ntop_k = 0", ["top_k", "1"]),
        ("[knowledge]\ntop_k = true", ["top_k"]),
        ("[knowledge]\ninclude = ['rst']", ['".rst"']),
        ("[knowledge]\npaths = 'notes'", ["list"]),
        ("[knowledge]\nerase_replaced = 'yes'", ["true or false"]),
        ("[knowledge]\nembeddings = 3", ["table"]),
        ("[knowledge", ["TOML"]),
        (b"\xff\xfe", ["TOML"]),
    ],
)
def test_mistakes_are_named_with_the_mend(
    tmp_path: Path, text: str | bytes, words: list[str]
) -> None:
    """The file, the key and what would be right are in the message."""
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """A missing file that was asked for is an error, not the defaults."""
    with pytest.raises(ConfigurationError, match="cannot read"):
        find_settings(tmp_path / "none.toml", None)


def test_a_byte_order_mark_is_no_key(tmp_path: Path) -> None:
    """A file saved with a BOM reads as without."""
    path = write(tmp_path, b"\xef\xbb\xbf[knowledge]\ntop_k = 4")
    assert load_settings(path).top_k == 4
