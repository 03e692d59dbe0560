"""Empty a store, whatever state it is in."""

from __future__ import annotations

import apsw

from knowledge_nb.errors import StoreAccessError, StoreError, StoreLockedError
from knowledge_nb.store import erase, vectors
from knowledge_nb.store.connection import Connection, Writer, set_up
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import drop_everything, refuse_foreign
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.translate import translated

_SOUND = "PRAGMA integrity_check(1)"


def reset_store(files: StoreFiles, *, wait: float = 0.0) -> str:
    """Drop every table and make them anew; what the gate refuses is opened here.

    Tables are dropped, not emptied: deleting rows would fire the delete trigger into an index that
    no longer matches its content. Where even that fails because pages are damaged, SQLite's own
    SQLITE_DBCONFIG_RESET_DATABASE makes the file anew in place, under its locks.

    Returns
    -------
    str
        As from `erase.finish`: "", or why old text is still in the files.

    Raises
    ------
    StoreLockedError, StoreAccessError
    ForeignStoreError
        The file is a sound SQLite file that is not ours: nothing in it is touched.
    """
    with Writer.open(files, wait=wait, gate=False) as writer:
        connection = writer.connection
        refuse_foreign(connection, str(files.database))
        try:
            with translated(str(files.database)):
                rows(connection, "PRAGMA secure_delete = ON")
                vectors.load_where_used(connection)
            with writer.maintenance():
                drop_everything(connection)
            with translated(str(files.database)):
                if value(connection, _SOUND) != "ok":
                    raise StoreError(f"{files.database} is damaged below its tables")
                rows(connection, "VACUUM")
        except (StoreLockedError, StoreAccessError):
            raise
        except StoreError:
            with translated(str(files.database)):
                _wipe(connection)
        with translated(str(files.database)):
            set_up(connection, files)
        with writer.maintenance():
            erase.mark(connection)
        return erase.finish(writer)


def _wipe(connection: Connection) -> None:
    # https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigresetdatabase
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        rows(connection, "VACUUM")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)
