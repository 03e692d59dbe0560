"""Statistics of the corpus, each one query on the snapshot.

Sizes are bytes of files and characters of chunk bodies; words are tokens as the index counts
them. Every list has a stated order and is empty only where the corpus has nothing of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from knowledge_nb.audit.near_duplicates import MISSED, near_pairs
from knowledge_nb.audit.snapshot import SnapshotInfo
from knowledge_nb.audit.table import Table, TableResult, Type
from knowledge_nb.errors import ConfigurationError

if TYPE_CHECKING:
    import duckdb

_OVERVIEW = """
SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks),
       (SELECT coalesce(sum(bytes), 0) FROM documents), (SELECT sum(words) FROM documents),
       (SELECT count(*) FROM terms), (SELECT count(DISTINCT stem) FROM terms),
       (SELECT count(*) FROM terms WHERE occurrences = 1),
       (SELECT count(*) FROM folders WHERE depth > 0),
       (SELECT coalesce(median(chunks), 0) FROM documents),
       (SELECT coalesce(median(length(body)), 0) FROM chunks),
       (SELECT count(*) FROM documents WHERE stale_reason <> ''),
       (SELECT count(*) FROM skipped_files WHERE kind = 'file'),
       (SELECT coalesce(sum(files), 0) FROM other_types)
"""
_BY_FOLDER = """
SELECT coalesce(nullif(array_to_string(
           list_slice(string_split(CASE folder WHEN '.' THEN '' ELSE folder END, '/'), 1, $depth),
       '/'), ''), '.') AS place,
       count(*), sum(chunks), sum(bytes), sum(words), count(*) / sum(count(*)) OVER ()
FROM documents GROUP BY place ORDER BY place <> '.', place
"""
_DOCUMENTS = """
SELECT path, folder, suffix, bytes, chunks, words,
       coalesce(held.characters, 0), coalesce(held.headings, 0)
FROM documents LEFT JOIN (
    SELECT document_id, sum(length(body)) AS characters, count(*) FILTER (opens > 0) AS headings
    FROM chunks GROUP BY document_id
) AS held ON held.document_id = documents.id
ORDER BY bytes DESC, path
"""
_CHUNK_SIZES = """
SELECT CASE WHEN length(body) = 0 THEN 0 ELSE 1 + floor(log2(length(body)))::BIGINT END AS class,
       count(*), sum(words), count(*) / sum(count(*)) OVER ()
FROM chunks GROUP BY class ORDER BY class
"""
_CHUNK_FACTS = """
SELECT min(length(body)), median(length(body)), quantile_disc(length(body), 0.95),
       max(length(body)), avg(length(body)) FROM chunks
"""
_HEADINGS = """
SELECT heading, count(DISTINCT document_id), count(*), count(*) / sum(count(*)) OVER ()
FROM chunks GROUP BY heading ORDER BY 2 DESC, 3 DESC, heading
"""
_GROWTH = """
WITH firsts AS (SELECT first_document AS id, count(*) AS fresh FROM terms
                WHERE first_document IS NOT NULL GROUP BY id)
SELECT row_number() OVER seen AS documents, sum(words) OVER seen AS occurrences,
       sum(coalesce(fresh, 0)) OVER seen AS words
FROM documents LEFT JOIN firsts USING (id) WINDOW seen AS (ORDER BY id) ORDER BY documents
"""
_ZIPF = """
SELECT row_number() OVER (ORDER BY occurrences DESC, word), word, occurrences,
       documents, occurrences / sum(occurrences) OVER ()
FROM terms ORDER BY 1
"""
_DUPLICATES = """
SELECT dense_rank() OVER (ORDER BY copies DESC, first), copies, path, bytes, sha256
FROM (SELECT *, count(*) OVER same AS copies, min(path) OVER same AS first FROM documents
      WINDOW same AS (PARTITION BY sha256))
WHERE copies > 1 ORDER BY 1, path
"""
_TEXTS = """
SELECT path, coalesce(string_agg(body, chr(10) ORDER BY ordinal), '')
FROM documents JOIN chunks ON chunks.document_id = documents.id GROUP BY path ORDER BY path
"""
_FRESHNESS = """
SELECT path, strftime(modified, '%Y-%m-%dT%H:%M:%SZ'), strftime(indexed, '%Y-%m-%dT%H:%M:%SZ'),
       (epoch(strptime($taken, '%Y-%m-%dT%H:%M:%SZ')) - epoch(modified)) / 86400.0, stale_reason
