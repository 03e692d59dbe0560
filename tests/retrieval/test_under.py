"""Restricting a search to a folder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from knowledge_nb.retrieval import search
from knowledge_nb.store.connection import Reader
from tests.retrieval.conftest import Corpus

Make = Callable[[Corpus], Reader]


def paths(reader: Reader, under: str, k: int = 50) -> list[str]:
    return sorted(hit.path for hit in search(reader, "kestrel", under=under, k=k).hits)


def corpus(*names: str) -> Corpus:
    return {name: [("", "kestrel")] for name in names}


@pytest.mark.parametrize(
    "under", ["policies", "policies/", "./policies", "policies//", "policies/."]
)
def test_a_folder_exactly(store: Make, under: str) -> None:
    """A folder takes what lies below it and nothing whose name only begins the same."""
    inside = ["policies/a.md", "policies/deep/er/b.md", "policies/ 0.md", "policies/\uffff.md"]
    outside = [
        "policies-old/a.md",
        "policies.md",
        "policies0/a.md",
        "x/policies/a.md",
        "Policies/a.md",
    ]
    assert paths(store(corpus(*inside, *outside)), under) == sorted(inside)


@pytest.mark.parametrize("under", ["", ".", "./"])
def test_the_whole_corpus(store: Make, under: str) -> None:
    """No folder, or the base itself, restricts nothing."""
    assert paths(store(corpus("a.md", "b/c.md")), under) == ["a.md", "b/c.md"]


@pytest.mark.parametrize(
    "name", ["a*", "a?", "a[b]", "a%", "a_", "a'b", 'a"b', "a\\b", "a b", "ä#1"]
)
def test_wildcard_characters_are_literal(store: Make, name: str) -> None:
    """Every character of a folder's name stands for itself."""
    reader = store(corpus(f"{name}/x.md", "axx/x.md", "ab/x.md", "a/x.md", "a/b/x.md"))
    assert paths(reader, name) == [f"{name}/x.md"]


def test_before_the_cut(store: Make) -> None:
    """A folder whose chunks rank below hundreds of others still gives its best ones."""
    many: dict[str, list[tuple[str, str]]] = {
        f"loud/{n}.md": [("kestrel", "kestrel kestrel")] for n in range(300)
    }
    many["quiet/a.md"] = [("", "kestrel and a great many other words that dilute it")]
    many |= {f"other/{n}.md": [("", "nothing here")] for n in range(400)}
    assert paths(store(many), "quiet", k=1) == ["quiet/a.md"]


def test_common_terms_stay_inside(store: Make) -> None:
    """Chunks that follow for their common words obey the folder too."""
    reader = store(
        {f"a/{n}.md": [("", "harbour")] for n in range(5)}
        | {"b/rare.md": [("", "harbour kestrel")], "b/x.md": [("", "harbour")], "c.md": [("", "x")]}
    )
    result = search(reader, "harbour kestrel", under="b", k=10)
    assert result.common_terms == ("harbour",)
    assert [hit.path for hit in result.hits] == ["b/rare.md", "b/x.md"]


@pytest.mark.parametrize("under", ["nowhere", "a.md/", "../b", "/b", "b\x00", "\ud83d", "b/c.md/x"])
def test_an_unknown_folder_is_said(store: Make, under: str) -> None:
    """A folder that holds nothing gives a note, not a bare empty answer."""
    result = search(store(corpus("a.md", "b/c.md")), "kestrel", under=under)
    assert not result.hits
    assert any("No indexed document lies under" in note for note in result.notes)


def test_one_file(store: Make) -> None:
    """Without a final slash the name of a document stands for that document."""
    assert paths(store(corpus("a.md", "a.md2", "b.md")), "a.md") == ["a.md"]


def test_either_normal_form(store: Make) -> None:
    """A folder is found by the NFC or NFD spelling; where both exist each is itself."""
    nfc, nfd = "r\u00e9sum\u00e9", "re\u0301sume\u0301"
    reader = store(corpus(f"{nfc}/a.md", f"only-{nfd}/b.md", f"{nfd}/c.md"))
    assert paths(reader, f"only-{nfc}") == [f"only-{nfd}/b.md"]
    assert paths(reader, nfc) == [f"{nfc}/a.md"]
    assert paths(reader, nfd) == [f"{nfd}/c.md"]
