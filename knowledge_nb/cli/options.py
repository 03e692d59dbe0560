"""Options that several verbs share, and the refusal of those that contradict each other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from knowledge_nb.errors import QueryError

DEFAULT_ROWS = 50  # of a list that people read; programs get all of it

Decorator = Callable[[Any], Any]


def not_empty(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty string, which would mean the default or the working directory.

    Raises
    ------
    click.BadParameter
    """
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("empty; an unset shell variable?")
    return value


def _folder(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    return not_empty(ctx, parameter, value) or ""


under_option: Decorator = click.option(
    "--under",
    metavar="FOLDER",
    callback=_folder,
    help="Only documents below this folder of the corpus (or this one file).",
)
json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on stdout; an error writes none."
)
csv_option: Decorator = click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    help="Write the whole list as CSV to this file (- for stdout), never a page of it.",
)
limit_option: Decorator = click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"List at most N rows; the total is counted before. [default: {DEFAULT_ROWS}, or all "
    "in the forms for programs]",
)
all_option: Decorator = click.option("--all", "everything", is_flag=True, help="List every row.")


def refuse_together(**given: object) -> None:
    """Refuse more than one of these options; `None` and `False` are not given.

    Raises
    ------
    click.UsageError
    """
    named = [
        "--" + name.replace("_", "-") for name, value in given.items() if value not in (None, False)
    ]
    if len(named) > 1:
        raise click.UsageError(f"{' and '.join(named)} contradict each other; give one of them.")


def rows_wanted(limit: int | None, everything: bool, for_programs: bool) -> int | None:
    """The limit to ask for; None is all."""
    if limit is not None or everything or for_programs:
        return limit
    return DEFAULT_ROWS


def refuse_undecoded(*texts: str | None) -> None:
    """Refuse arguments with bytes that are no text: without them the question is another one.

    Raises
    ------
    QueryError
    """
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise QueryError(
                f"{text!a} holds bytes that are no text in the encoding of this locale "
                f"({sys.getfilesystemencoding()}); nothing was searched"
            ) from error
