"""What the doctor asks of a store's files and of SQLite: small functions, one answer each.

Nothing here writes, needs the write lock for longer than a moment, or makes a store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from knowledge_nb.errors import KnowledgeError, StoreAccessError, StoreError, StoreLockedError
from knowledge_nb.records import Check
from knowledge_nb.store import erase, vectors
from knowledge_nb.store.connection import Connection, Reader
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import FORMAT_VERSION, check_format, read_meta
from knowledge_nb.store.lock import WriteLock
from knowledge_nb.store.mounts import mounted_read_only, network_mount, read_mounts
from knowledge_nb.store.sql import value
from knowledge_nb.store.translate import translated
from knowledge_nb.text import TEXT_RULES, UNICODE_VERSION, has_unspaced

LARGE_LOG = 64 * 1024 * 1024  # four times what a writer lets it grow to
LITTLE_SPACE = 64 * 1024 * 1024
NOTHING = "there is no store yet"
OPENS = "store opens"
UNOPENED = "the store cannot be opened, so this was not looked at"
FROZEN = "the file system is mounted read-only: nothing is written here"
REINDEX = "Run `knowledge index --reindex`."

# The indexed form is stored only where it differs, and text of these scripts always differs.
_SPACED = (
    "SELECT document_id, body FROM chunks WHERE body_terms IS NOT NULL"
    " UNION ALL SELECT document_id, heading FROM chunks WHERE heading_terms IS NOT NULL"
    " ORDER BY document_id"
)


@contextmanager
def past_the_gate(files: StoreFiles) -> Iterator[Connection]:
    """A read transaction on whatever lies there."""
    reader = Reader(files, gate=False)
    try:
        with reader.snapshot() as connection:
            yield connection
    finally:
        reader.close()


def told(error: KnowledgeError) -> tuple[str, str]:
    """What happened, and what to do: the two parts of a message."""
    return (error.said, error.fix) if isinstance(error, StoreError) else (str(error), "")


def is_there(files: StoreFiles) -> bool:
    """Whether a database with anything in it lies there; damage counts as something."""
    try:
        return Reader(files).is_built()
    except KnowledgeError:
        return True


def check_present(files: StoreFiles) -> Check:
    """A store lies where it was looked for."""
    files.exists()  # raises where nobody can tell
    if is_there(files):
        return Check("store present", "pass", str(files.database))
    fix = "`knowledge index PATH` makes one; --store names another directory."
    return Check("store present", "fail", f"there is no index in {files.directory}", fix)


def check_opens(files: StoreFiles) -> Check:
    """SQLite can open the file and read in it; what it finds there is for other checks to say."""
    name = OPENS
    try:
        if not files.exists():
            return Check(name, "not run", NOTHING)
        with past_the_gate(files):
            return Check(name, "pass", "for reading")
    except (StoreAccessError, StoreLockedError) as error:
        said, fix = told(error)
        return Check(name, "fail", said, fix or f"Look at what lies in {files.directory}.")
    except KnowledgeError:
        return Check(name, "pass", "for reading; what is wrong in it the other checks say")


def check_private(files: StoreFiles) -> Check:
    """Directory 0700, database and sidecars 0600, none of them a link; text is not encrypted."""
    name = "store private"
    if os.name != "posix":
        return Check(name, "not run", "file modes say nothing on this system")
    if not files.exists():
        return Check(name, "not run", NOTHING)
    problems = []
    try:
        files.refuse_symlinks()
        for path, wanted in ((files.directory, 0o700), *((p, 0o600) for p in _ours(files))):
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            if mode & ~wanted:
                problems.append(f"{path} has mode {mode:04o} in place of {wanted:04o}")
    except StoreAccessError as error:
        return Check(name, "fail", str(error), "Put the real files in place of the link.")
    except FileNotFoundError:
        pass  # a log that was emptied and removed meanwhile
    if problems:
        fix = "The next pass sets the modes again; the text may have been read meanwhile."
        return Check(name, "fail", "; ".join(problems), fix)
    return Check(name, "pass", "directory 0700, files 0600; the text in them is not encrypted")


def _ours(files: StoreFiles) -> Iterator[Path]:
    return (path for path in (files.database, *files.sidecars) if os.path.lexists(path))


def check_file_system(files: StoreFiles) -> Check:
    """The store lies on a local file system; locks and shared memory do not work on others."""
    name = "local file system"
    if read_mounts() is None:
        return Check(name, "not run", "this system has no /proc/mounts to look at")
    found = network_mount(files.directory)
    if found is None:
        return Check(name, "pass", "no network file system lies under the store")
    said = f"WARNING: {files.directory} lies on {found.kind}, mounted at {found.point}"
    fix = "Keep the store on a local disk (--store); two machines that use it destroy it."
    return Check(name, "pass", said, fix)


def check_space(files: StoreFiles) -> Check:
    """There is room to index, and to write the database anew as removing text does."""
    name = "disk space"
    place = files.directory
    while not os.path.exists(place) and place != place.parent:
        place = place.parent
    if not hasattr(os, "statvfs"):
        return Check(name, "not run", "this system does not tell the free space this way")
    if mounted_read_only(place):
        return Check(name, "not run", FROZEN)
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    size = os.lstat(files.database).st_size if files.exists() else 0
    said = f"{free / 1e6:,.0f} MB free, the database has {size / 1e6:,.1f} MB"
    fix = "Free some space: a pass needs room for what it adds, `rm` and `backup` for a copy."
    if free < LITTLE_SPACE:
        return Check(name, "fail", said, fix)
    if free < 2 * size:
        return Check(name, "pass", f"WARNING: {said}", fix)
    return Check(name, "pass", said)


def check_sqlite(files: StoreFiles) -> Check:
    """The one SQLite of this process; DuckDB brings its own, which is not loaded to ask."""
    from importlib.metadata import PackageNotFoundError, version

    others = []
    for package in ("duckdb", "duckdb-extension-sqlite-scanner"):
        try:
            others.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            others.append(f"{package} not installed")
    said = f"SQLite {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()}); {', '.join(others)}"
    fts5 = "ENABLE_FTS5" in apsw.compile_options
    if not fts5:
        fix = "Install the wheel: `pip install --force-reinstall apsw`."
        return Check("SQLite", "fail", f"{said}; built without FTS5", fix)
    return Check("SQLite", "pass", f"{said}; with FTS5")


def check_log_mode(files: StoreFiles) -> Check:
    """The database keeps a write-ahead log, so that reading and writing do not wait."""
    if not is_there(files):
        return Check("write-ahead log", "not run", NOTHING)
    with past_the_gate(files) as connection:
        if connection.frozen is not None:
            return Check("write-ahead log", "not run", FROZEN)
        mode = value(connection, "PRAGMA journal_mode")
    if mode == "wal":
        return Check("write-ahead log", "pass", "on")
    fix = "The next pass turns it on (a restored backup has none until then)."
    return Check("write-ahead log", "pass", f"WARNING: journal mode is {mode}", fix)


def check_log_size(files: StoreFiles) -> Check:
    """No reader keeps the log from being moved into the database."""
    if not is_there(files):
        return Check("log size", "not run", NOTHING)
    try:
        size = os.lstat(files.sidecars[0]).st_size
    except FileNotFoundError:
        size = 0
    said = f"{size / 1e6:,.1f} MB"
    if size <= LARGE_LOG:
        return Check("log size", "pass", said)
    fix = "End the process that has been reading for long; the next pass then empties the log."
    return Check("log size", "fail", said, fix)


def check_gate(files: StoreFiles) -> Check:
    """This release can read the file: pinned version, columns and objects."""
    if not is_there(files):
        return Check("format", "not run", NOTHING)
    try:
        with past_the_gate(files) as connection:
            check_format(connection, str(files.database))
    except (StoreAccessError, StoreLockedError):
        raise  # it was not looked at
    except StoreError as error:
        said, fix = told(error)
        return Check("format", "fail", said, fix or "`knowledge doctor --integrity`")
    return Check("format", "pass", f"format {FORMAT_VERSION}, all tables as they should be")


def check_lock(files: StoreFiles) -> Check:
    """Whether a writer is at work; that is no fault."""
    try:
        os.lstat(files.lock)
    except (FileNotFoundError, NotADirectoryError):
        return Check("write lock", "pass", "free")
    if mounted_read_only(files.directory):
        return Check("write lock", "not run", FROZEN)
    lock = WriteLock(files)
    try:
        lock.acquire()
    except StoreLockedError as error:
        return Check("write lock", "pass", error.said)
    except StoreAccessError as error:
        said, fix = told(error)
        return Check("write lock", "fail", said, fix or f"Make {files.directory} yours to write.")
    lock.release()
    return Check("write lock", "pass", "free")


def check_erased(files: StoreFiles) -> Check:
    """Text that was removed is no longer in the files."""
    name = "removed text erased"
    if not is_there(files):
        return Check(name, "not run", NOTHING)
    with past_the_gate(files) as connection:
        since = erase.pending_since(connection)
    if not since:
        return Check(name, "pass", "nothing is waiting to be erased")
    size = os.lstat(files.database).st_size
    said = (
        f"text removed {since} may still be in the files: a reader was at work, there was no room "
        "for a copy of the database, or the command was cut off"
    )
    fix = f"End long readers, see that {size / 1e6:,.1f} MB are free, then run `knowledge index`."
    return Check(name, "fail", said, fix)


def check_unicode(files: StoreFiles) -> Check:
    """The index follows the Unicode version of this Python."""
    if not is_there(files):
        return Check("Unicode", "not run", NOTHING)
    with past_the_gate(files) as connection:
        pinned = read_meta(connection).get("unicode_version", "an unknown version")
    if pinned == UNICODE_VERSION:
        return Check("Unicode", "pass", f"version {pinned}")
    said = f"the index follows Unicode {pinned}, this Python Unicode {UNICODE_VERSION}"
    return Check("Unicode", "fail", f"{said}; newer characters may be missed", REINDEX)


def check_rules(files: StoreFiles) -> Check:
    """The index was made by the rules of text that this release asks by."""
    name = "text rules"
    if not is_there(files):
        return Check(name, "not run", NOTHING)
    with past_the_gate(files) as connection:
        pinned = read_meta(connection).get("text_rules", "1")
    if pinned == TEXT_RULES:
        return Check(name, "pass", f"version {pinned}")
    said = f"documents were read by version {pinned} of the rules, and are asked by {TEXT_RULES}"
    return Check(name, "fail", f"{said}; words and phrases beside markup may be missed", REINDEX)


def check_scripts(files: StoreFiles) -> Check:
    """How many documents hold text that is written without spaces."""
    name = "scripts without spaces"
    if not is_there(files):
        return Check(name, "not run", NOTHING)
    with past_the_gate(files) as connection:
        found = {number for number, text in connection.execute(_SPACED) if has_unspaced(text)}
        documents = value(connection, "SELECT count(*) FROM documents")
    if not documents:
        return Check(name, "not run", "the index holds no document to look at")
    if not found:
        return Check(name, "pass", "no document holds any")
    hold = "1 document holds" if len(found) == 1 else f"{len(found):,} documents hold"
    said = f"{hold} Chinese, Japanese, Thai or the like"
    return Check(name, "pass", f"{said}; there any run of characters is found, words are not told")


def check_extension(files: StoreFiles, *, wanted: bool) -> Check:
    """The vector extension loads, where anything needs it.

    Parameters
    ----------
    wanted : bool
        Whether embeddings are configured.
    """
    name = "vector extension"
    needed = wanted
    if is_there(files):
        with past_the_gate(files) as connection:
            needed = needed or vectors.dimension(connection) is not None
    scratch = Connection(":memory:")
    try:
        with translated("the vector extension"):
            vectors.load(scratch)
            return Check(name, "pass", f"sqlite-vec {value(scratch, 'SELECT vec_version()')}")
    except KnowledgeError as error:
        if not needed:
            return Check(name, "not run", f"no embeddings are used here ({error})")
        return Check(name, "fail", str(error), "`pip install sqlite-vec`")
    finally:
        scratch.close()


STORE_CHECKS: tuple[tuple[str, Callable[[StoreFiles], Check]], ...] = (
    ("store present", check_present),
    (OPENS, check_opens),
    ("store private", check_private),
    ("local file system", check_file_system),
    ("disk space", check_space),
    ("SQLite", check_sqlite),
    ("format", check_gate),
    ("write-ahead log", check_log_mode),
    ("log size", check_log_size),
    ("write lock", check_lock),
    ("removed text erased", check_erased),
    ("Unicode", check_unicode),
    ("text rules", check_rules),
    ("scripts without spaces", check_scripts),
)
"""Each with its name, which it has also where it fails or cannot be run."""
