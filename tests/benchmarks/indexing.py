"""Indexing against a raw bulk load, an unchanged pass against reading, and peak memory."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw

from knowledge_nb.core import Core
from knowledge_nb.store.sql import rows
from knowledge_nb.text import EXACT_TOKENIZER, PORTER_TOKENIZER
from tests.benchmarks.timing import spent

_MEMORY = """
import resource, sys
from knowledge_nb.core import Core
core = Core(sys.argv[1])
core.index(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(folder: Path, scratch: Path) -> Path:
    """Print the ratios; returns the store that was built."""
    store = scratch / "store"
    core = Core(store)
    reports = []
    full = spent(lambda: reports.append(core.index(folder)))
    report = reports[0]
    print(f"files {report.seen:,}  chunks {report.chunks:,}  {report.bytes / 1e6:.1f} MB")
    chunks = _chunks(core)
    raw = spent(lambda: _bulk_load(chunks, scratch / "raw.db"))
    print(f"full index / raw bulk load of the same chunks (bound 2): {full.against(raw)}")
    print(f"full index: {report.bytes / 1e6 / full.wall:.1f} MB/s")
    read = spent(lambda: _read_and_hash(folder), 3)
    unchanged = spent(lambda: reports.append(core.index(folder)), 3)
    if reports[-1].unchanged != report.seen:
        raise SystemExit("the second pass found changes")
    print(f"unchanged pass / reading and hashing (bound 2): {unchanged.against(read)}")
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(scratch / "memory"), str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    print(f"peak memory of indexing: {int(done.stdout) / 1024:.0f} MiB  (bound 300)")
    core.close()
    return store


def _chunks(core: Core) -> list[tuple[Any, ...]]:
    with core.reader.snapshot() as connection:
        return rows(connection, "SELECT id, heading, body FROM chunks_indexed ORDER BY id")


def _bulk_load(chunks: list[tuple[Any, ...]], path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")
    for name, tokenizer in (("porter", PORTER_TOKENIZER), ("exact", EXACT_TOKENIZER)):
        connection.execute(
            f'CREATE VIRTUAL TABLE {name} USING fts5 (heading, body, tokenize = "{tokenizer}")'
        )
    for start in range(0, len(chunks), 5_000):
        part = chunks[start : start + 5_000]
        flat = [item for row in part for item in row]
        values = ", ".join(["(?, ?, ?)"] * len(part))
        connection.execute("BEGIN")
        for name in ("porter", "exact"):
            connection.execute(f"INSERT INTO {name} (rowid, heading, body) VALUES {values}", flat)
        connection.execute("COMMIT")
    connection.close()


def _read_and_hash(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".md", ".markdown", ".txt", ".text") and path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()
