"""The doctor says pass, fail or not run; what it did not look at it does not vouch for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.core import Core
from knowledge_nb.records import Check
from tests import processes
from tests.embedding.server import EmbeddingServer, hash_embedding
from tests.store.conftest import Place, filled, place  # noqa: F401 - fixtures
from tests.store.test_gate import EVERY_DAMAGE, Damage, foreign, no_database, random_pages

EMBEDDING = (
    "embeddings reachable",
    "dimension",
    "manifest matches",
    "unit length",
    "batch equals single",
    "whole text embedded",
    "chunks without a vector",
)


def checks(core: Core, **options: bool) -> dict[str, Check]:
    """Every check by name; none by two."""
    report = core.doctor(**options)
    found = {each.check: each for each in report.checks}
    assert len(found) == len(report.checks)
    assert report.ok == (not any(each.state == "fail" for each in found.values()))
    return found


def states(found: dict[str, Check], state: str) -> set[str]:
    """Names of the checks in a state."""
    return {name for name, each in found.items() if each.state == state}


def test_a_healthy_lexical_store_fails_nothing(filled: Place) -> None:  # noqa: F811
    """Without embeddings nothing fails; the checks of embeddings are not run, and say why."""
    found = checks(filled.core, integrity=True)
    assert states(found, "fail") == set()
    assert set(EMBEDDING) <= states(found, "not run")
    assert "no embeddings" in found["embeddings reachable"].message
    assert {"store present", "format", "write lock", "tokens", "index chunks_fts"} <= states(
        found, "pass"
    )


def test_an_unrun_check_is_not_a_pass(filled: Place) -> None:  # noqa: F811
    """Without --integrity it is said that integrity was not looked at."""
    assert checks(filled.core)["integrity"].state == "not run"


def test_nothing_built_is_a_failure_and_makes_nothing(tmp_path: Path) -> None:
    """Looking for a store does not make one."""
    core = Core(tmp_path / "knowledge")
    found = checks(core, integrity=True)
    assert states(found, "fail") == {"store present"}
    assert "knowledge index" in found["store present"].fix
    assert not (tmp_path / "knowledge").exists()


def test_the_doctor_changes_nothing(filled: Place) -> None:  # noqa: F811
    """Not a byte of the database differs afterwards, and the generation stays."""
    filled.core.close()
    before = filled.core.files.database.read_bytes()
    filled.core.doctor()
    filled.core.close()
    assert filled.core.files.database.read_bytes() == before
    generation = filled.core.generation()
    filled.core.doctor(integrity=True)
    assert filled.core.generation() == generation


@pytest.mark.parametrize("damage", EVERY_DAMAGE, ids=lambda damage: damage.__name__)
def test_the_doctor_opens_whatever_is_there(filled: Place, damage: Damage) -> None:  # noqa: F811
    """What the gate refuses is examined, fails with a fix, and is left as it is."""
    filled.core.close()
    damage(filled)
    before = filled.core.files.database.read_bytes()
    found = checks(filled.core, integrity=True)
    failed = states(found, "fail")
    assert failed
    assert all(found[name].fix for name in failed)
    filled.core.close()
    assert filled.core.files.database.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "reset"), [(random_pages, True), (foreign, False), (no_database, False)]
)
def test_reset_is_the_fix_of_damage_that_was_seen(
    filled: Place,  # noqa: F811
    damage: Damage,
    reset: bool,
) -> None:
    """Garbage in the pages is damage; a file that is not ours is to be moved away, not emptied."""
    filled.core.close()
    damage(filled)
    pages = checks(filled.core, integrity=True)["pages"]
    assert ("reset --force" in pages.fix) == reset, pages


def test_open_modes_fail(filled: Place) -> None:  # noqa: F811
    """A database that others can read is a failure that names the file and the mode."""
    os.chmod(filled.core.files.database, 0o644)
    found = checks(filled.core)["store private"]
    assert found.state == "fail"
    assert "0644" in found.message


def test_a_link_fails(filled: Place, tmp_path: Path) -> None:  # noqa: F811
    """A link in the database's place is refused, and the doctor says so."""
    filled.core.close()
    filled.core.files.database.rename(tmp_path / "real.db")
    filled.core.files.database.symlink_to(tmp_path / "real.db")
    assert "symbolic link" in checks(filled.core)["store private"].message


