"""`knowledge words`: the vocabulary."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_the_human_list_names_its_columns_and_total(ask: Run) -> None:
    """Documents of the very word, of any form, and occurrences are told apart."""
    out = ask("words", "--prefix", "calib").out
    lines = out.splitlines()
    assert lines[0].startswith("tier: ")
    assert lines[2].split("  ")[0] == "word"
    assert "calibration          3            3            4  calibr" in lines
    assert "3 words." in lines
    assert lines[-1].startswith("Covers 72 ")


def test_a_long_list_says_that_it_is_cut(ask: Run) -> None:
    """Fifty rows unless told otherwise, and the total."""
    out = ask("words").out
    assert "Listed 50 of " in out
    assert "Listed" not in ask("words", "--all").out
    assert "Listed 2 of 3 words" in ask("words", "--prefix", "calib", "--limit", "2").out


def test_a_pattern_must_be_held_by_the_word(ask: Run) -> None:
    """PATTERN is a regular expression."""
    record = json.loads(ask("words", "ation$", "--json").out)
    assert record["results"]
    assert all(row["word"].endswith("ation") for row in record["results"])
    assert record["matched"] == len(record["results"])
    assert record["truncated"] is False


def test_json_has_stable_keys(ask: Run) -> None:
    """The keys are an interface."""
    record = json.loads(ask("words", "--prefix", "calib", "--json").out)
    assert list(record) == [
        *("status", "pattern", "prefix", "matched", "truncated", "tier", "notes"),
        *("completeness", "results"),
    ]
    assert set(record["results"][0]) == {
        *("word", "stem", "documents", "documents_any_form", "occurrences")
    }


def test_csv_is_the_whole_list(ask: Run, tmp_path: Path) -> None:
    """Never the page that people see."""
    total = json.loads(ask("words", "--json").out)["matched"]
    assert ask("words", "--csv", "words.csv").out == ""
    with open(tmp_path / "words.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == total > 50


def test_no_fitting_word_is_an_answer(ask: Run) -> None:
    """Status 0, in words."""
    done = ask("words", "--prefix", "xylophone")
    assert done.status == 0
    assert "No word of the corpus fits." in done.out


@pytest.mark.parametrize("mode", [["--json"], ["--csv", "-"]], ids=" ".join)
def test_no_form_for_programs_answers_without_a_corpus(
    run: Run, tmp_path: Path, mode: list[str]
) -> None:
    """On an unbuilt index, then on an empty corpus: an error and nothing on stdout."""
    done = run("words", *mode)
    assert (done.status, done.out) == (3, "")
    (tmp_path / "nothing").mkdir()
    assert run("index", "nothing").status == 0
    done = run("words", *mode)
    assert (done.status, done.out) == (3, "")


@pytest.mark.parametrize(
    "flags",
    [["--json", "--csv", "x"], ["--limit", "3", "--all"], ["--csv", "x", "--limit", "3"], ["(["]],
    ids=" ".join,
)
def test_a_bad_request_is_refused(ask: Run, tmp_path: Path, flags: list[str]) -> None:
    """Contradicting flags and a pattern that is none."""
    done = ask("words", *flags)
    assert done.status == 2
    assert list(tmp_path.iterdir()) == []
