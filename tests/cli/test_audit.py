"""`knowledge audit`, `coverage`, `saved`, `verify-export` and the export options, from a shell."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

QUESTIONS = {
    "match": "enumerate lantern",
    "search": "search lantern",
    "words": "vocabulary",
    "sources": "sources",
    "coverage": "coverage",
    "audit": "audit",
}
TERMS = 'term,label,group\nlantern,Lantern,light\n"""brass lantern""",Brass,light\nanchor,,\n'


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    """A list of three terms, the last of which the small corpus lacks."""
    path = tmp_path / "terms.csv"
    path.write_text(TERMS)
    return path


def test_audit_says_what_differs(run: Run, small: Path, corpus: Path) -> None:
    """Status 0 without --exit-code; with it 1 where index and disk differ, and 0 where not."""
    done = run("audit", "--exit-code")
    assert done.status == 0
    assert "Disk and index agree." in done.out
    assert "a.md" not in done.out
    assert "a.md" in run("audit", "--all").out
    (corpus / "a.md").write_text("other\n")
    (corpus / "new.md").write_text("fresh\n")
    (corpus / "b.md").unlink()
    done = run("audit", "--exit-code")
    assert done.status == 1
    assert "Disk and index differ." in done.out
    lines = {line.split()[0]: line for line in done.out.splitlines() if ".md" in line}
    assert set(lines) == {"changed", "new", "gone"}
    assert "`knowledge index --reconcile` removes what is gone." in done.out
    assert run("audit").status == 0
    assert run("audit", "--under", "sub", "--exit-code").status == 0
    record = json.loads(run("audit", "--json").out)
    assert record["differs"] is True
    assert record["totals"]["gone"]["files"] == 1
    states = {row["path"]: row["state"] for row in record["results"]}
    assert states == {"a.md": "changed", "b.md": "gone", "new.md": "new", "sub/c.txt": "indexed"}


def test_audit_needs_an_index_and_its_folders(run: Run, corpus: Path, tmp_path: Path) -> None:
    """Nothing indexed is no answer; a missing folder is not a gone corpus."""
    assert run("audit").status == 3
    run("index", corpus)
    corpus.rename(tmp_path / "away")
    done = run("audit", "--exit-code")
    assert done.status == 4
    assert "cannot read" in done.err


def test_coverage_is_a_report(run: Run, small: Path, terms: Path) -> None:
    """Totals, a row per term, what was not answered, and what the counts cover."""
    done = run("coverage", terms)
    assert done.status == 0
    assert "2 of 3 documents hit by any of 3 terms, 1 by none." in done.out
    assert "Covers 3 indexed documents" in done.out
    assert "1 term in no document: `anchor`" in done.out
    assert run("coverage", terms, "--exit-code").status == 1
    assert "sub/c.txt" in run("coverage", terms, "--part", "uncovered").out
    record = json.loads(run("coverage", terms, "--json").out)
    assert [row["documents"] for row in record["results"]] == [2, 1, 0]
    grid = json.loads(run("coverage", terms, "--json", "--part", "by-folder").out)
    assert grid["results"][2] == {"term": "anchor", ".": 0, "sub": 0}


def test_coverage_goes_on_after_a_bad_term(run: Run, small: Path, tmp_path: Path) -> None:
    """It is named with its reason; the others are answered."""
    (tmp_path / "t.txt").write_text("lantern\na OR b\n")
    done = run("coverage", "t.txt")
    assert done.status == 0
    assert "Not answered" in done.out
    assert "a OR b: " in done.out
    assert run("coverage", "t.txt", "--exit-code").status == 1
    done = run("coverage", "none.txt")
    assert done.status == 2
    assert done.err.count("\n") == 1


def test_coverage_without_an_index(run: Run, terms: Path) -> None:
    """No table of zeros, in no form, and no file."""
    for options in ([], ["--json"], ["--csv", "x.csv"], ["--csv", "-"]):
        done = run("coverage", terms, *options)
        assert (done.status, done.out.count("lantern")) == (3, 0)
    assert not (terms.parent / "x.csv").exists()


@pytest.mark.parametrize("form", ["csv", "json-file", "jsonl", "parquet"])
def test_exports_are_verified(run: Run, small: Path, corpus: Path, terms: Path, form: str) -> None:
    """Same; then, after a change, which row differs and why, with status 1."""
    for verb in (
        ["match", "lantern"],
        ["search", "lantern", "-k", "3"],
        ["words"],
        ["sources"],
        ["coverage", terms],
        ["audit"],
    ):
        out = f"{verb[0]}.{form.removesuffix('-file')}"
        done = run(*verb, f"--{form}", out)
        assert (done.status, done.out) == (0, "")
        assert f"written to {out}" in done.err
        done = run("verify-export", out)
        assert done.status == 0, done.out
        assert done.out.startswith("Same: ")
        assert f"Question: {QUESTIONS[verb[0]]}" in done.out
        assert "Covers 3 indexed documents" in done.out
    (corpus / "new.md").write_text("A lantern.\n")
    run("index", corpus)
    out = f"match.{form.removesuffix('-file')}"
    done = run("verify-export", out)
    assert done.status == 1
    assert done.out.splitlines()[0].endswith(": 1 row.")
    assert "document new in the index" in done.out
    record = json.loads(run("verify-export", out, "--json").out)
    assert record["differences"][0]["row"] == "new.md"


def test_export_options(run: Run, small: Path, tmp_path: Path) -> None:
    """A BOM is had by asking; options that say nothing, or contradict, are refused."""
    run("match", "lantern", "--csv", "plain.csv")
    run("match", "lantern", "--csv", "excel.csv", "--bom")
    assert (tmp_path / "excel.csv").read_bytes() == b"\xef\xbb\xbf" + (
        tmp_path / "plain.csv"
    ).read_bytes()
    assert len(run("match", "lantern", "--jsonl", "-").out.splitlines()) == 2
    for options in (
        ["--bom"],
        ["--keep-formulas"],
        ["--parquet", "-"],
        ["--csv", "a.csv", "--jsonl", "b.jsonl"],
        ["--jsonl", "b.jsonl", "--limit", "1"],
    ):
        assert run("match", "lantern", *options).status == 2
    assert run("verify-export", "none.csv").status == 4


def test_saved_sets(run: Run, small: Path, corpus: Path) -> None:
    """Save, list, compare, delete."""
    assert "No set is saved." in run("saved").out
    done = run("saved", "--save", "lantern", "light")
    assert "Saved light: 2 documents." in done.out
    assert "Covers 3 indexed documents" in done.out
    assert run("saved", "--save", "lantern", "light").status == 2
    assert run("saved", "light", "--exit-code").status == 0
    (corpus / "a.md").write_text("nothing\n")
    run("index", corpus)
    done = run("saved", "light", "--exit-code")
    assert done.status == 1
    assert "0 added, 1 removed, 1 kept" in done.out
    assert "document changed" in done.out
    record = json.loads(run("saved", "light", "--json").out)
    assert (record["removed"], record["kept"], record["same"]) == (1, 1, False)
    assert json.loads(run("saved", "--json").out)["results"][0]["name"] == "light"
    assert run("saved", "light", "--delete").status == 0
    assert run("saved", "light").status == 2
    assert run("saved", "--delete").status == 2
    assert run("saved", "--save", "a OR b", "bad").status == 2
    done = run("saved", "--save", "lantern", "--under", "typo", "t2")
    assert (done.status, "no indexed document lies under 'typo'" in done.err) == (2, True)
    assert not (small / "saved" / "t2.json").exists()
    done = run("saved", "--save", "lantern -x", "--under", "sub", "below")
    assert "`-x`" in done.out
    done = run("saved", "below")
    assert "Question: lantern -x (under sub)" in done.out
    assert "`-x`" in done.out
    (small / "saved" / "junk.json").write_text("junk")
    assert "Not a saved set: cannot read" in run("saved").out
    listed = json.loads(run("saved", "--json").out)["results"]
    assert [(row["name"], row["documents"]) for row in listed] == [("below", 0), ("junk", None)]


def test_a_path_like_a_terminal_sequence_is_shown_harmless(run: Run, tmp_path: Path) -> None:
    """Tables for people hold no control sequence; exports hold the name as it is."""
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "a\x1b[31m.md").write_text("kestrel\n")
    run("index", folder)
    (folder / "b\x1b[31m.md").write_text("kestrel\n")
    assert "\x1b" not in run("audit", "--all").out
    run("audit", "--csv", "files.csv")
    with (tmp_path / "files.csv").open(newline="") as file:
        assert {row["path"] for row in csv.DictReader(file)} == {"a\x1b[31m.md", "b\x1b[31m.md"}