def test_files_that_changed_fail(filled: Place) -> None:  # noqa: F811
    """New, changed and gone files are counted by reading the disk."""
    filled.write("alpha.md", "changed")
    filled.write("new.md", "new")
    (filled.folder / "beta.md").unlink()
    found = checks(filled.core)["files changed since"]
    assert found.state == "fail"
    assert "1 changed, 1 new, 1 gone" in found.message
    assert "knowledge index" in found.fix


def test_files_skipped_are_a_warning(filled: Place) -> None:  # noqa: F811
    """What is left out is no failure, and is said with its reasons."""
    (filled.folder / "bad.md").write_bytes(b"\xff")
    filled.write("x.pdf", "")
    filled.core.index(filled.folder)
    found = checks(filled.core)["files skipped"]
    assert found.state == "pass"
    assert "1 not UTF-8" in found.message
    assert ".pdf" in found.message
    assert found.fix


def test_nothing_is_vouched_for_that_nothing_was_seen_of(filled: Place) -> None:  # noqa: F811
    """A store without a pass: what was skipped, and which scripts there are, is not known."""
    filled.core.reset(force=True)
    found = checks(filled.core)
    assert found["files skipped"].state == "not run"
    assert found["scripts without spaces"].state == "not run"


def test_a_missing_folder_fails(filled: Place) -> None:  # noqa: F811
    """A root that is gone fails; whether files changed is then not known, not fine."""
    filled.folder.rename(filled.folder.parent / "away")
    found = checks(filled.core)
    assert found["paths resolve"].state == "fail"
    assert found["files changed since"].state == "not run"


def test_an_unfinished_pass_fails(filled: Place) -> None:  # noqa: F811
    """A pass that was cut off is a failure until one completes."""

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.core.index(filled.folder, progress=stop)
    assert checks(filled.core)["last pass"].state == "fail"
    filled.core.index(filled.folder)
    assert checks(filled.core)["last pass"].state == "pass"


def test_a_writer_at_work_is_no_fault_but_stops_the_integrity_check(
    filled: Place,  # noqa: F811
) -> None:
    """Who holds the lock is said; integrity is not run, for that reason."""
    script = """
        import sys, time
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        with Writer.open(StoreFiles.at(sys.argv[1])):
            print("held", flush=True)
            time.sleep(600)
    """
    with processes.running(script, filled.core.files.directory) as holder:
        found = checks(filled.core, integrity=True)
        assert found["write lock"].state == "pass"
        assert f"process {holder.pid}" in found["write lock"].message
        assert found["tokens"].state == "not run"
        assert "write lock" in found["tokens"].message
        assert states(found, "fail") == set()


def test_another_unicode_version_fails(filled: Place) -> None:  # noqa: F811
    """Index and Python must see the same words."""
    filled.damage("UPDATE meta SET value = '3.2.0' WHERE key = 'unicode_version'")
    found = checks(filled.core)["Unicode"]
    assert found.state == "fail"
    assert "3.2.0" in found.message
    assert "--reindex" in found.fix


def test_an_index_of_an_earlier_release_fails(filled: Place) -> None:  # noqa: F811
    """Its documents were read by other rules; a pass says so, and a whole reindex mends it."""
    filled.damage("DELETE FROM meta WHERE key = 'text_rules'")
    found = checks(filled.core)["text rules"]
    assert (found.state, "--reindex" in found.fix) == ("fail", True)
    notes = filled.core.index(filled.folder).notes
    assert any("by an earlier release" in note for note in notes)
    assert checks(filled.core)["text rules"].state == "fail"
    assert filled.core.index(filled.folder, reindex=True).notes == ()
    assert checks(filled.core)["text rules"].state == "pass"
    assert filled.core.index(filled.folder).notes == ()


def test_documents_without_spaces_are_counted(filled: Place) -> None:  # noqa: F811
    """How many documents hold text in which words are not told apart."""
    filled.write("ja.md", "# 日本\n\n今日は良い天気です。")
    filled.write("th.md", "สวัสดี")
    filled.core.index(filled.folder)
    assert checks(filled.core)["scripts without spaces"].message.startswith("2 documents")


