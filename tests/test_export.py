"""Exports: whole, unchanged by the round trip, safe in a spreadsheet, and verifiable."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_nb.audit.table import Table
from knowledge_nb.errors import (
    ConfigurationError,
    ExportError,
    ExportTargetError,
    IndexNotBuiltError,
    NotFoundError,
    QueryError,
)
from knowledge_nb.export import cells
from knowledge_nb.export.files import decode, encode, fill_table
from knowledge_nb.export.tables import COLUMNS
from knowledge_nb.knowledge_base import open as open_knowledge
from knowledge_nb.notebook import frames
from tests.audit.conftest import CORPUS, DATA, Place, make

FORMATS = ["csv", "json", "jsonl", "parquet"]

texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
values = st.tuples(
    texts
    | st.sampled_from(["=1+1", "'=1", "''-2", "- list", "@x", "\tx", "＝1", 'a"b,c\r\nd', "\r"]),
    st.one_of(st.none(), st.integers(-(2**53), 2**53)),
    st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    st.booleans(),
)
KINDS = {"=text": "text", "number of": "integer", "score": "number", "flag": "boolean"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """The small corpus of the audit tests, indexed."""
    place = make(tmp_path, CORPUS)
    yield place
    place.kb.close()


def meta(path: Path) -> dict[str, object]:
    """The side file of an export."""
    found: dict[str, object] = json.loads(Path(f"{path}.meta.json").read_bytes())
    return found


# -- cells and files -------------------------------------------------------------------------


@given(st.text())
def test_a_guarded_text_comes_back(text: str) -> None:
    """Whatever it begins with, apostrophes included; and what is guarded is never run."""
    guarded = cells.neutralise(text)
    assert cells.restore(guarded) == text
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@pytest.mark.parametrize("form", FORMATS)
@settings(deadline=None, max_examples=40)
@given(rows=st.lists(values, max_size=8), bom=st.booleans(), neutralise=st.booleans())
def test_every_cell_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    rows: list[tuple[object, ...]],
    bom: bool,
    neutralise: bool,
) -> None:
    """Newlines, quotes, formulas, missing numbers: written and read, the rows are the same."""
    table = Table("any", dict(KINDS), tuple(rows))  # type: ignore[arg-type]
    path = tmp_path_factory.mktemp("cells") / f"x.{form}"
    path.touch()
    fill_table(table, form, bom=bom, neutralise=neutralise)(path)
    held = decode(path, form, table.columns, neutralised=neutralise and form == "csv")
    assert held == cells.plain_rows(table)
    assert cells.rows_hash(table.columns, held) == cells.rows_hash(
        table.columns, cells.plain_rows(table)
    )


def test_csv_is_read_by_others_too() -> None:
    """The csv module and pandas give the same cells; a BOM is not a part of a name (C03)."""
    title = "Łódź – Größe 東京"
    cell = 'two\r\nlines, a "quote"\rand\nmore'
    table = Table("any", {"title": "text", "n": "integer"}, ((title, 1), (cell, None)))
    for bom in (False, True):
        written = encode(table, "csv", bom=bom, neutralise=True)
        assert written.startswith(b"\xef\xbb\xbf") is bom
        lines = list(csv.reader(io.StringIO(written.decode("utf-8-sig"), newline="")))
        assert lines == [["title", "n"], [title, "1"], [cell, ""]]
        frame = pd.read_csv(io.BytesIO(written), encoding="utf-8-sig", dtype={"n": "Int64"})
        assert list(frame.columns) == ["title", "n"]
        assert frame["title"].tolist() == [title, cell]
        assert frame["n"].isna().tolist() == [False, True]


def test_numbers_are_never_guarded(place: Place) -> None:
    """A negative score stays a number; a heading `-2+3` and a path `=cmd.md` are guarded (C01)."""
    table = Table("any", {"score": "number", "text": "text"}, ((-3.25, "-2+3"), (-1.0, "- list")))
    written = encode(table, "csv", bom=False, neutralise=True).decode()
    assert written == "score,text\r\n-3.25,'-2+3\r\n-1.0,'- list\r\n"
    out = place.folder.parent / "brass.csv"
    report = place.kb.enumerate("brass").export(out)
    assert report.neutralised == 2
    with out.open(newline="") as file:
        paths = [row["path"] for row in csv.DictReader(file)]
    assert "'=cmd.md" in paths
    place.kb.enumerate("brass").export(out, neutralise=False)
    assert "'=cmd.md" not in out.read_text()


# -- frames ----------------------------------------------------------------------------------


def test_columns_are_those_of_the_frames() -> None:
    """A row exported by the shell and one exported from a notebook have the same cells."""
    types = {"int64": "integer", "Int64": "integer", "float64": "number", "str": "text"}
    for kind, columns in COLUMNS.items():
        declared = frames.COLUMNS[kind]
        assert list(columns) == list(declared)
        for name, type_ in columns.items():
            assert types.get(declared[name], "time") == type_


@pytest.mark.parametrize("form", FORMATS)
def test_every_verb_exports_and_verifies(place: Place, form: str) -> None:
    """Whatever the frame, its export is verified as the same by asking again."""
    kb, folder = place.kb, place.folder.parent
    union = kb.match_set("brass") | ~kb.match_set("harbour")
    answers = {
        "enumerate": kb.enumerate("lantern", min_body_matches=1),
        "under": kb.enumerate("harbour", sort="path", under="sub"),
        "none": kb.enumerate("zarquon"),
        "vocabulary": kb.vocabulary(prefix="l"),
        "search": kb.search("brass lantern"),
        "sources": kb.sources(),
        "coverage": kb.coverage([("lantern", "L", "g"), ("a OR b",), ("universes",)]),
        "groups": kb.coverage(["lantern"], by="group"),
        "audit": kb.audit_files(),
        "union": union.frame(),
        "sql": kb.sql("SELECT path, bytes, modified FROM documents WHERE bytes > ?", [10]),
        "statistic": kb.statistics.by_folder(2),
        "zipf": kb.statistics.zipf(),
    }
    report = answers["coverage"]
    for part in ("uncovered", "smallest_cover", "stem_gain", "overlap", "by_folder"):
        answers[part] = getattr(report, part)
    answers["deep"] = report.folders(2)
    for name, frame in answers.items():
        path = folder / f"{name}.{form}"
        written = frame.export(path)
        assert written.rows == len(frame), name
        found = kb.verify_export(path)
        assert found.result.same, (name, found, found.result)
        assert len(found) == 0
        assert found.result.repeatable


def test_the_side_file_says_what_the_file_is(place: Place) -> None:
    """Query, compiled form, totals, completeness, generation, versions and a hash of the rows."""
    path = place.folder.parent / "out.csv"
    frame = place.kb.enumerate("Lantern")
    report = frame.export(path)
    found = meta(path)
    assert found["query"] == "Lantern"
    assert found["compiled"] == frame.result.compiled
    assert found["totals"] == {"matched": 2}
    assert found["completeness_statement"] == frame.result.completeness.statement()
    assert found["generation"] == place.kb.core.generation()
    assert {"knowledge_nb", "sqlite", "python"} <= set(found["versions"])  # type: ignore[call-overload]
    assert found["rows"] == {"count": 2, "sha256": report.rows_sha256}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["file"]["sha256"] == digest  # type: ignore[index]
    assert str(report).startswith(f"2 rows written to {path}")


def test_an_export_is_never_a_page(place: Place, tmp_path: Path) -> None:
    """A cut answer is refused, and so are frames that lost their answer."""
    with pytest.raises(ExportError, match="1 of 2 documents"):
        place.kb.enumerate("lantern", limit=1).export(tmp_path / "x.csv")
    with pytest.raises(ExportError, match="never a page"):
        place.kb.vocabulary(limit=3).export(tmp_path / "x.csv")
    assert not hasattr(place.kb.enumerate("lantern").head(1), "export")
    assert not list(tmp_path.glob("x.csv*"))


def test_missing_text_is_empty_and_never_a_word(place: Place, tmp_path: Path) -> None:
    """Not "None", not "nan" (C05)."""
    frame = place.kb.search("harbour")
    frame.export(tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text()
    assert "None" not in text
    assert "nan" not in text
    rows = json.loads(_exported(frame, tmp_path / "x.json"))
    assert {row["vector_rank"] for row in rows} == {None}
    assert "" in {row["heading"] for row in rows}


def _exported(frame: object, path: Path) -> bytes:
    frame.export(path)  # type: ignore[attr-defined]
    return path.read_bytes()


def test_targets_that_cannot_be_written(place: Place, tmp_path: Path) -> None:
    """A directory, a missing folder, a read-only file, an unknown suffix, the store."""
    frame = place.kb.enumerate("lantern")
    kept = tmp_path / "kept.csv"
    kept.write_text("kept")
    kept.chmod(0o444)
    (tmp_path / "dir.csv").mkdir()
    store = place.kb.core.files.directory
    for path, kind, message in (
        (tmp_path / "dir.csv", ExportError, "is a directory"),
        (tmp_path / "no" / "x.csv", ExportTargetError, "No such file"),
        (kept, ExportTargetError, "read-only"),
        (tmp_path / "x.xlsx", ExportError, "names no format"),
        (store / "x.csv", ExportError, "the store's own directory"),
    ):
        with pytest.raises(kind, match=message):
            frame.export(path)
    with pytest.raises(ExportError, match="no regular file"):
        frame.export(os.devnull, format="csv")
    with pytest.raises(ExportError, match="format is one of"):
        frame.export(tmp_path / "x.csv", format="excel")
    assert kept.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("dir.csv", "docs", "kept.csv", "store"),
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_leaves_the_old_file(place: Place, tmp_path: Path, form: str) -> None:
    """The error names the file; the old one and its side file are as they were."""
    path = tmp_path / f"x.{form}"
    place.kb.enumerate("brass").export(path)
    before = path.read_bytes(), meta(path)
    script = (
        "import resource, signal, sys, knowledge_nb\n"
        "kb = knowledge_nb.open(sys.argv[1])\n"
        "frame = kb.enumerate('lantern')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"  # no file may grow past it
        "try:\n    frame.export(sys.argv[2])\n"
        "except knowledge_nb.ExportTargetError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, place.kb.core.files.directory, path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"cannot write {path}" in done.stdout
    assert (path.read_bytes(), meta(path)) == before
    assert not list(tmp_path.glob(".knowledge-export*"))


def test_an_interrupted_export_leaves_the_old_file(place: Place, tmp_path: Path) -> None:
    """Stopped after the rows were written and before the rename: nothing changed."""
    from knowledge_nb.export.files import Target

    path = tmp_path / "x.csv"
    path.write_text("kept")

    def stop(beside: Path) -> None:
        beside.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Target(path).write(stop)
    assert path.read_text() == "kept"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["docs", "store", "x.csv"]


def test_parquet_has_typed_columns(place: Place, tmp_path: Path) -> None:
    """Read by another program: text, whole numbers and numbers as such."""
    place.kb.coverage(["lantern"]).export(tmp_path / "x.parquet")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM '{tmp_path}/x.parquet'")
        types = {column[0]: str(column[1]) for column in found.description}
    assert types["documents"] == "BIGINT"
    assert types["share"] == "DOUBLE"
    assert types["term"] == "VARCHAR"


# -- verify ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
def test_verify_tells_what_became_of_each_document(place: Place, tmp_path: Path, form: str) -> None:
    """New, changed and gone, each with its cause; what is not in either set is not told."""
    path = tmp_path / f"x.{form}"
    place.kb.enumerate("harbour lantern").export(tmp_path / "other.csv")
    place.kb.enumerate("brass").export(path)
    place.write("new.md", "A brass bell.\n")
    place.write("a.md", "# Lanterns\n\nNothing is here.\n")
    place.write("sub/c.txt", "A brass harbour.\n")
    os.unlink(place.folder / "=cmd.md")
    place.write("sub/other.txt", "no such word\n")
    place.index()
    found = place.kb.verify_export(path)
    assert not found.result.same
    assert found.result.untouched
    told = {row.row: (row.change, row.cause) for row in found.itertuples()}
    assert told == {
        "new.md": ("added", "document new in the index"),
        "a.md": ("removed", "document changed"),
        "sub/c.txt": (
            "added",
            "document was there and was not in the set: its text, or the answer, changed",
        ),
        "=cmd.md": ("removed", "document gone from the index"),
    }
    assert place.kb.verify_export(tmp_path / "other.csv").result.same is False


def test_verify_tells_a_changed_row(place: Place, tmp_path: Path) -> None:
    """A document that still matches, in another number of chunks."""
    path = tmp_path / "x.csv"
    place.kb.enumerate("brass").export(path)
    place.write("a.md", "# Lanterns\n\nbrass\n\n## More\n\nbrass\n")
    place.index()
    found = place.kb.verify_export(f"{path}.meta.json")
    (row,) = found.itertuples()
    assert (row.row, row.change) == ("a.md", "changed")
    assert "document changed; other body_matches, chunks" in row.cause


def test_verify_tells_an_edited_file(place: Place, tmp_path: Path) -> None:
    """Other bytes with the same rows are told from other rows."""
    path = tmp_path / "x.csv"
    place.kb.enumerate("brass").export(path)
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    found = place.kb.verify_export(path)
    assert (found.result.untouched, found.result.rows_untouched) == (False, True)
    assert found.result.same
    path.write_bytes(path.read_bytes().replace(b"a.md,", b"z.md,"))
    found = place.kb.verify_export(path)
    assert not found.result.rows_untouched
    assert not found.result.same
    assert {row.row for row in found.itertuples()} == {"a.md", "z.md"}


def test_verify_refuses_what_it_cannot_read(place: Place, tmp_path: Path) -> None:
    """No side file, a torn one, another table, a binary, and never the store."""
    path = tmp_path / "x.csv"
    with pytest.raises(ExportTargetError, match="no side file"):
        place.kb.verify_export(path)
    place.kb.enumerate("brass").export(path)
    side, good = Path(f"{path}.meta.json"), path.read_bytes()
    for broken in (b"\xff", b"a,b\r\n1\r\n", b'path,"\r\n', b"path\r\n", b""):
        path.write_bytes(broken)
        with pytest.raises(ExportError):
            place.kb.verify_export(path)
    path.write_bytes(good)
    record = side.read_text()
    for torn in ("{", "[]", "{}", record.replace('"meta_version": 1', '"meta_version": 9')):
        side.write_text(torn)
        with pytest.raises(ExportError):
            place.kb.verify_export(path)
    side.write_text(record)
    database = place.kb.core.files.database
    with place.kb.core.reader.snapshot():
        held = place.locks()
        os.unlink(path)
        path.symlink_to(database)
        for target in (database, path):
            with pytest.raises(ExportTargetError, match="the store itself"):
                place.kb.verify_export(target)
        assert place.locks() == held


def test_verify_against_another_or_no_store(place: Place, tmp_path: Path) -> None:
    """An index made anew is told; without one there is nothing to ask."""
    path = tmp_path / "x.csv"
    place.kb.enumerate("brass").export(path)
    kb = open_knowledge(tmp_path / "second")
    with pytest.raises(IndexNotBuiltError):
        kb.verify_export(path)
    place.write("new.md", "brass\n")
    kb.index(place.folder)
    found = kb.verify_export(path)
    (row,) = found.itertuples()
    assert row.cause == "document new or changed: the index was made anew since"
    kb.close()


# -- saved sets ------------------------------------------------------------------------------


def test_a_saved_set_is_compared_with_now(place: Place) -> None:
    """Added, removed and kept, with the cause; the file lies beside the database."""
    kb = place.kb
    assert len(kb.saved()) == 0
    assert kb.save("brass things", kb.enumerate("brass")).startswith("brass things: 2 documents")
    files = kb.core.files.directory / "saved"
    assert [file.name for file in files.iterdir()] == ["brass things.json"]
    assert (files / "brass things.json").stat().st_mode & 0o077 == 0
    place.write("new.md", "A brass bell.\n")
    place.write("a.md", "# Lanterns\n\nMore brass.\n")
    os.unlink(place.folder / "=cmd.md")
    place.index()
    diff = kb.saved("brass things")
    assert list(diff.itertuples(index=False, name=None)) == [
        ("new.md", "added", "document new in the index"),
        ("=cmd.md", "removed", "document gone from the index"),
        ("a.md", "kept", "document changed, and is still in it"),
    ]
    assert diff.result.counts == {"added": 1, "removed": 1, "kept": 1}
    listed = kb.saved()
    assert listed["name"].tolist() == ["brass things"]
    assert listed["documents"].tolist() == [2]
    assert listed["query"].tolist() == ["brass"]


def test_what_can_be_saved(place: Place) -> None:
    """Sets, expressions, uncovered documents, and a frame of one's own."""
    kb = place.kb
    kb.save("expression", kb.match_set("brass") - kb.match_set("lantern"))
    kb.save("frame", (kb.match_set("brass") | kb.match_set("tin")).frame())
    kb.save("uncovered", kb.coverage(["brass"]).uncovered)
    kb.save("all", kb.sources())
    kb.save("own", kb.sources().head(2))
    for name in ("expression", "frame", "uncovered", "all", "own"):
        assert kb.saved(name).result.same
    assert not kb.saved("own").result.asked_again
    with pytest.raises(ExportError, match="column `path`"):
        kb.save("words", kb.vocabulary())
    with pytest.raises(ExportError, match="never a page"):
        kb.save("page", kb.enumerate("brass", limit=1))


