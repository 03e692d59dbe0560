"""What a pass must not take away: folders out of reach, another base, files that came back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from knowledge_nb.indexing import pipeline
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.format import read_meta, write_meta
from knowledge_nb.text import UNICODE_VERSION
from tests.indexing.conftest import Notes


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o000])
def test_a_folder_that_cannot_be_searched_loses_nothing(notes: Notes, mode: int) -> None:
    """Names without a status, or none at all: what lies below is not known to be gone."""
    notes.write("sub/deep/a.md", "zebra")
    notes.write("sub/b.md", "zebra")
    notes.write("c.md", "zebra")
    notes.index()
    (notes.folder / "sub").chmod(mode)
    try:
        done = notes.index_as_plain_user(reconcile=True)
    finally:
        (notes.folder / "sub").chmod(0o755)
    assert done == "stale 2 removed 0\n"
    assert notes.holding("zebra") == ["c.md", "sub/b.md", "sub/deep/a.md"]
    assert set(notes.stale()) == {"sub/b.md", "sub/deep/a.md"}


def test_a_folder_that_cannot_be_read_was_not_renamed(notes: Notes) -> None:
    """Another folder of nearly the same name is another folder."""
    notes.write("Plans/a.md", "zebra")
    notes.index()
    (notes.folder / "Plans").chmod(0o000)
    notes.write("plans/a.md", "quagga")
    try:
        notes.index_as_plain_user()
    finally:
        (notes.folder / "Plans").chmod(0o755)
    assert notes.holding("zebra") == ["Plans/a.md"]
    assert notes.holding("quagga") == ["plans/a.md"]


def test_a_watcher_does_not_call_deleted_what_it_may_not_see(notes: Notes) -> None:
    """Its own question to the disk, with an event for the folder; a file that is gone is gone."""
    notes.write("sub/a.md")
    script = """
        import os, sys
        from pathlib import Path
        from knowledge_nb.indexing.hints import Losses
        base = Path(sys.argv[1])
        paths = ["sub/a.md", "sub/b.md"]
        losses = Losses()
        losses.saw(base, paths)
        print(losses.vanished(base, paths, {str(base / "sub")}))
        os.chmod(base / "sub", 0o644)
        print(losses.vanished(base, paths, {str(base / "sub")}))
    """
    try:
        done = notes.as_plain_user(script, str(notes.folder))
    finally:
        (notes.folder / "sub").chmod(0o755)
    assert done == "['sub/b.md']\n[]\n"


def test_reindex_of_a_part_keeps_the_rest(notes: Notes) -> None:
    """Every file below it is read again; the corpus base stays, and so do the other documents."""
    notes.write("top.md", "zebra")
    notes.write("sub/s.md", "okapi")
    notes.index()
    plan = notes.core.index(notes.folder / "sub", reindex=True, dry_run=True)
    report = notes.core.index(notes.folder / "sub", reindex=True)
    assert (report.replaced, report.added, report.removed) == (1, 0, 0)
    assert (plan.replaced, plan.added, plan.removed) == (1, 0, 0)
    assert notes.holding("zebra") == ["top.md"]
    other = notes.folder.parent / "other"
    other.mkdir()
    (other / "o.md").write_text("ibex")
    notes.core.index(notes.folder, other)
    notes.core.index(other, reindex=True)
    assert notes.holding("zebra") == ["top.md"]
    assert notes.holding("ibex") == ["../other/o.md"]


def test_another_base_takes_everything_and_says_so(notes: Notes) -> None:
    """What is removed with the former base is counted, named, and foretold by a dry run."""
    notes.write("a.md", "zebra")
    notes.write("b.md", "zebra")
    notes.index()
    other = notes.folder.parent / "other"
    other.mkdir()
    (other / "a.md").write_text("ibex")
    plan = notes.core.index(other, reindex=True, dry_run=True)
    assert notes.holding("zebra") == ["a.md", "b.md"]
    report = notes.core.index(other, reindex=True)
    for each in (plan, report):
        assert (each.added, each.replaced, each.removed) == (1, 0, 2)
        gone = [(e.path, e.reason) for e in each.events if e.action == "removed"]
        assert gone == [
            ("a.md", "of the former corpus base"),
            ("b.md", "of the former corpus base"),
        ]
        assert any("2 documents of the former base removed" in note for note in each.notes)
    assert notes.holding("zebra") == []


def test_a_file_that_came_back_is_not_dropped(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor moves it away and writes it anew while the walk looks: it is stale, not lost."""
    file = notes.write("a.md", "zebra")
    notes.write("b.md", "okapi")
    notes.index()
    away = notes.folder.parent / "away.md"
    walk = pipeline.walk_roots

    def walked(*arguments: Any) -> Any:
        file.rename(away)
        found = walk(*arguments)
        away.rename(file)
        return found

    monkeypatch.setattr(pipeline, "walk_roots", walked)
    report = notes.core.index(notes.folder, reconcile=True)
    assert (report.removed, report.stale) == (0, 1)
    monkeypatch.undo()
    assert notes.holding("zebra") == ["a.md"]
    assert "there again" in notes.stale()["a.md"]
    notes.index()
    assert notes.stale() == {}


def test_settings_that_take_no_more_still_drop(notes: Notes) -> None:
    """A suffix that is no longer taken is a loss on a reconcile, as before."""
    notes.write("a.md", "zebra")
    notes.write("b.txt", "zebra")
    notes.index()
    notes.core.settings = replace(notes.core.settings, include=(".md",))
    report = notes.core.index(notes.folder, reconcile=True)
    assert report.removed == 1
    assert notes.holding("zebra") == ["a.md"]


def test_unicode_is_pinned_when_every_document_was_read_again(notes: Notes) -> None:
    """Not by a reindex of a part, nor by one that was cut off."""

    def pinned() -> str:
        with notes.core.reader.snapshot() as connection:
            return read_meta(connection)["unicode_version"]

    notes.write("a.md")
    notes.write("sub/b.md")
    notes.index()
    with Writer.open(notes.core.files) as writer, writer.transaction() as connection:
        write_meta(connection, unicode_version="13.0.0")
    report = notes.core.index(notes.folder / "sub", reindex=True)
    assert pinned() == "13.0.0"
    assert any("over every folder" in note for note in report.notes)

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notes.core.index(notes.folder, reindex=True, progress=cut_off)
    assert pinned() == "13.0.0"
    assert any("Unicode 13.0.0" in note for note in notes.index().notes)
    notes.core.index(notes.folder, reindex=True)
    assert pinned() == UNICODE_VERSION
