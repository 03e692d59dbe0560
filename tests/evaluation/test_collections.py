"""The benchmark's reader of Cranfield, and the collection itself where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_nb.evaluation.qrels import read_qrels
from tests.benchmarks import evaluation
from tests.benchmarks.evaluation import MissingCollectionError, cranfield
from tests.evaluation.conftest import fill


def test_the_files_of_smart_are_read(tmp_path: Path) -> None:
    """Queries by their place, codes 1 to 5 turned into grades, one document a file."""
    fill(tmp_path / "docs", {"1.txt": "wing lift\n", "2.txt": "heat\n"})
    (tmp_path / "cran.qry").write_text(
        ".I 001\n.W\nwhat lifts\na wing .\n.I 004\n.W\nheat\n", "utf-8"
    )
    (tmp_path / "cranqrel").write_text("1 1 1\n1 2 5\n2 2 -1\n2 2 3\n", "utf-8")
    found = cranfield(tmp_path)
    assert found.topics == {"1": "what lifts a wing .", "2": "heat"}
    assert found.qrels.grades == {"1": {"1": 4, "2": 0}, "2": {"2": 2}}
    assert found.docno == "stem"


def test_plain_files_are_read(tmp_path: Path) -> None:
    """Topics as TSV, TREC qrels with paths."""
    fill(tmp_path / "corpus", {"a/1.md": "wing\n"})
    (tmp_path / "queries.tsv").write_text("1\twing\n", "utf-8")
    (tmp_path / "qrels.txt").write_text("1 0 a/1.md 2\n", "utf-8")
    found = cranfield(tmp_path)
    assert (found.docno, found.qrels.grades) == ("path", {"1": {"a/1.md": 2}})


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Each part by the names that it may have."""
    with pytest.raises(MissingCollectionError, match="there is no folder"):
        cranfield(tmp_path / "nowhere")
    (tmp_path / "queries.tsv").write_text("1\twing\n", "utf-8")
    with pytest.raises(MissingCollectionError) as caught:
        cranfield(tmp_path)
    assert "a folder of documents" in str(caught.value)
    assert "judgements (qrels.txt" in str(caught.value)
    assert "queries" not in str(caught.value).partition("lacks")[2]


def test_cranfield_is_near_what_is_published_for_bm25(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lexical nDCG@10 near 0.5, on the copy beside the repository."""
    try:
        found = cranfield()
    except MissingCollectionError as error:
        pytest.skip(f"Cranfield is not on this machine: {error}")
    core, record = evaluation.measure(found, tmp_path)
    core.close()
    with capsys.disabled():
        print(capsys.readouterr().out)  # noqa: T201 # the split of the time
    lexical = next(m for m in record.means if (m.run, m.measure) == ("lexical", "nDCG@10"))
    assert lexical.mean == pytest.approx(0.52, abs=0.06)


def test_the_handbooks_judgements_fit_it() -> None:
    """The collection that the README's table is made of."""
    found = evaluation.handbook()
    assert len(found.topics) == 40
    assert set(found.qrels.grades) == set(found.topics)
    files = {p.relative_to(found.documents).as_posix() for p in found.documents.rglob("*.*")}
    assert read_qrels(found.qrels).unknown(files) == ()
