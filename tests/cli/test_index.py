"""`knowledge index`: a pass and its report."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_the_report_counts_and_covers(run: Run, corpus: Path) -> None:
    """Added, replaced, unchanged, removed, stale, chunks, what is covered; no bar in a pipe."""
    done = run("index", corpus)
    assert done.status == 0
    assert done.err == ""
    assert done.out.startswith("tier: lexical")
    assert "3 files of accepted types" in done.out
    assert "added 3, replaced 0, unchanged 0, removed 0, stale 0; 3 chunks" in done.out
    assert "Covers 3 indexed documents (3 chunks)" in done.out


def test_skips_and_other_types_are_named(run: Run, corpus: Path) -> None:
    """By reason with the first names, and by suffix; `--verbose` names all."""
    for number in range(7):
        (corpus / f"bad{number}.md").write_bytes(b"\xff\xfe\x00broken")
    (corpus / "photo.jpg").write_bytes(b"x")
    out = run("index", corpus).out
    assert "  7 not UTF-8: bad0.md, bad1.md, bad2.md, bad3.md, bad4.md and 2 more\n" in out
    assert "  1 .jpg\n" in out
    assert "Not covered: 7 skipped (7 not UTF-8)." in out
    assert "bad6.md" not in out
    assert "bad6.md" in run("index", corpus, "--verbose").out


def test_a_dry_run_writes_nothing(run: Run, corpus: Path, tmp_path: Path) -> None:
    """It says what would be done, and there is still no store."""
    done = run("index", corpus, "--dry-run")
    assert done.status == 0
    assert "would be added 3" in done.out
    assert not (tmp_path / "knowledge").exists()


def test_a_second_pass_needs_no_path_and_reads_nothing_twice(
    run: Run, small: Path, corpus: Path
) -> None:
    """The folders of earlier passes are taken; `--reindex` takes every file again."""
    (corpus / "a.md").write_text("changed\n")
    assert "added 0, replaced 1, unchanged 2" in run("index").out
    assert "replaced 3, unchanged 0" in run("index", "--reindex").out


def test_no_folder_at_all_is_refused(run: Run) -> None:
    """Nothing is guessed."""
    done = run("index")
    assert done.status == 2
    assert "no folder to index" in done.err


def test_a_document_whose_file_is_gone_is_stale_until_reconciled(
    run: Run, small: Path, corpus: Path
) -> None:
    """It is kept and named, with status 1, until `--reconcile` removes it."""
    (corpus / "a.md").unlink()
    stale = run("index", corpus)
    assert stale.status == 1
    assert "\nStale\n  a.md (no longer on disk)\n" in stale.out
    assert json.loads(run("index", corpus, "--json").out)["ok"] is False
    assert run("match", "lantern", "--count").out == "2\n"
    removed = run("index", corpus, "--reconcile")
    assert removed.status == 0
    assert "\nRemoved\n  a.md (no longer on disk)\n" in removed.out
    assert run("match", "lantern", "--count").out == "1\n"


def test_a_document_that_is_no_text_any_more_is_removed(
    run: Run, small: Path, corpus: Path
) -> None:
    """It is named once as skipped and once as removed."""
    (corpus / "a.md").write_bytes(b"\xff\xfe\x00broken")
    done = run("index", corpus)
    assert done.status == 0
    assert "  1 not UTF-8: a.md\n" in done.out
    assert "\nRemoved\n  a.md (not UTF-8)\n" in done.out


def test_json_is_the_report(run: Run, corpus: Path) -> None:
    """Every count and event, and the statement."""
    record = json.loads(run("index", corpus, "--json").out)
    assert record["ok"] is True
    assert record["added"] == 3
    assert [event["action"] for event in record["events"]] == ["added"] * 3
    assert record["completeness"]["statement"].startswith("Covers 3 ")
