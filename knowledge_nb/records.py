"""What the core returns: frozen records that carry their status, notes and totals.

House rules: higher score is better everywhere, ranks start at 1, ties break on chunk id, every
list has a stated order, and a total is counted before any limit is applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Mode = Literal["lexical", "vector", "fused"]
TYPES_NAMED = 8  # suffixes written out in a completeness statement; the record has them all
PATHS_NAMED = 5


class Status(StrEnum):
    """What kind of answer a result is; only `OK` is an answer about the corpus."""

    OK = "ok"
    INDEX_NOT_BUILT = "index_not_built"  # no pass ever completed
    CORPUS_EMPTY = "corpus_empty"  # a completed pass left no document
    QUERY_EMPTY = "query_empty"  # nothing of the query can be searched


@dataclass(frozen=True, slots=True)
class Completeness:
    """What an answer covers: counts of one committed state, and what is not in them.

    Attributes
    ----------
    documents, chunks : int
        In the index.
    skipped : dict of str to int
        Files and directories that the walk left out, by reason, largest count first.
    other_types : dict of str to int
        Files of types that the settings do not take, by suffix, largest count first.
    stale : int
        Documents whose file could not be read in the last pass: their text may be old.
    without_vector : int
        Chunks that should have a vector and have none; 0 where no embeddings are configured.
    generation : int
        Number of the committed state.
    last_completed : str
        UTC time of the last completed pass, ISO 8601; "" when none ever completed.
    unfinished_since : str
        UTC time at which a pass began that did not complete; "" when there is none.
    base : str
        The pinned corpus base; "" before the first pass.
    older_passes : dict of str to str
        Folders that the last pass did not look at, with the time of the pass that did.
    removed_by_hand : int
        Documents taken out since by `rm`; their files may still be there.
    store_id : str
        Drawn anew whenever the tables are made: a reset starts the generations again.
    """

    documents: int = 0
    chunks: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    other_types: dict[str, int] = field(default_factory=dict)
    stale: int = 0
    without_vector: int = 0
    generation: int = 0
    last_completed: str = ""
    unfinished_since: str = ""
    base: str = ""
    older_passes: dict[str, str] = field(default_factory=dict)
    removed_by_hand: int = 0
    store_id: str = ""

    @property
    def state(self) -> tuple[str, int, str]:
        """What tells this committed state from any other; what is kept of a state is kept by it."""
        return (self.store_id, self.generation, self.last_completed)

    @property
    def built(self) -> bool:
        """Whether a pass ever completed."""
        return bool(self.last_completed)

    @property
    def status(self) -> Status:
        """OK, or why no question to this store has an answer."""
        if not self.built:
            return Status.INDEX_NOT_BUILT
        return Status.OK if self.documents else Status.CORPUS_EMPTY

    def unfinished(self) -> str:
        """The warning of a pass that did not finish; "" where there is none."""
        if not self.unfinished_since:
            return ""
        return (
            f"WARNING: a pass that began {self.unfinished_since} did not finish, so files may "
            "be missing and some documents newer than others; run `knowledge index` again."
        )

    def emptiness(self) -> str:
        """Why there is nothing to search, and what to run; "" where there are documents."""
        if not self.built:
            run = "`knowledge index` again" if self.unfinished_since else "`knowledge index FOLDER`"
            return f"{self.statement()} Run {run}."
        if self.documents:
            return ""
        if self.removed_by_hand:
            taken = counted(self.removed_by_hand, "document")
            return (
                f"The index holds no document: `knowledge rm` took out {taken} since the last "
                "pass. `knowledge index` takes in again the files that are still there."
            )
        skipped = sum(self.skipped.values())
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.skipped.items())
        return (
            "The last pass left no document in the index"
            + (f"; it skipped {skipped:,} ({reasons})" if skipped else "")
            + ". `knowledge index FOLDER` takes in another folder."
        )

    def statement(self) -> str:
        """The completeness statement: one paragraph of plain words."""
        if not self.built:
            start = "No indexing pass has completed, so this says nothing about the corpus."
            if self.unfinished_since:
                start += f" A pass began {self.unfinished_since} and did not finish."
            return start
        parts = [
            f"Covers {counted(self.documents, 'indexed document')} "
            f"({counted(self.chunks, 'chunk')}) as of the pass completed {self.last_completed}."
        ]
        if self.older_passes:
            older = ", ".join(f"{path!r} {time}" for path, time in self.older_passes.items())
            parts.append(f"That pass did not look at what was last looked at earlier: {older}.")
        if warning := self.unfinished():
            parts.append(warning)
        if self.removed_by_hand:
            taken = counted(self.removed_by_hand, "document")
            parts.append(f"{taken} taken out by `rm` since, whose files may still be there.")
        if self.skipped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.skipped.items())
            parts.append(f"Not covered: {sum(self.skipped.values()):,} skipped ({reasons}).")
        else:
            parts.append("No file was skipped.")
        if self.other_types:
            named = list(self.other_types.items())[:TYPES_NAMED]
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in named)
            if len(named) < len(self.other_types):
                kinds += f" and {len(self.other_types) - len(named):,} more types"
            parts.append(
                f"Not covered: {counted(sum(self.other_types.values()), 'file')} of other types"
                f" ({kinds})."
            )
        if self.stale:
            parts.append(
                f"{counted(self.stale, 'document')} could not be read again and may be out of date."
            )
        if self.without_vector:
            parts.append(f"{counted(self.without_vector, 'chunk')} without a vector.")
        parts.append(
            "Files changed on disk since that pass were not looked at; `knowledge audit` does."
        )
        return " ".join(parts)


def counted(number: int, noun: str = "document") -> str:
    """A number with its noun, in the singular for 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@dataclass(frozen=True, slots=True, repr=False)