FROM documents ORDER BY modified, path
"""

GROWTH_POINTS = 200

Statistic = Callable[..., TableResult]


def overview(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """The corpus in thirteen figures."""
    (values,) = con.execute(_OVERVIEW).fetchall()
    named = (
        ("documents", "documents"),
        ("chunks", "chunks"),
        ("bytes of the indexed files", "bytes"),
        ("words in bodies", "occurrences"),
        ("different words", "words"),
        ("different stems", "stems"),
        ("words that occur once", "words"),
        ("folders", "folders"),
        ("chunks of a document, median", "chunks"),
        ("characters of a chunk, median", "characters"),
        ("documents that may be out of date", "documents"),
        ("files skipped", "files"),
        ("files of other types", "files"),
    )
    rows = [
        (what, float(value or 0), unit) for (what, unit), value in zip(named, values, strict=True)
    ]
    columns: dict[str, Type] = {"figure": "text", "value": "number", "unit": "text"}
    return _result("overview", {}, columns, rows, info)


def by_folder(con: duckdb.DuckDBPyConnection, info: SnapshotInfo, depth: int = 1) -> TableResult:
    """Documents, chunks, bytes and words of each folder, in path order.

    Every document is in one row: that of the first `depth` parts of its folder; "." holds those
    that lie in none.
    """
    if depth < 1:
        raise ConfigurationError(f"depth is a whole number from 1, not {depth}")
    columns: dict[str, Type] = {
        "folder": "text",
        "documents": "integer",
        "chunks": "integer",
        "bytes": "integer",
        "words": "integer",
        "share": "number",
    }
    rows = con.execute(_BY_FOLDER, {"depth": depth}).fetchall()
    return _result("by_folder", {"depth": depth}, columns, rows, info)


def documents(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Each document with its sizes, largest first; headings are those that stand in the file."""
    columns: dict[str, Type] = {
        "path": "text",
        "folder": "text",
        "suffix": "text",
        "bytes": "integer",
        "chunks": "integer",
        "words": "integer",
        "characters": "integer",
        "chunks_that_open_a_heading": "integer",
    }
    return _result("documents", {}, columns, con.execute(_DOCUMENTS).fetchall(), info)


