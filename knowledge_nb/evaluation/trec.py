"""TREC run and qrels files, as trec_eval, ir-measures, ranx and PyTerrier read and write them.

A run has six columns, `qid Q0 docno rank score tag`, a qrels file four, `qid 0 docno grade`,
separated by white space. Beside a run of ours lies FILE.json with what made it.

References
----------
trec_eval: https://github.com/usnistgov/trec_eval. It holds scores in single precision, orders by
score, then by docno from z to a, and never looks at the rank.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.runs import Outcome, Provenance, Ranking, RunRecord, ordered
from knowledge_nb.store.files import DATABASE_NAME

PathLike = str | os.PathLike[str]

# What some reader takes for a column's end, a quotation or nothing; a "%" that would be decoded.
_ENCODED = re.compile(r'[\s\x00-\x1f\x7f-\x9f\ufeff"]|%(?=[0-9A-Fa-f]{2})')
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")


def encode_docno(docno: str) -> str:
    """Percent-encode (RFC 3986, UTF-8) what cannot stand in a column; most names stay as they are.

    White space, control characters, U+FEFF, `"`, and a "%" before two hexadecimal digits.
    `decode_docno` gives the name back, so no two names collide.
    """
    return _ENCODED.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), docno)


def decode_docno(text: str) -> str:
    """Undo `encode_docno` on what it would have written; any other name stays as it is.

    So `%2F`, `%c3` and `%ff`, which it never writes, stay in the names of other tools. `%20` may
    be its work or part of a foreign name: see `names.matched`.
    """

    def decode(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode("utf-8")
        except UnicodeDecodeError:
            return match[0]

    plain = _ESCAPES.sub(decode, text)
    return plain if encode_docno(plain) == text else text


def falling_scores(ranking: Ranking) -> Iterator[float]:
    """The scores of a ranking, made strictly falling in single precision.

    A score that would tie, so that another tool orders the documents by name, is put one step of
    single precision below its predecessor's. Others are the scores as they are.
    """
    last: float | None = None
    for _, score in ranking:
        if last is not None and not single_precision(score) < last:
            score = _below(last)
        last = single_precision(score)
        yield score


def single_precision(number: float) -> float:
    """The nearest number of single precision, in which trec_eval holds scores.

    Raises
    ------
    EvaluationError
        It is beyond the largest one, 3.4e38.
    """
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        raise EvaluationError(
            f"the score {number!r} is beyond single precision (3.4e38), in which trec_eval holds "
            "scores; divide the run's scores by a constant"
        ) from None
    return rounded


def _below(number: float) -> float:
    """The next smaller number of single precision."""
    (bits,) = struct.unpack("<i", struct.pack("<f", number))
    bits = bits - 1 if number > 0 else -(2**31) + 1 if number == 0 else bits + 1
    below: float = struct.unpack("<f", struct.pack("<i", bits))[0]
    return below


def run_lines(run: RunRecord) -> Iterator[str]:
    """The lines of a TREC run file, without line ends, topics and ranks in order."""
    tag = encode_docno(run.label)
    for qid, ranking in run.rankings.items():
        name = encode_docno(qid)
        pairs = zip(ranking, falling_scores(ranking), strict=True)
        for rank, ((docno, _), score) in enumerate(pairs, start=1):
            yield f"{name} Q0 {encode_docno(docno)} {rank} {score!r} {tag}"


def sidecar_of(path: PathLike) -> Path:
    """Where what made a run is kept."""
    return Path(f"{os.fspath(path)}.json")


def write_run(run: RunRecord, path: PathLike) -> Path:
    """Write a TREC run file, and beside it FILE.json with provenance and outcomes.

    Each is written beside its target and renamed over it.

    Returns
    -------
    pathlib.Path
        The run file.
    """
    target = Path(path)
    text = "".join(f"{line}\n" for line in run_lines(run))
    write_whole(target, text)
    record: dict[str, Any] = {
        "run_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "name": run.name,
        "degraded": list(run.degraded),
        "notes": list(run.notes),
        "provenance": None if run.provenance is None else asdict(run.provenance),
        "outcomes": [asdict(each) for each in run.outcomes],
    }
    write_whole(sidecar_of(target), json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    return target


def read_run(path: PathLike, *, name: str = "") -> RunRecord:
    """Read a TREC run file, ours or another tool's.

    Parameters
    ----------
    path : path
        UTF-8. Where FILE.json lies beside it and belongs to this very text, provenance, outcomes
        and topics without hits come back too.
    name : str
        Else the tag of its first line, else the file's stem.

    Returns
    -------
    RunRecord
        Scores as they stand in the file; see `runs.ordered` for the order.

    Raises
    ------
    EvaluationError
        No such file, or a line that is none of a run; the message names the line.
    """
    file = Path(path)
    text = _read(file, "run")
    rows: list[tuple[str, str, int | None, float]] = []
    tag = ""
    decoded: set[str] = set()
    for number, cells in _cells(text):
        if len(cells) != 6:
            raise EvaluationError(
                f"{file}, line {number}: {len(cells)} columns where a TREC run has six "
                "(qid Q0 docno rank score tag)"
            )
        qid, _, docno, rank, score, cell = cells
        tag = tag or decode_docno(cell)
        names = decode_docno(qid), decode_docno(docno)
        decoded.update(
            plain for plain, raw in zip(names, (qid, docno), strict=True) if plain != raw
        )
        try:
            rows.append((*names, int(rank), float(score)))
        except ValueError:
            raise EvaluationError(
                f"{file}, line {number}: the rank {rank!r} is to be a whole number, the score "
                f"{score!r} a number"
            ) from None
    run = replace(ordered(rows, name or tag or file.stem), decoded=frozenset(decoded))
    return _with_sidecar(run, file, text, name)


def _with_sidecar(run: RunRecord, file: Path, text: str, name: str) -> RunRecord:
    try:
        record = json.loads(sidecar_of(file).read_text("utf-8"))
        if record["run_sha256"] != hashlib.sha256(text.encode()).hexdigest():
            note = f"{sidecar_of(file).name} belongs to another state of {file.name}: left aside."
            return replace(run, notes=(*run.notes, note))
        made = record["provenance"]
        outcomes = tuple(
            Outcome(**{**each, "notes": tuple(each["notes"])}) for each in record["outcomes"]
        )
        return replace(
            run,
            name=name or record["name"],
            rankings={each.qid: run.rankings.get(each.qid, ()) for each in outcomes}
            or run.rankings,
            outcomes=outcomes,
            provenance=None if made is None else Provenance.from_record(made),
            notes=(*run.notes, *record["notes"]),
        )
    except FileNotFoundError:
        return run
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        note = f"{sidecar_of(file).name} is no record of a run of this release: left aside."
        return replace(run, notes=(*run.notes, note))


def read_judgements(path: PathLike) -> tuple[list[tuple[str, str, int]], frozenset[str]]:
    """Read the lines of a TREC qrels file.

    Returns
    -------
    list of (str, str, int)
        (qid, docno, grade), in its order.
    frozenset of str
        Qids and docnos that stood percent-encoded.

    Raises
    ------
    EvaluationError
        No such file, or a line that is none of a qrels file.
    """
    file = Path(path)
    found = []
    decoded: set[str] = set()
    for number, cells in _cells(_read(file, "qrels")):
        if len(cells) != 4:
            raise EvaluationError(
                f"{file}, line {number}: {len(cells)} columns where TREC qrels have four "
                "(qid 0 docno grade)"
            )
        qid, _, docno, grade = cells
        names = decode_docno(qid), decode_docno(docno)
        decoded.update(
            plain for plain, raw in zip(names, (qid, docno), strict=True) if plain != raw
        )
        try:
            found.append((*names, int(grade)))
        except ValueError:
            raise EvaluationError(
                f"{file}, line {number}: the grade is a whole number, not {grade!r}"
            ) from None
    return found, frozenset(decoded)


def write_judgements(judgements: Iterable[tuple[str, str, int]], path: PathLike) -> Path:
    """Write a TREC qrels file, whole, in the order given."""
    lines = (f"{encode_docno(q)} 0 {encode_docno(d)} {grade}\n" for q, d, grade in judgements)
    write_whole(Path(path), "".join(lines))
    return Path(path)


def refuse_store(path: Path) -> None:
    """Refuse the store's database and its side files: opening one here would drop its locks.

    Raises
    ------
    EvaluationError
    """
    for name in (path.name, path.resolve().name):
        if name.startswith(DATABASE_NAME):
            raise EvaluationError(f"{path} is a knowledge store's own file; name another one")


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, so that nobody sees half of it."""
    refuse_store(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(file: Path, what: str) -> str:
    refuse_store(file)
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise EvaluationError(f"there is no {what} file {file}") from None
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{file} is not UTF-8: {error}") from error
    except OSError as error:
        raise EvaluationError(f"{file} cannot be read: {error.strerror}") from error


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if cells:
            yield number, cells