def test_names_of_saved_sets(place: Place) -> None:
    """A name is a file's name and no path; one is not overwritten unasked."""
    kb = place.kb
    frame = kb.enumerate("brass")
    for name in ("", ".", "../x", "a/b", "a\0b", "x" * 81, "-x", "a\nb", "con:"):
        with pytest.raises(ConfigurationError):
            kb.save(name, frame)
    kb.save("été 東京 v1.2_b", frame)
    with pytest.raises(ConfigurationError, match="saved already"):
        kb.save("e\u0301te\u0301 東京 v1.2_b", kb.enumerate("tin"))
    kb.save("été 東京 v1.2_b", kb.enumerate("tin"), overwrite=True)
    assert kb.saved("été 東京 v1.2_b")["path"].tolist() == ["b.md"]
    with pytest.raises(NotFoundError, match="there is: été"):
        kb.saved("other")
    kb.delete_saved("été 東京 v1.2_b")
    with pytest.raises(NotFoundError):
        kb.delete_saved("été 東京 v1.2_b")


def test_saved_sets_outlive_a_reset(place: Place) -> None:
    """They are not in the database, and say that the index was made anew."""
    kb = place.kb
    kb.save("brass", kb.enumerate("brass"))
    kb.reset(force=True)
    assert kb.saved()["name"].tolist() == ["brass"]
    with pytest.raises(IndexNotBuiltError):
        kb.saved("brass")
    place.write("new.md", "brass\n")
    place.index()
    diff = kb.saved("brass")
    assert diff.result.counts == {"added": 1, "removed": 0, "kept": 2}
    assert diff["cause"][0] == "document new or changed: the index was made anew since"