def test_stored_text_is_compared_with_the_file(filled: Place) -> None:  # noqa: F811
    """Damage of the content itself, which no rebuild finds, is found where the file is at hand."""
    filled.damage("UPDATE chunks SET body = replace(body, 'quagga', 'zebra')")
    found = checks(filled.core, integrity=True)["stored text equals file"]
    assert found.state == "fail"
    assert "beta.md" in found.message


def test_sqlite_versions_are_told_without_loading_another(filled: Place) -> None:  # noqa: F811
    """DuckDB's library is named by its package, and is not imported into this process."""
    script = (
        "import sys; from knowledge_nb.core import Core\n"
        "report = Core(sys.argv[1]).doctor(integrity=True)\n"
        "print([c.message for c in report.checks if c.check == 'SQLite'][0])\n"
        "print(sorted({'duckdb', 'pandas', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(filled.core.files.directory)],
        capture_output=True,
        text=True,
        check=True,
    )
    said, loaded = done.stdout.splitlines()
    assert "SQLite 3." in said
    assert "duckdb 1." in said
    assert loaded == "[]"


@pytest.fixture
def embedded(place: Place, tmp_path: Path) -> Callable[[str], Core]:  # noqa: F811
    """Make the core of the store with an embeddings server configured."""

    def make(url: str) -> Core:
        (tmp_path / "knowledge.toml").write_text(
            '[knowledge]\n[knowledge.embeddings]\nprovider = "openai"\nmodel = "m"\n'
            f'base_url = "{url}"\ntimeout = 5.0\n'
        )
        place.core.close()
        place.core = Core(tmp_path / "knowledge", config=tmp_path / "knowledge.toml")
        return place.core

    return make


def test_a_healthy_embedded_store_passes(
    place: Place,  # noqa: F811
    tmp_path: Path,
    embedded: Callable[[str], Core],
) -> None:
    """Reachable, same width, same model, unit length, batch as single, nothing missing."""
    with EmbeddingServer(hash_embedding) as server:
        core = embedded(server.url)
        place.write("a.md", "# Zebras\n\nThey run.")
        core.index(tmp_path)
        found = checks(core, integrity=True)
        assert states(found, "fail") == set()
        assert set(EMBEDDING) <= states(found, "pass")
        assert found["vectors"].state == "pass"


def test_an_unreachable_server_fails_once(
    place: Place,  # noqa: F811
    tmp_path: Path,
    embedded: Callable[[str], Core],
) -> None:
    """What could not be asked is not run; the store itself is fine."""
    with EmbeddingServer(hash_embedding) as server:
        core = embedded(server.url)
        place.write("a.md", "word")
        core.index(tmp_path)
    found = checks(core)
    assert states(found, "fail") == {"embeddings reachable"}
    assert found["unit length"].state == "not run"


def test_a_chunk_without_a_vector_fails(
    place: Place,  # noqa: F811
    tmp_path: Path,
    embedded: Callable[[str], Core],
) -> None:
    """P01, P03: what has no vector is counted until it has one."""
    with EmbeddingServer(hash_embedding) as server:
        core = embedded(server.url)
        place.write("a.md", "one")
        place.write("b.md", "two")
        core.index(tmp_path)
        place.damage(
            "UPDATE chunks SET vector_state = 'none' WHERE body = 'two'",
        )
        found = checks(core)["chunks without a vector"]
        assert found.state == "fail"
        assert "1 not embedded yet" in found.message
        assert checks(core, integrity=True)["vectors"].state == "fail"


def test_the_frames(tmp_path: Path) -> None:
    """kb.doctor(), kb.check() and kb.rebuild() have the same columns, built or not."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("word")
    with knb.open(tmp_path / "knowledge") as kb:
        columns = ["check", "state", "message", "fix"]
        assert list(kb.doctor().columns) == columns
        assert set(kb.check()["state"]) == {"not run"}
        kb.index(tmp_path / "notes")
        assert list(kb.rebuild().columns) == columns
        assert set(kb.check()["state"]) == {"pass", "not run"}
        assert kb.doctor(integrity=True).result.ok
        report = kb.backup(tmp_path / "copy.db")
        assert report.documents == 1
