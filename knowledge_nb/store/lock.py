"""The write lock: one writer per store, across processes, freed by the kernel when it dies."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from types import TracebackType

from filelock import FileLock, Timeout

from knowledge_nb.errors import StoreAccessError, StoreLockedError
from knowledge_nb.store.causes import fix_of
from knowledge_nb.store.files import StoreFiles

WAIT = (
    "Wait for it, or give `knowledge index --wait SECONDS`. The kernel frees the lock when that "
    "process ends."
)


class WriteLock:
    """An exclusive advisory lock (flock on Unix), held from `acquire` to `release`.

    The lock file's descriptor is close-on-exec, and filelock closes a forked child's copy, so a
    child that outlives the writer does not keep the lock.
    """

    def __init__(self, files: StoreFiles) -> None:
        self._files = files
        self._lock = FileLock(files.lock, timeout=0, thread_local=False)
        self._owner = 0

    def acquire(self, *, wait: float = 0.0) -> None:
        """Take the lock.

        Parameters
        ----------
        wait : float
            Seconds to wait for another writer; 0 refuses at once.

        Raises
        ------
        StoreLockedError
            Another writer holds it; the message names its process id and for how long.
        """
        self._owner = os.getpid()
        try:
            self._lock.acquire(timeout=max(wait, 0.0), poll_interval=0.05)
        except Timeout as error:
            raise StoreLockedError(self._refusal(), fix=WAIT) from error
        except OSError as error:
            raise StoreAccessError(
                f"cannot lock {self._files.lock}: {error.strerror or error}",
                fix=fix_of(error, self._files.directory),
            ) from error
        holder = json.dumps({"pid": self._owner, "since": time.time()})
        try:
            self._files.lock_holder.write_text(holder, encoding="utf-8")
        except OSError as error:
            # On a full disk the name goes without saying: the lock holds, and what makes room, or
            # looks at the store, must not fail for a line of text.
            with contextlib.suppress(OSError):
                self._files.lock_holder.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return
            self._lock.release()
            raise StoreAccessError(
                f"cannot write {self._files.lock_holder}: {error.strerror}",
                fix=fix_of(error, self._files.directory),
            ) from error

    def release(self) -> None:
        """Give the lock back; harmless where it is not held, or twice."""
        # A forked child runs its copy of our finalisers; only the taker gives the lock back.
        if self._lock.is_locked and os.getpid() == self._owner:
            try:
                self._files.lock_holder.unlink(missing_ok=True)
            finally:
                self._lock.release()

    def holder(self) -> tuple[int, float] | None:
        """Process id and start time (seconds since 1970) of the last known holder, if recorded."""
        try:
            record = json.loads(self._files.lock_holder.read_text(encoding="utf-8"))
            return int(record["pid"]), float(record["since"])
        except (OSError, ValueError, KeyError, TypeError):
            # A holder that is just starting or ending has no whole record; the lock still holds.
            return None

    def _refusal(self) -> str:
        holder = self.holder()
        who = "another process"
        if holder is not None:
            pid, since = holder
            who = f"process {pid}, for {max(time.time() - since, 0.0):.0f} s"
        return f"the store {self._files.directory} is being written by {who}"

    def __enter__(self) -> WriteLock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
