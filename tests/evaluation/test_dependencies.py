"""What this room needs beyond the package's own dependencies, and when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluation.conftest import FILES, fill

PROGRAM = """
import sys
sys.modules[{blocked!r}] = None  # as if it were not installed
import knowledge_nb as knb
kb = knb.open("knowledge")
kb.index("docs")
run = kb.run({{"q": "bread"}}, mode="lexical")
kb.explain("bread", "d.md").terms
kb.reconcile("bread").recall(1)
run.to_trec("x.run")
try:
    kb.{verb}
except knb.MissingDependencyError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("blocked", "verb"),
    [
        ("ir_measures", 'evaluate(run, {"q": {"d.md": 1}})'),
        ("pytrec_eval", 'evaluate(run, {"q": {"d.md": 1}})'),
        ("scipy", 'evaluate([run, run], {"q": {"d.md": 1}})'),
        ("scipy", "compare(a=run, b=run)"),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    tmp_path: Path, blocked: str, verb: str
) -> None:
    """Runs, explanations and reconciliation need none of them."""
    fill(tmp_path / "docs", FILES)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=blocked, verb=verb)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'knowledge-nb[evaluation]'" in done.stdout
    assert blocked.split("_")[0] in done.stdout or "scipy" in done.stdout
