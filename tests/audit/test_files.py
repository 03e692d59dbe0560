"""Disk against index: each file once, in the state that a person would give it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.errors import NotFoundError, RootError
from tests.audit.conftest import CORPUS, Place


def states(place: Place, **options: str) -> dict[str, tuple[str, str]]:
    """State and reason of each path."""
    frame = place.kb.audit_files(**options)
    return {row.path: (row.state, row.reason) for row in frame.itertuples()}


def test_nothing_differs_after_a_pass(place: Place) -> None:
    """Every document is as indexed, and the totals say so."""
    frame = place.kb.audit_files()
    assert set(frame["state"]) == {"indexed"}
    assert frame["path"].tolist() == sorted(CORPUS)
    assert frame["bytes"].tolist() == frame["indexed_bytes"].tolist()
    assert not frame.result.differs
    size = sum(len(text.encode()) for text in CORPUS.values())
    assert frame.result.totals["indexed"] == (6, size)
    assert frame.result.totals["gone"] == (0, 0)
    assert frame.chart()._repr_png_().startswith(b"\x89PNG")


def test_each_state(place: Place) -> None:
    """Changed, new, gone, skipped with the reason, other types; nothing is written."""
    generation = place.kb.core.generation()
    place.write("a.md", "# Lanterns\n\nNo more.\n")
    place.write("new.md", "fresh\n")
    place.write("b.md", b"\xff\xfe" + "text".encode("utf-16-le"))
    place.write("latin.txt", b"caf\xe9")
    place.write("big.md", b"x" * 600_000)
    place.write("picture.PNG", b"png")
    place.write("README", "no suffix\n")
    place.write(".git/config", "dot\n")
    (place.folder / "link.md").symlink_to(place.folder / "a.md")
    (place.folder / "link.png").symlink_to(place.folder / "picture.PNG")
    os.unlink(place.folder / "sub/c.txt")
    found = states(place)
    assert found["a.md"] == ("changed", "")
    assert found["new.md"] == ("new", "")
    assert found["b.md"][0] == "changed"
    assert found["b.md"][1].startswith("not UTF-8 (UTF-16")
    assert found["latin.txt"][0] == "skipped"
    assert found["big.md"] == ("skipped", "too large (over 512 KiB)")
    assert found["picture.PNG"] == ("skipped", "other type (.png)")
    assert found["README"] == ("skipped", "other type (no suffix)")
    assert found[".git"] == ("skipped", "dot directory")
    assert found["link.md"] == ("skipped", "symbolic link")
    assert found["link.png"] == ("skipped", "other type, symbolic link")
    assert found["sub/c.txt"] == ("gone", "no longer on disk")
    assert found["sub/deep/d.md"] == ("indexed", "")
    frame = place.kb.audit_files()
    assert frame.result.differs
    assert place.kb.core.generation() == generation
    place.index()
    after = place.kb.audit_files()
    assert not after.result.differs
    assert set(after["state"]) == {"indexed", "skipped"}


def test_bytes_decide_and_not_the_clock(place: Place) -> None:
    """A touched file is as indexed; an edit that keeps size and time is seen."""
    os.utime(place.folder / "a.md", (1, 1))
    before = (place.folder / "b.md").stat()
    text = (place.folder / "b.md").read_text().replace("tin", "tan")
    (place.folder / "b.md").write_text(text)
    os.utime(place.folder / "b.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    found = states(place)
    assert found["a.md"][0] == "indexed"
    assert found["b.md"][0] == "changed"


def test_under_reads_only_the_folder(place: Place) -> None:
    """What lies elsewhere is not listed, gone or not."""
    os.unlink(place.folder / "a.md")
    place.write("sub/new.md", "fresh\n")
    found = states(place, under="sub/deep")
    assert set(found) == {"sub/deep/d.md", "sub/deep/e.md"}
    assert states(place, under="sub/c.txt") == {"sub/c.txt": ("indexed", "")}
    assert states(place, under="sub")["sub/new.md"][0] == "new"


def test_a_missing_root_says_nothing(place: Place) -> None:
    """A disk that is not mounted does not make every document gone (report P04)."""
    place.folder.rename(place.folder.with_name("away"))
    with pytest.raises(RootError):
        place.kb.audit_files()


def test_what_cannot_be_read(place: Place) -> None:
    """A file and a folder without permission are unreadable, and the index is not vouched for."""
    (place.folder / "a.md").chmod(0)
    if os.access(place.folder / "a.md", os.R_OK):
        pytest.skip("the superuser reads everything")
    (place.folder / "sub").chmod(0)
    try:
        found = states(place)
    finally:
        (place.folder / "sub").chmod(0o700)
    assert found["a.md"][0] == "unreadable"
    assert found["sub/c.txt"] == ("unreadable", "its folder cannot be read")


def test_a_name_that_is_no_utf8(place: Place) -> None:
    """It is listed with its bytes escaped, and comes through the export (report P08)."""
    (place.folder / os.fsdecode(b"caf\xe9.md")).write_text("a word\n")
    frame = place.kb.audit_files()
    assert "caf\\xe9.md" in frame["path"].tolist()
    out = place.folder.parent / "files.csv"
    frame.export(out)
    assert "caf\\xe9.md" in out.read_text(encoding="utf-8")


def test_the_store_inside_the_folder_is_not_opened(tmp_path: Path) -> None:
    """Our locks survive an audit of the folder in which the store lies (report S03)."""
    from knowledge_nb.knowledge_base import open as open_knowledge

    (tmp_path / "a.md").write_text("a word\n")
    kb = open_knowledge(tmp_path / "store")
    kb.index(tmp_path)
    os.link(tmp_path / "store" / "knowledge.db", tmp_path / "sly.md")
    place = Place(tmp_path, kb)
    with kb.core.reader.snapshot():
        held = place.locks()
        frame = kb.audit_files()
        assert place.locks() == held
    found = dict(zip(frame["path"], frame["reason"], strict=True))
    assert found["store"] == "the store itself"
    assert found["sly.md"] == "the store itself"
    kb.close()


def test_folders_beside_the_base_are_looked_at(tmp_path: Path) -> None:
    """Roots that lie outside the corpus base: what is gone and new there is no agreement."""
    for name in ("one", "two", "never"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"frost {name}\n")
    with knb.open(tmp_path / "store") as kb:
        kb.index(tmp_path / "one", tmp_path / "two")
        assert set(kb.audit_files()["state"]) == {"indexed"}
        (tmp_path / "two" / "a.md").unlink()
        (tmp_path / "two" / "b.md").write_text("gamma\n")
        found = {row.path: row.state for row in kb.audit_files().itertuples()}
        assert found == {"a.md": "indexed", "../two/a.md": "gone", "../two/b.md": "new"}
        only = kb.audit_files(tmp_path / "two")
        assert only["state"].tolist() == ["gone", "new"]
        never = kb.audit_files(tmp_path / "never")
        assert never["state"].tolist() == ["new"]
        (note,) = never.result.notes
        assert note.startswith("No folder of this index: ../never.")
        with pytest.raises(NotFoundError, match="below none of the folders"):
            kb.audit_files(under="../never")
        assert kb.audit_files(under="../two")["state"].tolist() == ["gone", "new"]
        checks = {check.check: check.state for check in kb.doctor().result.checks}
        assert checks["files changed since"] == "fail"


def test_a_folder_that_is_not_there_is_no_agreement(place: Place) -> None:
    """An empty folder agrees; a name that nothing has is refused."""
    with pytest.raises(NotFoundError, match="'sup', neither on disk nor in the index"):
        place.kb.audit_files(under="sup")
    (place.folder / "empty").mkdir()
    assert place.kb.audit_files(under="empty").empty
    place.write("a.md", b"caf\xe9")
    notes = place.kb.audit_files().result.notes
    assert notes == (
        "`knowledge index` takes in what is changed and new, and takes out what has a "
        "reason above.",
    )
