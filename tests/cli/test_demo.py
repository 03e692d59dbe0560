"""`knowledge demo`: what a newcomer sees first."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import Run


def test_the_demo_shows_the_verbs_and_leaves_nothing(spawn: Run, tmp_path: Path) -> None:
    """A ranking, a set with its term report, an absence, words, and what to type next."""
    (tmp_path / "tmp").mkdir()
    done = spawn("demo", env={"TMPDIR": str(tmp_path / "tmp")})
    assert done.status == 0, done.err
    assert done.err == ""
    commands = re.findall(r"^\$ knowledge (\w+)", done.out, re.MULTILINE)
    assert commands == ["index", "search", "match", "match", "words"]
    assert "Covers 72 indexed documents" in done.out
    assert "in any form" in done.out
    assert "No indexed document matches: ransomware" in done.out
    assert "knowledge index FOLDER" in done.out
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["tmp"]


def test_a_kept_demo_can_be_asked(spawn: Run, tmp_path: Path) -> None:
    """`--keep` says where the store is, and each command it proposes works."""
    (tmp_path / "tmp").mkdir()
    done = spawn("demo", "--keep", env={"TMPDIR": str(tmp_path / "tmp")})
    assert done.status == 0
    proposed = re.findall(r"^  knowledge (--store .*)$", done.out, re.MULTILINE)
    assert proposed
    for line in proposed:
        arguments = [part.strip("'") for part in re.findall(r"'[^']*'|\S+", line)]
        assert spawn(*arguments).status == 0, line
