"""DuckDB beside a live store: one snapshot, and no statement that costs us a lock."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from knowledge_nb.audit.private import PREFIX, PrivateDirectory, sweep
from knowledge_nb.audit.snapshot import FileAccessWarning, extension_file
from knowledge_nb.errors import CorpusEmptyError, IndexNotBuiltError, QueryError
from knowledge_nb.knowledge_base import open as open_knowledge
from tests.audit.conftest import Place
from tests.processes import running

linux = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="/proc/locks is Linux's")

# What a user may type at it. `{db}` is the live file.
STATEMENTS = [
    "ATTACH '{db}'",
    "ATTACH '{db}' AS live (TYPE sqlite)",
    "ATTACH '{db}' AS live (TYPE sqlite, READ_ONLY)",
    "ATTACH '{db}' AS live (TYPE duckdb)",
    "ATTACH 'knowledge.db'",
    "SELECT * FROM sqlite_scan('{db}', 'documents')",
    "SELECT * FROM sqlite_query('{db}', 'SELECT 1')",
    "SELECT * FROM read_blob('{db}')",
    "SELECT * FROM read_text('{db}')",
    "SELECT * FROM read_csv('{db}')",
    "SELECT * FROM sniff_csv('{db}')",
    "SELECT * FROM read_json('{db}')",
    "SELECT * FROM read_parquet('{db}')",
    "SELECT * FROM '{db}'",
    "SELECT * FROM glob('{db}*')",
    "COPY documents TO '{db}'",
    "COPY documents TO '{db}-wal'",
    "COPY (SELECT 1 AS a) TO '{db}' (FORMAT csv, USE_TMP_FILE false)",
    "CREATE TABLE memory.main.t (a INTEGER); COPY memory.main.t FROM '{db}'",
    "EXPORT DATABASE '{folder}'",
    "IMPORT DATABASE '{folder}'",
    "INSTALL sqlite",
    "INSTALL '{extension}'",
    "LOAD sqlite",
    "LOAD '{extension}'",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "PRAGMA enable_external_access = true",
    "SET allowed_paths = ['{db}']",
    "SET allowed_directories = ['{folder}']",
    "SET disabled_filesystems = ''",
    "SET autoload_known_extensions = true",
    "SET autoinstall_known_extensions = true",
    "SET allow_unsigned_extensions = true",
    "SET temp_directory = '{db}'",
    "SET secret_directory = '{folder}'",
    "SET home_directory = '{folder}'",
    "SET extension_directory = '{folder}'",
    "SET file_search_path = '{folder}'",
    "SET log_query_path = '{db}'",
    "PRAGMA enable_profiling = 'json'",
    "SET profiling_output = '{db}'",
    "SET logging_storage = 'file'",
    "CALL enable_logging(storage = 'file', storage_path = '{db}')",
    "CALL system.main.enable_logging(storage = 'file', storage_path = '{db}')",
    "CALL enable_logging('QueryLog', storage = 'stdout')",
    "SET lock_configuration = true",
    "CHECKPOINT",
    "FORCE CHECKPOINT knowledge",
    "DETACH knowledge",
    "USE memory; DETACH knowledge; ATTACH '{db}' AS knowledge",
    "VACUUM",
    "CREATE TABLE knowledge.main.mine AS SELECT 1",
    "DELETE FROM knowledge.main.documents",
    "DROP TABLE documents",
]


@linux
@pytest.mark.parametrize("external", ["bare", "configured"])
def test_our_locks_survive_every_statement(place: Place, external: str) -> None:
    """Refused or harmless: our locks on knowledge.db stay, and its bytes do too."""
    database = place.kb.core.files.database
    values = {
        "db": str(database),
        "folder": str(database.parent),
        "extension": str(extension_file()),
    }
    with place.kb.core.reader.snapshot():
        place.kb.sql("SELECT count(*) FROM terms")
        held = place.locks()
        assert held
        before = (database.stat().st_size, database.stat().st_mtime_ns)
        for statement in STATEMENTS:
            with place.kb.duckdb() as con:
                if external == "configured":
                    for setting in ("autoload_known_extensions", "autoinstall_known_extensions"):
                        con.execute(f"SET {setting} = true")
                try:
                    con.execute(statement.format(**values)).fetchall()
                    con.execute("SELECT 1").fetchall()
                except duckdb.Error:
                    pass
                assert place.locks() == held, statement
            assert place.locks() == held, statement
        assert (database.stat().st_size, database.stat().st_mtime_ns) == before
    assert place.kb.enumerate("lantern").result.matched == 2


@linux
@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH '{db}'",
        "SELECT * FROM sqlite_scan('{db}', 'documents')",
        "SELECT * FROM read_blob('{db}')",
        "COPY documents TO '{db}'",
        "LOAD sqlite",
        "SET enable_external_access = true",
    ],
)
def test_the_statements_that_would_open_the_live_file_are_refused(
    place: Place, statement: str
) -> None:
    """Not harmless by luck: DuckDB says no."""
    text = statement.format(db=place.kb.core.files.database)
    with pytest.raises(QueryError, match="DuckDB refused"):
        place.kb.sql(text)
    with place.kb.duckdb() as con, pytest.raises(duckdb.Error):
        con.execute(text)


@linux
def test_committed_rows_of_another_process_survive(place: Place) -> None:
    """The loss of report S01 does not happen: ours is not taken for gone, and no log is lost."""
    store = place.kb.core.files.directory
    with place.kb.core.reader.snapshot():
        place.kb.sql("SELECT count(*) FROM documents")
        place.kb.statistics.zipf()
        place.write("new.md", "A kestrel.\n")
        script = (
            "import sys\nfrom knowledge_nb.core import Core\n"
            "core = Core(sys.argv[1]); core.index(sys.argv[2]); core.close()\n"
        )
        subprocess.run([sys.executable, "-c", script, store, place.folder], check=True)
    assert list(place.kb.enumerate("kestrel")["path"]) == ["new.md"]
    assert place.kb.sql("SELECT count(*) AS n FROM documents")["n"].tolist() == [7]


def test_tables_hold_what_the_store_holds(place: Place) -> None:
    """Documents without title, chunks, folders, words, and the generation they are of."""
    with place.kb.duckdb() as con:
        assert isinstance(con, duckdb.DuckDBPyConnection)
        tables = {row[0] for row in con.execute("SHOW TABLES").fetchall()}
        assert tables == {
            *("documents", "chunks", "skipped_files", "other_types"),
            *("folders", "terms", "snapshot"),
        }
        columns = [row[0] for row in con.execute("DESCRIBE knowledge.documents").fetchall()]
        assert "title" not in columns
        paths = [row[0] for row in con.execute("SELECT path FROM documents").fetchall()]
        assert sorted(paths) == sorted(place.kb.sources()["path"])
        assert con.execute("SELECT sum(chunks) FROM documents").fetchone() == (
            con.execute("SELECT count(*) FROM chunks").fetchone()
        )
        folders = con.execute(
            "SELECT folder, documents, documents_below FROM folders ORDER BY folder"
        ).fetchall()
        assert folders == [(".", 3, 6), ("sub", 1, 3), ("sub/deep", 2, 2)]
        with pytest.raises(duckdb.Error, match="read-only"):
            con.execute("DELETE FROM documents")


def test_words_are_those_of_the_vocabulary(place: Place) -> None:
    """The word table has the vocabulary's counts, and chunks beside them."""
    listed = place.kb.vocabulary()
    found = place.kb.sql("SELECT * FROM terms ORDER BY documents DESC, word")
    for column in ("word", "stem", "documents", "occurrences"):
        assert found[column].tolist() == listed[column].tolist()
    chunks = dict(zip(found["word"], found["chunks"], strict=True))
    assert chunks["universe"] == 2
    assert chunks["harbour"] == 2


