"""A real folder and a real store beside it, with the damage that tests do to them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from knowledge_nb.core import Core


@dataclass
class Place:
    """A folder of documents, and the core of the store beside it."""

    folder: Path
    core: Core

    def write(self, path: str, text: str) -> Path:
        """Write a document of the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def damage(self, *statements: str) -> None:
        """Run statements past every guard of ours, on a connection of their own."""
        connection = apsw.Connection(str(self.core.files.database))
        try:
            connection.execute("PRAGMA writable_schema = ON").fetchall()
            for statement in statements:
                connection.execute(statement).fetchall()
        finally:
            connection.close()

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """Rows of the stored file."""
        connection = apsw.Connection(str(self.core.files.database))
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def contents(self) -> bytes:
        """Everything that lies in the store's directory. No connection may be open here."""
        return b"".join(
            file.read_bytes() for file in self.core.files.directory.iterdir() if file.is_file()
        )

    def contents_elsewhere(self, name: str = "*") -> bytes:
        """The same, read by another process, so that no lock of this one is dropped."""
        script = (
            "import pathlib, sys\n"
            "for file in sorted(pathlib.Path(sys.argv[1]).glob(sys.argv[2])):\n"
            "    sys.stdout.buffer.write(file.read_bytes())\n"
        )
        command = [sys.executable, "-c", script, str(self.core.files.directory), name]
        return subprocess.run(command, capture_output=True, check=True).stdout


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """An empty folder `notes` with a store `knowledge` beside it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    made = Place(folder, Core(tmp_path / "knowledge"))
    yield made
    made.core.close()


@pytest.fixture
def filled(place: Place) -> Place:
    """Three documents of several chunks, indexed."""
    for name, word in (("alpha", "zarquon"), ("beta", "quagga"), ("gamma", "okapi")):
        sections = [f"## Part {n}\n\nThe {word} runs, number {n}. " + "Text. " * 60 for n in "123"]
        place.write(f"{name}.md", f"# {name.title()}\n\n" + "\n\n".join(sections))
    place.core.index(place.folder)
    return place
