"""The store's files: where they lie, their private modes, and what is refused in their place.

Modes are read and set by path only. POSIX locks belong to the process, and closing any
descriptor of knowledge.db drops every lock that SQLite holds on it, so nothing here (and nothing
anywhere else) opens an existing database file.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from knowledge_nb.errors import StoreAccessError
from knowledge_nb.store.causes import fix_of

DATABASE_NAME = "knowledge.db"


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The paths of one store, all in one directory.

    Attributes
    ----------
    directory : Path
        Absolute; mode 0700 once a writer has opened the store.
    """

    directory: Path

    @classmethod
    def at(cls, directory: str | os.PathLike[str]) -> StoreFiles:
        """Name the store in `directory` (made absolute; nothing is touched)."""
        return cls(Path(os.path.abspath(directory)))

    @property
    def database(self) -> Path:
        """knowledge.db itself."""
        return self.directory / DATABASE_NAME

    @property
    def sidecars(self) -> tuple[Path, Path]:
        """SQLite's write-ahead log and shared-memory file."""
        return (
            self.directory / f"{DATABASE_NAME}-wal",
            self.directory / f"{DATABASE_NAME}-shm",
        )

    @property
    def lock(self) -> Path:
        """The file that a writer locks."""
        return self.directory / "knowledge.lock"

    @property
    def lock_holder(self) -> Path:
        """Who holds the lock, written beside it for the message of the one that is refused."""
        return self.directory / "knowledge.lock.holder"

    def exists(self) -> bool:
        """Whether a database lies there (a symlink counts: it is refused later, not overlooked).

        Raises
        ------
        StoreAccessError
            The directory may not be looked into: that is no absence.
        """
        try:
            os.lstat(self.database)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreAccessError(
                f"cannot look at {self.database}: {error.strerror}",
                fix=fix_of(error, self.directory),
            ) from error
        return True

    def is_ours(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path leads, by whatever name or link, to the database or a side file.

        Such a file must not be opened: closing it again drops every lock that SQLite holds.
        """
        try:
            found = os.stat(path)
        except OSError:
            return False
        for ours in (self.database, *self.sidecars):
            try:
                held = os.lstat(ours)
            except OSError:
                continue
            if (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino):
                return True
        return False

    def inode(self) -> tuple[int, int] | None:
        """Device and inode of the database; None where there is none."""
        try:
            status = os.lstat(self.database)
        except OSError:
            return None
        return (status.st_dev, status.st_ino)

    def stamp(self) -> tuple[int, int] | None:
        """Size and mtime (nanoseconds) of the database; None where there is none."""
        try:
            status = os.lstat(self.database)
        except OSError:
            return None
        return (status.st_size, status.st_mtime_ns)

    def is_lone(self) -> bool:
        """Whether the database is whole by itself, without the two files that reading uses.

        False where both are there, and where a log or a journal holds anything.
        """
        journal = self.directory / f"{DATABASE_NAME}-journal"
        if any(_bytes(path) for path in (self.sidecars[0], journal)):
            return False
        return not all(os.path.lexists(path) for path in self.sidecars)

    def refuse_symlinks(self) -> None:
        """Refuse a symlink or a non-file at any of the three SQLite paths.

        Raises
        ------
        StoreAccessError
            Naming the path. A link there would let another place be written with our modes.
        """
        for path in (self.database, *self.sidecars):
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreAccessError(f"cannot look at {path}: {error.strerror}") from error
            if stat.S_ISLNK(mode):
                raise StoreAccessError(
                    f"{path} is a symbolic link, which is refused",
                    fix="Remove the link, or name the real store directory with --store.",
                )
            if not stat.S_ISREG(mode):
                raise StoreAccessError(f"{path} is not a regular file", fix="Move it away.")

    def prepare(self) -> None:
        """Make the directory (0700) and an empty database file (0600) before SQLite touches it.

        Raises
        ------
        StoreAccessError
            When a part of the path is no directory, is not writable, or is a symlink in the
            database's place.
        """
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self.directory, 0o700)
        except OSError as error:
            raise StoreAccessError(
                f"cannot make the store directory {self.directory}: {error.strerror}",
                fix=fix_of(error, self.directory),
            ) from error
        self.refuse_symlinks()
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        try:
            # O_EXCL: only a file that did not exist is opened here, so no lock can be dropped.
            os.close(os.open(self.database, flags, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreAccessError(
                f"cannot make {self.database}: {error.strerror}",
                fix=fix_of(error, self.directory),
            ) from error
        self.assert_private()

    def assert_private(self) -> None:
        """Set mode 0600 again on the database and its sidecars, by path, where it differs."""
        self.refuse_symlinks()
        for path in (self.database, *self.sidecars):
            try:
                if stat.S_IMODE(os.lstat(path).st_mode) != 0o600:
                    os.chmod(path, 0o600)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreAccessError(
                    f"cannot set mode 0600 on {path}: {error.strerror}",
                    fix=fix_of(error, self.directory),
                ) from error


def _bytes(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