def test_no_empty_file_from_no_index(tmp_path: Path) -> None:
    """Every way to a frame refuses before there is anything to export."""
    kb = open_knowledge(tmp_path / "store")
    for ask in (
        lambda: kb.enumerate("a word"),
        lambda: kb.coverage(["a word"]),
        lambda: kb.sources(),
        lambda: kb.match_set("word"),
    ):
        with pytest.raises(IndexNotBuiltError):
            ask().export(tmp_path / "x.csv")
    assert not list(tmp_path.glob("x.csv*"))
    kb.close()


def test_the_sample_list_is_exported_whole(tmp_path: Path) -> None:
    """The hand-over of the notebook: 55 terms, in three scripts, verified."""
    kb = open_knowledge(tmp_path / "store")
    kb.index(DATA / "handbook")
    frame = kb.coverage(DATA / "terms.csv")
    frame.export(tmp_path / "report.csv", bom=True)
    with (tmp_path / "report.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [row["term"] for row in rows] == frame["term"].tolist()
    assert kb.verify_export(tmp_path / "report.csv").result.same
    kb.close()


# -- what somebody did to the file -----------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet"])
def test_an_edited_file_is_not_laid_on_the_index(place: Place, tmp_path: Path, form: str) -> None:
    """A row taken out, put in or changed by hand: the answer is as it was then, and is said so."""
    kb = place.kb
    path = tmp_path / f"brass.{form}"
    whole = kb.enumerate("brass")
    whole.export(path)
    meta = (tmp_path / f"brass.{form}.meta.json").read_bytes()
    cut = tmp_path / f"cut.{form}"
    kb.coverage(["brass"]).export(tmp_path / f"other.{form}")
    # The rows of another answer under this side file.
    kb.enumerate("lantern").export(cut)
    path.write_bytes(cut.read_bytes())
    (tmp_path / f"brass.{form}.meta.json").write_bytes(meta)
    found = kb.verify_export(path)
    assert not found.result.same
    assert len(found) == 3
    assert set(found["cause"]) == {"the file was edited: the answer is as it was then"}
    place.write("new.md", "brass\n")
    place.index()
    assert set(kb.verify_export(path)["cause"]) == {
        "the file was edited, and the answer is another too: which it is, is unknown"
    }


def test_an_edited_side_file_proves_nothing(place: Place, tmp_path: Path) -> None:
    """Its own checksum tells; the answer is never "same" then."""
    kb = place.kb
    path = tmp_path / "brass.csv"
    kb.enumerate("brass", under="").export(path)
    found = kb.verify_export(path).result
    assert (found.same, found.side_file_untouched) == (True, True)
    assert found.question == "enumerate brass"
    assert found.completeness.documents == 6
    beside = tmp_path / "brass.csv.meta.json"
    meta = json.loads(beside.read_bytes())
    meta["exported"], meta["totals"]["matched"] = "2019-01-01T00:00:00Z", 999
    beside.write_text(json.dumps(meta))
    found = kb.verify_export(path).result
    assert not found.same
    assert found.headline().startswith("Not to be told: the side file was edited")
    assert any("prove nothing" in note for note in found.notes)


def test_an_audit_names_the_states(place: Place, tmp_path: Path) -> None:
    """What became of a file on disk, not of its document in the index."""
    kb = place.kb
    kb.audit_files().export(tmp_path / "files.csv")
    (place.folder / "a.md").unlink()
    (row,) = kb.verify_export(tmp_path / "files.csv").itertuples()
    assert (row.row, row.change, row.cause) == (
        "a.md", "changed", "other state: indexed then, gone now",
    )  # fmt: skip


def test_infinity_is_kept_or_refused(place: Place, tmp_path: Path) -> None:
    """CSV and Parquet hold it; JSON cannot, and an empty cell would be another answer."""
    frame = place.kb.sql("SELECT 'inf'::DOUBLE AS a, '-inf'::DOUBLE AS b, NULL::DOUBLE AS c")
    for form in ("csv", "parquet"):
        frame.export(tmp_path / f"x.{form}")
        assert place.kb.verify_export(tmp_path / f"x.{form}").result.same
    assert (tmp_path / "x.csv").read_text().splitlines() == ["a,b,c", "inf,-inf,"]
    for form in ("json", "jsonl"):
        with pytest.raises(ExportError, match="infinite"):
            frame.export(tmp_path / f"x.{form}")
        assert not (tmp_path / f"x.{form}").exists()


def test_a_saved_set_keeps_its_folder_and_its_notes(place: Place) -> None:
    """What the answer was restricted to, and what was left out of the question."""
    kb = place.kb
    kb.save("below", kb.enumerate("harbour -x", under="sub"))
    (row,) = kb.saved().itertuples()
    assert (row.under, row.documents) == ("sub", 1)
    diff = kb.saved("below").result
    assert diff.saved.under == "sub"
    assert any("-x" in note for note in diff.notes)
    folder = kb.core.files.directory / "saved"
    (folder / "junk.json").write_text("{}")
    listed = kb.saved().set_index("name")
    assert listed.loc["below", "documents"] == 1
    assert listed["documents"].isna().tolist() == [False, True]
    assert "no saved set" in listed.loc["junk", "error"]
    for wrong in ("brass", None, 7):
        with pytest.raises(ConfigurationError, match="no answer to save"):
            kb.save("wrong", wrong)


def test_sets_have_no_truth_value(place: Place) -> None:
    """`a or b` is no union: Python would give `a`."""
    one, other = place.kb.match_set("brass"), place.kb.match_set("tin")
    for wrong in (lambda: one or other, lambda: one and other, lambda: not one):
        with pytest.raises(TypeError, match="no truth value"):
            wrong()


def test_sql_takes_one_statement(place: Place) -> None:
    """The rows of two would be those of the last."""
    with pytest.raises(QueryError, match="holds 2 statements"):
        place.kb.sql("SELECT path FROM documents; SELECT 1 WHERE false")
    for nothing in ("", "-- only a remark", ";"):
        with pytest.raises(QueryError, match="holds 0 statements"):
            place.kb.sql(nothing)
    assert len(place.kb.sql("SELECT path FROM documents; -- and a remark")) == 6
    assert str(place.kb.sql("SELECT current_timestamp AS now")["now"].dtype).startswith("datetime")


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_frame_that_was_changed_is_no_answer(place: Place, tmp_path: Path) -> None:
    """Its rows would be told as the whole answer; another order of them is the same answer."""
    kb = place.kb
    makers = [
        lambda: kb.enumerate("harbour"),
        lambda: kb.search("harbour lantern"),
        lambda: kb.vocabulary(prefix="l"),
        lambda: kb.coverage(["harbour", "brass"]),
        lambda: kb.coverage(["harbour", "brass"]).uncovered,
        lambda: kb.audit_files(),
        lambda: kb.sql("SELECT path FROM documents"),
        lambda: kb.statistics.by_folder(),
        lambda: (kb.match_set("brass") | kb.match_set("tin")).frame(),
    ]
    for number, make_frame in enumerate(makers):
        frame = make_frame()
        frame.drop(frame.index[:1], inplace=True)
        file = tmp_path / f"{number}.csv"
        with pytest.raises(ExportError, match="changed in place"):
            frame.export(file)
        assert not file.exists()
        frame = make_frame()
        frame.sort_values(frame.columns[0], ascending=False, inplace=True, ignore_index=True)
        frame.export(file)
        assert kb.verify_export(file).result.rows_untouched
    frame = kb.enumerate("harbour")
    frame["body_matches"] = 99
    with pytest.raises(ExportError, match="changed in place"):
        kb.save("changed", frame)
    assert kb.saved().empty
    assert kb.save("own", pd.DataFrame(frame)).startswith("own: 2 documents")


def test_another_store_is_not_asked_in_place_of_the_first(place: Place, tmp_path: Path) -> None:
    """An empty answer of another corpus is not the same; an index made anew of this one may be."""
    absent, held = tmp_path / "absent.json", tmp_path / "held.csv"
    place.kb.enumerate("ransomware").export(absent)
    place.kb.enumerate("brass").export(held)
    (tmp_path / "other").mkdir()
    other = make(tmp_path / "other", {"x.md": "a word\n"})
    for file in (absent, held):
        found = other.kb.verify_export(file).result
        assert (found.same, found.other_store) == (False, True)
        assert found.headline().startswith("Not to be told: this is another store")
        assert {each.cause for each in found.differences} <= {"another store"}
    other.kb.close()
    place.kb.reset(force=True)
    place.index()
    assert place.kb.verify_export(absent).result.same


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("question", {"verb": "enumerate", "arguments": {"query": "brass", "undr": ""}}),
        ("question", {"verb": ["enumerate"], "arguments": {}}),
        ("question", {"verb": "enumerate", "arguments": 5}),
        ("question", {"verb": "coverage", "arguments": {"query": "brass"}}),
        ("documents", []),
        ("file", {"format": "csv"}),
        ("rows", []),
        ("columns", 7),
    ],
)
def test_a_side_file_of_nonsense_is_refused(
    place: Place, tmp_path: Path, key: str, value: object
) -> None:
    """One readable error, never a trace of ours."""
    file = tmp_path / "brass.csv"
    place.kb.enumerate("brass").export(file)
    beside = tmp_path / "brass.csv.meta.json"
    meta = json.loads(beside.read_bytes())
    meta[key] = value
    beside.write_text(json.dumps(meta))
    with pytest.raises(ExportError, match="edited since it was written"):
        place.kb.verify_export(file)
