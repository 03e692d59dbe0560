"""`python -m tests.benchmarks [vectors|evaluation|handbook|cranfield|coverage|forms] [FOLDER]`.

Ratios measured in one run; `coverage` and `forms` take a store in place of a folder.

Without a folder a seeded corpus of 40,000 files and 55 MB is generated. Speed is never asserted
in a test: these figures depend on the machine and on what else it does, the ratios hardly.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks import corpus, indexing, queries


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["evaluation"], ["handbook"], ["cranfield"]):
        from tests.benchmarks import evaluation

        evaluation.main(arguments)
        return
    if arguments[:1] == ["vectors"]:
        from tests.benchmarks import vectors

        vectors.run()
        return
    if arguments[:1] == ["coverage"]:
        from tests.benchmarks import coverage

        coverage.run(Path(arguments[1]) if len(arguments) > 1 else None)
        return
    if arguments[:1] == ["forms"]:
        from tests.benchmarks import forms

        forms.run(Path(arguments[1]) if len(arguments) > 1 else None)
        return
    with tempfile.TemporaryDirectory(prefix="knowledge-benchmark-") as scratch:
        place = Path(scratch)
        if arguments:
            folder = Path(arguments[0])
        else:
            folder = place / "corpus"
            started = time.perf_counter()
            corpus.write_corpus(folder)
            print(f"generated the corpus in {time.perf_counter() - started:.1f} s")
        store = indexing.run(folder, place)
        queries.run(store)


main(sys.argv[1:])
