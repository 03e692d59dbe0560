"""Names of documents in runs: the path, its stem, or whatever a callable makes of it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from knowledge_nb.errors import EvaluationError

DocnoRule = str | Callable[[str], str]


def rule_name(rule: DocnoRule) -> str:
    """The rule as a run's provenance has it."""
    return rule if isinstance(rule, str) else getattr(rule, "__qualname__", type(rule).__name__)


def docnos(paths: Mapping[int, str], rule: DocnoRule) -> dict[int, str]:
    """Name every document of the index.

    Parameters
    ----------
    paths : dict of int to str
        Path by document id.
    rule : {"path", "stem"} or callable
        "stem": the file's name without its last suffix. A callable gets the path.

    Returns
    -------
    dict of int to str

    Raises
    ------
    EvaluationError
        Two documents get one name, or one gets none; the message names the paths.
    """
    made: dict[int, str] = {}
    owner: dict[str, str] = {}
    for number, path in paths.items():
        name = _apply(rule, path)
        if not isinstance(name, str) or not name:
            raise EvaluationError(
                f"docno= gave {name!r} for {path!r}; a docno is a text of its own"
            )
        if name in owner:
            raise EvaluationError(
                f"two documents would have the docno {name!r}: {owner[name]!r} and {path!r}. "
                'Judgements could not tell them apart; use docno="path" or another callable.'
            )
        owner[name] = path
        made[number] = name
    return made


def _apply(rule: DocnoRule, path: str) -> str:
    if callable(rule):
        return rule(path)
    if rule == "path":
        return path
    if rule == "stem":
        return posixpath.splitext(posixpath.basename(path))[0]
    raise EvaluationError(f'docno is "path", "stem" or a callable, not {rule!r}')
