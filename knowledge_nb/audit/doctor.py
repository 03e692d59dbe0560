"""The doctor: every check with one of three states, since an unrun check has not passed.

Each check is a small function of the patient. None repairs anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_nb.audit.embedding_doctor import embedding_checks
from knowledge_nb.audit.files import audit_files, known_documents
from knowledge_nb.audit.stored_text import NAME as STORED_TEXT
from knowledge_nb.audit.stored_text import check_stored_text
from knowledge_nb.errors import (
    KnowledgeError,
    RootError,
    StoreAccessError,
    StoreDamagedError,
    StoreFormatError,
    StoreLockedError,
)
from knowledge_nb.indexing.walk import resolve_roots
from knowledge_nb.records import Check
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.diagnosis import (
    OPENS,
    STORE_CHECKS,
    UNOPENED,
    check_extension,
    check_opens,
    is_there,
    told,
)
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.integrity import EVERY_CHECK, RESET, check_integrity
from knowledge_nb.store.mounts import network_mount, read_mounts
from knowledge_nb.store.status import read_completeness

if TYPE_CHECKING:
    from knowledge_nb.core import Core

NOTHING = "there is no store yet"
REFUSED = "the format check fails, so this was not looked at"
COPY = "`knowledge backup FILE` checks the copy that it writes, and needs no lock."
INDEX = "`knowledge index` brings the index up to date."


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Every check, in the order of the report; `tier` as in any answer."""

    checks: tuple[Check, ...]
    tier: str

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that found a fault."""
        return tuple(each for each in self.checks if each.state == "fail")

    @property
    def ok(self) -> bool:
        """Whether nothing failed; what was not run is not vouched for."""
        return not self.failed

    def headline(self) -> str:
        """The outcome in words."""
        states = [each.state for each in self.checks]
        warned = sum(each.state == "pass" and bool(each.fix) for each in self.checks)
        return (
            f"{states.count('pass')} passed ({warned} with a warning), "
            f"{states.count('fail')} failed, {states.count('not run')} not run"
        )


def check_settings_paths(core: Core) -> Check:
    """The folders to index are there and can be listed."""
    name = "paths resolve"
    roots = roots_of(core)
    if not roots:
        return Check(name, "not run", "no folder is named in the settings or known from a pass")
    try:
        resolve_roots(roots, Path.cwd())
    except RootError as error:
        fix = "Mount or restore the folder, or change `paths`; nothing was deleted."
        return Check(name, "fail", str(error).split(". ")[0], fix)
    return Check(name, "pass", ", ".join(str(root) for root in roots))


def roots_of(core: Core) -> tuple[Path, ...]:
    """The folders of the settings, else those of earlier passes; none where neither is known."""
    if core.settings.paths:
        return core.settings.paths
    if not is_there(core.files):
        return ()
    with core.reader.snapshot() as connection:
        meta = read_meta(connection)
    base = Path(meta.get("base", "."))
    roots = json.loads(meta.get("roots", "[]"))
    return tuple(Path(os.path.normpath(base / root)) for root in roots)


def check_watchable(core: Core) -> Check:
    """Changes below the folders are told by the kernel, or a watcher has to poll."""
    name = "watching"
    roots = roots_of(core)
    if read_mounts() is None or not roots:
        return Check(name, "not run", "no mounts or no folders to look at")
    remote = [(root, found) for root in roots if (found := network_mount(root)) is not None]
    if not remote:
        return Check(name, "pass", "by events: every folder is on a local file system")
    said = ", ".join(f"{root} ({found.kind} at {found.point})" for root, found in remote)
    fix = "A watcher there polls by itself; `knowledge watch --poll` forces it."
    return Check(name, "pass", f"WARNING: by polling, no events come from {said}", fix)


def check_last_pass(core: Core) -> Check:
    """A pass completed, and none after it was cut off."""
    name = "last pass"
    if not is_there(core.files):
        return Check(name, "not run", NOTHING)
    known = core.completeness()
    if known.unfinished_since:
        said = f"a pass began {known.unfinished_since} and did not finish"
        return Check(name, "fail", said, INDEX)
    if not known.built:
        return Check(name, "fail", "no pass has completed", INDEX)
    return Check(name, "pass", f"completed {known.last_completed}")


def check_documents(core: Core) -> Check:
    """There are documents, and each could be read in the last pass."""
    name = "documents"
    if not is_there(core.files):
        return Check(name, "not run", NOTHING)
    known = core.completeness()
    if not known.documents:
        return Check(name, "fail", "the index holds no document", "`knowledge index PATH`")
    said = f"{known.documents:,} in {known.chunks:,} chunks"
    if known.stale:
        fix = "`knowledge sources` names them; `knowledge index --reconcile` drops what is gone."
        return Check(name, "fail", f"{said}; {known.stale:,} may be out of date", fix)
    return Check(name, "pass", said)


def check_skipped(core: Core) -> Check:
    """What the index leaves out; that is no fault, and every answer says it."""
    name = "files skipped"
    if not is_there(core.files):
        return Check(name, "not run", NOTHING)
    with core.reader.snapshot() as connection:
        known = read_completeness(connection)
    parts = [f"{number:,} {reason}" for reason, number in known.skipped.items()]
    parts += [f"{number:,} of type {kind}" for kind, number in known.other_types.items()]
    if not known.built:
        return Check(name, "not run", "no pass has completed, so what it skips is not known")
    if not parts:
        return Check(name, "pass", "none")
    fix = "`knowledge audit` lists them with the reason."
    return Check(name, "pass", f"WARNING: not covered are {', '.join(parts)}", fix)


def check_changed(core: Core) -> Check:
    """The files on disk are those that were indexed: every one is read and hashed."""
    name = "files changed since"
    if not is_there(core.files):
        return Check(name, "not run", NOTHING)
    roots = roots_of(core)
    if not roots:
        return Check(name, "not run", "no folder is known to compare with")
    with core.reader.snapshot() as connection:
        known = known_documents(connection)
        completeness = read_completeness(connection)
    try:
        found = audit_files(
            known,
            core.files,
            paths=roots,
            include=core.settings.include,
            tier="",
            completeness=completeness,
        )
    except RootError as error:
        return Check(name, "not run", str(error).split(". ")[0])
    if found.differs:
        index = INDEX
        if found.totals["gone"][0]:
            index = "`knowledge index --reconcile` does that, and removes what is gone."
        fix = f"{index} `knowledge audit` names the files."
        return Check(name, "fail", found.headline(), fix)
    return Check(name, "pass", found.headline())


CORE_CHECKS: tuple[tuple[str, Callable[[Core], Check]], ...] = (
    ("paths resolve", check_settings_paths),
    ("watching", check_watchable),
    ("last pass", check_last_pass),
    ("documents", check_documents),
    ("files skipped", check_skipped),
    ("files changed since", check_changed),
)
"""Each with its name, which it has whatever becomes of it."""


def examine(core: Core, *, integrity: bool = False, wait: float = 0.0) -> DoctorReport:
    """Run every check; nothing is changed, and no store is made.

    Parameters
    ----------
    core : Core
        What the gate refuses is looked at as far as it goes.
    integrity : bool
        Also compare the index with the stored text, row by row, which needs the write lock.
    wait : float
        Seconds to wait for that lock.
    """
    checks = [_run(name, partial(each, core.files)) for name, each in STORE_CHECKS]
    configured = core.settings.embeddings is not None
    extension = partial(check_extension, core.files, wanted=configured)
    checks.append(_run("vector extension", extension))
    checks += [_run(name, partial(each, core)) for name, each in CORE_CHECKS]
    checks += embedding_checks(core)
    if integrity:
        checks += examine_integrity(core, wait=wait)
    else:
        said = "it compares every row and needs the write lock"
        checks.append(Check("integrity", "not run", said, "`knowledge doctor --integrity`"))
    try:
        tier = core.tier()
    except KnowledgeError:
        tier = "tier: unknown, the store cannot be read"
    return DoctorReport(_once(checks), tier)


def _run(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except StoreFormatError:
        return Check(name, "not run", REFUSED)
    except StoreDamagedError as error:
        return Check(name, "fail", error.said, "`knowledge doctor --integrity`")
    except KnowledgeError as error:
        return Check(name, "not run", *told(error))
    except OSError as error:
        return Check(name, "not run", str(error))


def _once(checks: list[Check]) -> tuple[Check, ...]:
    """Why the store cannot be opened is said by the check of that name, and not by all others."""
    cause = [each.message for each in checks if each.check == OPENS and each.state == "fail"]
    return tuple(
        replace(each, message=UNOPENED, fix="")
        if each.state == "not run" and each.message in cause
        else each
        for each in checks
    )


def examine_integrity(core: Core, *, wait: float = 0.0) -> tuple[Check, ...]:
    """Compare index, rows and stored text; also files that have not changed with their text.

    Returns
    -------
    tuple of Check
        All "not run" where there is no store, another writer holds the lock, or the store cannot
        be written; the first then has the fix. Damage seen while opening is a failure of "pages".
    """
    if not is_there(core.files):
        return _not_run(NOTHING)
    try:
        with Writer.open(core.files, wait=wait, gate=False) as writer:
            found = check_integrity(writer)
    except StoreLockedError as error:
        return _not_run(f"it needs the write lock: {error.said}", error.fix)
    except StoreDamagedError as error:
        pages = Check("pages", "fail", error.said, RESET)
        return (pages, *_not_run("damage in the pages was in the way")[1:])
    except StoreFormatError as error:
        pages = Check("pages", "fail", error.said, error.fix)
        return (pages, *_not_run(REFUSED)[1:])
    except StoreAccessError as error:
        copy = COPY if check_opens(core.files).state == "pass" else ""
        return _not_run(error.said, f"{error.fix} {copy}".strip())
    except KnowledgeError as error:
        return _not_run(*told(error))
    return (*found, _run(STORED_TEXT, partial(check_stored_text, core)))


def _not_run(why: str, fix: str = "") -> tuple[Check, ...]:
    first, *others = (*(name for name, _ in EVERY_CHECK), STORED_TEXT)
    return (
        Check(first, "not run", why, fix),
        *(Check(name, "not run", why) for name in others),
    )
