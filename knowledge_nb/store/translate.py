"""SQLite's errors turned into ours, in one place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from knowledge_nb.errors import (
    ForeignStoreError,
    SearchTimeoutError,
    StoreAccessError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
)
from knowledge_nb.store.causes import MAKE_ROOM, Cause, cause_at

FINISH: Final = "A pass is finished by `knowledge index`."
LOOK: Final = (
    "See whether a quota is reached, and what the system's log says of the disk; then run the same "
    "command again."
)


@contextlib.contextmanager
def translated(where: str, undone: str = "") -> Iterator[None]:
    """Turn apsw's errors into ours.

    Parameters
    ----------
    where : str
        The path of the database, for the message.
    undone : str
        What becomes of what was being written, where there is no room for it; "" for nothing said.
    """
    try:
        yield
    except apsw.BusyError as error:
        raise StoreLockedError(f"{where} is busy: {error}", fix="Try again.") from error
    except apsw.NotADBError as error:
        raise ForeignStoreError(
            f"{where} is not an SQLite file",
            fix="Name another store with --store, or move it away.",
        ) from error
    except apsw.CorruptError as error:
        raise StoreDamagedError(
            f"{where} is damaged: {error}", fix="Run `knowledge doctor --integrity`."
        ) from error
    except apsw.FullError as error:
        raise StoreAccessError(
            _with(f"no space left for {where}", undone), fix=f"{MAKE_ROOM} {FINISH}"
        ) from error
    except (
        apsw.CantOpenError,
        apsw.ReadOnlyError,
        apsw.PermissionsError,
        apsw.AuthError,
        apsw.IOError,
    ) as error:
        raise _access(where, error, undone) from error
    except apsw.InterruptError as error:
        raise SearchTimeoutError("the time limit given for this call has passed") from error
    except apsw.Error as error:
        raise StoreError(f"SQLite refused a statement on {where}: {error}") from error


def _access(where: str, error: apsw.Error, undone: str) -> StoreAccessError:
    said = f"cannot use {where}: {error}"
    failed = isinstance(error, apsw.IOError)
    if failed:
        # The name tells reading from writing, and both from a lack of shared memory.
        code = apsw.mapping_extended_result_codes.get(getattr(error, "extendedresult", 0))
        said += f" ({code})" if code else ""
    cause = cause_at(Path(where)) if os.path.isabs(where) else Cause()
    said += f", since {cause.said}" if cause.said else ""
    return StoreAccessError(_with(said, undone), fix=cause.fix or (LOOK if failed else ""))


def _with(said: str, undone: str) -> str:
    return f"{said}: {undone}" if undone else said
