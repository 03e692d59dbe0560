"""Servers, pages and keys of the real-browser tests."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

CHROMIUM = Path("/usr/bin/chromium")
# A closed network: nothing but the loopback address resolves, and Chromium asks for nothing itself.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
READY = "Python 3 (ipykernel) | Idle"
START_SECONDS = 60


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def environment(home: Path) -> dict[str, str]:
    """The environment of a server that reads and writes no settings of the person at work."""
    places = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    return {
        **os.environ,
        **{f"JUPYTER_{place}": str(home / place.lower()) for place in places},
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
    }


def settings(home: Path, *, dark: bool) -> None:
    """Set the theme, no look for news, and every cell in the page whether in sight or not."""
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True, exist_ok=True)
    tracker = home / "settings" / "@jupyterlab" / "notebook-extension"
    tracker.mkdir(parents=True, exist_ok=True)
    whole = {"windowingMode": "none"}
    (tracker / "tracker.jupyterlab-settings").write_text(json.dumps(whole))
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    (folder / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(quiet))


class Server:
    """A Jupyter server on 127.0.0.1, ended with `close`."""

    def __init__(self, command: Sequence[str], home: Path, root: Path) -> None:
        self.home, self.root = home, root
        self.port = free_port()
        self.token = secrets.token_hex(16)
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (home / "server.log").open("wb")
        self._process = subprocess.Popen(
            [word.format(port=self.port, token=self.token, root=root) for word in command],
            cwd=root,
            env=environment(home),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._wait()

    def _wait(self) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/api?token={self.token}", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        self.close()
        raise RuntimeError(f"the server did not start:\n{self.log()}")

    def log(self) -> str:
        """What the server has written."""
        return (self.home / "server.log").read_text(errors="replace")

    def close(self) -> None:
        """End the server and its kernels."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def lab(home: Path, root: Path) -> Server:
    """A JupyterLab in which nothing asks the network."""
    settings(home, dark=False)
    return Server(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", "--ServerApp.port={port}", "--ServerApp.port_retries=0"),
            *("--IdentityProvider.token={token}", "--ServerApp.root_dir={root}"),
            *("--LabApp.news_url=", "--LabApp.extension_manager=readonly"),
            "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "--LabApp.expose_app_in_browser=True",
        ],
        home,
        root,
    )


def notebook_seven(home: Path, root: Path) -> Server:
    """A Notebook 7, the page of one document without JupyterLab around it."""
    return Server(
        [
            *(sys.executable, "-m", "notebook", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", "--ServerApp.port={port}", "--ServerApp.port_retries=0"),
            *("--IdentityProvider.token={token}", "--ServerApp.root_dir={root}"),
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ],
        home,
        root,
    )


def voila(home: Path, root: Path) -> Server:
    """A Voila server over the notebooks of a folder."""
    return Server(
        [
            *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", "--ServerApp.port={port}", "--ServerApp.port_retries=0"),
            *("--IdentityProvider.token={token}", "--ServerApp.root_dir={root}"),
            "--ServerApp.jpserver_extensions=voila.server_extension=True",
            "--ServerApp.tornado_settings=mathjax_url=/no-mathjax.js",
        ],
        home,
        root,
    )


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of code cells without outputs."""
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source, id=f"cell-{number}")
            for number, source in enumerate(cells)
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}},
    )
    nbformat.write(book, path)


class Notebook:
    """A notebook open in JupyterLab."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page, self.server = page, server

    def open(self, name: str, cells: Sequence[str]) -> None:
        """Write a notebook, open it, wait until its kernel is ready."""
        write_notebook(self.server.root / name, cells)
        self.page.goto(f"{self.server.url}/doc/tree/{name}?token={self.server.token}")
        # Run All before the status bar says so is silently lost.
        self.ready()

    def ready(self) -> None:
        """Wait until the status bar says that the kernel is idle."""
        self.page.get_by_text(READY).first.wait_for(timeout=60_000)

    def command(self, name: str) -> None:
        """Run a command of JupyterLab without waiting for it."""
        self.page.evaluate(f"() => {{ void window.jupyterapp.commands.execute({name!r}) }}")

    def run_all(self) -> None:
        """Run every cell; wait until all have run."""
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"
        )
        self.ready()

    def run_cell(self, number: int) -> None:
        """Run one cell without waiting for it."""
        self.page.evaluate(
            """number => {
                window.jupyterapp.shell.currentWidget.content.activeCellIndex = number;
                void window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            number,
        )

    def outputs(self) -> str:
        """Text of all outputs."""
        found = self.page.locator(".jp-OutputArea-output")
        return "\n".join(found.nth(at).inner_text() for at in range(found.count()))

    def shut_down(self) -> None:
        """End the kernel, so that the next test has the machine to itself."""
        self.page.evaluate(
            "async () => { await window.jupyterapp?.shell.currentWidget"
            "?.sessionContext?.shutdown() }"
        )
