"""Removing means removing: nothing of a removed text is left in the store's files."""

from __future__ import annotations

import random
import struct
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from knowledge_nb.core import Core
from knowledge_nb.indexing.replace import PreparedChunk, PreparedDocument, replace_documents
from knowledge_nb.store import erase, vectors
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.integrity import check_integrity
from tests.store.conftest import Place

SECRETS = ("Xylophonists", "quixotically", "4929123456789012")
# What porter makes of the first two: the form in which the index holds them.
STEMS = (b"xylophonist", b"quixot")


def traces(data: bytes) -> list[bytes]:
    """Secrets, in any letter case, and their stems, that the bytes hold."""
    lower = data.lower()
    return [word for word in (*(s.lower().encode() for s in SECRETS), *STEMS) if word in lower]


def with_secret(place: Place) -> None:
    """Forty ordinary documents, and one with a secret in its heading, body and name."""
    for number in range(40):
        place.write(f"note{number}.md", f"# Note {number}\n\n" + f"Plain words {number}. " * 200)
    text = " ".join(SECRETS)
    place.write(f"{SECRETS[0]}.md", f"# About {SECRETS[0]}\n\n{text}\n\n" + f"{text} more. " * 300)
    place.core.index(place.folder)


def bytes_now(place: Place, *others: Core) -> bytes:
    """The bytes of the store's files once no connection is open."""
    for core in (place.core, *others):
        core.close()
    return place.contents()


def test_rm_leaves_no_trace(place: Place) -> None:
    """After rm neither text, path nor stem of the document is in any file of the store."""
    with_secret(place)
    assert traces(bytes_now(place)) != []
    place.core.remove(f"{SECRETS[0]}.md")
    assert traces(bytes_now(place)) == []


def test_rm_leaves_no_trace_while_readers_are_open(place: Place) -> None:
    """The log of a store that others read is emptied too, not only that of the last to close."""
    with_secret(place)
    other = Core(place.core.files.directory)
    assert other.enumerate("plain").matched == 40
    place.core.remove(f"{SECRETS[0]}.md")
    data = place.contents_elsewhere()
    other.close()
    assert b"note39.md" in data
    assert traces(data) == []


def test_rm_erases_earlier_versions(place: Place) -> None:
    """A secret that an earlier version of the document held goes as well."""
    with_secret(place)
    place.write(f"{SECRETS[0]}.md", "# Harmless\n\nNothing to see.")
    place.core.index(place.folder)
    (place.folder / f"{SECRETS[0]}.md").rename(place.folder / "harmless.md")
    place.core.index(place.folder, reconcile=True)
    place.core.remove("harmless.md")
    assert traces(bytes_now(place)) == []


def test_erase_replaced_leaves_no_trace(place: Place, tmp_path: Path) -> None:
    """With `erase_replaced` a pass leaves no word of the old text either."""
    (tmp_path / "knowledge.toml").write_text("[knowledge]\nerase_replaced = true\n")
    place.core.close()
    place.core = Core(tmp_path / "knowledge")
    for number in range(40):
        place.write(f"note{number}.md", f"# Note {number}\n\n" + f"Plain words {number}. " * 200)
    place.write("secret.md", " ".join(SECRETS) * 300)
    place.core.index(place.folder)
    place.write("secret.md", "Harmless.")
    place.core.index(place.folder)
    assert traces(bytes_now(place)) == []


def test_rm_forgets_a_root_that_was_the_document(place: Place) -> None:
    """A file that was given as a root of its own is not taken in again by the next pass."""
    place.write("plain.md", "Plain.")
    secret = place.write(f"{SECRETS[0]}.md", "Secret.")
    place.core.index(place.folder, secret)
    place.core.remove(secret.name)
    assert traces(bytes_now(place)) == []


def test_rm_erases_vectors(place: Place) -> None:
    """The vectors of removed chunks are overwritten: text can be guessed from them."""
    generator = np.random.default_rng(7)
    made = generator.standard_normal((30, 64)).astype("<f4")
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    chunks = tuple(PreparedChunk("", f"body {n}", None, None, 0, 0, 1, 1) for n in range(10))
    documents = [PreparedDocument(f"{n}.md", "", "0", 0, 0, chunks) for n in range(3)]
    with Writer.open(place.core.files) as writer, writer.transaction() as connection:
        ids = replace_documents(connection, documents, indexed_at="")
        vectors.create(connection, 64)
        numbers = [(ids[f"{n // 10}.md"] << 20) + n % 10 for n in range(30)]
        vectors.insert(connection, zip(numbers, (v.tobytes() for v in made), strict=True))
        connection.execute("UPDATE chunks SET vector_state = 'stored'")
    place.core.remove("1.md")
    data = bytes_now(place)
    kept = [any(struct.pack("<2f", *v[i : i + 2]) in data for i in range(0, 64, 2)) for v in made]
    assert kept == [True] * 10 + [False] * 10 + [True] * 10


