"""The facade: a frame that one holds is a complete answer; anything else says what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.notebook.frames import COLUMNS
from tests.conftest import Files, write_files

Build = Callable[[Files], knb.KnowledgeBase]
Open = Callable[..., knb.KnowledgeBase]
CALLS: dict[str, Callable[[knb.KnowledgeBase], pd.DataFrame]] = {
    "search": lambda kb: kb.search("harbour"),
    "enumerate": lambda kb: kb.enumerate("harbour"),
    "vocabulary": lambda kb: kb.vocabulary(),
}


@pytest.mark.parametrize("verb", CALLS)
def test_not_built_is_an_error_with_the_fix(open_kb: Open, verb: str) -> None:
    """An index that was never built is no empty frame."""
    with pytest.raises(knb.IndexNotBuiltError, match="knowledge index") as caught:
        CALLS[verb](open_kb())
    assert caught.value.result.status == "index_not_built"


@pytest.mark.parametrize("verb", CALLS)
def test_an_empty_corpus_is_told_from_not_built(open_kb: Open, tmp_path: Path, verb: str) -> None:
    """A pass that found nothing is said as such."""
    kb = open_kb()
    (tmp_path / "corpus").mkdir()
    kb.index(tmp_path / "corpus")
    with pytest.raises(knb.CorpusEmptyError) as caught:
        CALLS[verb](kb)
    assert caught.value.result.status == "corpus_empty"


@pytest.mark.parametrize("verb", ["search", "enumerate"])
@pytest.mark.parametrize("query", ["", "   ", "a"])
def test_an_empty_query_is_told_from_an_empty_answer(kb_of: Build, verb: str, query: str) -> None:
    """Nothing searchable is an error; a word that is absent is an empty frame."""
    kb = kb_of({"a.md": "# Harbour\n\nThe pier."})
    with pytest.raises(knb.QueryEmptyError) as caught:
        getattr(kb, verb)(query)
    assert caught.value.result.status == "query_empty"
    assert getattr(kb, verb)("zebra").empty


def test_columns_and_dtypes_are_declared(kb_of: Build) -> None:
    """Frames of no, one and many rows have the same columns and dtypes."""
    kb = kb_of({"a.md": "# Harbour\n\npier", "b.md": "pier boat", "c.txt": "pier"})
    for verb, queries in {"search": ("zebra", "boat", "pier")}.items():
        frames = [getattr(kb, verb)(query) for query in queries]
        assert [len(frame) for frame in frames] == [0, 1, 3]
        for frame in frames:
            assert list(frame.columns) == list(COLUMNS[verb])
            assert frame.dtypes.equals(frames[0].dtypes)
    frames = [kb.enumerate(query) for query in ("zebra", "boat", "pier")]
    assert [len(frame) for frame in frames] == [0, 1, 3]
    assert all(frame.dtypes.equals(frames[0].dtypes) for frame in frames)
    words = [kb.vocabulary(prefix=prefix) for prefix in ("z", "b", "")]
    assert [len(frame) for frame in words] == [0, 1, 3]
    assert all(frame.dtypes.equals(words[0].dtypes) for frame in words)


def test_a_missing_heading_is_empty_text(kb_of: Build) -> None:
    """Never "nan" or "None", and not a missing value either."""
    frame = kb_of({"c.txt": "pier"}).search("pier")
    assert frame["heading"].tolist() == [""]
    assert frame["vector_rank"].isna().all()


def test_frames_are_dataframes_and_derived_ones_are_plain(kb_of: Build) -> None:
    """No stale banner travels with what is derived from a frame."""
    frame = kb_of({"a.md": "pier", "b.md": "pier"}).enumerate("pier")
    assert isinstance(frame, pd.DataFrame)
    assert frame.result.matched == 2
    for derived in (frame.head(1), frame[frame.chunks > 0], frame.merge(frame), frame.copy()):
        assert type(derived) is pd.DataFrame


def test_show_gives_what_a_citation_names(kb_of: Build) -> None:
    """Every citation of a search reads back, whatever is in the path."""
    files = {
        "with space.md": "# A\n\npier one",
        "hash#1.md": "pier two",
        "new\nline.md": "pier three",
        "日本/港.md": "pier four",
        "#.txt": "pier five",
    }
    kb = kb_of(files)
    found = kb.search("pier", k=10)
    assert set(found["path"]) == set(files)
    for citation, text in zip(found["citation"], found["text"], strict=True):
        assert kb.show(citation)["text"].tolist() == [text]
    assert kb.show("hash#1.md")["text"].tolist() == ["pier two"]


def test_show_accepts_either_unicode_form(kb_of: Build) -> None:
    """A name typed in NFC finds the file that is stored in NFD, and the other way round."""
    kb = kb_of({"re\u0301sume\u0301.md": "pier"})
    assert len(kb.show("r\u00e9sum\u00e9.md#0")) == 1


@pytest.mark.parametrize("target", ["a.md#7", "none.md", "none.md#0", "a.md#", ""])
def test_show_of_nothing_is_an_error(kb_of: Build, target: str) -> None:
    """A citation that names nothing is never an empty frame."""
    with pytest.raises(knb.NotFoundError):
        kb_of({"a.md": "pier"}).show(target)


def test_remove_takes_documents_and_folders(kb_of: Build) -> None:
    """A document, or all below a folder, exactly; an unknown name removes nothing at all."""
    kb = kb_of({"a.md": "pier", "p/b.md": "pier", "p/q/c.md": "pier", "p-old/d.md": "pier"})
    assert kb.remove("p") == ("p/b.md", "p/q/c.md")
    with pytest.raises(knb.NotFoundError):
        kb.remove("a.md", "none.md")
    assert kb.sources()["path"].tolist() == ["a.md", "p-old/d.md"]
    assert kb.remove("a.md") == ("a.md",)


def test_reset_refuses_without_force(kb_of: Build) -> None:
    """It names what it would delete, and leaves it."""
    kb = kb_of({"a.md": "pier"})
    with pytest.raises(knb.KnowledgeError, match="1 document in 1 chunk;"):
        kb.reset()
    assert len(kb.sources()) == 1
    kb.reset(force=True)
    with pytest.raises(knb.IndexNotBuiltError):
        kb.search("pier")


def test_index_without_paths_takes_the_earlier_folders(
    kb_of: Build, tmp_path: Path, open_kb: Open
) -> None:
    """The folders of earlier passes are kept; with none at all the error says what to do."""
    kb = kb_of({"a.md": "pier"})
    write_files(tmp_path / "corpus", {"b.md": "boat"})
    assert kb.index().added == 1
    with pytest.raises(knb.ConfigurationError, match="name one"):
        open_kb(tmp_path / "other").index()


def test_handbook_answers(handbook: knb.KnowledgeBase) -> None:
    """The shipped corpus: an identifier, a pair of words in distant sections, a true absence."""
    assert len(handbook.enumerate("RFQ-0042")) == 7
    assert handbook.enumerate("molybdenum apprentice")["path"].tolist() == ["history.md"]
    gone = handbook.enumerate("asbestos")
    assert gone.empty
    assert gone.result.terms[0].documents == 0
    assert gone.result.completeness.documents == 72


def test_stats_of_nothing_says_so(tmp_path: Path) -> None:
    """Zeros of a store without a pass are no answer about a corpus."""
    with knb.open(tmp_path / "store") as kb:
        assert kb.stats().status == "index_not_built"
        assert "No indexing pass has completed" in repr(kb.stats())
        (tmp_path / "a.md").write_text("frost\n")
        kb.index(tmp_path / "a.md")
        assert kb.stats().status == "ok"
        assert "1 document, 1 chunk" in repr(kb.stats())


def test_the_tier_says_what_is_configured(tmp_path: Path) -> None:
    """Embeddings that no pass used yet are configured all the same, whatever is asked."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("frost\n")
    lexical = "tier: lexical (FTS5) - no embeddings configured"
    with knb.open(tmp_path / "store") as kb:
        kb.index(folder)
        assert kb.enumerate("frost").result.tier == lexical
    settings = tmp_path / "knowledge.toml"
    local = '[knowledge.embeddings]\nprovider = "local"\n'
    server = (
        '[knowledge.embeddings]\nbase_url = "http://127.0.0.1:9"\nmodel = "any"\napi_key_env = ""\n'
    )
    for text, model in ((local, "wordllama-l2_supercat_256"), (server, "any")):
        settings.write_text(text)
        said = f"tier: lexical (FTS5) - no vectors stored yet for model={model}"
        for store in ("store", "nothing"):
            with knb.open(tmp_path / store, config=settings) as kb:
                assert kb.stats().tier == said
        with knb.open(tmp_path / "store", config=settings) as kb:
            assert kb.enumerate("frost").result.tier == said
            assert kb.vocabulary().result.tier == said
