"""`knowledge match`: the set, its totals, its machine-readable forms."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Run

KEYS = [
    *("status", "query", "compiled", "under", "sort", "matched", "truncated", "parted", "tier"),
    *("terms",),
    *("dropped_terms", "notes", "completeness", "results"),
]
PROGRAMS = [["--json"], ["--count"], ["--paths-only"], ["--paths-only", "-0"], ["--csv", "-"]]


def test_the_human_answer_says_all_of_it(ask: Run) -> None:
    """Tier, total, documents, every term in any form and as written, notes, what is covered."""
    done = ask("match", "retention backup")
    assert done.status == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0].startswith("tier: ")
    assert "2 documents match: retention backup" in lines
    assert any(line.split()[:1] == ["policies/backup.md"] for line in lines)
    terms = lines.index("Terms")
    assert lines[terms + 2] == (
        "  backup: in any form 8 documents, as written 4; other forms: backups 5"
    )
    assert any(line.startswith("Note: ") for line in lines)
    assert lines[-1].startswith("Covers 72 indexed documents")


def test_the_total_stands_before_the_limit(ask: Run) -> None:
    """A limit shortens the list and never the size of the answer, and says so."""
    whole = ask("match", "ice", "--all").out
    done = ask("match", "ice", "--limit", "3")
    total = next(line for line in done.out.splitlines() if "documents match" in line)
    assert total in whole.splitlines()
    number = int(total.split()[0])
    assert number > 3
    assert f"Listed 3 of {number}; --all lists every one." in done.out
    assert "Listed" not in whole


def test_a_complete_empty_answer_is_a_success(ask: Run) -> None:
    """Status 0 unless the caller asked for a status that tells."""
    for mode in ([], ["--json"], ["--count"], ["--paths-only"]):
        assert ask("match", "ransomware", *mode).status == 0
        assert ask("match", "ransomware", "--exit-code", *mode).status == 1
        assert ask("match", "frost", "--exit-code", *mode).status == 0
    assert "No indexed document matches: ransomware" in ask("match", "ransomware").out


def test_json_is_one_object_with_stable_keys(ask: Run) -> None:
    """The keys and their order are an interface; text is UTF-8 and not escaped."""
    done = ask("match", "retention -draft", "--json")
    record = json.loads(done.out)
    assert list(record) == KEYS
    assert record["status"] == "ok"
    assert record["matched"] == len(record["results"]) == 7
    assert record["truncated"] is False
    assert [term["term"] for term in record["terms"]] == ["retention", "draft"]
    assert [term["excluded"] for term in record["terms"]] == [False, True]
    assert record["terms"][1]["related"] == {"drafts": 1}
    assert record["completeness"]["documents"] == 72
    assert record["completeness"]["statement"].startswith("Covers 72")
    assert set(record["results"][0]) == {
        *("path", "citation", "body_matches", "heading_matches", "chunks")
    }
    assert "冷凍庫" in ask("match", "冷凍庫", "--json").out


def test_json_may_be_a_page_and_says_so(ask: Run) -> None:
    """`--limit` holds for JSON, which carries the total and the flag."""
    record = json.loads(ask("match", "ice", "--json", "--limit", "2").out)
    assert len(record["results"]) == 2
    assert record["matched"] > 2
    assert record["truncated"] is True


def test_the_forms_for_programs_hold_the_whole_set(ask: Run) -> None:
    """JSON, paths, count and CSV of one query agree, and none stops at the human page."""
    record = json.loads(ask("match", "the", "--json").out)
    paths = [row["path"] for row in record["results"]]
    assert record["matched"] == len(paths) > 50
    assert ask("match", "the", "--count").out == f"{len(paths)}\n"
    assert ask("match", "the", "--paths-only").out.splitlines() == paths
    assert ask("match", "the", "--paths-only", "-0").out.split("\0")[:-1] == paths
    rows = list(csv.DictReader(io.StringIO(ask("match", "the", "--csv", "-").out)))
    assert [row["path"] for row in rows] == paths


@pytest.mark.parametrize("mode", PROGRAMS, ids=" ".join)
def test_no_form_for_programs_answers_without_an_index(run: Run, mode: list[str]) -> None:
    """A pipe cannot read "not built" as "no document"."""
    done = run("match", "frost", *mode)
    assert (done.status, done.out) == (3, "")
    assert "No indexing pass has completed" in done.err


@pytest.mark.parametrize("mode", PROGRAMS, ids=" ".join)
def test_no_form_for_programs_answers_from_an_empty_corpus(
    run: Run, empty: Path, mode: list[str]
) -> None:
    """Nor "nothing was indexed" as "no document"."""
    done = run("match", "frost", *mode)
    assert (done.status, done.out) == (3, "")
    assert "left no document in the index" in done.err


def test_what_rm_emptied_is_not_laid_on_the_pass(run: Run, small: Path) -> None:
    """Every verb says that `rm` took the documents out, not that a pass found none."""
    assert run("rm", ".").status == 0
    verbs = (
        *(["match", "lantern"], ["match", "lantern", "--count"], ["search", "lantern"]),
        *(["words"], ["sources"]),
    )
    for verb in verbs:
        done = run(*verb)
        assert done.status == 3
        assert "`knowledge rm` took out 3 documents since the last pass" in done.err


@pytest.mark.parametrize("query", ["", "   ", "a", "!!", '""', "-", "heading:", '"', "\U0001f600"])
@pytest.mark.parametrize("mode", [[], ["--json"], ["--count"]], ids=" ".join)
def test_a_query_that_cannot_be_searched_is_refused(ask: Run, query: str, mode: list[str]) -> None:
    """It is told in one plain line from an answer about the corpus."""
    done = ask("match", *mode, "--", query)
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert done.out == (
        "tier: lexical (FTS5) - no embeddings configured\n" if not mode else ""
    ) or (done.out == "")


def test_an_operator_is_refused_with_a_fix(ask: Run) -> None:
    """OR would be answered as another question."""
    done = ask("match", "frost", "OR", "ice")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("knowledge: OR (`OR`) is not an operator here")


def test_an_unknown_folder_is_refused(ask: Run) -> None:
    """A folder that the index does not hold is no folder without matches."""
    for mode in ([], ["--count"], ["--json"]):
        done = ask("match", "frost", "--under", "polices", *mode)
        assert (done.status, done.out) == (2, "")
        assert "no indexed document lies under 'polices'" in done.err
    inside = ask("match", "ransomware", "--under", "policies", "--count")
    assert (inside.status, inside.out) == (0, "0\n")


def test_a_bare_number_explains_itself_on_stderr(ask: Run) -> None:
    """`--count` prints a number alone; what it covers, and why it is 0, is on stderr."""
    done = ask("match", "ransomware", "--count")
    assert done.out == "0\n"
    assert "No document holds `ransomware`" in done.err
    assert "Covers 72 indexed documents" in done.err
    assert ask("match", "frost", "--count").err.startswith("knowledge: Covers 72 indexed")


def test_a_word_with_a_minus_is_a_term_and_no_option(ask: Run) -> None:
    """`knowledge match lantern -brass` needs no `--`, wherever the options stand."""
    expected = ask("match", "retention -draft", "--count").out
    assert ask("match", "retention", "-draft", "--count").out == expected
    assert ask("match", "--count", "-draft", "retention").out == expected
    assert ask("match", "--count", "--", "-draft", "retention").out == expected
    assert ask("match", "retention", "--under", "policies", "-0", "--paths-only", "-draft").out


def test_quotes_that_the_shell_took_are_missed(ask: Run) -> None:
    """Without its quotes a phrase would be answered as another question."""
    assert ask("match", "duty keeper", "--count").status == 0
    done = ask("match", "duty keeper", "alarm", "--count")
    assert (done.status, done.out) == (2, "")
    assert "the shell took the quotes around 'duty keeper'" in done.err
    assert ask("match", "alarm", "-duty keeper", "--count").status == 2


@pytest.mark.parametrize(
    "flags",
    [
        ["--limit", "3", "--all"],
        ["--csv", "x.csv", "--limit", "3"],
        ["--count", "--limit", "3"],
        ["--json", "--csv", "x.csv"],
        ["--json", "--paths-only"],
        ["--json", "--count"],
        ["--count", "--paths-only"],
        ["--explain", "--json"],
        ["--explain", "--paths-only"],
        ["-0"],
        ["-0", "--json"],
        ["--limit", "0"],
        ["--sort", "size"],
        ["--min-matches", "-1"],
        ["--jsn"],
    ],
    ids=" ".join,
)
def test_flags_that_contradict_each_other_are_refused(
    ask: Run, tmp_path: Path, flags: list[str]
) -> None:
    """Nothing is answered, nothing is written, and the flag is named."""
    done = ask("match", "frost", *flags)
    assert (done.status, done.out) == (2, "")
    assert flags[0] in done.err
    assert list(tmp_path.iterdir()) == []


def test_sort_minimum_and_explanation(ask: Run) -> None:
    """`--sort path`, `--min-matches`, `--explain`."""
    paths = ask("match", "ice", "--paths-only", "--sort", "path").out.splitlines()
    assert paths == sorted(paths)
    rows = json.loads(ask("match", "ice", "--json", "--min-matches", "3").out)["results"]
    assert rows
    assert min(row["body_matches"] for row in rows) >= 3
    explained = ask("match", "heading:alarm working", "--explain").out
    assert '  heading:"alarm" "working"' in explained
    assert "[stem: work]" in explained


def test_csv_is_written_whole_beside_and_renamed(ask: Run, tmp_path: Path) -> None:
    """RFC 4180: header, CRLF, UTF-8 without BOM; stdout stays empty; no half file is left."""
    done = ask("match", "ice", "--csv", "out.csv")
    assert (done.status, done.out) == (0, "")
    content = (tmp_path / "out.csv").read_bytes()
    lines = content.decode().split("\r\n")
    assert lines[0] == "path,citation,body_matches,heading_matches,chunks"
    assert lines[-1] == ""
    assert len(lines) - 2 == int(ask("match", "ice", "--count").out)
    assert f"{len(lines) - 2} documents written to out.csv" in done.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.csv", "out.csv.meta.json"]


def test_csv_keeps_every_character_of_a_path(run: Run, tmp_path: Path) -> None:
    """Commas, quotes, line breaks, a leading minus and any script come back from a CSV reader."""
    names = ['a,"b".md', "line\nbreak.md", "-draft.md", "=1+1.md", "größe 東京.md", "a#1.md"]
    (tmp_path / "odd").mkdir()
    for name in names:
        (tmp_path / "odd" / name).write_text("kestrel\n")
    assert run("index", "odd").status == 0
    assert run("match", "kestrel", "--csv", "out.csv", "--keep-formulas").status == 0
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["path"] for row in rows) == sorted(names)
    assert all(row["citation"] == row["path"] + "#0" for row in rows)
    guarded = run("match", "kestrel", "--csv", "out.csv")
    assert "4 cells guarded from spreadsheets" in guarded.err
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        paths = {row["path"] for row in csv.DictReader(file)}
    assert {"'-draft.md", "'=1+1.md", "a#1.md"} <= paths


def test_a_csv_file_survives_a_failed_export(ask: Run, run: Run, tmp_path: Path) -> None:
    """Where there is no answer the earlier file is left as it was."""
    (tmp_path / "out.csv").write_text("kept")
    assert run("match", "frost", "--csv", "out.csv").status == 3
    assert ask("match", "a OR b", "--csv", "out.csv").status == 2
    assert (tmp_path / "out.csv").read_text() == "kept"


def test_csv_keeps_the_mode_and_follows_a_link_of_its_target(ask: Run, tmp_path: Path) -> None:
    """Replacing a file does not open it to others, and a link stays a link."""
    real = tmp_path / "real.csv"
    real.write_text("")
    real.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(real)
    assert ask("match", "frost", "--csv", "link.csv").status == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert real.read_text().startswith("path,")
    assert stat.S_IMODE(os.stat(real).st_mode) == 0o640


def test_csv_into_a_device_or_a_missing_folder_is_refused(ask: Run, tmp_path: Path) -> None:
    """A device is not replaced by a file, and an unwritable place is one line."""
    for target, status in ((os.devnull, 2), (str(tmp_path), 2), ("no/such/out.csv", 4)):
        done = ask("match", "frost", "--csv", target)
        assert (done.status, done.out) == (status, "")
        assert done.err.count("\n") == 1


def test_csv_never_replaces_a_file_of_the_store(run: Run, small: Path) -> None:
    """Not even when a typing error names it."""
    for name in ("knowledge.db", "out.csv"):
        done = run("match", "lantern", "--csv", small / name)
        assert done.status == 2
        assert "the store's own directory" in done.err
    assert run("match", "lantern", "--count").out == "2\n"


def test_a_path_with_a_line_break_needs_nul(run: Run, tmp_path: Path) -> None:
    """`--paths-only` never gives two lines for one document."""
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "two\nlines.md").write_text("kestrel\n")
    run("index", "odd")
    done = run("match", "kestrel", "--paths-only")
    assert (done.status, done.out) == (2, "")
    assert "-0" in done.err
    assert run("match", "kestrel", "--paths-only", "-0").out == "two\nlines.md\0"
