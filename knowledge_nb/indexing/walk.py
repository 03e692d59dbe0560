"""Find the files to index, and record everything that is left out and why.

Nothing is opened here. The store's own files are told by directory and by inode, because a
descriptor on knowledge.db, once closed, drops every lock that SQLite holds on it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knowledge_nb.errors import RootError
from knowledge_nb.store.files import StoreFiles

MAX_FILE_BYTES = 512 * 1024

TOO_LARGE = "too large"
NOT_UTF8 = "not UTF-8"
SYMLINK = "symbolic link"
UNREADABLE = "unreadable"
NAME_NOT_UTF8 = "name not UTF-8"
NOT_REGULAR = "not a regular file"
DOT_DIRECTORY = "dot directory"
STORE = "the store itself"
MEMORY_DIRECTORY = "memory directory beside the store"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index: where it lies, its path in the corpus, size and mtime (nanoseconds)."""

    location: str
    path: str
    bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Skip:
    """A file or directory that is left out."""

    path: str
    kind: str  # file | directory
    reason: str
    bytes: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file to walk: absolute location, path relative to the base, and the base."""

    location: str
    path: str
    base: str = ""

    @property
    def climbs(self) -> bool:
        """Whether the base itself lies below this root (its path is `..`, `../..` and so on)."""
        return set(self.path.split("/")) == {".."}

    def holds(self, path: str) -> bool:
        """Whether a document path is this root or lies below it."""
        if self.path == "." or self.climbs:
            # As many steps up as the root itself has, or fewer; "." has none.
            return _steps_up(path) <= _steps_up(self.path)
        if path.startswith(self.path + "/"):
            return _steps_up(path[len(self.path) + 1 :]) == 0
        return path == self.path


@dataclass(slots=True)
class Walk:
    """What a walk found.

    Attributes
    ----------
    files : list of FoundFile
        In path order, no path twice.
    skipped : list of Skip
        In path order.
    other_types : dict
        (root path, suffix) to [files, bytes].
    unread : list of str
        Directories (paths) that could not be listed; what lies below them is unknown.
    """

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    other_types: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def resolve_roots(paths: Iterable[str | os.PathLike[str]], base: Path) -> tuple[Root, ...]:
    """Name each root relative to the base, in the order given, a root twice only once.

    Raises
    ------
    RootError
        One is missing or cannot be listed; the message says that nothing was deleted.
    """
    roots: dict[str, Root] = {}
    for path in paths:
        location = os.path.abspath(path)
        try:
            mode = os.stat(location).st_mode
            if stat.S_ISDIR(mode):
                with os.scandir(location):
                    pass
        except OSError as error:
            raise RootError(
                f"cannot read {location}: {error.strerror}. Nothing was indexed or deleted; check "
                "the path, or whether its disk is mounted."
            ) from error
        relative = os.path.relpath(location, base).replace(os.sep, "/")
        try:
            relative.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RootError(f"the name of {location!r} is not UTF-8; rename it") from error
        roots.setdefault(relative, Root(location, relative, os.path.abspath(base)))
    return tuple(roots.values())


def walk_roots(roots: Sequence[Root], include: Sequence[str], store: StoreFiles) -> Walk:
    """Walk the roots.

    Parameters
    ----------
    roots : sequence of Root
        Existing folders or files.
    include : sequence of str
        Suffixes to take, lower case with the dot.
    store : StoreFiles
        Left out wherever it lies, with a `memory` directory beside it.

    Returns
    -------
    Walk
        Symbolic links are never followed, so a loop cannot occur.
    """
    walker = _Walker(frozenset(include), store)
    for root in roots:
        walker.take_root(root)
    result = walker.walk
    result.files = sorted({f.path: f for f in result.files}.values(), key=lambda f: f.path)
    result.skipped = sorted({s.path: s for s in result.skipped}.values(), key=lambda s: s.path)
    return result


class _Walker:
    def __init__(self, include: frozenset[str], store: StoreFiles) -> None:
        self.walk = Walk()
        self._include = include
        self._store_files = {
            key
            for path in (store.database, *store.sidecars)
            if (key := _inode(str(path))) is not None
        }
        self._store_directory = _inode(str(store.directory))
        self._memory = _inode(str(store.directory.parent / "memory"))

    def take_root(self, root: Root) -> None:
        if os.path.isdir(root.location):
            self._directory(root, root.location, root.path)
        else:
            self._file(root, root.location, root.path, os.stat(root.location))

    def _directory(self, root: Root, location: str, path: str) -> None:
        pending = [(location, "" if path == "." else path + "/")]
        while pending:
            here, prefix = pending.pop()
            reason = self._left_out(here)
            if reason:
                self._skip(prefix.rstrip("/") or ".", "directory", reason)
                continue
            try:
                with os.scandir(here) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                name = prefix.rstrip("/") or "."
                self.walk.unread.append(name)
                self._skip(name, "directory", UNREADABLE, detail=error.strerror or "")
                continue
            for entry in found:
                self._entry(root, entry, prefix, pending)

    def _left_out(self, location: str) -> str:
        inode = _inode(location)
        if inode is not None and inode == self._store_directory:
            return STORE
        if inode is not None and inode == self._memory:
            return MEMORY_DIRECTORY
        return ""

    def _entry(
        self, root: Root, entry: os.DirEntry[str], prefix: str, pending: list[tuple[str, str]]
    ) -> None:
        path = prefix + entry.name
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return  # it vanished between the listing and now
        except OSError as error:
            # The folder lists its names and gives no more: below a folder in it nothing is known.
            is_file = _is_file(entry)
            if not is_file:
                self.walk.unread.append(path)
            kind = "file" if is_file else "directory"
            self._skip(path, kind, UNREADABLE, detail=error.strerror or "")
            return
        if stat.S_ISLNK(status.st_mode):
            self._link(root, entry, path)
        elif not _is_utf8(entry.name):
            kind = "directory" if stat.S_ISDIR(status.st_mode) else "file"
            self._skip(path, kind, NAME_NOT_UTF8, status.st_size if kind == "file" else None)
        elif stat.S_ISDIR(status.st_mode):
            if entry.name.startswith("."):
                self._skip(path, "directory", DOT_DIRECTORY)
            else:
                pending.append((entry.path, _prefix(root, entry.path, path)))
        else:
            self._file(root, entry.path, path, status)

    def _link(self, root: Root, entry: os.DirEntry[str], path: str) -> None:
        try:
            leads_to_directory = entry.is_dir()
        except OSError:
            leads_to_directory = False  # a loop or a dead end: a link all the same
        if leads_to_directory:
            self._skip(path, "directory", SYMLINK)
        elif _suffix(entry.name) in self._include:
            self._skip(path, "file", SYMLINK)
        else:
            self._other(root, entry.name, 0)

    def _file(self, root: Root, location: str, path: str, status: os.stat_result) -> None:
        name = os.path.basename(location)
        if (status.st_dev, status.st_ino) in self._store_files:
            self._skip(path, "file", STORE, status.st_size)
        elif _suffix(name) not in self._include:
            self._other(root, name, status.st_size)
        elif not stat.S_ISREG(status.st_mode):
            self._skip(path, "file", NOT_REGULAR)
        elif status.st_size > MAX_FILE_BYTES:
            limit = f"over {MAX_FILE_BYTES // 1024} KiB"
            self._skip(path, "file", TOO_LARGE, status.st_size, limit)
        else:
            found = FoundFile(location, path, status.st_size, status.st_mtime_ns)
            self.walk.files.append(found)

    def _other(self, root: Root, name: str, size: int) -> None:
        suffix = printable_path(_suffix(name) or "(no suffix)")
        count = self.walk.other_types.setdefault((root.path, suffix), [0, 0])
        count[0] += 1
        count[1] += size

    def _skip(
        self, path: str, kind: str, reason: str, size: int | None = None, detail: str = ""
    ) -> None:
        self.walk.skipped.append(Skip(printable_path(path), kind, reason, size, detail))


THERE, ABSENT, UNKNOWN = "there", "absent", "unknown"


def presence(path: str | os.PathLike[str]) -> str:
    """Whether a file is `THERE` or `ABSENT`; `UNKNOWN` where its folder may not be searched."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError:
        return UNKNOWN
    return THERE


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry that gives no status is listed as a file."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _prefix(root: Root, location: str, path: str) -> str:
    """What stands before the names of a directory; the base's own files have nothing there.

    A root above the base reaches the base on a detour, `../base/`: one file must have one path.
    """
    if root.climbs and _steps_up(path):
        path = os.path.relpath(location, root.base).replace(os.sep, "/")
    return "" if path == "." else path + "/"


def _steps_up(path: str) -> int:
    steps = 0
    while path == ".." or path.startswith("../"):
        path, steps = path[3:], steps + 1
    return steps


def _inode(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable_path(path: str) -> str:
    """A path that can be stored and shown: bytes that are not UTF-8 become `\\xNN`."""
    if _is_utf8(path):
        return path
    return os.fsencode(path).decode("utf-8", "backslashreplace")