def chunk_sizes(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Chunks by characters of the body, in classes that double: 0, 1, 2-3, 4-7 and so on.

    Every class from the smallest to the largest has a row, also where it is empty.
    """
    columns: dict[str, Type] = {
        "from_characters": "integer",
        "to_characters": "integer",
        "chunks": "integer",
        "words": "integer",
        "share": "number",
    }
    found = {row[0]: row[1:] for row in con.execute(_CHUNK_SIZES).fetchall()}
    rows = []
    for size in range(min(found, default=0), max(found, default=-1) + 1):
        low, high = (0, 0) if size == 0 else (1 << (size - 1), (1 << size) - 1)
        rows.append((low, high, *found.get(size, (0, 0, 0.0))))
    (figures,) = con.execute(_CHUNK_FACTS).fetchall()
    facts = dict(zip(("min", "median", "p95", "max", "mean"), figures, strict=True))
    notes: tuple[str, ...] = ()
    if rows:
        notes = (
            f"Characters of a chunk: {facts['min']:,} to {facts['max']:,}, median "
            f"{facts['median']:,.0f}, 95% up to {facts['p95']:,}.",
        )
    return _result("chunk_sizes", {}, columns, rows, info, notes, facts)


def headings(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Each heading, as its breadcrumb is shown, by documents (most first); "" is no heading."""
    columns: dict[str, Type] = {
        "heading": "text",
        "documents": "integer",
        "chunks": "integer",
        "share_of_chunks": "number",
    }
    return _result("headings", {}, columns, con.execute(_HEADINGS).fetchall(), info)


def vocabulary_growth(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Different words against words read, document by document, in the order of indexing.

    At most 200 points, the last document always one. The fit is Heaps' law, V = K n^beta, by
    least squares on logarithms (H. S. Heaps, Information Retrieval, 1978).
    """
    columns: dict[str, Type] = {
        "documents": "integer",
        "occurrences": "integer",
        "words": "integer",
    }
    every = [tuple(map(int, row)) for row in con.execute(_GROWTH).fetchall()]
    step = max(1, math.ceil(len(every) / GROWTH_POINTS))
    rows = [row for row in every if (len(every) - row[0]) % step == 0]
    slope, start = fit_logarithms([(row[1], row[2]) for row in rows])
    facts = {"beta": slope, "K": math.exp(start) if math.isfinite(start) else math.nan}
    notes: tuple[str, ...] = ()
    if math.isfinite(slope):
        notes = (f"Heaps' law: words = {facts['K']:.3g} x occurrences^{slope:.3f}.",)
    return _result("vocabulary_growth", {}, columns, rows, info, notes, facts)


def zipf(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Every word by occurrences, most first; ties by word. The fit is over ranks 1 to 1,000."""
    columns: dict[str, Type] = {
        "rank": "integer",
        "word": "text",
        "occurrences": "integer",
        "documents": "integer",
        "share": "number",
    }
    rows = con.execute(_ZIPF).fetchall()
    slope, _ = fit_logarithms([(row[0], row[2]) for row in rows[:1000]])
    notes: tuple[str, ...] = ()
    if math.isfinite(slope):
        notes = (f"Zipf's law: occurrences fall as rank^{slope:.3f} over the first 1,000 ranks.",)
    return _result("zipf", {}, columns, rows, info, notes, {"exponent": slope})


def duplicates(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """Documents whose files have the same bytes, group by group, most copies first.

    Empty: no two indexed files have the same bytes.
    """
    columns: dict[str, Type] = {
        "group": "integer",
        "copies": "integer",
        "path": "text",
        "bytes": "integer",
        "sha256": "text",
    }
    rows = con.execute(_DUPLICATES).fetchall()
    groups = rows[-1][0] if rows else 0
    notes = (f"{len(rows):,} documents in {groups:,} groups of equal files.",)
    return _result("duplicates", {}, columns, rows, info, notes, {"groups": groups})


def near_duplicates(
    con: duckdb.DuckDBPyConnection,
    info: SnapshotInfo,
    threshold: float = 0.8,
    words: int = 5,
) -> TableResult:
    """Pairs of documents that share many runs of words, most alike first; ties by path.

    Parameters
    ----------
    threshold : float
        Least Jaccard similarity of the two sets of runs, over 0 to 1.
    words : int
        Words in a run (a shingle). A document of fewer words is one run.

    Notes
    -----
    Candidates come from MinHash (A. Broder, On the resemblance and containment of documents,
    1997), so a pair just above the threshold may be missed; the note says how likely that is. The
    similarity of every pair that is listed is exact.
    """
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise ConfigurationError(f"threshold is over 0 and at most 1, not {threshold!r}")
    if not isinstance(words, int) or words < 1:
        raise ConfigurationError(f"words is a whole number from 1, not {words!r}")
    columns: dict[str, Type] = {
        "path": "text",
        "other_path": "text",
        "similarity": "number",
        "shared_runs": "integer",
        "runs": "integer",
        "other_runs": "integer",
    }
    texts = con.execute(_TEXTS).fetchall()
    pairs, missed = near_pairs(texts, threshold=threshold, words=words)
    notes = (
        f"{len(pairs):,} pairs of {len(texts):,} documents with text, similarity {threshold:g} or "
        f"more, over runs of {words} words. " + MISSED.format(missed),
    )
    arguments = {"threshold": threshold, "words": words}
    return _result("near_duplicates", arguments, columns, pairs, info, notes)


def freshness(con: duckdb.DuckDBPyConnection, info: SnapshotInfo) -> TableResult:
    """When each file was last written and indexed, oldest first.

    The age, in days, is of the file's own time at the time of the snapshot. A file changed since
    its pass is not seen here; `audit_files` looks.
    """
    columns: dict[str, Type] = {
        "path": "text",
        "modified": "time",
        "indexed": "time",
        "age_days": "number",
        "stale_reason": "text",
    }
    rows = con.execute(_FRESHNESS, {"taken": info.taken}).fetchall()
    notes = ("Times are of the last pass; `knowledge audit` compares with the disk now.",)
    return _result("freshness", {}, columns, rows, info, notes)


def fit_logarithms(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and intercept of ln y over ln x, by least squares; NaN for fewer than two x."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return math.nan, math.nan
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread
    return slope, mean_y - slope * mean_x


STATISTICS: dict[str, Statistic] = {
    function.__name__: function
    for function in (
        overview,
        by_folder,
        documents,
        chunk_sizes,
        headings,
        vocabulary_growth,
        zipf,
        duplicates,
        near_duplicates,
        freshness,
    )
}
NEED_TERMS = frozenset({"overview", "vocabulary_growth", "zipf"})


def _result(
    name: str,
    arguments: dict[str, Any],
    columns: dict[str, Type],
    rows: Sequence[tuple[Any, ...]],
    info: SnapshotInfo,
    notes: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
) -> TableResult:
    kinds = list(columns.values())
    clean = tuple(
        tuple(_cell(kind, value) for kind, value in zip(kinds, row, strict=True)) for row in rows
    )
    return TableResult(
        Table(f"statistics.{name}", columns, clean),
        arguments,
        info.generation,
        info.taken,
        info.completeness,
        notes,
        facts or {},
    )


def _cell(kind: Type, value: Any) -> Any:
    if kind == "integer":
        return None if value is None else int(value)
    if kind == "number":
        return None if value is None else float(value)
    return "" if value is None else value
