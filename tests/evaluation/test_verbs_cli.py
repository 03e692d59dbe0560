"""`knowledge run`, `eval`, `compare`, `explain`: the command as a person has it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from knowledge_nb.evaluation.trec import read_run
from tests.cli.conftest import Finished, run_knowledge
from tests.embedding.server import EmbeddingServer, Faults
from tests.evaluation.conftest import DATA, FILES, QRELS, TOPICS, fill


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the handbook, settings and an index with vectors."""
    folder = tmp_path_factory.mktemp("cli") / "handbook"
    shutil.copytree(DATA / "handbook", folder)  # the settings' folder is the base of paths
    (folder / "knowledge.toml").write_text(
        '[knowledge]\npaths = ["."]\n[knowledge.embeddings]\nprovider = "local"\n',
        "utf-8",
    )
    done = run_knowledge("index", cwd=folder)
    assert done.status == 0, done.err
    for mode in ("lexical", "fused"):
        done = run_knowledge("run", TOPICS, "--mode", mode, "-o", f"{mode}.run", cwd=folder)
        assert done.status == 0, done.err
    return folder


def test_a_run_is_written_and_named(place: Path) -> None:
    """With its provenance beside it; on stdout it is TREC lines and nothing else."""
    made = read_run(place / "fused.run")
    assert made.provenance is not None
    assert made.provenance.mode == "fused"
    done = run_knowledge("run", TOPICS, "--mode", "lexical", "-k", "3", cwd=place)
    assert done.status == 0
    assert all(len(line.split()) == 6 for line in done.out.splitlines())
    assert "1 topic for which nothing ranks" in done.err


def test_eval_prints_writes_and_refuses(place: Path) -> None:
    """Means and tests for people, one object for programs, one row a topic and run as CSV."""
    ask = ("eval", QRELS, "lexical.run", "fused.run", "-m", "nDCG@10")
    shown = run_knowledge(*ask, cwd=place)
    assert shown.status == 0, shown.err
    assert "Against lexical" in shown.out
    assert "Judged@10" in shown.out
    record = json.loads(run_knowledge(*ask, "--json", cwd=place).out)
    assert record["runs"] == ["lexical", "fused"]
    assert len(record["values"]["fused"]["nDCG@10"]) == 40
    rows = list(csv.reader(run_knowledge(*ask, "--csv", "-", cwd=place).out.splitlines()))
    assert rows[0] == ["qid", "run", "nDCG@10", "Judged@10"]
    assert len(rows) == 81
    bad = run_knowledge("eval", QRELS, "lexical.run", "-m", "nonsense", cwd=place)
    assert (bad.status, bad.out) == (2, "")
    assert "no measure 'nonsense'" in bad.err


def test_eval_prints_sums_as_sums(place: Path) -> None:
    """Under a heading of their own, with the numbers of the record, which says so too."""
    ask = ("eval", QRELS, "lexical.run", "fused.run", "-m", "AP", "-m", "NumRel", "-m", "NumRet")
    shown = run_knowledge(*ask, cwd=place)
    assert shown.status == 0, shown.err
    means, heading, rest = shown.out.partition("Sums over the topics")
    assert heading
    sums = rest.partition("Against lexical")[0]
    assert "AP" in means
    assert "NumRe" not in means
    record = json.loads(run_knowledge(*ask, "--json", cwd=place).out)
    assert {m["measure"] for m in record["means"] if m["summed"]} == {"NumRel", "NumRet"}
    rows = [line.split() for line in sums.splitlines() if line.startswith("NumRe")]
    assert rows == [
        [m["measure"], m["run"], f"{m['mean']:.4f}", "40"] for m in record["means"] if m["summed"]
    ]
    alone = run_knowledge("eval", QRELS, "lexical.run", "-m", "NumRel", cwd=place)
    assert "Means" not in alone.out
    assert "Sums over the topics" in alone.out


def test_compare_takes_modes_and_files(place: Path) -> None:
    """The same comparison, and as CSV every row."""
    by_mode = run_knowledge("compare", TOPICS, "--limit", "3", cwd=place)
    assert by_mode.status == 0, by_mode.err
    assert "3 of 40 topics shown" in by_mode.out
    by_file = run_knowledge(
        "compare", "--a", "lexical.run", "--b", "fused.run", "--json", cwd=place
    )
    record = json.loads(by_file.out)
    assert (record["a"]["name"], record["b"]["name"]) == ("lexical", "fused")
    assert len(record["queries"]) == 40
    rows = run_knowledge("compare", TOPICS, "--csv", "-", cwd=place).out.splitlines()
    assert len(rows) == 41
    none = run_knowledge("compare", cwd=place)
    assert (none.status, none.out) == (2, "")
    assert "topics are needed" in none.err


