"""Statistics against plain counting in Python."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from knowledge_nb.audit.statistics import STATISTICS, fit_logarithms
from knowledge_nb.errors import ConfigurationError
from knowledge_nb.knowledge_base import KnowledgeBase
from tests.audit.conftest import Place, make

TEXTS = {
    "one.md": "# Alpha\n\nalpha beta gamma delta epsilon zeta eta theta\n",
    "a/two.md": "# Beta\n\nalpha alpha beta\n\n## Gamma\n\nbeta beta gamma\n",
    "a/b/three.txt": "alpha beta gamma delta epsilon zeta eta iota\n",
    "a/b/four.txt": "alpha beta gamma delta epsilon zeta eta iota\n",
    "c/five.txt": "lone\n",
    "c/empty.txt": "",
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A corpus to count by hand; one file is of another type."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "docs").mkdir()
    (folder / "docs" / "picture.png").write_bytes(b"x")
    (folder / "docs").rename(folder / "before")
    place = make(folder, TEXTS)
    (folder / "before" / "picture.png").rename(place.folder / "picture.png")
    place.index()
    yield place
    place.kb.close()


@pytest.fixture
def kb(counted: Place) -> KnowledgeBase:
    """Its facade."""
    return counted.kb


def body_words(kb: KnowledgeBase, path: str) -> list[str]:
    """Words of a document's bodies, headings left out."""
    found: list[str] = []
    for row in kb.show(path).itertuples():
        lines = [line for line in row.text.splitlines() if not line.startswith("#")]
        found += re.findall(r"\w+", " ".join(lines).casefold())
    return found


def test_overview(kb: KnowledgeBase) -> None:
    """Every figure is the plain count."""
    figures = kb.statistics.overview().set_index("figure")["value"].to_dict()
    words = Counter(word for path in TEXTS for word in body_words(kb, path))
    assert figures["documents"] == len(TEXTS)
    assert figures["bytes of the indexed files"] == sum(len(text) for text in TEXTS.values())
    assert figures["words in bodies"] == sum(words.values())
    assert figures["different words"] == len(words)
    assert figures["folders"] == 3
    assert figures["files of other types"] == 1
    assert figures["chunks"] == kb.stats().chunks


def test_by_folder_parts_the_documents(kb: KnowledgeBase) -> None:
    """Every document is in exactly one row, at each depth."""
    for depth in (1, 2, 5):
        expected: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for path, text in TEXTS.items():
            name = "/".join(path.split("/")[:-1][:depth]) or "."
            expected[name] += 1
            sizes[name] += len(text)
        frame = kb.statistics.by_folder(depth)
        by_name = frame.set_index("folder")
        assert by_name["documents"].to_dict() == dict(expected)
        assert by_name["bytes"].to_dict() == dict(sizes)
        assert math.isclose(frame["share"].sum(), 1.0)
    with pytest.raises(ConfigurationError):
        kb.statistics.by_folder(0)


def test_documents_and_chunk_sizes(kb: KnowledgeBase) -> None:
    """Sizes of files and bodies, and no class between the smallest and the largest missing."""
    frame = kb.statistics.documents().set_index("path")
    for path, text in TEXTS.items():
        assert frame.loc[path, "bytes"] == len(text)
        assert frame.loc[path, "words"] == len(body_words(kb, path))
    assert frame.loc["c/empty.txt", "chunks"] == 0
    lengths = [len(row.text) for path in TEXTS for row in kb.show(path).itertuples()]
    sizes = kb.statistics.chunk_sizes()
    for row in sizes.itertuples():
        inside = [n for n in lengths if row.from_characters <= n <= row.to_characters]
        assert row.chunks == len(inside)
    assert sizes["chunks"].sum() == len(lengths)
    assert sizes.result.facts["max"] == max(lengths)
    assert sizes["from_characters"].tolist()[1:] == [n + 1 for n in sizes["to_characters"][:-1]]


def test_headings(kb: KnowledgeBase) -> None:
    """Documents and chunks of each breadcrumb, "" where there is none."""
    expected: dict[str, list[str]] = {}
    for path in TEXTS:
        for row in kb.show(path).itertuples():
            expected.setdefault(row.heading, []).append(path)
    frame = kb.statistics.headings().set_index("heading")
    assert frame["chunks"].to_dict() == {name: len(held) for name, held in expected.items()}
    assert frame["documents"].to_dict() == {name: len(set(held)) for name, held in expected.items()}


