"""The group of verbs: a table that is imported row by row, and one place for exit statuses."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from knowledge_nb.cli import UNUSABLE
from knowledge_nb.cli.examples import epilog
from knowledge_nb.cli.options import not_empty
from knowledge_nb.cli.output import clean_line
from knowledge_nb.errors import (
    ConfigurationError,
    CorpusEmptyError,
    ExportTargetError,
    IndexingError,
    IndexNotBuiltError,
    KnowledgeError,
    MissingDependencyError,
    RootError,
    SearchTimeoutError,
    StoreError,
)

if TYPE_CHECKING:
    from knowledge_nb.core import Core

NEGATIVE = 1
REFUSED = 2
NO_ANSWER = 3
INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_STATUSES = f"""\b
Exit statuses:
    0  an answer was given; a complete answer may well be empty
    {NEGATIVE}  the answer is no: `match --exit-code` found no document, or `index`
       finished while documents are stale or without a vector, `doctor` found a
       fault, `backup` copied a store that is not sound, or `run` degraded,
       `audit` or `saved --exit-code` found a difference, `coverage --exit-code`
       a term without a document, `verify-export` that the answer is not the same
    {REFUSED}  the request was refused: options, query, settings, a name that the
       index does not hold, `reset` without --force
    {NO_ANSWER}  no answer can be given: nothing indexed yet, an empty corpus, or
       the time limit passed
    {UNUSABLE}  something needed cannot be used: the store (locked, damaged, another
       format), a folder to index, an embeddings server, a package, a disk
   70  a fault of this program; the traceback on stderr is worth a report
  {INTERRUPTED}  interrupted (Ctrl-C)
  {BROKEN_PIPE}  the reader of a pipe went away
