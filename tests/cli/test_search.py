"""`knowledge search`: a ranking that says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

KEYS = [
    *("status", "query", "mode", "k", "under", "tier", "degraded", "reason", "compiled"),
    *("dropped_terms", "common_terms", "notes", "completeness", "results"),
]


def test_a_hit_shows_where_it_is_and_the_words(ask: Run) -> None:
    """Rank, citation, heading, lines, score, and lines of text with the words marked."""
    done = ask("search", "calibrate", "sensors", "-k", "1")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("tier: ")
    hit = next(line for line in lines if line.startswith("1. "))
    assert "#" in hit
    place, score = lines[lines.index(hit) + 1 : lines.index(hit) + 3]
    assert ", line" in place
    assert score.startswith("   score ")
    assert "«" in "".join(lines[lines.index(hit) + 3 :])


def test_words_are_marked_by_stem(ask: Run) -> None:
    """The index finds "sensors" for "sensor", so the excerpt marks it."""
    marked = "".join(ask("search", "calibrate the sensor", "-k", "5").out)
    assert "«calibration»" in marked.lower()
    assert "«the»" not in marked  # too common to rank by


def test_json_holds_the_hits_whole(ask: Run) -> None:
    """The keys are an interface, and no text is shortened."""
    record = json.loads(ask("search", "two-person rule", "-k", "2", "--json").out)
    assert list(record) == KEYS
    assert record["status"] == "ok"
    assert record["k"] == 2
    assert [hit["rank"] for hit in record["results"]] == [1, 2]
    assert {"citation", "heading", "score", "text", "first_line"} <= set(record["results"][0])


def test_dropped_and_common_words_are_said(ask: Run) -> None:
    """What was not searched, and what was not ranked by, is in the answer."""
    out = ask("search", "is a frost x").out
    assert "Not searched: 'a' (under two characters)" in out
    record = json.loads(ask("search", "is the frost", "--json").out)
    assert record["common_terms"] == ["is", "the"]


def test_a_ranking_without_hits_claims_no_absence(ask: Run) -> None:
    """It names the verb that can."""
    done = ask("search", "xylophone zebra")
    assert done.status == 0
    assert "A ranking proves no absence" in done.out


@pytest.mark.parametrize("mode", [[], ["--json"]], ids=["human", "json"])
def test_no_answer_is_told_apart(run: Run, ask: Run, mode: list[str]) -> None:
    """Not built, nothing searchable, an unknown folder."""
    for done, status in (
        (run("search", "frost", *mode), 3),
        (ask("search", "!!", *mode), 2),
        (ask("search", "", *mode), 2),
        (ask("search", "frost", "--under", "nope", *mode), 2),
    ):
        assert done.status == status
        assert done.err.count("\n") == 1
        assert not mode or done.out == ""


def test_an_empty_corpus_is_no_ranking(run: Run, empty: Path) -> None:
    """Status 3, and nothing on stdout for a program."""
    done = run("search", "frost", "--json")
    assert (done.status, done.out) == (3, "")


def test_vectors_asked_of_a_lexical_store_are_refused(ask: Run) -> None:
    """A mode that the store cannot answer in is no narrower answer."""
    done = ask("search", "frost", "--mode", "vector")
    assert done.status == 2
    assert "vector" in done.err


def test_a_folder_restricts(ask: Run) -> None:
    """`--under` ranks within the folder only."""
    record = json.loads(ask("search", "frost", "--under", "runbooks", "--json").out)
    assert record["results"]
    assert all(hit["path"].startswith("runbooks/") for hit in record["results"])


@pytest.mark.parametrize(
    "flags", [["-k", "0"], ["-k", "x"], ["--mode", "best"], ["--timeout", "0"]]
)
def test_options_out_of_range_are_usage_errors(ask: Run, flags: list[str]) -> None:
    """Status 2, and the option is named."""
    done = ask("search", "frost", *flags)
    assert (done.status, done.out) == (2, "")
    assert flags[0] in done.err
