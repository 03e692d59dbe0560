"""`knowledge words`: every real word of the corpus."""

from __future__ import annotations

from dataclasses import asdict

import click

from knowledge_nb.cli.export_options import ExportTo, export_options, write_export
from knowledge_nb.cli.group import App, pass_app
from knowledge_nb.cli.options import (
    all_option,
    json_option,
    limit_option,
    refuse_together,
    refuse_undecoded,
    rows_wanted,
)
from knowledge_nb.cli.output import (
    coverage_record,
    covers,
    notes,
    say,
    table,
    warn_unfinished,
    write_json,
)
from knowledge_nb.records import VocabularyResult
from knowledge_nb.refusals import require_answer


@click.command()
@click.argument("pattern", required=False)
@click.option("--prefix", metavar="TEXT", help="Only words that begin so.")
@limit_option
@all_option
@json_option
@export_options
@pass_app
def words(
    app: App,
    pattern: str | None,
    prefix: str | None,
    limit: int | None,
    everything: bool,
    as_json: bool,
    to: ExportTo,
) -> None:
    """List the words of the corpus as they are written, most documents first.

    PATTERN is a regular expression that a word must hold: knowledge words '^cali'
    """
    refuse_together(json=as_json, **to.named())
    refuse_together(limit=limit, all=everything)
    refuse_together(**to.named(), limit=limit)
    refuse_undecoded(pattern, prefix)
    for_programs = as_json or bool(to)
    with app.core() as core:
        result = core.vocabulary(
            pattern, prefix=prefix, limit=rows_wanted(limit, everything, for_programs)
        )
    if not for_programs:
        render(result)
        return
    require_answer(result)
    warn_unfinished(result.completeness)
    if not to:
        write_json(_record(result))
        return
    from knowledge_nb.export.tables import records_table

    write_export(core, to, result, records_table("vocabulary", result.words), "words")


def _record(result: VocabularyResult) -> dict[str, object]:
    return {
        "status": str(result.status),
        "pattern": result.pattern,
        "prefix": result.prefix,
        "matched": result.matched,
        "truncated": result.matched > len(result.words),
        "tier": result.tier,
        "notes": list(result.notes),
        "completeness": coverage_record(result.completeness),
        "results": [asdict(word) for word in result.words],
    }


def render(result: VocabularyResult) -> None:
    """Write a list of words for people."""
    say(result.tier)
    require_answer(result)
    click.echo()
    if result.words:
        table(
            ("word", "documents", "in any form", "occurrences", "stem"),
            [
                (word.word, word.documents, word.documents_any_form, word.occurrences, word.stem)
                for word in result.words
            ],
        )
        noun = "word" if result.matched == 1 else "words"
        if result.matched > len(result.words):
            say(
                f"Listed {len(result.words):,} of {result.matched:,} {noun}; --all lists every one."
            )
        else:
            say(f"{result.matched:,} {noun}.")
    else:
        say("No word of the corpus fits.")
    notes(result.notes)
    covers(result.completeness)
