"""S09: the stop button of a real Jupyter kernel, in the middle of an index."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_nb.core import Core
from tests import processes

jupyter_client = pytest.importorskip("jupyter_client")

pytestmark = pytest.mark.soak


@pytest.fixture
def kernel() -> Iterator[Any]:
    """A Python kernel and its client."""
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def reply_to(client: Any, message: str) -> Any:
    """Wait for the end of a cell."""
    while True:
        reply = client.get_shell_msg(timeout=processes.GENEROUS)
        if reply["parent_header"].get("msg_id") == message:
            return reply["content"]


def value(client: Any, expression: str, code: str = "") -> str:
    """Run a cell, then an expression, and give its repr; or the name of the error."""
    # What is printed travels by another channel, and may come later than the reply.
    message = client.execute(code, user_expressions={"asked": expression})
    content = reply_to(client, message)
    if content["status"] == "error":
        return str(content["ename"])
    asked = content["user_expressions"]["asked"]
    return str(asked["data"]["text/plain"] if asked["status"] == "ok" else asked["ename"])


def test_stop_and_go_on(kernel: Any, tmp_path: Path) -> None:
    """At ten moments: rolled back, the lock free for this kernel and for another process."""
    manager, client = kernel
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(3_000):
        (folder / f"{number}.md").write_text(f"# Part\n\nzarquon {number}. " + "words " * 200)
    opened = f"import knowledge_nb as knb; kb = knb.open({str(tmp_path / 'store')!r})"
    assert value(client, f"kb.index({str(folder)!r}).added", opened) == "3000"
    stopped = 0
    for moment in range(10):
        message = client.execute(
            f"kb.index({str(folder)!r}, reindex=True)",
            stop_on_error=False,  # else the kernel drops the next cell
        )
        time.sleep(0.05 + moment * 0.1)
        manager.interrupt_kernel()
        stopped += reply_to(client, message)["status"] == "error"
        assert value(client, "len(kb.enumerate('zarquon'))") == "3000"
        other = Core(tmp_path / "store")
        assert {each.state for each in other.check()} == {"pass", "not run"}
        other.close()
    assert stopped
    assert value(client, "kb.index().ok") == "True"
    assert value(client, "kb.core.completeness().unfinished_since") == "''"
