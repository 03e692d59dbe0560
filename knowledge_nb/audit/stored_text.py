"""Does the store hold what the files hold? Cut each unchanged file again, and compare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_nb.indexing.classify import Contents, LeftOut, prepare_document, read_file
from knowledge_nb.indexing.walk import FoundFile
from knowledge_nb.records import Check
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.sql import rows

if TYPE_CHECKING:
    from knowledge_nb.core import Core

NAME = "stored text equals file"
NAMED = 3

_DOCUMENTS = "SELECT id, path, sha256 FROM documents ORDER BY path"
_CHUNKS = (
    "SELECT heading, body, heading_terms, body_terms, opens, continues, first_line, last_line"
    " FROM chunks WHERE document_id = ? ORDER BY ordinal"
)


def check_stored_text(core: Core) -> Check:
    """The chunks of every unchanged file are what this release makes of that file."""
    differ: list[str] = []
    compared = changed = 0
    with core.reader.snapshot() as connection:
        base = Path(read_meta(connection).get("base", "."))
        for number, path, sha256 in rows(connection, _DOCUMENTS):
            found = FoundFile(os.path.normpath(base / path), path, 0, 0)
            contents = read_file(found)
            if not isinstance(contents, Contents) or contents.sha256 != sha256:
                changed += 1
                continue
            compared += 1
            made = prepare_document(found, contents)
            stored = rows(connection, _CHUNKS, (number,))
            wanted = (
                []
                if isinstance(made, LeftOut)
                else [
                    (
                        chunk.heading,
                        chunk.body,
                        chunk.heading_terms,
                        chunk.body_terms,
                        chunk.opens,
                        chunk.continues,
                        chunk.first_line,
                        chunk.last_line,
                    )
                    for chunk in made.chunks
                ]
            )
            if stored != wanted:
                differ.append(path)
    rest = f"; {changed:,} changed or gone since were not compared" if changed else ""
    if differ:
        names = ", ".join(differ[:NAMED]) + (", ..." if len(differ) > NAMED else "")
        said = f"{len(differ):,} of {compared:,} documents are stored otherwise ({names}){rest}"
        return Check(NAME, "fail", said, "`knowledge index --reindex` reads every file again.")
    if not compared:
        return Check(NAME, "not run", f"no file to compare with{rest}")
    return Check(NAME, "pass", f"{compared:,} documents compared with their files{rest}")
