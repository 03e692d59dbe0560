"""A folder of documents with a store beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.records import IndexReport

_WITHOUT_OVERRIDE = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]


@dataclass
class Notes:
    """A folder of documents and the core of the store beside it."""

    folder: Path
    core: Core

    def write(self, path: str, content: str | bytes = "word") -> Path:
        """Write a file of the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def index(self, *paths: Path, **options: bool) -> IndexReport:
        """Run a pass; without paths over the folder."""
        return self.core.index(*(paths or (self.folder,)), **options)

    def paths(self) -> list[str]:
        """Indexed documents, in path order."""
        return [document.path for document in self.core.sources()]

    def holding(self, word: str) -> list[str]:
        """Documents that hold a word, in path order."""
        return [match.path for match in self.core.enumerate(word, sort="path").matches]

    def stale(self) -> dict[str, str]:
        """Why documents may be out of date."""
        return {d.path: d.stale_reason for d in self.core.sources() if d.stale_reason}

    def skipped(self) -> dict[str, tuple[str, str]]:
        """Reason and detail of everything that is recorded as left out."""
        with self.core.reader.snapshot() as connection:
            found = connection.execute("SELECT path, reason, detail FROM skipped_files").fetchall()
        return {path: (reason, detail) for path, reason, detail in found}

    def index_as_plain_user(self, *paths: Path, **options: bool) -> str:
        """Run a pass as `as_plain_user` does."""
        script = """
            import json, sys
            from knowledge_nb.core import Core
            from knowledge_nb.errors import KnowledgeError
            try:
                report = Core(sys.argv[1]).index(*sys.argv[3:], **json.loads(sys.argv[2]))
                print("stale", report.stale, "removed", report.removed)
            except KnowledgeError as error:
                print(type(error).__name__, error)
        """
        targets = [str(path) for path in (paths or (self.folder,))]
        return self.as_plain_user(
            script, str(self.core.files.directory), json.dumps(options), *targets
        )

    def as_plain_user(self, script: str, *arguments: str) -> str:
        """Run a script in a process whose reading is subject to file modes, as root's is not."""
        prefix: list[str] = []
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("root reads every file, and there is no setpriv to be less than root")
            prefix = _WITHOUT_OVERRIDE
        command = [*prefix, sys.executable, "-c", textwrap.dedent(script), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    """An empty folder `notes` with a store `knowledge` beside it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    made = Notes(folder, Core(tmp_path / "knowledge"))
    yield made
    made.core.close()
