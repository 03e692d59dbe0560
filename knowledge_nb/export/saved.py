"""Saved sets: answers kept beside the store, and what became of them.

One JSON file a set, in the folder `saved` of the store's directory; not in knowledge.db, so that
a reset of the index does not take them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb.audit import verbs
from knowledge_nb.audit.changes import ADDED, KEPT, REMOVED, Then
from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import ConfigurationError, ExportError, NotFoundError, StoreAccessError
from knowledge_nb.export.files import Target, fill_json
from knowledge_nb.export.question import question_of
from knowledge_nb.export.verify import asker
from knowledge_nb.records import Completeness, Status
from knowledge_nb.store.status import utc_now

if TYPE_CHECKING:
    from knowledge_nb.core import Core

FOLDER = "saved"
SAVED_VERSION = 1
_NAME = re.compile(r"[^\W_][\w .+-]{0,79}")

SAVED_COLUMNS: dict[str, Type] = {
    "name": "text",
    "documents": "integer",
    "query": "text",
    "under": "text",
    "saved": "time",
    "generation": "integer",
    "error": "text",
}
DIFF_COLUMNS: dict[str, Type] = {"path": "text", "change": "text", "cause": "text"}


@dataclass(frozen=True, slots=True)
class SavedSet:
    """One saved set, as it was saved; `paths` in the order of the answer.

    Attributes
    ----------
    under : str
        The folder that the question was restricted to; "" for the whole corpus.
    notes : tuple of str
        What the answer said, such as words that were left out.
    error : str
        Why the file cannot be read as a saved set; then nothing else of it is known.
    """

    name: str
    paths: tuple[str, ...]
    query: str
    saved: str
    generation: int
    question: dict[str, Any] = field(repr=False)
    then: Then = field(repr=False)
    statement: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def under(self) -> str:
        return str(self.question.get("arguments", {}).get("under") or "")


@dataclass(frozen=True, slots=True)
class SavedDiff:
    """A saved set against now: a change and a cause for every path that is in either."""

    saved: SavedSet
    changes: tuple[tuple[str, str, str], ...]
    asked_again: bool
    tier: str = ""
    notes: tuple[str, ...] = ()
    status: Status = Status.OK
    completeness: Completeness = field(default_factory=Completeness)

    @property
    def counts(self) -> dict[str, int]:
        """Number of documents added, removed and kept."""
        found = dict.fromkeys((ADDED, REMOVED, KEPT), 0)
        for _, change, _ in self.changes:
            found[change] += 1
        return found

    @property
    def same(self) -> bool:
        """Whether the set holds the same documents now."""
        return not self.counts[ADDED] and not self.counts[REMOVED]

    def headline(self) -> str:
        """The counts in words."""
        shown = ", ".join(f"{number:,} {change}" for change, number in self.counts.items())
        return f"{self.saved.name}, saved {self.saved.saved}: {shown}"

    def table(self) -> Table:
        """`path change cause`: added, then removed, then kept, each in path order."""
        return Table("saved", dict(DIFF_COLUMNS), self.changes)


def folder_of(core: Core) -> Path:
    """Where the saved sets of a store lie."""
    return core.files.directory / FOLDER


def save(core: Core, name: str, result: Any, table: Table, *, overwrite: bool = False) -> SavedSet:
    """Keep the documents of an answer under a name.

    Raises
    ------
    ConfigurationError
        The name cannot be a file's, or is taken and `overwrite` is not set.
    ExportError
        The answer has no column `path`, or is a page.
    IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        There is no answer to keep.
    """
    name = _checked(name)
    question = question_of(result, table)
    if "path" not in table.columns:
        raise ExportError("only an answer with a column `path` is a set of documents")
    place = list(table.columns).index("path")
    paths = tuple(dict.fromkeys(str(row[place]) for row in table.rows))
    corpus, now = verbs.corpus_of(core)
    file = folder_of(core) / f"{name}.json"
    if file.exists() and not overwrite:
        raise ConfigurationError(
            f"a set {name!r} is saved already; save it with overwrite=True (--overwrite), or "
            "under another name"
        )
    known = question.completeness or now
    record = {
        "saved_version": SAVED_VERSION,
        "name": name,
        "saved": utc_now(),
        "question": {"verb": question.verb, "arguments": question.arguments},
        "query": question.query,
        "compiled": question.compiled,
        "generation": known.generation,
        "completeness_statement": known.statement(),
        "notes": list(question.notes),
        "paths": list(paths),
        "documents": corpus.noted(paths),
        "last_document_id": corpus.last_id,
        "store_id": corpus.store_id,
    }
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        target = Target(file)
        target.mode = 0o600
        target.keep(target.write(fill_json(record)))
    except FileNotFoundError as error:
        raise StoreAccessError(
            f"there is no store directory {core.files.directory}; index something first"
        ) from error
    except OSError as error:
        raise StoreAccessError(f"cannot save {name!r}: {error}") from error
    return _read(file)


def saved_sets(core: Core) -> tuple[SavedSet, ...]:
    """Every saved set, by name; empty where none was saved. A file that is none has its error."""
    try:
        files = sorted(folder_of(core).glob("*.json"))
    except OSError:
        files = []
    return tuple(_read_or_error(file) for file in files)


def _read_or_error(file: Path) -> SavedSet:
    try:
        return _read(file)
    except StoreAccessError as error:
        nothing = Then({}, 0, "")
        return SavedSet(file.stem, (), "", "", 0, {}, nothing, error=str(error))


def saved_table(sets: tuple[SavedSet, ...]) -> Table:
    """`name documents query under saved generation error`, by name."""
    rows = tuple(
        (s.name, None, "", "", "", None, s.error)
        if s.error
        else (s.name, len(s.paths), s.query, s.under, s.saved, s.generation, "")
        for s in sets
    )
    return Table("saved.list", dict(SAVED_COLUMNS), rows)


def saved_diff(core: Core, name: str) -> SavedDiff:
    """Ask the question of a saved set again, and compare.

    A set whose question is not known (a frame of one's own) is compared with the documents that
    are in the index at all.

    Raises
    ------
    NotFoundError
        No set of that name.
    IndexNotBuiltError, CorpusEmptyError
        There is nothing to compare with.
    """
    held = _read(folder_of(core) / f"{_checked(name)}.json")
    corpus, known = verbs.corpus_of(core)
    ask = asker(str(held.question.get("verb", "")))
    notes = held.notes
    if ask is not None:
        table = ask(core, **held.question["arguments"])
        place = list(table.columns).index("path")
        now = {str(row[place]) for row in table.rows}
    else:
        now = {path for path in held.paths if path in corpus.documents}
        notes = (
            *notes,
            "Its question is not known, so only documents that are gone are told.",
        )
    then = set(held.paths)
    changes = []
    for change, paths in ((ADDED, now - then), (REMOVED, then - now), (KEPT, now & then)):
        for path in sorted(paths):
            why = held.then.cause(path, change, corpus)
            changes.append((path, change, why))
    return SavedDiff(held, tuple(changes), ask is not None, core.tier(), notes, completeness=known)


def delete_saved(core: Core, name: str) -> None:
    """Remove a saved set.

    Raises
    ------
    NotFoundError
    """
    file = folder_of(core) / f"{_checked(name)}.json"
    try:
        file.unlink()
    except FileNotFoundError as error:
        raise _unknown(file) from error
    except OSError as error:
        raise StoreAccessError(f"cannot delete {file}: {error.strerror}") from error


def _checked(name: str) -> str:
    name = unicodedata.normalize("NFC", str(name)).strip()
    if not _NAME.fullmatch(name) or name.endswith(".") or len(name.encode()) > 200:
        raise ConfigurationError(
            f"{name[:100]!r} cannot name a saved set: letters, digits, spaces and . _ + -, "
            "beginning with a letter or digit, at most 80"
        )
    return name


def _read(file: Path) -> SavedSet:
    try:
        record = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise _unknown(file) from error
    except (OSError, ValueError) as error:
        raise StoreAccessError(f"cannot read the saved set {file}: {error}") from error
    if not isinstance(record, dict) or record.get("saved_version") != SAVED_VERSION:
        raise StoreAccessError(f"{file} is no saved set of this release")
    try:
        return SavedSet(
            record["name"],
            tuple(record["paths"]),
            record["query"],
            record["saved"],
            int(record["generation"]),
            record["question"],
            Then.of(record),
            record["completeness_statement"],
            tuple(str(note) for note in record.get("notes", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreAccessError(f"{file} is no whole saved set: {error!r}") from error


def _unknown(file: Path) -> NotFoundError:
    known = ", ".join(sorted(other.stem for other in file.parent.glob("*.json"))) or "none"
    return NotFoundError(f"no saved set {file.stem!r}; there is: {known}")
