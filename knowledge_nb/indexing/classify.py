"""Read one file and say what it is to the index: unchanged, to be replaced, or left out."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import Literal

from knowledge_nb.indexing.chunk import chunk_text, decode_source
from knowledge_nb.indexing.replace import PreparedDocument, prepare_chunks
from knowledge_nb.indexing.walk import (
    MAX_FILE_BYTES,
    NOT_REGULAR,
    NOT_UTF8,
    SYMLINK,
    TOO_LARGE,
    UNREADABLE,
    FoundFile,
)

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})


@dataclass(frozen=True, slots=True)
class Contents:
    """The bytes of a file and their hash."""

    data: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a file cannot be indexed.

    `keeps` is True where its old text stays (the file could not be read), False where the file
    was read and is no text for us any more.
    """

    reason: str
    detail: str
    keeps: bool


def read_file(file: FoundFile) -> Contents | LeftOut | Literal["gone"]:
    """Read a found file whole, at most the size limit; "gone" when it vanished since the walk."""
    try:
        # The walk saw a regular file; O_NOFOLLOW and O_NONBLOCK close the gap until now, in which
        # it may have become a link or a pipe that would block for ever.
        descriptor = os.open(
            file.location,
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
        )
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        if os.path.islink(file.location):
            return LeftOut(SYMLINK, "", keeps=False)
        return LeftOut(UNREADABLE, error.strerror or "", keeps=True)
    try:
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return LeftOut(NOT_REGULAR, "", keeps=False)
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return LeftOut(UNREADABLE, error.strerror or "", keeps=True)
    if len(data) > MAX_FILE_BYTES:
        return LeftOut(TOO_LARGE, f"over {MAX_FILE_BYTES // 1024} KiB", keeps=False)
    return Contents(data, hashlib.sha256(data).hexdigest())


def prepare_document(file: FoundFile, contents: Contents) -> PreparedDocument | LeftOut:
    """Decode and chunk what was read."""
    try:
        text = decode_source(contents.data)
    except UnicodeDecodeError as error:
        return LeftOut(NOT_UTF8, _not_utf8(contents.data, error), keeps=False)
    markdown = os.path.splitext(file.path)[1].lower() in MARKDOWN_SUFFIXES
    chunked = chunk_text(text, markdown=markdown)
    return PreparedDocument(
        path=file.path,
        title=chunked.title,
        sha256=contents.sha256,
        bytes=len(contents.data),
        modified_ns=file.modified_ns,
        chunks=prepare_chunks(chunked),
    )


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 byte-order mark; convert it to UTF-8"
    if b"\x00" in data[:8192]:
        return "binary"
    return f"byte 0x{data[error.start]:02x} at offset {error.start}; convert it to UTF-8"