class Stats:
    """A store at a glance. With a status other than OK its zeros say nothing of the corpus."""

    store: str
    base: str
    documents: int
    chunks: int
    bytes: int  # of the indexed files
    database_bytes: int
    log_bytes: int
    tier: str
    completeness: Completeness

    @property
    def status(self) -> Status:
        """OK, or why there is nothing to count."""
        return self.completeness.status

    def __repr__(self) -> str:
        said = self.completeness.emptiness()
        if not said:
            said = f"{counted(self.documents, 'document')}, {counted(self.chunks, 'chunk')}"
        return f"Stats({self.store!r}: {said} {self.tier})"


@dataclass(frozen=True, slots=True)
class Document:
    """One indexed file, as `sources` lists it."""

    path: str
    chunks: int
    bytes: int
    modified: str  # UTC, ISO 8601
    indexed: str  # UTC, ISO 8601
    stale_reason: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One stored chunk, as `show` gives it."""

    citation: str
    path: str
    ordinal: int
    heading: str  # "" where it stands below no heading
    text: str
    first_line: int  # 1-based, in the file
    last_line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked chunk. Ranks start at 1; a tier in which it was not a candidate is None."""

    rank: int
    chunk_id: int
    citation: str
    path: str
    ordinal: int
    heading: str
    text: str
    first_line: int
    last_line: int
    score: float  # of the mode asked for, higher is better
    lexical_rank: int | None = None
    lexical_score: float | None = None  # BM25, higher is better
    vector_rank: int | None = None
    vector_distance: float | None = None  # L2 between unit vectors, 0 to 2, lower is nearer
    lexical_contribution: float = 0.0  # to the fused score; the two sum to it
    vector_contribution: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A ranking: never a statement of completeness, `enumerate` makes those.

    Attributes
    ----------
    hits : tuple of Hit
        At most k, best first; empty only with a note that says why.
    dropped_terms : tuple of (str, str)
        Words of the query that were not searched, each with the reason.
    common_terms : tuple of str
        Words left out of MATCH because at least half of the chunks hold them.
    compiled : str
        The FTS5 expression that ran.
    """

    query: str
    status: Status
    mode: Mode
    k: int
    tier: str
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    dropped_terms: tuple[tuple[str, str], ...] = ()
    common_terms: tuple[str, ...] = ()
    compiled: str = ""
    degraded: bool = False
    reason: str = ""
    under: str = ""
    completeness: Completeness = field(default_factory=Completeness)


@dataclass(frozen=True, slots=True)
class TermReport:
    """What one term of an enumerate query stands for in this corpus.

    Attributes
    ----------
    term : str
        As typed, without its minus.
    excluded : bool
        Whether it had a leading minus.
    scope : {"", "heading", "body"}
    stem : str
        The porter tokens that were matched, joined by spaces.
    documents : int
        Documents that hold it in any form; within `under` where one was given.
    documents_as_written : int
        Documents that hold it as typed, after NFKC and case folding only.
    related : tuple of (str, int)
        All other surface forms of the same stem with the number of documents of each, most
        first, then by word.
    """

    term: str
    excluded: bool
    scope: str
    stem: str
    documents: int
    documents_as_written: int
    related: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentMatch:
    """One matching document. The counts are of its chunks, kept apart on purpose."""

    path: str
    citation: str  # first matching chunk
    body_matches: int  # chunks in whose body any positive term matches
    heading_matches: int  # chunks in whose heading any positive term matches
    chunks: int  # all chunks of the document


@dataclass(frozen=True, slots=True)
class Parted:
    """What one phrase leaves out: markup stands between its words.

    Attributes
    ----------
    text : str
        The phrase as typed.
    excluded : bool
        Whether it had a leading minus.
    paths : tuple of str
        Documents that hold it for a reader only, in order; they do not count as holding it.
    whole : bool
        Whether every document was looked at in which it may be so; where not, there may be more.
    """

    text: str
    excluded: bool
    paths: tuple[str, ...]
    whole: bool

    def note(self) -> str:
        """The same in words."""
        markup = "markup (a link target, a tag with attributes, a list number)"
        if not self.paths:
            return (
                f'Whether {markup} parts the words of "{self.text}" in further documents was not '
                "looked at everywhere: too many hold its words near each other."
            )
        named = ", ".join(self.paths[:PATHS_NAMED])
        if len(self.paths) > PATHS_NAMED:
            named += f" and {len(self.paths) - PATHS_NAMED:,} more"
        least = "" if self.whole else "At least "
        done = "left out" if self.excluded else "counted"
        one = len(self.paths) == 1
        return (
            f"{least}{counted(len(self.paths), 'document')} {'holds' if one else 'hold'} "
            f'"{self.text}" for a reader only: {markup} stands between its words, so '
            f"{'it is' if one else 'they are'} not {done} for it: {named}."
        )


@dataclass(frozen=True, slots=True)
class EnumerateResult:
    """A set of documents, whole: `matched` is counted before the limit.

    Attributes
    ----------
    parted : tuple of Parted
        Phrases that further documents hold for a reader only, since markup stands between their
        words; those documents are not counted, and a note says so.
    """

    query: str
    status: Status
    tier: str
    matched: int = 0
    matches: tuple[DocumentMatch, ...] = ()
    truncated: bool = False
    sort: str = "matches"
    min_body_matches: int = 0
    terms: tuple[TermReport, ...] = ()
    dropped_terms: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    compiled: str = ""
    under: str = ""
    parted: tuple[Parted, ...] = ()
    completeness: Completeness = field(default_factory=Completeness)


@dataclass(frozen=True, slots=True)
class Word:
    """One real word of the corpus."""

    word: str
    stem: str
    documents: int  # that hold this very word
    documents_any_form: int  # that hold any word of the same stem; what enumerate reports
    occurrences: int  # in bodies, and in each heading once


@dataclass(frozen=True, slots=True)
class VocabularyResult:
    """Words by documents (most first), then word; the whole list unless a limit was given."""

    pattern: str
    prefix: str
    status: Status
    tier: str
    words: tuple[Word, ...] = ()
    matched: int = 0
    notes: tuple[str, ...] = ()
    completeness: Completeness = field(default_factory=Completeness)


@dataclass(frozen=True, slots=True)
class FileEvent:
    """What a pass did with one file or directory: `action` and, for a skip, its reason."""

    path: str
    action: str  # added | replaced | unchanged | removed | skipped | stale | failed
    reason: str = ""
    bytes: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an indexing pass did. Counts of documents unless another unit is named."""

    roots: tuple[str, ...]
    dry_run: bool
    completed: bool
    tier: str
    seen: int  # files of accepted types that the walk found
    added: int
    replaced: int
    unchanged: int
    removed: int
    stale: int
    chunks: int  # in all files seen, unchanged ones carried forward
    chunks_written: int
    bytes: int  # read
    seconds: float
    vectors_written: int = 0
    vectors_reused: int = 0
    vectors_refused: int = 0
    inputs_cut: int = 0  # embedding inputs over the size limit, cut at a character
    events: tuple[FileEvent, ...] = ()  # all but `unchanged`, in path order
    skipped: dict[str, int] = field(default_factory=dict)
    other_types: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    completeness: Completeness = field(default_factory=Completeness)

    @property
    def ok(self) -> bool:
        """Whether nothing that should be in the index is missing from it."""
        return self.completed and not self.stale and not self.vectors_refused


@dataclass(frozen=True, slots=True)
class Check:
    """What one check of the doctor found.

    Attributes
    ----------
    check : str
        What was looked at.
    state : {"pass", "fail", "not run"}
        An unrun check never counts as passed; `message` says why it did not run.
    message : str
        What was seen.
    fix : str
        What to do about a failure; beside a pass, a warning's advice; "" where there is none.
    """

    check: str
    state: Literal["pass", "fail", "not run"]
    message: str
    fix: str = ""
