"""Wheel and sdist: they hold everything that runs, and work where only they are installed."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13")


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
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution of this checkout, also without downloads."""
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), str(ROOT))
    return next(out.glob("*.tar.gz"))


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


def test_the_sdist_holds_what_builds_and_tests_it(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    """A wheel built from it is the wheel built from the checkout, file by file."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/conftest.py"):
        assert (folder / name).is_file(), name
    assert not [path for path in folder.rglob("*") if "__pycache__" in path.parts]
    out = tmp_path / "again"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out), str(folder))
    (again,) = out.glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    """The files of a wheel, by checksum."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            each.filename: each.CRC for each in archive.infolist() if "RECORD" not in each.filename
        }


def test_an_index_would_take_both(sdist: Path, wheel: Path) -> None:
    """Metadata and long description pass the strict check."""
    pytest.importorskip("twine")
    run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))


def test_the_metadata_name_extras_and_versions(wheel: Path) -> None:
    """What an installer is told: the extras that the README names, Python, the command."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
        entry = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    extras = set(metadata.get_all("Provides-Extra", []))
    assert {"local", "mcp", "charts", "browser", "test", "all"} <= extras
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "knowledge = knowledge_nb.cli:main" in entry
    classifiers = metadata.get_all("Classifier", [])
    for version in VERSIONS:
        assert f"Programming Language :: Python :: {version}" in classifiers


def test_python_m_is_the_command(installed: dict[str, str], tmp_path: Path) -> None:
    """`python -m knowledge_nb` and `knowledge` are one."""
    said = run(sys.executable, "-m", "knowledge_nb", "--help", env=installed, cwd=tmp_path)
    assert said.startswith("Usage: knowledge ")


# -- other interpreters --------------------------------------------------------------------------


def interpreters(version: str) -> Iterator[str]:
    """Candidates on the path, then those that pyenv keeps."""
    if found := shutil.which(f"python{version}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in sorted((pyenv / "versions").glob(f"{version}.*"), reverse=True):
        yield str(folder / "bin" / "python")


def interpreter(version: str) -> str:
    """One that runs and is of that version (a shim on the path may lead nowhere)."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in interpreters(version):
        try:
            done = subprocess.run([candidate, "-c", program], capture_output=True, check=False)
        except OSError:
            continue
        if done.stdout.decode().strip() == version:
            return candidate
    pytest.skip(f"there is no Python {version} here")


@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_it_installs_and_runs(version: str, wheel: Path, tmp_path: Path) -> None:
    """A fresh environment, its own pip, the base packages: the demo, and what extras are for."""
    python = interpreter(version)
    run(python, "-m", "venv", str(tmp_path / "venv"), timeout=120)
    programs = tmp_path / "venv" / "bin"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pip = (str(programs / "python"), "-m", "pip", "--disable-pip-version-check")
    done = subprocess.run(
        [*pip, "install", "--quiet", str(wheel)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=environment,
    )
    if done.returncode and re.search("onnection|resolution|timed out|SSLError", done.stderr):
        pytest.skip(f"packages cannot be downloaded here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    work = tmp_path / "work"
    work.mkdir()
    inside = {"env": environment, "cwd": work, "timeout": 120}
    assert "tier:" in run(str(programs / "knowledge"), "demo", **inside)
    program = "import knowledge_nb as knb; kb = knb.open('kb'); print(knb.__version__); kb.close()"
    run(str(programs / "python"), "-W", "error", "-c", program, **inside)
    (work / "knowledge.toml").write_text('[knowledge.mcp]\nexpose = ["knowledge_search"]\n')
    refused = subprocess.run(
        [str(programs / "knowledge"), "mcp"], capture_output=True, text=True, check=False,
        env=environment, cwd=work, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert refused.returncode == 4
    assert "pip install 'knowledge-nb[mcp]'" in refused.stderr
    run(*pip, "check", **inside)
