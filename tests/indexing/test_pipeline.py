"""One indexing pass: what it takes, what it leaves out and says so, what it never throws away."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.errors import BaseMismatchError, RootError
from tests.indexing.conftest import Notes

NFC = unicodedata.normalize("NFC", "résumé.md")
NFD = unicodedata.normalize("NFD", "résumé.md")


# -- what a pass takes, and what it leaves out -----------------------------------------------


def test_accepted_types_are_taken_whatever_their_case(notes: Notes) -> None:
    """Markdown and text by suffix; everything else is counted by type."""
    for name in ("a.md", "b.MD", "c.txt", "d.markdown", "e.text"):
        notes.write(name)
    for name in ("f.pdf", "g.PDF", "h.html", "README", "i.md.tmp", "j.md~", "#k.md#", "4913"):
        notes.write(name)
    report = notes.index()
    assert notes.paths() == ["a.md", "b.MD", "c.txt", "d.markdown", "e.text"]
    assert report.other_types == {
        ".pdf": 2,
        "(no suffix)": 2,
        ".html": 1,
        ".md#": 1,
        ".md~": 1,
        ".tmp": 1,
    }
    assert "8 files of other types" in report.completeness.statement()


def test_files_left_out_are_recorded_with_the_reason(notes: Notes, tmp_path: Path) -> None:
    """Too large, not UTF-8, binary, links, devices, odd names: each has its record."""
    notes.write("fine.md")
    notes.write("large.md", b"x" * (512 * 1024 + 1))
    notes.write("just.md", b"x" * (512 * 1024))
    notes.write("latin.md", "Kur\xfcrze".encode("latin-1"))
    notes.write("utf16.txt", "text".encode("utf-16"))
    notes.write("binary.md", b"\x00\x01\x02\xff" * 10)
    (notes.folder / "link.md").symlink_to(notes.folder / "fine.md")
    (notes.folder / "dead.md").symlink_to(notes.folder / "missing.md")
    (tmp_path / "elsewhere").mkdir()
    (notes.folder / "linked").symlink_to(tmp_path / "elsewhere")
    (notes.folder / "loop").symlink_to(notes.folder)
    os.mkfifo(notes.folder / "pipe.md")
    notes.write(".hidden/a.md")
    report = notes.index()
    assert notes.paths() == ["fine.md", "just.md"]
    reasons = {path: reason for path, (reason, _) in notes.skipped().items()}
    assert reasons == {
        "large.md": "too large",
        "latin.md": "not UTF-8",
        "utf16.txt": "not UTF-8",
        "binary.md": "not UTF-8",
        "link.md": "symbolic link",
        "dead.md": "symbolic link",
        "linked": "symbolic link",
        "loop": "symbolic link",
        "pipe.md": "not a regular file",
        ".hidden": "dot directory",
    }
    assert "byte 0xfc at offset 3" in notes.skipped()["latin.md"][1]
    assert "UTF-16" in notes.skipped()["utf16.txt"][1]
    assert notes.skipped()["binary.md"][1] == "binary"
    assert sum(report.skipped.values()) == 10
    assert "10 skipped" in notes.core.enumerate("word").completeness.statement()


def test_a_name_that_is_not_utf8_is_skipped_and_named(notes: Notes) -> None:
    """P08: nine notes are indexed, the tenth is named with its bytes escaped."""
    for number in range(9):
        notes.write(f"{number}.md")
    with open(os.fsencode(notes.folder) + b"/caf\xe9.md", "w") as file:
        file.write("word")
    notes.index()
    assert len(notes.paths()) == 9
    assert notes.skipped() == {"caf\\xe9.md": ("name not UTF-8", "")}
    assert len(notes.holding("word")) == 9


def test_records_of_skips_follow_the_disk(notes: Notes) -> None:
    """A file that is mended or removed is no longer recorded as left out."""
    notes.write("a.md", b"\xff")
    notes.write("b.md", b"\xff")
    notes.index()
    assert set(notes.skipped()) == {"a.md", "b.md"}
    notes.write("a.md", "mended")
    (notes.folder / "b.md").unlink()
    notes.index()
    assert notes.skipped() == {}
    assert notes.holding("mended") == ["a.md"]


def test_skips_of_other_folders_stay_recorded(notes: Notes) -> None:
    """A pass over one folder says nothing about another."""
    notes.write("a/bad.md", b"\xff")
    notes.write("b/bad.md", b"\xff")
    notes.write("b/x.pdf", b"")
    notes.index()
    notes.index(notes.folder / "a")
    assert set(notes.skipped()) == {"a/bad.md", "b/bad.md"}
    assert notes.core.completeness().other_types == {".pdf": 1}


def test_the_store_is_never_read(notes: Notes) -> None:
    """S03: a store inside the indexed folder is left out, with a `memory` folder beside it."""
    core = Core(notes.folder / "knowledge")
    notes.write("a.md")
    notes.write("memory/b.md")
    notes.write("knowledge/c.md")
    notes.write("deep/memory/d.md")
    core.index(notes.folder)
    notes.write("a.md", "other")
    report = core.index(notes.folder)
    assert [document.path for document in core.sources()] == ["a.md", "deep/memory/d.md"]
    assert report.skipped == {"memory directory beside the store": 1, "the store itself": 1}
    core.close()


def test_a_store_file_under_a_documents_name_is_left_out(notes: Notes) -> None:
    """The store's files are known by inode: a hard link with a text's name is not opened."""
    notes.write("a.md")
    notes.index()
    with notes.core.reader.snapshot():
        os.link(notes.core.files.database, notes.folder / "innocent.md")
        notes.index()
    assert notes.skipped()["innocent.md"][0] == "the store itself"


# -- the same file again -----------------------------------------------------------------------


def test_an_unchanged_file_is_skipped_by_its_hash(notes: Notes) -> None:
    """Same bytes: not written again, its chunks carried forward, whatever its mtime."""
    file = notes.write("a.md", "# One\n\nalpha\n\n# Two\n\nbeta\n")
    first = notes.index()
    os.utime(file, (1, 1))
    again = notes.index()
    assert (again.unchanged, again.chunks_written) == (1, 0)
    assert again.chunks == first.chunks
    assert notes.core.sources()[0].modified == "1970-01-01T00:00:01Z"
    assert notes.index(reindex=True).replaced == 1


def test_changed_bytes_count_even_with_size_and_mtime_kept(notes: Notes) -> None:
    """A file of the same size and mtime but other bytes is replaced."""
    file = notes.write("a.md", "alpha")
    times = file.stat()
    notes.index()
    notes.write("a.md", "gamma")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert notes.index().replaced == 1
    assert (notes.holding("alpha"), notes.holding("gamma")) == ([], ["a.md"])


def test_a_shrinking_file_leaves_no_ghost(notes: Notes) -> None:
    """Fewer chunks than before: the old ones are gone from every table."""
    notes.write("a.md", "\n\n".join(f"# Part {n}\n\nzebra {n}" for n in range(50)))
    notes.index()
    notes.write("a.md", "gone")
    notes.index()
    assert notes.holding("zebra") == []
    assert notes.core.stats().chunks == 1


@pytest.mark.parametrize("unfit", ["too large", "not UTF-8", "symbolic link"])
def test_a_file_that_is_no_text_any_more_loses_its_chunks(notes: Notes, unfit: str) -> None:
    """Its old text is no longer in the folder, so it is not in the index either."""
    notes.write("a.md", "zarquon")
    notes.write("b.md")
    notes.index()
    file = notes.folder / "a.md"
    if unfit == "symbolic link":
        file.rename(notes.folder / "real.bin")
        file.symlink_to(notes.folder / "real.bin")
    else:
        file.write_bytes(b"\xff" if unfit == "not UTF-8" else b"zarquon " * 100_000)
    report = notes.index()
    assert report.removed == 1
    assert notes.holding("zarquon") == []
    assert notes.skipped()["a.md"][0] == unfit


def test_equal_contents_are_equal_documents(notes: Notes) -> None:
    """P10: two files of equal bytes, fifty equal paragraphs, a file by two paths: one run."""
    notes.write("a.md", "zarquon")
    notes.write("b.md", "zarquon")
    notes.write("c.md", "\n\n".join(["An equal paragraph, zarquon. " * 20] * 50))
    report = notes.index(notes.folder, notes.folder / "a.md", notes.folder / "." / "a.md")
    assert report.added == 3
    assert notes.holding("zarquon") == ["a.md", "b.md", "c.md"]


def test_an_empty_file_is_a_document(notes: Notes) -> None:
    """A file without text is listed with no chunk; nothing is made up for it."""
    notes.write("a.md", "")
    notes.write("b.md", "   \n\n")
    report = notes.index()
    assert report.added == 2
    assert [(d.path, d.chunks) for d in notes.core.sources()] == [("a.md", 0), ("b.md", 0)]


# -- files and folders that are gone -------------------------------------------------------------


def test_a_deleted_file_is_stale_until_reconciled(notes: Notes) -> None:
    """Nothing is deleted unasked; the answer says what may be out of date."""
    notes.write("a.md", "zarquon")
    notes.write("b.md")
    notes.index()
    (notes.folder / "a.md").unlink()
    report = notes.index()
    assert (report.removed, report.stale) == (0, 1)
    assert not report.ok
    assert notes.stale() == {"a.md": "no longer on disk"}
    assert any("--reconcile" in note for note in report.notes)
    assert "may be out of date" in notes.core.enumerate("zarquon").completeness.statement()
    assert notes.index(reconcile=True).removed == 1
    assert notes.paths() == ["b.md"]


def test_a_file_that_comes_back_is_not_stale(notes: Notes) -> None:
    """The mark goes with its reason, unchanged bytes or not."""
    notes.write("a.md", "zarquon")
    notes.write("b.md")
    notes.index()
    (notes.folder / "a.md").rename(notes.folder / "a.bak")
    notes.index()
    (notes.folder / "a.bak").rename(notes.folder / "a.md")
    notes.index()
    assert notes.stale() == {}


def test_a_missing_root_deletes_nothing(notes: Notes) -> None:
    """P04: a folder that is not there is an error, also when asked to reconcile."""
    notes.write("a.md", "zarquon")
    notes.index()
    notes.folder.rename(notes.folder.parent / "away")
    for reconcile in (False, True):
        with pytest.raises(RootError, match="Nothing was indexed or deleted"):
            notes.index(reconcile=reconcile)
    assert notes.holding("zarquon") == ["a.md"]
    assert notes.stale() == {}


def test_an_empty_root_deletes_nothing(notes: Notes) -> None:
    """P04: an unmounted disk is an empty folder: not even a reconcile empties the index."""
    notes.write("a.md", "zarquon")
    notes.index()
    (notes.folder / "a.md").unlink()
    report = notes.index(reconcile=True)
    assert (report.removed, report.stale) == (0, 1)
    assert any("saw no file at all" in note for note in report.notes)
    assert notes.holding("zarquon") == ["a.md"]


def test_an_unreadable_folder_keeps_its_documents(notes: Notes) -> None:
    """P04: what lies below a folder that cannot be listed is unknown, so it stays, as stale."""
    notes.write("a/a.md", "zarquon")
    notes.write("b.md")
    notes.index()
    (notes.folder / "a").chmod(0)
    try:
        assert notes.index_as_plain_user() == "stale 1 removed 0\n"
    finally:
        (notes.folder / "a").chmod(0o755)
    assert notes.holding("zarquon") == ["a/a.md"]
    assert notes.stale() == {"a/a.md": "its folder cannot be read"}
    assert notes.skipped()["a"] == ("unreadable", "Permission denied")
    notes.index()
    assert notes.stale() == {}
    assert notes.skipped() == {}


def test_an_unreadable_file_keeps_its_text_and_says_so(notes: Notes) -> None:
    """A file that cannot be read was not deleted: its old text stays, as stale."""
    file = notes.write("a.md", "zarquon")
    notes.write("b.md")
    notes.index()
    file.chmod(0)
    try:
        assert notes.index_as_plain_user() == "stale 1 removed 0\n"
    finally:
        file.chmod(0o644)
    assert notes.holding("zarquon") == ["a.md"]
    assert notes.stale() == {"a.md": "unreadable: Permission denied"}


def test_an_unreadable_root_is_an_error(notes: Notes) -> None:
    """A root that cannot be listed ends the pass before anything is written."""
    notes.write("a.md", "zarquon")
    notes.index()
    notes.folder.chmod(0)
    try:
        assert notes.index_as_plain_user().startswith("RootError")
    finally:
        notes.folder.chmod(0o755)
    assert notes.stale() == {}


def test_reconcile_spares_what_was_not_walked(notes: Notes) -> None:
    """Only documents below the walked roots can be found missing."""
    notes.write("a/a.md", "zarquon")
    notes.write("b/b.md")
    notes.write("b/c.md")
    notes.index()
    (notes.folder / "a" / "a.md").unlink()
    (notes.folder / "b" / "b.md").unlink()
    notes.index(notes.folder / "b", reconcile=True)
    assert notes.paths() == ["a/a.md", "b/c.md"]


def test_documents_of_a_type_no_longer_taken(notes: Notes, tmp_path: Path) -> None:
    """Narrowed settings make documents stale; reconcile removes them."""
    notes.write("a.md", "zarquon")
    notes.write("b.txt")
    notes.index()
    (tmp_path / "knowledge.toml").write_text('[knowledge]\npaths = ["notes"]\ninclude = [".txt"]\n')
    core = Core(tmp_path / "knowledge")
    with pytest.raises(BaseMismatchError):
        core.index()
    core.close()
    (tmp_path / "knowledge.toml").unlink()
    (notes.folder / "knowledge.toml").write_text('[knowledge]\ninclude = [".txt"]\n')
    core = Core(tmp_path / "knowledge", config=notes.folder / "knowledge.toml")
    report = core.index(notes.folder)
    assert (report.stale, report.removed) == (1, 0)
    assert core.index(notes.folder, reconcile=True).removed == 1
    core.close()


# -- names -------------------------------------------------------------------------------------


def test_a_file_renamed_in_unicode_form_only_is_moved(notes: Notes) -> None:
    """P05: NFC to NFD is a move of one document, found by either form."""
    notes.write(NFC, "zarquon")
    notes.index()
    (notes.folder / NFC).rename(notes.folder / NFD)
    report = notes.index()
    assert notes.paths() == [NFD]
    assert report.unchanged == 1
    assert len(notes.core.show(f"{NFC}#0")) == len(notes.core.show(f"{NFD}#0")) == 1


def test_a_file_renamed_in_case_only_is_moved(notes: Notes) -> None:
    """P06: Notes.md to notes.md is a move of one document."""
    notes.write("Notes.md", "zarquon")
    notes.index()
    (notes.folder / "Notes.md").rename(notes.folder / "notes.md")
    notes.index()
    assert notes.holding("zarquon") == ["notes.md"]


def test_two_files_of_nearly_one_name_are_two_documents(notes: Notes) -> None:
    """P05, P06: on a file system that tells them apart, so do we."""
    for name in (NFC, NFD, "A.md", "a.md"):
        notes.write(name, "zarquon")
    if len(list(notes.folder.iterdir())) < 4:
        pytest.skip("this file system does not tell these names apart")
    notes.index()
    assert sorted(notes.holding("zarquon")) == sorted([NFC, NFD, "A.md", "a.md"])
    (notes.folder / NFD).unlink()
    (notes.folder / "a.md").unlink()
    notes.index(reconcile=True)
    assert sorted(notes.paths()) == sorted(["A.md", NFC])


@pytest.mark.parametrize(
    "name", ["a#b.md", "a b.md", "a\nb.md", "#1.md", "日本.md", "a%20b.md", "-x.md"]
)
def test_odd_names_come_back(notes: Notes, name: str) -> None:
    """Whatever a file is called, its citation leads to its text."""
    notes.write(name, "zarquon")
    notes.index()
    (match,) = notes.core.enumerate("zarquon").matches
    assert match.citation == f"{name}#0"
    assert notes.core.show(match.citation)[0].text.strip() == "zarquon"


# -- roots and the base ------------------------------------------------------------------------


def test_nested_roots_index_a_file_once(notes: Notes) -> None:
    """A folder and one inside it give one document and one count of other types."""
    notes.write("a/b/c.md", "zarquon")
    notes.write("a/b/c.pdf")
    report = notes.index(notes.folder, notes.folder / "a", notes.folder / "a" / "b")
    assert report.added == 1
    assert notes.holding("zarquon") == ["a/b/c.md"]
    notes.index(notes.folder)
    assert notes.core.completeness().other_types == {".pdf": 1}


def test_files_outside_the_base_have_relative_paths(notes: Notes, tmp_path: Path) -> None:
    """A second root beside the base is `../other`, never mixed up with the first."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("quagga")
    notes.write("a.md", "zarquon")
    notes.index(notes.folder, other)
    assert notes.paths() == ["../other/a.md", "a.md"]
    assert notes.holding("quagga") == ["../other/a.md"]
    notes.index()
    assert notes.stale() == {}


