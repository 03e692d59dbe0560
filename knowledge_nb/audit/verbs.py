"""The audit verbs, given a core: they open the transactions and hand on what the rooms need."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from knowledge_nb.audit.changes import Corpus, read_corpus
from knowledge_nb.audit.coverage import CoverageResult, coverage
from knowledge_nb.audit.files import FilesResult, audit_files, known_documents
from knowledge_nb.audit.match_set import MatchSet
from knowledge_nb.audit.term_list import ListedTerm, read_terms
from knowledge_nb.audit.universe import Universe, read_universe, to_bits
from knowledge_nb.errors import ConfigurationError
from knowledge_nb.matching.parted import parted
from knowledge_nb.matching.postings import Postings
from knowledge_nb.matching.query import parse, printable
from knowledge_nb.matching.sets import match_queries
from knowledge_nb.records import Completeness, Status
from knowledge_nb.retrieval.under import resolve

if TYPE_CHECKING:
    from knowledge_nb.core import Core

Set = TypeVar("Set", bound=MatchSet)


def terms_of(core: Core, source: Any) -> tuple[ListedTerm, ...]:
    """A list of terms from any source; see `read_terms`.

    Raises
    ------
    ConfigurationError
        Also where the path leads to the store's own database.
    """
    if isinstance(source, str | os.PathLike) and core.files.is_ours(source):
        raise ConfigurationError(f"{os.fspath(source)} is the store itself, not a list of terms")
    return read_terms(source)


def coverage_of(
    core: Core, terms: Any, *, under: str = "", timeout: float | None = None
) -> CoverageResult:
    """Answer a list of terms; see `knowledge_nb.audit.coverage.coverage`."""
    listed = terms_of(core, terms)
    if not core.reader.is_built():
        return CoverageResult(
            Status.INDEX_NOT_BUILT,
            core.tier(),
            Universe(()),
            listed=listed,
            under=printable(under),
            notes=(Completeness().emptiness(),),
        )
    with core.snapshot(timeout) as (connection, completeness, tier):
        return coverage(
            connection,
            listed,
            tier=tier,
            completeness=completeness,
            lexicon=core.lexicon(),
            under=under,
        )


def files_of(
    core: Core, paths: Sequence[str | os.PathLike[str]] = (), *, under: str = ""
) -> FilesResult:
    """Compare disk and index; see `knowledge_nb.audit.files.audit_files`.

    Without paths the roots of earlier passes, else those of the settings, are looked at.
    """
    if not core.reader.is_built():
        known, tier = Completeness(), core.tier()
    else:
        with core.snapshot() as (connection, known, tier):
            indexed = known_documents(connection)
    if not known.built:
        notes = (known.emptiness(),)
        return FilesResult(
            Status.INDEX_NOT_BUILT, tier, under=under, notes=notes, completeness=known
        )
    return audit_files(
        indexed,
        core.files,
        paths=paths or core.index_paths(()),
        include=core.settings.include,
        tier=tier,
        completeness=known,
        under=under,
        indexed_roots=core.index_paths(()) if paths else (),
    )


def match_set_of(core: Core, kind: type[Set], query: str, *, under: str = "") -> Set:
    """The set of documents that a query matches, as a set of the class given.

    Raises
    ------
    QuerySyntaxError
    """
    parsed = parse(query)
    shown = printable(query)
    if not core.reader.is_built():
        note = Completeness().emptiness()
        return kind(Universe(()), 0, query=shown, notes=(note,), status=Status.INDEX_NOT_BUILT)
    with core.snapshot() as (connection, completeness, tier):
        status = completeness.status
        notes = list(parsed.notes)
        if status is not Status.OK:
            notes = [completeness.emptiness()]
        elif not parsed.terms:
            status = Status.QUERY_EMPTY
            notes = ["Nothing of the query can be searched. Name a word of two letters or more."]
        scope = resolve(connection, printable(under))
        universe = read_universe(connection, printable(under))
        bits = 0
        if status is Status.OK:
            postings = Postings(connection, scope)
            lexicon = core.lexicon().get(completeness)
            (found,) = match_queries(postings, lexicon, [parsed])
            bits = to_bits(found.documents, universe.places())
            if parsed.dropped:
                notes.insert(0, f"Left out of the question: {parsed.left_out}.")
            notes += [each.note() for each in parted(postings, found.matches)]
            if scope.unknown:
                notes.append(scope.note())
        return kind(
            universe,
            bits,
            query=shown,
            compiled=parsed.compiled,
            notes=tuple(notes),
            tier=tier,
            completeness=completeness,
            status=status,
            core=core,
        )


def expression_of(core: Core, kind: type[Set], question: dict[str, Any], *, under: str = "") -> Set:
    """Ask again what `MatchSet.question` noted down.

    Raises
    ------
    ConfigurationError
        The question is not of that form.
    QueryError
        The index changed between two of its queries; ask again.
    """
    operator = question.get("operator", "")
    if not operator:
        return match_set_of(core, kind, str(question.get("query", "")), under=under)
    parts = [expression_of(core, kind, part, under=under) for part in question["parts"]]
    if operator == "~" and len(parts) == 1:
        return ~parts[0]
    if len(parts) == 2 and operator == "|":
        return parts[0] | parts[1]
    if len(parts) == 2 and operator == "&":
        return parts[0] & parts[1]
    if len(parts) == 2 and operator == "-":
        return parts[0] - parts[1]
    raise ConfigurationError(f"{operator!r} of {len(parts)} sets is no expression")


def corpus_of(core: Core) -> tuple[Corpus, Completeness]:
    """Every document as it is now; empty where nothing is built."""
    if not core.reader.is_built():
        return Corpus({}, 0), Completeness()
    with core.snapshot() as (connection, completeness, _):
        return read_corpus(connection, completeness.store_id), completeness