def test_the_word_table_is_built_when_first_asked_for(place: Place) -> None:
    """A question about documents does not pay for the words."""
    place.kb.sql("SELECT * FROM documents")
    with place.kb.duckdb(terms=False) as con:
        assert ("terms",) not in con.execute("SHOW TABLES").fetchall()
    assert len(place.kb.sql("SELECT word FROM Terms")) > 5
    with place.kb.duckdb(terms=False) as con:
        assert ("terms",) in con.execute("SHOW TABLES").fetchall()


def test_a_snapshot_is_reused_until_the_index_changes(place: Place) -> None:
    """Same state, same files; a new state is seen by the next question."""
    first = place.kb.sql("FROM snapshot")
    files = sorted(_snapshots(place)[0].iterdir())
    assert sorted(_snapshots(place)[0].iterdir()) == files
    assert place.kb.sql("FROM snapshot")["taken"].tolist() == first["taken"].tolist()
    assert first.result.generation == place.kb.core.generation()
    assert first.result.taken == first["taken"].iloc[0]
    place.write("new.md", "A kestrel.\n")
    place.index()
    later = place.kb.sql("SELECT count(*) AS n FROM documents")
    assert later["n"].tolist() == [7]
    assert later.result.generation == place.kb.core.generation() > first.result.generation
    assert len(_snapshots(place)) == 1


