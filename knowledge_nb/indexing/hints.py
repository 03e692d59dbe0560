"""What a watcher knows of the disk: which events matter, and which losses are deletions.

An event is only a hint that a path is dirty; its state comes from a stat. A document is deleted
in watch mode when its file is gone now, and either an event named it or a folder above it, or this
watcher itself saw the file before. A disk that was unmounted is no deletion: the folder left in
its place is on another device.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from knowledge_nb.indexing.walk import ABSENT, presence
from knowledge_nb.store.files import StoreFiles


class EventFilter:
    """Says which events can change the index, by the rules of the walk.

    Parameters
    ----------
    roots : sequence of str
        Absolute folders and files that are watched.
    include : sequence of str
        Suffixes that a pass takes, lower case with the dot.
    store : StoreFiles
        Its directory, and a `memory` directory beside it, are left out.
    """

    def __init__(self, roots: Sequence[str], include: Sequence[str], store: StoreFiles) -> None:
        self._roots = sorted((root.rstrip(os.sep) or os.sep for root in roots), key=len)
        self._include = frozenset(include)
        left_out = (str(store.directory), str(store.directory.parent / "memory"))
        self._left_out = {*left_out, *map(os.path.realpath, left_out)}
        self.folders: Collection[str] = frozenset()  # those that hold documents, absolute

    def matters(self, path: str) -> bool:
        """Whether a pass may find something new at a path that an event names."""
        if any(path == folder or path.startswith(folder + os.sep) for folder in self._left_out):
            return False
        root = next((r for r in self._roots if path == r or path.startswith(r + os.sep)), None)
        if root is None:
            return False
        inner = path[len(root) :].strip(os.sep).split(os.sep)
        if any(part.startswith(".") for part in inner[:-1]):
            return False
        if os.path.splitext(path)[1].lower() in self._include:
            return True
        if path in self.folders or path in self._roots:
            return True
        return not inner[-1].startswith(".") and os.path.isdir(path) and not os.path.islink(path)


class Losses:
    """Tells deletions from files that merely cannot be seen now."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._devices: dict[str, int] = {}

    def saw(self, base: Path, paths: Iterable[str]) -> frozenset[str]:
        """Remember documents whose file was there in a pass; the folders that hold them."""
        self._seen = {os.path.normpath(base / path) for path in paths}
        folders: set[str] = set()
        for path in self._seen:
            folder = os.path.dirname(path)
            while folder not in folders:
                folders.add(folder)
                if folder == os.path.dirname(folder):
                    break
                folder = os.path.dirname(folder)
        for folder in folders:
            try:
                self._devices[folder] = os.lstat(folder).st_dev
            except OSError:
                self._devices.pop(folder, None)
        return frozenset(folders)

    def vanished(self, base: Path, paths: Sequence[str], hints: Collection[str]) -> list[str]:
        """Of documents that a walk did not find, those whose file was deleted.

        Parameters
        ----------
        base : Path
            The corpus base.
        paths : sequence of str
            Document paths.
        hints : collection of str
            Absolute paths that events named.

        Returns
        -------
        list of str
            A file that is there again (an atomic save) is never among them. Without an event, not
            more than half of the files that were seen: so many are not deleted unnoticed.
        """
        named: list[str] = []
        unnamed: list[str] = []
        for path in paths:
            location = os.path.normpath(base / path)
            if not self._deleted(location):
                continue
            if location in hints or any(above in hints for above in _above(location)):
                named.append(path)
            elif location in self._seen:
                unnamed.append(path)
        if 2 * len(unnamed) > len(self._seen):
            unnamed = []
        return named + unnamed

    def _deleted(self, location: str) -> bool:
        if presence(location) != ABSENT:
            return False
        folder = os.path.dirname(location)
        known = self._devices.get(folder)
        for above in (folder, *_above(folder)):
            try:
                device = os.lstat(above).st_dev
            except FileNotFoundError:
                continue
            except OSError:
                return False
            return known is None or device == known
        return False


def _above(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents]