"""

# Verb -> module and command in it. A further verb is one more row, and a module that is imported
# only when the verb runs or help is shown.
VERBS = {
    "index": "knowledge_nb.cli.verbs_index:index",
    "search": "knowledge_nb.cli.verbs_search:search",
    "match": "knowledge_nb.cli.verbs_match:match",
    "words": "knowledge_nb.cli.verbs_words:words",
    "show": "knowledge_nb.cli.verbs_corpus:show",
    "sources": "knowledge_nb.cli.verbs_corpus:sources",
    "stats": "knowledge_nb.cli.verbs_corpus:stats",
    "watch": "knowledge_nb.cli.verbs_upkeep:watch",
    "doctor": "knowledge_nb.cli.verbs_upkeep:doctor",
    "rebuild": "knowledge_nb.cli.verbs_upkeep:rebuild",
    "backup": "knowledge_nb.cli.verbs_upkeep:backup",
    "rm": "knowledge_nb.cli.verbs_index:rm",
    "reset": "knowledge_nb.cli.verbs_index:reset",
    "demo": "knowledge_nb.cli.verbs_demo:demo",
    "audit": "knowledge_nb.cli.verbs_audit:audit",
    "coverage": "knowledge_nb.cli.verbs_audit:coverage",
    "saved": "knowledge_nb.cli.verbs_saved:saved",
    "verify-export": "knowledge_nb.cli.verbs_saved:verify_export",
    "run": "knowledge_nb.cli.verbs_evaluation:run",
    "eval": "knowledge_nb.cli.verbs_evaluation:evaluate",
    "compare": "knowledge_nb.cli.verbs_evaluation:compare",
    "explain": "knowledge_nb.cli.verbs_evaluation:explain",
    "mcp": "knowledge_nb.cli.verbs_mcp:mcp",
    "completion": "knowledge_nb.cli.verbs_completion:completion",
}
ALIASES = {"enumerate": "match", "which": "match", "vocabulary": "words", "vocab": "words"}


@dataclass(slots=True)
class App:
    """What the options before the verb say."""

    store: str | None = None
    config: str | None = None

    @contextmanager
    def core(self) -> Iterator[Core]:
        """The core on that store, closed afterwards."""
        from knowledge_nb.core import Core

        core = Core(self.store, config=self.config)
        try:
            yield core
        finally:
            core.close()


class Interrupted(KeyboardInterrupt):
    """An interrupt with something to say of what it left behind."""


def one_line(message: str) -> str:
    """A message without line breaks and terminal control sequences."""
    return clean_line(" ".join(message.split()))


def exit_status(error: KnowledgeError) -> int:
    """The exit status that an error stands for."""
    if isinstance(error, IndexNotBuiltError | CorpusEmptyError | SearchTimeoutError):
        return NO_ANSWER
    if isinstance(error, StoreError | RootError | MissingDependencyError | ExportTargetError):
        return UNUSABLE
    if isinstance(error, ConfigurationError | IndexingError):
        return REFUSED
    from knowledge_nb.errors import EmbeddingError

    return UNUSABLE if isinstance(error, EmbeddingError) else REFUSED


class VerbGroup(click.Group):
    """Verbs by table, aliases, and one line for every foreseen failure."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = ALIASES.get(cmd_name, cmd_name)
        target = VERBS.get(verb)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        command.epilog = command.epilog or epilog(verb)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = []
        for verb in VERBS:
            command = self.get_command(ctx, verb)
            others = ", ".join(alias for alias, real in ALIASES.items() if real == verb)
            if command is not None:
                also = f" (Also: {others}.)" if others else ""
                lines.append((verb, f"{command.get_short_help_str(200)}{also}"))
        with formatter.section("Verbs"):
            formatter.write_dl(lines)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], [*VERBS, *ALIASES], n=1)
            hint = f" Did you mean `{near[0]}`?" if near else ""
            ctx.fail(f"No such verb: {clean_line(args[0])}.{hint}")
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError:  # of --help or --version; click would exit 1
            _silence_stdout()
            sys.exit(BROKEN_PIPE)
        except OSError as error:
            _silence_stdout()
            click.echo(f"knowledge: {one_line(error.strerror or str(error))}", err=True)
            sys.exit(UNUSABLE)

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            # A locale that cannot show a character shows its escape in place of a traceback.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except KnowledgeError as error:
            _fail(ctx, str(error), exit_status(error))
        except BrokenPipeError:
            _silence_stdout()
            ctx.exit(BROKEN_PIPE)
        except KeyboardInterrupt as error:
            said = str(error) if isinstance(error, Interrupted) else "interrupted"
            _fail(ctx, said, INTERRUPTED)
        except OSError as error:
            if error.filename is None:
                _silence_stdout()  # the flush at exit would fail, and be reported, once more
            where = f"{error.filename}: " if error.filename else ""
            _fail(ctx, f"{where}{error.strerror or error}", UNUSABLE)
        return answer


def _fail(ctx: click.Context, message: str, status: int) -> NoReturn:
    click.echo(f"knowledge: {one_line(message)}", err=True)
    ctx.exit(status)


def _silence_stdout() -> None:
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _set_log_level(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    import logging

    class OneLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return one_line(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=value.upper(), handlers=[handler], force=True)


def _show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"knowledge {version('knowledge-nb')}")
        ctx.exit()


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
    epilog=EXIT_STATUSES,
    subcommand_metavar="VERB [ARGS]...",
    no_args_is_help=True,
)
@click.option(
    "--store",
    metavar="DIR",
    callback=not_empty,
    help="The store directory. [default: knowledge]",
)
@click.option(
    "--config",
    metavar="FILE",
    callback=not_empty,
    help="A settings file. [default: knowledge.toml beside the store named, else here]",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    callback=_set_log_level,
    expose_value=False,
    help="Write the library's log to stderr.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def knowledge(ctx: click.Context, store: str | None, config: str | None) -> None:
    """Honest search over a folder of documents: an absence never reads as a result.

    `search` ranks, and a ranking proves no absence. `match` gives the complete set of documents
    that hold some words, and says what that set covers.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    ctx.obj = App(store, config)


pass_app = click.make_pass_decorator(App, ensure=True)