def test_a_snapshot_that_a_statement_overwrote_is_made_again(place: Place) -> None:
    """The one file that a statement can reach is the copy; the next question has a new one."""
    place.kb.sql("SELECT 1")
    (file,) = _snapshots(place)[0].glob("*.duckdb")
    with place.kb.duckdb(terms=False) as con:
        con.execute("USE memory")
        with contextlib.suppress(duckdb.Error):
            con.execute(f"COPY (SELECT 1) TO '{file}' (FORMAT csv, USE_TMP_FILE false)")
    assert place.kb.sql("SELECT count(*) AS n FROM documents")["n"].tolist() == [6]


def test_the_copy_is_private_and_goes_with_its_owner(place: Place) -> None:
    """Mode 0700 and no file that others can read, inside the store's own directory."""
    place.kb.sql("SELECT count(*) FROM terms")
    (folder,) = _snapshots(place)
    assert folder.parent == place.kb.core.files.directory
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = [file.name for file in folder.iterdir()]
    assert names
    assert all(name.endswith(".duckdb") for name in names)
    assert all(stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 for file in folder.iterdir())
    place.kb.close()
    assert _snapshots(place) == []
    assert place.kb.sql("SELECT 1 AS one")["one"].tolist() == [1]


def test_the_end_of_the_process_removes_the_copy(place: Place) -> None:
    """Also where nobody closed anything."""
    script = "import sys, knowledge_nb\nkb = knowledge_nb.open(sys.argv[1]); kb.sql('SELECT 1')\n"
    store = place.kb.core.files.directory
    subprocess.run([sys.executable, "-c", script, store], check=True)
    assert _snapshots(place) == []


