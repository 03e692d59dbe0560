"""`evaluation`: the whole comparison of three modes, with the split of its time.

225 topics at depth 1,000 on 1,400 generated documents with the local model, as large as Cranfield.
`handbook` measures `data/handbook` and prints the table of the README; `cranfield [FOLDER]` does
the same for a copy of the Cranfield collection.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_nb.core import Core
from knowledge_nb.embedding.local import LocalEmbedder
from knowledge_nb.evaluation.comparing import compare_runs
from knowledge_nb.evaluation.evaluating import EvaluationRecord, evaluate
from knowledge_nb.evaluation.fusion_grid import fusion_grid
from knowledge_nb.evaluation.making import make_run
from knowledge_nb.evaluation.qrels import Qrels, read_qrels
from knowledge_nb.evaluation.significance import paired
from knowledge_nb.evaluation.topics import read_topics
from tests.benchmarks import corpus

DATA = Path(__file__).resolve().parents[2] / "data"
CRANFIELD = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "cranfield"
MODES = ("lexical", "vector", "fused")
MEASURES = ("nDCG@10", "AP", "R@100")


class Split:
    """Where the time went."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time one part."""
        started = time.perf_counter()
        yield
        self.parts[name] = self.parts.get(name, 0.0) + time.perf_counter() - started

    def report(self) -> None:
        """Print each part and the sum."""
        for name, seconds in self.parts.items():
            print(f"  {name:<34} {seconds:6.2f} s")
        print(f"  {'all':<34} {sum(self.parts.values()):6.2f} s")


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, topics and judgements on disk."""

    documents: Path
    topics: dict[str, str]
    qrels: Qrels
    docno: Any  # rule, see `docnos`


class MissingCollectionError(Exception):
    """What is missing of a collection, and where it was looked for."""


def run(scratch: Path) -> None:
    """A generated corpus: nothing but time is measured."""
    folder = scratch / "corpus"
    words = corpus.write_corpus(folder, files=1_400, megabytes=1.6)
    rng = random.Random(5)
    weights = [1.0 / (rank + 2.7) for rank in range(len(words))]
    topics = {
        str(n): " ".join(rng.choices(words, weights, k=rng.randint(8, 24))) for n in range(225)
    }
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    grades = {qid: {rng.choice(paths): rng.randint(0, 3) for _ in range(8)} for qid in topics}
    measure(Collection(folder, topics, Qrels(grades), "path"), scratch)


def measure(found: Collection, scratch: Path) -> tuple[Core, EvaluationRecord]:
    """Index, rank in three modes, measure, compare; the time of each is printed."""
    core = Core(scratch / "store", embedder=LocalEmbedder())
    started = time.perf_counter()
    report = core.index(found.documents)
    print(
        f"indexed {report.seen:,} documents in {report.chunks:,} chunks, with vectors: "
        f"{time.perf_counter() - started:.1f} s"
    )
    split = Split()
    runs = {}
    for mode in MODES:
        with split.part(f"rank {len(found.topics)} topics, {mode}"):
            runs[mode] = make_run(core, found.topics, mode=mode, k=1000, docno=found.docno)
    with split.part("measures, tests and intervals"):
        record = evaluate(runs, found.qrels, MEASURES)
    with split.part("comparison without judgements"):
        for mode in MODES[1:]:
            compare_runs(runs["lexical"], runs[mode])
    print(f"the whole comparison of three modes at depth 1,000, {len(found.topics)} topics:")
    split.report()
    print(f"  rows ranked: {sum(len(r) for run in runs.values() for r in run.rankings.values()):,}")
    return core, record


def table(found: Collection, scratch: Path) -> None:
    """Print the README's table: means, differences to lexical, the weighted fusion."""
    core, record = measure(found, scratch)
    means = {(each.run, each.measure): each for each in record.means}
    tests = {(each.run, each.measure): each for each in record.differences}
    print("\n| ranking | " + " | ".join(MEASURES) + " | against lexical, nDCG@10 |")
    print("|---|" + "---|" * (len(MEASURES) + 1))
    for mode in MODES:
        cells = [f"{means[mode, name].mean:.3f}" for name in MEASURES]
        test = tests.get((mode, "nDCG@10"))
        said = ""
        if test is not None:
            said = f"{_said(test.test)}, after Holm {test.p_randomisation_holm:.2f}"
        print(f"| {mode} | " + " | ".join(cells) + f" | {said} |")
    grid = fusion_grid(core, found.topics, _by_path(core, found))
    for each in grid.chosen:
        cell = each.cell
        print(
            f"weights {cell.lexical_weight:g}:{cell.vector_weight:g} k={cell.k:g} window="
            f"{cell.window}, chosen on the {each.chosen_on}, on the {each.topics} topics of the "
            f"{each.reported_on}: {each.tuned:.3f} (lexical {each.lexical:.3f}, vector "
            f"{each.vector:.3f}, plain fusion {each.even:.3f})"
        )
    held = grid.held_out
    qids = sorted(held["tuned"])
    tuned = [held["tuned"][qid] for qid in qids]
    base = [held["lexical"][qid] for qid in qids]
    mean = sum(tuned) / len(tuned)
    print(f"weighted fusion, each topic with the setting chosen without it: {mean:.3f}")
    print(f"  against lexical: {_said(paired(tuned, base))}")
    for note in record.notes:
        print(f"Note: {note}")
    core.close()


