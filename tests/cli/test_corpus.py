"""`knowledge show`, `sources`, `stats`, `rm`, `reset`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import HANDBOOK, Run


def test_show_gives_the_stored_text_of_a_citation(ask: Run) -> None:
    """Every citation that a search prints is taken by `show`."""
    hit = json.loads(ask("search", "frost", "-k", "1", "--json").out)["results"][0]
    out = ask("show", hit["citation"]).out
    assert out.startswith("tier: ")
    assert hit["citation"] in out
    assert f"lines {hit['first_line']}-{hit['last_line']}" in out
    assert hit["text"].strip() in out


def test_show_gives_a_whole_document_by_its_path(ask: Run) -> None:
    """All its chunks, in order: every line of the file, a heading above the text below it."""
    out = ask("show", "policies/retention.md").out
    for line in (HANDBOOK / "policies" / "retention.md").read_text().splitlines():
        assert line.lstrip("# ").rstrip() in out
    assert out.index("policies/retention.md#0") < out.index("policies/retention.md#1")


def test_show_gives_the_neighbours_too(ask: Run) -> None:
    """`--around 1` is up to three chunks."""
    out = ask("show", "policies/retention.md#1", "--around", "1").out
    for number in (0, 1, 2):
        assert f"policies/retention.md#{number}" in out
    assert "policies/retention.md#3" not in out


@pytest.mark.parametrize("target", ["nope.md", "nope.md#0", "policies/retention.md#999"])
def test_show_refuses_what_is_not_there(ask: Run, target: str) -> None:
    """Status 2 and the next command."""
    done = ask("show", target)
    assert done.status == 2
    assert "knowledge s" in done.err


@pytest.mark.parametrize(
    "verb",
    [
        *(["show", "a.md"], ["sources"], ["sources", "--json"], ["sources", "--csv", "-"]),
        *(["stats"], ["stats", "--json"], ["rm", "a.md"]),
    ],
    ids=" ".join,
)
def test_an_unbuilt_index_is_no_empty_one(run: Run, verb: list[str]) -> None:
    """Status 3 and the next command."""
    done = run(*verb)
    assert done.status == 3
    assert "knowledge index PATH" in done.err
    assert done.out in ("", "tier: lexical (FTS5) - no embeddings configured\n")
    assert "--json" not in verb or done.out == ""


def test_sources_lists_every_document(ask: Run) -> None:
    """In path order, the same in all three forms."""
    record = json.loads(ask("sources", "--json").out)
    paths = [row["path"] for row in record["results"]]
    assert paths == sorted(paths)
    assert record["matched"] == len(paths) == 72
    rows = csv.DictReader(io.StringIO(ask("sources", "--csv", "-").out))
    assert [row["path"] for row in rows] == paths
    lines = ask("sources").out.splitlines()
    assert [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in paths] == (
        paths
    )


def test_an_empty_corpus_has_no_sources(run: Run, empty: Path) -> None:
    """It is said, with status 3; `stats` counts what there is."""
    assert run("sources", "--json").status == 3
    record = json.loads(run("stats", "--json").out)
    assert record["status"] == "corpus_empty"
    assert record["documents"] == 0


def test_stats_are_the_store_at_a_glance(ask: Run, handbook_store: Path) -> None:
    """For people and for programs."""
    record = json.loads(ask("stats", "--json").out)
    assert record["status"] == "ok"
    assert record["documents"] == 72
    assert record["store"] == str(handbook_store)
    assert record["completeness"]["statement"].startswith("Covers 72 ")
    out = ask("stats").out
    assert out.startswith("tier: ")
    assert "documents          72\n" in out


def test_rm_says_what_it_removed(run: Run, small: Path, corpus: Path) -> None:
    """A folder takes its documents with it; the files stay."""
    done = run("rm", "sub", "a.md")
    assert done.status == 0
    assert "Removed from the index, 2 documents:\n  a.md\n  sub/c.txt\n" in done.out
    assert (corpus / "a.md").exists()
    assert run("match", "lantern", "--paths-only").out == "b.md\n"


def test_rm_removes_nothing_when_one_name_is_wrong(run: Run, small: Path) -> None:
    """All or nothing."""
    done = run("rm", "a.md", "nope.md")
    assert done.status == 2
    assert "'nope.md'" in done.err
    assert run("match", "lantern", "--count").out == "2\n"


def test_reset_refuses_and_names_what_it_would_delete(run: Run, small: Path) -> None:
    """Without `--force` nothing is deleted."""
    done = run("reset")
    assert (done.status, done.out) == (2, "")
    assert str(small / "knowledge.db") in done.err
    assert "3 documents" in done.err
    assert run("match", "lantern", "--count").out == "2\n"


def test_reset_with_force_empties_the_store(run: Run, small: Path, corpus: Path) -> None:
    """After it nothing is built, and the files are all there."""
    done = run("reset", "--force")
    assert done.status == 0
    assert str(small / "knowledge.db") in done.out
    assert run("match", "lantern").status == 3
    assert run("index", corpus).status == 0
    assert run("match", "lantern", "--count").out == "2\n"


def test_reset_of_nothing_is_refused(run: Run) -> None:
    """There is no store to empty."""
    assert run("reset", "--force").status == 2
