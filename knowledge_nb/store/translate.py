"""SQLite's errors turned into ours, in one place."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import apsw

from knowledge_nb.errors import (
    ForeignStoreError,
    SearchTimeoutError,
    StoreAccessError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
)


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn apsw's errors into ours.

    Parameters
    ----------
    where : str
        The path of the database, for the message.
    """
    try:
        yield
    except apsw.BusyError as error:
        raise StoreLockedError(f"{where} is busy: {error}. Try again.") from error
    except apsw.NotADBError as error:
        raise ForeignStoreError(
            f"{where} is not an SQLite file. Name another store with --store, or move it away."
        ) from error
    except apsw.CorruptError as error:
        raise StoreDamagedError(
            f"{where} is damaged: {error}. Run `knowledge doctor --integrity`."
        ) from error
    except apsw.FullError as error:
        raise StoreAccessError(f"no space left for {where}; the index is as before.") from error
    except (
        apsw.CantOpenError,
        apsw.ReadOnlyError,
        apsw.PermissionsError,
        apsw.AuthError,
        apsw.IOError,
    ) as error:
        raise StoreAccessError(f"cannot use {where}: {error}.") from error
    except apsw.InterruptError as error:
        raise SearchTimeoutError("the time limit given for this call has passed") from error
    except apsw.Error as error:
        raise StoreError(f"SQLite refused a statement on {where}: {error}") from error