def test_growth_and_zipf(kb: KnowledgeBase) -> None:
    """Cumulative words in the order of indexing; every word by occurrences."""
    order = kb.sql("SELECT path FROM documents ORDER BY id")["path"].tolist()
    seen: set[str] = set()
    expected, read = [], 0
    for number, path in enumerate(order, start=1):
        read += len(body_words(kb, path))
        seen.update(body_words(kb, path))
        expected.append((number, read, len(seen)))
    frame = kb.statistics.vocabulary_growth()
    assert list(frame.itertuples(index=False, name=None)) == expected
    zipf = kb.statistics.zipf()
    listed = kb.vocabulary().sort_values(["occurrences", "word"], ascending=[False, True])
    assert zipf["word"].tolist() == listed["word"].tolist()
    assert zipf["occurrences"].tolist() == listed["occurrences"].tolist()
    assert zipf["rank"].tolist() == list(range(1, len(zipf) + 1))
    assert math.isclose(zipf["share"].sum(), 1.0)


def test_fits_find_a_power_law() -> None:
    """An exact power law is fitted exactly; too few points give no number."""
    slope, start = fit_logarithms([(n, 3 * n**0.6) for n in range(1, 50)])
    assert math.isclose(slope, 0.6)
    assert math.isclose(math.exp(start), 3)
    assert math.isnan(fit_logarithms([(5, 2)])[0])


def test_duplicates_are_files_of_equal_bytes(kb: KnowledgeBase) -> None:
    """By hash, all copies of each group."""
    frame = kb.statistics.duplicates()
    assert frame["path"].tolist() == ["a/b/four.txt", "a/b/three.txt"]
    digest = hashlib.sha256(TEXTS["a/b/four.txt"].encode()).hexdigest()
    assert frame["sha256"].tolist() == [digest] * 2
    assert frame["copies"].tolist() == [2, 2]


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 1.0])
def test_near_duplicates_are_exact_where_listed(kb: KnowledgeBase, threshold: float) -> None:
    """Similarities are those of counting runs by hand, and on a small corpus none is missed."""
    frame = kb.statistics.near_duplicates(threshold, words=3)
    runs = {}
    for path in TEXTS:
        words = re.findall(r"\w+", " ".join(kb.show(path)["text"]).casefold())
        if words:
            last = max(len(words) - 3, 0)
            runs[path] = {tuple(words[at : at + 3]) for at in range(last + 1)}
    expected = {}
    for first, second in combinations(sorted(runs), 2):
        shared = runs[first] & runs[second]
        similarity = len(shared) / len(runs[first] | runs[second])
        if similarity >= threshold:
            expected[(first, second)] = similarity
    found = {(row.path, row.other_path): row.similarity for row in frame.itertuples()}
    assert found == pytest.approx(expected)
    assert "is missed with probability" in frame.result.notes[0]


def test_near_duplicates_refuse_nonsense(kb: KnowledgeBase) -> None:
    """A threshold of 0 would list every pair."""
    for options in ({"threshold": 0}, {"threshold": 1.5}, {"words": 0}):
        with pytest.raises(ConfigurationError):
            kb.statistics.near_duplicates(**options)


def test_freshness(counted: Place) -> None:
    """The files' own times, oldest first, and an age at the time of the snapshot."""
    frame = counted.kb.statistics.freshness()
    times = {path: int((counted.folder / path).stat().st_mtime) for path in TEXTS}
    shown = {row.path: int(row.modified.timestamp()) for row in frame.itertuples()}
    assert shown == times
    assert frame["modified"].is_monotonic_increasing
    assert (frame["age_days"] > -0.1).all()


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_is_a_frame_with_a_chart(kb: KnowledgeBase, name: str) -> None:
    """It carries generation and time, and draws without pyplot, network or warning."""
    frame = getattr(kb.statistics, name)()
    assert frame.result.generation == kb.core.generation()
    assert frame.result.taken.endswith("Z")
    assert frame.charts
    assert frame.chart()._repr_png_().startswith(b"\x89PNG")
    assert frame._repr_html_()
    import sys

    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize("name", STATISTICS)
def test_one_empty_document_is_enough(tmp_path: Path, name: str) -> None:
    """A corpus without a word has statistics and charts too."""
    place = make(tmp_path, {"empty.txt": ""})
    frame = getattr(place.kb.statistics, name)()
    assert frame.chart()._repr_png_().startswith(b"\x89PNG")
    place.kb.close()