def test_explain_says_why(place: Path) -> None:
    """In words and tables, or as one object."""
    ask = ("explain", "how long are temperature readings kept", "policies/retention.md", "-k", "3")
    shown = run_knowledge(*ask, cwd=place)
    assert shown.status == 0, shown.err
    assert "is not in the top 3" in shown.out
    assert "With weights = (" in shown.out
    record = json.loads(run_knowledge(*ask, "--json", cwd=place).out)
    assert record["in_top"] is False
    assert [each["tier"] for each in record["places"]] == ["lexical", "vector", "fused"]
    lost = run_knowledge("explain", "ice", "nowhere.md", cwd=place)
    assert (lost.status, lost.out) == (2, "")


def test_without_an_index_there_is_no_answer(tmp_path: Path) -> None:
    """Exit status 3, nothing on stdout."""
    for ask in (("run", TOPICS), ("compare", TOPICS), ("explain", "ice", "a.md")):
        done = run_knowledge(*ask, cwd=tmp_path)
        assert (done.status, done.out) == (3, ""), done.err


def test_a_degraded_run_has_another_name_and_status(tmp_path: Path) -> None:
    """Exit status 1; `eval` refuses the file until it is told otherwise."""

    def ask(*arguments: str | Path) -> Finished:
        return run_knowledge(*arguments, cwd=tmp_path)

    fill(tmp_path, FILES)
    (tmp_path / "t.tsv").write_text("q\tlantern\nr\tbread\n", "utf-8")
    (tmp_path / "x.qrels").write_text("q 0 a.md 1\nr 0 d.md 1\n", "utf-8")
    with EmbeddingServer() as server:
        (tmp_path / "knowledge.toml").write_text(
            '[knowledge]\npaths = ["."]\n[knowledge.embeddings]\n'
            f'provider = "openai"\nbase_url = "{server.url}"\nmodel = "any"\n',
            "utf-8",
        )
        assert ask("index").status == 0
        server.faults = Faults(status=401)
        done = ask("run", "t.tsv", "--mode", "fused", "-o", "x.run")
        assert done.status == 1, done.err
        assert "fused-DEGRADED-2-of-2" in done.out
        refused = ask("eval", "x.qrels", "x.run")
        assert (refused.status, refused.out) == (2, "")
        assert ask("eval", "x.qrels", "x.run", "--allow-degraded").status == 0
        server.faults = Faults()
        assert ask("run", "t.tsv", "--mode", "fused", "-o", "x.run").status == 0
        assert ask("eval", "x.qrels", "x.run").status == 0


def test_a_folder_that_the_index_has_not_is_refused(place: Path) -> None:
    """Exit status 2 as for `search`, and no file is written."""
    search = run_knowledge("search", "frost", "--under", "polices", cwd=place)
    done = run_knowledge(
        "run", TOPICS, "--mode", "lexical", "--under", "polices", "-o", "u.run", cwd=place
    )
    assert (search.status, done.status, done.out) == (2, 2, "")
    assert "no indexed document lies under 'polices'" in done.err
    assert not (place / "u.run").exists()
    why = run_knowledge("explain", "frost", "history.md", "--under", "polices", cwd=place)
    assert (why.status, why.out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", QRELS, "lexical.run", "-m", "nDCG@0"), "1 to 1,000,000"),
        (("eval", QRELS, "lexical.run", "-m", "P"), "write P@10"),
        (("eval", QRELS, "lexical.run", "-m", "P(foo=1)@5"), "no parameter 'foo'"),
        (("eval", QRELS, "lexical.run", "-m", "Accuracy"), "Accuracy"),
        (("eval", "bad.qrels", "lexical.run"), "the grade is a whole number"),
        (("eval", QRELS, "bad.run"), "whole number"),
        (("eval", QRELS, "chunks.run"), "not one docno of run"),
        (("compare", "--a", "lexical.run", "--b", "chunks.run"), "no name in common"),
        (("run", TOPICS, "--weights", "0", "0"), "turn every ranking off"),
        (("run", "few.tsv", "--mode", "lexical", "-o", "lexical.run"), "--overwrite"),
        (("explain", "frost", "history.md", "--weights", "0", "0"), "turn every ranking off"),
        (("explain", "frost", "history.md", "-k", "20000"), "10,000"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_used_is_refused(
    place: Path, arguments: tuple[str | Path, ...], said: str
) -> None:
    """Exit status 2 and one line, never a traceback."""
    (place / "bad.qrels").write_text("t01 0 a.md x\n", "utf-8")
    (place / "bad.run").write_text("t01 Q0 a.md 1.0 x t\n", "utf-8")
    (place / "few.tsv").write_text("qid\tquery\nt01\tfrost\n", "utf-8")
    if "chunks.run" in arguments and not (place / "chunks.run").exists():
        ask = ("run", TOPICS, "--mode", "lexical", "--unit", "chunk", "-o", "chunks.run")
        assert run_knowledge(*ask, cwd=place).status == 0
    done = run_knowledge(*arguments, cwd=place)
    assert (done.status, done.out) == (2, ""), done.err
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