def test_another_base_is_refused_until_reindexed(notes: Notes, tmp_path: Path) -> None:
    """Paths relative to another folder would name other files: refused, nothing touched."""
    notes.write("a.md", "zarquon")
    notes.index()
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("quagga")
    with pytest.raises(BaseMismatchError, match="--reindex"):
        notes.index(other)
    assert notes.holding("zarquon") == ["a.md"]
    notes.index(other, reindex=True)
    assert notes.paths() == ["b.md"]


def test_paths_do_not_depend_on_the_working_directory(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same folder from anywhere gives the same paths."""
    notes.write("sub/a.md")
    notes.index()
    monkeypatch.chdir(notes.folder / "sub")
    assert notes.core.index("..").unchanged == 1
    assert notes.core.index(".").unchanged == 1
    assert notes.paths() == ["sub/a.md"]


def test_a_pass_without_paths_takes_those_of_earlier_ones(notes: Notes, tmp_path: Path) -> None:
    """What was indexed once is kept fresh by `index` alone."""
    other = tmp_path / "other"
    other.mkdir()
    notes.write("a.md")
    notes.index(notes.folder, other)
    (other / "b.md").write_text("newcomer")
    assert notes.core.index().added == 1


# -- a pass that does not end --------------------------------------------------------------------


class Stop(KeyboardInterrupt):
    """An interrupt at a moment that the test chose."""


def interrupt_after(files: int):  # type: ignore[no-untyped-def]
    """A progress callback that interrupts, as the stop button does."""

    def progress(done: int, *_: int) -> None:
        if done >= files:
            raise Stop

    return progress


def test_an_unfinished_pass_is_said_until_its_roots_complete(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer says so, and a pass over another folder does not take it back."""
    monkeypatch.setattr("knowledge_nb.indexing.pipeline.DOCUMENTS_A_TRANSACTION", 3)
    for number in range(20):
        notes.write(f"a/{number:02}.md", "zarquon")
    notes.write("b/b.md")
    notes.index(notes.folder / "b", notes.folder, reindex=True)
    for number in range(20):
        notes.write(f"a/{number:02}.md", "quagga")
    with pytest.raises(Stop):
        notes.core.index(notes.folder / "a", progress=interrupt_after(10))
    assert len(notes.holding("quagga")) == 9
    assert len(notes.holding("zarquon")) == 11
    statement = notes.core.enumerate("quagga").completeness.statement()
    assert "did not finish" in statement
    notes.index(notes.folder / "b")
    assert notes.core.completeness().unfinished_since
    notes.index(notes.folder / "a")
    assert not notes.core.completeness().unfinished_since
    assert len(notes.holding("quagga")) == 20


def test_a_first_pass_that_is_interrupted_is_not_a_built_index(notes: Notes) -> None:
    """Nothing completed: not an answer of "no document", but "not built"."""
    for number in range(5):
        notes.write(f"{number}.md")
    with pytest.raises(Stop):
        notes.core.index(notes.folder, progress=interrupt_after(2))
    result = notes.core.enumerate("word")
    assert result.status == "index_not_built"
    assert not result.completeness.built


def test_dry_run_tells_what_the_pass_then_does(notes: Notes) -> None:
    """The plan and the pass agree, and the plan writes nothing."""
    for name in ("a.md", "b.md", "c.md"):
        notes.write(name)
    notes.index()
    notes.write("a.md", "changed")
    notes.write("d.md", "new")
    notes.write("c.md", b"\xff")
    (notes.folder / "b.md").unlink()
    generation = notes.core.generation()
    plan = notes.index(dry_run=True, reconcile=True)
    assert notes.core.generation() == generation
    done = notes.index(reconcile=True)
    counts = ("seen", "added", "replaced", "unchanged", "removed", "stale", "chunks", "skipped")
    assert [getattr(plan, name) for name in counts] == [getattr(done, name) for name in counts]
    assert plan.events == done.events
    assert (plan.completed, done.completed) == (False, True)


def test_a_dry_run_makes_no_store(notes: Notes) -> None:
    """Looking first leaves no trace."""
    notes.write("a.md")
    assert notes.index(dry_run=True).added == 1
    assert not notes.core.files.directory.exists()


def test_a_missing_root_makes_no_store(notes: Notes) -> None:
    """A mistyped folder leaves no trace either."""
    with pytest.raises(RootError):
        notes.index(notes.folder / "missing")
    assert not notes.core.files.directory.exists()
