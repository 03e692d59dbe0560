"""`knowledge words`: every real word of the corpus."""

from __future__ import annotations

from dataclasses import asdict

import click

from knowledge_nb.cli.group import App, pass_app
from knowledge_nb.cli.options import (
    all_option,
    csv_option,
    json_option,
    limit_option,
    refuse_together,
    rows_wanted,
)
from knowledge_nb.cli.output import (
    coverage_record,
    covers,
    notes,
    say,
    table,
    warn,
    write_csv,
    write_json,
)
from knowledge_nb.records import VocabularyResult
from knowledge_nb.refusals import require_answer

COLUMNS = ("word", "stem", "documents", "documents_any_form", "occurrences")


@click.command()
@click.argument("pattern", required=False)
@click.option("--prefix", metavar="TEXT", help="Only words that begin so.")
@limit_option
@all_option
@json_option
@csv_option
@pass_app
def words(
    app: App,
    pattern: str | None,
    prefix: str | None,
    limit: int | None,
    everything: bool,
    as_json: bool,
    csv_file: str | None,
) -> None:
    """List the words of the corpus as they are written, most documents first.

    PATTERN is a regular expression that a word must hold: knowledge words '^cali'
    """
    refuse_together(json=as_json, csv=csv_file)
    refuse_together(limit=limit, all=everything)
    refuse_together(csv=csv_file, limit=limit)
    for_programs = as_json or csv_file is not None
    with app.core() as core:
        result = core.vocabulary(
            pattern, prefix=prefix, limit=rows_wanted(limit, everything, for_programs)
        )
    if not for_programs:
        render(result)
        return
    require_answer(result)
    if csv_file is None:
        write_json(_record(result))
        return
    rows = [tuple(getattr(word, name) for name in COLUMNS) for word in result.words]
    write_csv(csv_file, COLUMNS, rows, store=core.files)
    if csv_file != "-":
        warn(f"knowledge: {len(rows):,} words written to {csv_file}")


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
