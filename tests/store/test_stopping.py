"""Reads that end early because nobody wants the answer any more."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from knowledge_nb.errors import SearchTimeoutError
from knowledge_nb.store.connection import Reader, Writer, stopping
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.sql import value

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    files = StoreFiles.at(tmp_path / "store")
    Writer.open(files).close()
    return Reader(files)


def test_a_statement_stops_when_its_caller_gives_up(reader: Reader) -> None:
    """An endless statement, in another thread, ends once the flag is set; the reader goes on."""
    given_up = threading.Event()
    ended: list[BaseException] = []

    def work() -> None:
        try:
            with stopping(given_up.is_set), reader.snapshot() as connection:
                value(connection, ENDLESS)
        except SearchTimeoutError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    with reader.snapshot() as connection:  # one thread's wish is not another's
        assert value(connection, "SELECT 1") == 1
    given_up.set()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert len(ended) == 1
    with reader.snapshot() as connection:
        assert value(connection, "SELECT 2") == 2
    reader.close()


def test_the_wish_ends_with_its_block(reader: Reader) -> None:
    """Afterwards the thread's statements run to their end again."""
    with stopping(lambda: True):
        pass
    with reader.snapshot(deadline=None) as connection:
        many = ENDLESS.replace("FROM n)", "FROM n WHERE i < 100000)")
        assert value(connection, many) == 100_000
    reader.close()
