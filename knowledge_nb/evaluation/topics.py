"""Topics: query ids and their queries, from whatever a researcher holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.given import is_missing, name_of
from knowledge_nb.evaluation.trec import refuse_store

Topics = dict[str, str]

# PyTerrier's names, and ir-measures'.
HEADERS = (("qid", "query"), ("query_id", "query"), ("query_id", "text"))
_FORMS = "a dict of qid to query, a frame with the columns qid and query, pairs, or a TSV file"


def read_topics(source: Any) -> Topics:
    """Read topics.

    Parameters
    ----------
    source : mapping, frame, iterable of (qid, query), str or path
        A frame has the columns `qid` and `query`, as PyTerrier names them, or `query_id` and
        `query` or `text`. A string or path names a TSV file: UTF-8, a topic a line,
        `qid<TAB>query`, a header of those names optional, blank lines skipped, nothing quoted.

    Returns
    -------
    dict of str to str
        In the order of the source. A query may be blank: such a topic stays, without hits.

    Raises
    ------
    EvaluationError
        No topic, a qid twice, empty or missing (None, NaN), a query that is no text, a line without
        a tab.
    """
    topics: Topics = {}
    repeated: dict[str, None] = {}
    for where, qid, query in _pairs(source):
        name = name_of(qid, f"{where}: the qid").strip()
        if not name:
            raise EvaluationError(f"{where}: the qid is empty; every topic needs one")
        if name in topics:
            repeated[name] = None
        topics[name] = _query(where, name, query)
    if repeated:
        named = ", ".join(list(repeated)[:5])
        raise EvaluationError(
            f"qid {named} stands more than once in the topics ({len(repeated)} such in all): "
            "a run holds one ranking a qid; rename or remove the repeats"
        )
    if not topics:
        raise EvaluationError(f"there is no topic in what was given; topics are {_FORMS}")
    return topics


def _pairs(source: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(source, str | os.PathLike):
        yield from _lines(Path(source))
    elif hasattr(source, "columns"):
        fitting = [pair for pair in HEADERS if all(name in source.columns for name in pair)]
        if not fitting:
            missing = [name for name in HEADERS[0] if name not in source.columns]
            raise EvaluationError(
                f"the frame of topics has no column {' and no column '.join(missing)}; it needs "
                "qid and query"
            )
        first, second = fitting[0]
        for number, (qid, query) in enumerate(zip(source[first], source[second], strict=True)):
            yield f"row {number}", qid, query
    elif isinstance(source, Mapping):
        for qid, query in source.items():
            yield f"topic {qid!r}", qid, query
    elif isinstance(source, Iterable):
        for number, item in enumerate(source):
            try:
                if isinstance(item, str | bytes):  # of two letters, it would be a pair
                    raise TypeError
                qid, query = item
            except (TypeError, ValueError):
                raise EvaluationError(f"item {number} is no pair; topics are {_FORMS}") from None
            yield f"item {number}", qid, query
    else:
        raise EvaluationError(f"topics are {_FORMS}, not {type(source).__name__}")


def _lines(path: Path) -> Iterator[tuple[str, str, str]]:
    refuse_store(path)
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise EvaluationError(f"there is no topics file {path}; topics are {_FORMS}") from None
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{path} is not UTF-8: {error}") from error
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}") from error
    # Not splitlines(): U+2028 and others may stand inside a query.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not line.strip() or (number == 1 and _is_header(line)):
            continue
        qid, tab, query = line.partition("\t")
        if not tab:
            raise EvaluationError(
                f"{path}, line {number}: no tab between qid and query: {line[:60]!r}"
            )
        yield f"{path}, line {number}", qid, query


def _is_header(line: str) -> bool:
    return tuple(cell.strip().lower() for cell in line.split("\t")) in HEADERS


def _query(where: str, qid: str, query: Any) -> str:
    if is_missing(query):
        return ""
    if not isinstance(query, str):
        raise EvaluationError(
            f"{where}: the query of {qid} is {type(query).__name__} {query!r}, not text"
        )
    return query
