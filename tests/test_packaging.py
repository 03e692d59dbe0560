"""The wheel: it holds everything that runs, and works where only it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout, without isolation (nothing is downloaded)."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT))
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the wheel's package comes before the checkout."""
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return {**os.environ, "PYTHONPATH": str(target)}


def test_the_wheel_holds_what_runs(wheel: Path) -> None:
    """Schema, type marker, demo corpus and licence are in it; tests and notebooks are not."""
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "knowledge_nb/store/schema.sql",
        "knowledge_nb/py.typed",
        "knowledge_nb/_data/handbook/index.md",
        "knowledge_nb/_data/topics.tsv",
        "knowledge_nb/ARCHITECTURE.md",
    ):
        assert name in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "notebooks"))]


def test_the_installed_package_runs_the_main_job(installed: dict[str, str], tmp_path: Path) -> None:
    """From the wheel alone, in an empty folder: index, search, enumerate, demo."""
    where = run(
        sys.executable,
        "-c",
        "import knowledge_nb; print(knowledge_nb.__file__)",
        env=installed,
        cwd=tmp_path,
    )
    assert installed["PYTHONPATH"] in where
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Pier\n\nThe old pier.")
    knowledge = (sys.executable, "-m", "knowledge_nb")
    run(*knowledge, "index", "notes", env=installed, cwd=tmp_path)
    assert run(*knowledge, "match", "pier", "--paths-only", env=installed, cwd=tmp_path) == "a.md\n"
    assert "tier:" in run(*knowledge, "demo", env=installed, cwd=tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["knowledge", "notes"]