def test_a_killed_process_leaves_it_to_the_next_use(place: Place) -> None:
    """The leavings of a dead process are removed; those of a living one stay."""
    script = (
        "import os, sys, knowledge_nb\n"
        "kb = knowledge_nb.open(sys.argv[1]); kb.sql('SELECT 1')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    store = place.kb.core.files.directory
    done = subprocess.run([sys.executable, "-c", script, store], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = _snapshots(place)
    other = PrivateDirectory(store)
    assert not left.exists()
    place.kb.sql("SELECT 1")
    assert other.path.exists()
    other.close()
    assert not other.path.exists()


def test_a_process_id_that_was_given_again_keeps_nothing_alive(tmp_path: Path) -> None:
    """The start time of the process is part of the name; foreign names are left alone."""
    mine = PrivateDirectory(tmp_path)
    parts = mine.path.name.split("-")
    reused = tmp_path / "-".join([*parts[:4], str(int(parts[4]) + 1), parts[5]])
    reused.mkdir()
    foreign = tmp_path / mine.path.name.replace(parts[2], "0" * 8)
    foreign.mkdir()
    (tmp_path / f"{PREFIX}-notes").mkdir()
    sweep(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {mine.path.name, foreign.name, f"{PREFIX}-notes"}
    os.utime(foreign, (1, 1))
    sweep(tmp_path)
    assert not foreign.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_removes_nothing_and_has_its_own(place: Place) -> None:
    """The parent's copy is there after the child ended."""
    place.kb.sql("SELECT 1")
    (folder,) = _snapshots(place)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        status = 1
        try:
            place.kb._close_audits()
            os.write(writing, str(folder.exists()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 10) == b"True"
    os.close(reading)
    assert folder.exists()
    assert place.kb.sql("SELECT 1 AS one")["one"].tolist() == [1]


def test_a_store_that_cannot_be_written_takes_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second place is used where the first is none."""
    missing = tmp_path / "missing"
    held = PrivateDirectory(missing, tmp_path)
    assert held.path.parent == tmp_path
    held.close()


@pytest.mark.parametrize("ask", ["kb.sql(slow)", "in_block(slow)"])
def test_ctrl_c_stops_a_statement(place: Place, ask: str) -> None:
    """DuckDB's word for it becomes KeyboardInterrupt, from `sql` and in a `with` block."""
    script = f"""
        import sys, knowledge_nb
        kb = knowledge_nb.open(sys.argv[1])
        def in_block(statement):
            with kb.duckdb() as con:
                con.execute(statement)
        slow = "SELECT count(*) FROM range({10**8}) a, range({10**8}) b WHERE a.range * b.range = 3"
        kb.sql("SELECT 1"); in_block("SELECT 1")
        print("ready", flush=True)
        try:
            {ask}
        except BaseException as error:
            print(type(error).__name__, flush=True)
        kb.close()
    """
    with running(script, place.kb.core.files.directory) as child:
        assert child.stdout is not None
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(child.stdout.readline)
            # DuckDB loses a signal that arrives while it imports; a person would press again.
            while child.poll() is None and not said.done():
                time.sleep(0.3)
                child.send_signal(signal.SIGINT)
            assert said.result().strip() == "KeyboardInterrupt"


def test_without_the_extension_package_everything_else_works(place: Place) -> None:
    """One line says how to install it, and no other verb needs it."""
    script = (
        "import sys\nsys.modules['duckdb_extension_sqlite_scanner'] = None\n"
        "import knowledge_nb\nkb = knowledge_nb.open(sys.argv[1])\n"
        "try:\n    kb.sql('SELECT 1')\n"
        "except knowledge_nb.MissingDependencyError as error:\n    print(error)\n"
        "print(len(kb.coverage(['lantern']).uncovered), kb.audit_files().result.differs)\n"
        "print(len(kb.match_set('lantern')), kb.enumerate('lantern').export(sys.argv[2]).rows)\n"
        "kb.close()\n"
    )
    out = place.folder.parent / "out.csv"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, place.kb.core.files.directory, out],
        capture_output=True,
        text=True,
        check=True,
    )
    first, *rest = done.stdout.splitlines()
    assert "python -m pip install 'duckdb-extension-sqlite-scanner==" in first
    assert rest == ["4 False", "2 2"]


def test_file_access_is_had_by_asking_and_warns(place: Place, tmp_path: Path) -> None:
    """Own files can be joined; the warning names the risk."""
    (tmp_path / "mine.csv").write_text("path,owner\na.md,Ada\n")
    with pytest.warns(FileAccessWarning, match="knowledge.db"), place.kb.duckdb(files=True) as con:
        found = con.execute(
            f"SELECT owner, bytes FROM documents JOIN '{tmp_path}/mine.csv' USING (path)"
        ).fetchall()
    assert found[0][0] == "Ada"


def test_own_tables_go_into_memory(place: Place) -> None:
    """A connection can hold tables of its own, and frames that are registered with it."""
    import pandas as pd

    owners = pd.DataFrame({"path": ["a.md"], "owner": ["Ada"]})
    with place.kb.duckdb() as con:
        con.register("owners", owners)
        con.execute("CREATE TABLE memory.main.mine AS SELECT * FROM owners")
        found = con.execute("SELECT owner FROM documents JOIN memory.mine USING (path)").fetchall()
    assert found == [("Ada",)]


def test_sql_has_frames_with_declared_types(place: Place) -> None:
    """Missing numbers are NA, missing text is empty, times are UTC, and none for no rows too."""
    frame = place.kb.sql(
        "SELECT path, modified, bytes, bytes / 2 AS half, bytes > 50 AS big,"
        " NULL::INTEGER AS none, NULL::VARCHAR AS no_text FROM documents ORDER BY path"
    )
    dtypes = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert dtypes == {
        "path": "str",
        "modified": "datetime64[us, UTC]",
        "bytes": "Int64",
        "half": "float64",
        "big": "boolean",
        "none": "Int64",
        "no_text": "str",
    }
    assert frame["none"].isna().all()
    assert frame["no_text"].tolist() == [""] * 6
    empty = place.kb.sql("SELECT path, bytes FROM documents WHERE path = ?", ["none"])
    assert list(empty.columns) == ["path", "bytes"]
    assert len(empty) == 0
    twice = place.kb.sql("SELECT 1 AS a, 2 AS a, $x AS x", {"x": 3})
    assert list(twice.columns) == ["a", "a_2", "x"]
    assert "1 row, from the snapshot of generation" in twice._repr_html_()


def test_a_refused_query_is_a_query_error(place: Place) -> None:
    """A misspelt table is told in DuckDB's words, also with vectors in the store (report D01)."""
    with pytest.raises(QueryError, match="documnets"):
        place.kb.sql("SELECT * FROM documnets")
    frame = 5
    with pytest.raises(QueryError, match="frame"):
        place.kb.sql("SELECT * FROM frame")
    assert frame == 5


def test_odd_text_is_whole(tmp_path: Path) -> None:
    """NUL, emoji and other scripts come out of SQL as `show` has them (report T10)."""
    kb = open_knowledge(tmp_path / "store")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "größe 東京.md").write_bytes("pre\0post 🎉 हिन्दी\n".encode())
    (tmp_path / "docs" / os.fsdecode(b"caf\xe9.md")).write_text("a word\n")
    kb.index(tmp_path / "docs")
    shown = kb.show("größe 東京.md")["text"].iloc[0]
    assert kb.sql("SELECT body FROM chunks")["body"].tolist() == [shown]
    skipped = kb.sql("SELECT path, reason FROM skipped_files")
    assert skipped["path"].tolist() == ["caf\\xe9.md"]
    kb.close()


def test_no_answer_without_a_corpus(tmp_path: Path) -> None:
    """Not built and empty are errors, and no directory is made for them."""
    kb = open_knowledge(tmp_path / "store")
    with pytest.raises(IndexNotBuiltError):
        kb.sql("SELECT 1")
    with pytest.raises(IndexNotBuiltError):
        kb.statistics.overview()
    (tmp_path / "docs").mkdir()
    kb.index(tmp_path / "docs")
    with pytest.raises(CorpusEmptyError), kb.duckdb():
        pass
    assert not list((tmp_path / "store").glob(f"{PREFIX}*"))
    kb.close()


def _snapshots(place: Place) -> list[Path]:
    return sorted(place.kb.core.files.directory.glob(f"{PREFIX}*"))