def _said(test: Any) -> str:
    return (
        f"{test.difference:+.3f} [{test.low:+.3f}, {test.high:+.3f}], {test.wins} / {test.ties} / "
        f"{test.losses}, p = {test.p_randomisation:.2f}"
    )


def _by_path(core: Core, found: Collection) -> Qrels:
    """Judgements by path, which is what the fusion study ranks."""
    if found.docno == "path":
        return found.qrels
    paths = {Path(each.path).stem: each.path for each in core.sources()}
    return Qrels(
        {
            qid: {paths.get(docno, docno): grade for docno, grade in each.items()}
            for qid, each in found.qrels.grades.items()
        }
    )


def handbook() -> Collection:
    """The collection of this repository."""
    return Collection(
        DATA / "handbook", read_topics(DATA / "topics.tsv"), read_qrels(DATA / "qrels.txt"), "path"
    )


def cranfield(folder: Path = CRANFIELD) -> Collection:
    """A copy of the Cranfield collection: documents as files, queries, qrels.

    Parameters
    ----------
    folder : path
        Holds a folder of documents (`docs`, `documents`, `corpus` or `files`, or the only one with
        text files), queries (`queries.tsv`, `topics.tsv`, or SMART's `cran.qry`), and judgements
        (`qrels.txt`, `qrels`, `cranqrel`).

    Raises
    ------
    MissingCollectionError
        Something is not there; the message names it.
    """
    if not folder.is_dir():
        raise MissingCollectionError(f"there is no folder {folder}")
    queries = _first(folder, ("queries.tsv", "topics.tsv", "cran.qry", "cran.qry.txt"))
    judgements = _first(folder, ("qrels.txt", "qrels", "cranqrel", "cranqrel.trec.txt"))
    documents = _documents(folder)
    missing = [
        text
        for text, found in (
            ("a folder of documents (docs, documents, corpus or files)", documents),
            ("queries (queries.tsv, topics.tsv or cran.qry)", queries),
            ("judgements (qrels.txt, qrels or cranqrel)", judgements),
        )
        if found is None
    ]
    if missing or queries is None or judgements is None or documents is None:
        raise MissingCollectionError(f"{folder} lacks {'; '.join(missing)}")
    topics = smart_queries(queries) if "qry" in queries.name else read_topics(queries)
    qrels = read_qrels(cranqrel(judgements))
    stems = {path.stem for path in documents.rglob("*") if path.suffix in (".md", ".txt")}
    judged = {docno for each in qrels.grades.values() for docno in each}
    if len(judged & stems) * 2 >= len(judged):
        return Collection(documents, topics, qrels, "stem")
    return Collection(documents, topics, qrels, "path")


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _documents(folder: Path) -> Path | None:
    holding = [
        each
        for each in sorted(folder.iterdir())
        if each.is_dir() and any(p.suffix in (".md", ".txt") for p in each.rglob("*"))
    ]
    named = [each for each in holding if each.name in ("docs", "documents", "corpus", "files")]
    chosen = named or holding
    return chosen[0] if len(chosen) == 1 or named else None


def smart_queries(file: Path) -> dict[str, str]:
    """Read SMART's `cran.qry`: `.I 001`, `.W`, lines of text.

    The qrels of Cranfield number the queries 1, 2, 3 ... by their place, not by `.I`.
    """
    parts = re.split(r"(?m)^\.I\s+\S+\s*$", file.read_text("utf-8"))[1:]
    texts = [re.sub(r"(?m)^\.W\s*$", "", part) for part in parts]
    return read_topics({str(n): " ".join(text.split()) for n, text in enumerate(texts, start=1)})


def cranqrel(file: Path) -> list[tuple[str, str, int]]:
    """Read qrels of four columns, or Cranfield's own of three (`query document code`).

    Its codes run from 1, a complete answer, to 4, of interest as background; 5, and -1 of some
    copies, is of no interest. So code c of the three columns becomes grade 5 - c, at least 0.
    """
    found = []
    for line in file.read_text("utf-8").splitlines():
        cells = line.split()
        if len(cells) == 4:
            found.append((cells[0], cells[2], int(cells[3])))
        elif len(cells) == 3:
            code = int(cells[2])
            found.append((cells[0], cells[1], max(0, 5 - code) if code > 0 else 0))
        elif cells:
            raise MissingCollectionError(f"{file}: {len(cells)} columns in {line!r}")
    once: dict[tuple[str, str], int] = {}
    for qid, docno, grade in found:  # one pair of Cranfield is judged twice
        once[qid, docno] = max(grade, once.get((qid, docno), 0))
    return [(qid, docno, grade) for (qid, docno), grade in once.items()]


def main(arguments: list[str]) -> None:
    """`evaluation`, `handbook` or `cranfield [FOLDER]`."""
    with tempfile.TemporaryDirectory(prefix="knowledge-evaluation-") as scratch:
        if arguments[0] == "evaluation":
            run(Path(scratch))
        elif arguments[0] == "handbook":
            table(handbook(), Path(scratch))
        else:
            try:
                found = cranfield(Path(arguments[1]) if arguments[1:] else CRANFIELD)
            except MissingCollectionError as error:
                raise SystemExit(f"Cranfield cannot be measured: {error}") from None
            table(found, Path(scratch))