def test_nothing_of_many_removals_is_left(place: Place) -> None:
    """Whatever pages rows share: every marker of a removed document is gone, all others stay."""
    chance = random.Random(11)

    def document(number: int) -> tuple[PreparedDocument, list[bytes]]:
        marks = [f"{chance.getrandbits(60):018d}" for _ in range(9)]
        chunks = tuple(
            PreparedChunk(
                "",
                f"{a} " + "x y z " * chance.randint(1, 300) + f"{b} {c}",
                *[None] * 2,
                0,
                0,
                1,
                1,
            )
            for a, b, c in zip(marks[::3], marks[1::3], marks[2::3], strict=True)
        )
        return (
            PreparedDocument(f"{number}.md", "", "0", 0, 0, chunks),
            [mark.encode() for mark in marks],
        )

    held: dict[int, list[bytes]] = {}
    gone: list[bytes] = []
    with Writer.open(place.core.files) as writer:
        for start in range(0, 200, 40):
            with writer.transaction() as connection:
                made = [document(number) for number in range(start, start + 40)]
                held.update(
                    zip(range(start, start + 40), (marks for _, marks in made), strict=True)
                )
                replace_documents(connection, [each for each, _ in made], indexed_at="")
        for _ in range(5):
            some = chance.sample(range(200), 12)
            with writer.transaction() as connection:
                made = [document(number) for number in some]
                gone += [mark for number in some for mark in held[number]]
                held.update(zip(some, (marks for _, marks in made), strict=True))
                replace_documents(connection, [each for each, _ in made], indexed_at="")
    doomed = chance.sample(range(200), 70)
    gone += [mark for number in doomed for mark in held.pop(number)]
    place.core.remove(*(f"{number}.md" for number in doomed))
    data = bytes_now(place)
    assert [mark for mark in gone if mark in data] == []
    assert all(mark in data for marks in held.values() for mark in marks)


def test_small_steps_erase_as_well_and_keep_the_index_sound(place: Place) -> None:
    """The merge may take any number of short transactions; the index is sound and the same."""
    with_secret(place)
    before = place.core.enumerate("plain").matches
    with Writer.open(place.core.files) as writer:
        with writer.transaction() as connection:
            connection.execute("DELETE FROM documents WHERE path LIKE 'Xylo%'")
            erase.mark(connection)
        assert erase.finish(writer, pages=1) == ""
        assert {each.state for each in check_integrity(writer)} == {"pass", "not run"}
    assert place.core.enumerate("plain").matches == before
    assert traces(bytes_now(place)) == []


def test_a_reader_in_the_way_is_said_and_the_next_pass_finishes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that an open snapshot keeps in the log is never called erased."""
    monkeypatch.setattr("knowledge_nb.store.connection.BUSY_MILLISECONDS", 200)
    with_secret(place)
    reader = Reader(place.core.files)
    with reader.snapshot() as connection:
        with pytest.warns(erase.ErasePendingWarning, match="knowledge.db-wal"):
            place.core.remove(f"{SECRETS[0]}.md")
        assert connection.execute("SELECT count(*) FROM documents").fetchall() == [(41,)]
    with reader.snapshot() as connection:
        assert erase.pending_since(connection)
    (place.folder / f"{SECRETS[0]}.md").unlink()
    place.core.index(place.folder)
    with reader.snapshot() as connection:
        assert not erase.pending_since(connection)
    reader.close()
    assert traces(bytes_now(place)) == []


def test_a_dead_erasure_is_taken_up_again(place: Place) -> None:
    """A mark left by a process that died is finished by the next pass."""
    with_secret(place)
    (place.folder / f"{SECRETS[0]}.md").unlink()
    with Writer.open(place.core.files) as writer, writer.transaction() as connection:
        connection.execute("DELETE FROM documents WHERE path LIKE 'Xylo%'")
        erase.mark(connection)
    place.core.index(place.folder)
    assert traces(bytes_now(place)) == []


def test_searching_goes_on_while_text_is_erased(place: Place) -> None:
    """Readers get whole answers throughout, and no error."""
    with_secret(place)
    errors: list[BaseException] = []
    counts: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                counts.add(place.core.enumerate("plain").matched)
        except BaseException as error:  # noqa: BLE001 - the test's question
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", erase.ErasePendingWarning)
        place.core.remove(f"{SECRETS[0]}.md")
        place.core.remove("note0.md", "note1.md")
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert counts <= {40, 38}


def test_erasing_keeps_every_other_vector(place: Place) -> None:
    """Rewriting the file leaves each remaining vector with its chunk, gaps of blocks or not."""
    generator = np.random.default_rng(3)
    chunks = tuple(PreparedChunk("", f"body {n}", None, None, 0, 0, 1, 1) for n in range(10))
    documents = [PreparedDocument(f"{n}.md", "", "0", 0, 0, chunks) for n in range(350)]
    made: dict[int, bytes] = {}
    with Writer.open(place.core.files) as writer, writer.transaction() as connection:
        for number in replace_documents(connection, documents, indexed_at="").values():
            for ordinal in range(10):
                vector = generator.standard_normal(8).astype("<f4")
                made[(number << 20) + ordinal] = vector.tobytes()
        vectors.create(connection, 8)
        vectors.insert(connection, made.items())
        connection.execute("UPDATE chunks SET vector_state = 'stored'")
    # sqlite-vec keeps 1,024 vectors to a block: two blocks go, the third is left half empty.
    place.core.remove(*(f"{number}.md" for number in range(230)))
    with place.core.reader.snapshot() as connection:
        found = vectors.read(connection, list(made))
    assert found == {number: made[number] for number in found}
    assert len(found) == 1200
