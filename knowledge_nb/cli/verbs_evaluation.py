"""`knowledge run`, `eval`, `compare`, `explain`: rankings against each other and judgements."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from knowledge_nb.cli.group import NEGATIVE, App, pass_app
from knowledge_nb.cli.options import (
    all_option,
    csv_option,
    json_option,
    limit_option,
    refuse_together,
    rows_wanted,
    under_option,
)
from knowledge_nb.cli.output import (
    notes,
    require_folder,
    say,
    table,
    title,
    warn,
    write_bytes,
    write_csv,
    write_json,
)
from knowledge_nb.cli.progress import count_bar
from knowledge_nb.records import Mode

if TYPE_CHECKING:
    from knowledge_nb.evaluation.evaluating import EvaluationRecord
    from knowledge_nb.evaluation.runs import RunRecord

MODE = click.Choice(["lexical", "vector", "fused"])
DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "R@100")


def _fusion_options(command: Any) -> Any:
    for decorate in (
        click.option("--window", type=click.IntRange(min=1), metavar="N",
                     help="Chunk ranks of each tier that are fused. [default: as a search]"),
        click.option("--rrf-k", type=click.FloatRange(min=0), default=60.0, show_default=True,
                     metavar="K", help="The constant of reciprocal rank fusion."),
        click.option("--weights", type=(float, float), default=(1.0, 1.0), show_default=True,
                     metavar="LEXICAL VECTOR", help="Weights of the two tiers in the fusion."),
    ):  # fmt: skip
        command = decorate(command)
    return command


@click.command()
@click.argument("topics", type=click.Path())
@click.option("--mode", type=MODE, help="How to rank. [default: the best that the store has]")
@click.option("-k", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N")
@click.option("--unit", type=click.Choice(["document", "chunk"]), default="document",
              show_default=True, help="What is ranked.")  # fmt: skip
@click.option("--docno", type=click.Choice(["path", "stem"]), default="path", show_default=True,
              help="How documents are named.")  # fmt: skip
@_fusion_options
@under_option
@click.option("--name", default="", metavar="TAG", help="Name of the run. [default: its mode]")
@click.option("-o", "--output", metavar="FILE",
              help="Save the run here, with FILE.json on what made it; an interrupted run goes on "
              "there. [default: TREC lines on stdout]")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a saved run that was made otherwise.")
@pass_app
def run(
    app: App,
    topics: str,
    mode: Mode | None,
    k: int,
    unit: str,
    docno: str,
    weights: tuple[float, float],
    rrf_k: float,
    window: int | None,
    under: str,
    name: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """Rank for every topic of a TSV file (qid, tab, query), as a TREC run.

    Exit status 1: topics were ranked by words alone since their vectors could not be had; the
    run's name says so.
    """
    from knowledge_nb.evaluation.making import make_run
    from knowledge_nb.evaluation.trec import run_lines

    with app.core() as core, count_bar("ranking") as progress:
        if core.completeness().documents:  # else the run says that there is nothing to rank
            require_folder(core, under)
        record = make_run(
            core, topics, mode=mode, k=k, unit=unit, docno=docno, weights=weights, rrf_k=rrf_k,
            window=window, under=under, name=name, save=output, overwrite=overwrite,
            progress=progress,
        )  # fmt: skip
    if output is None:
        write_bytes("".join(f"{line}\n" for line in run_lines(record)))
        for note in record.notes:
            warn(f"Note: {note}")
    else:
        say(record.tier)
        hits = sum(len(ranking) for ranking in record.rankings.values())
        say(f"{len(record.outcomes):,} topics, {hits:,} rows in {output}")
        notes(record.notes)
    if record.degraded:
        click.get_current_context().exit(NEGATIVE)


@click.command(name="eval")
@click.argument("qrels", type=click.Path())
@click.argument("runs", type=click.Path(), nargs=-1, required=True)
@click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE",
              help="As ir-measures writes it; may be repeated. [default: "
              f"{', '.join(DEFAULT_MEASURES)}]")  # fmt: skip
@click.option("--baseline", metavar="NAME", help="Run to test against. [default: the first]")
@click.option("--ties", type=click.Choice(["rank", "trec_eval"]), default="rank",
              help="Equal scores: as the run ranks (default), or as trec_eval.")  # fmt: skip
@click.option("--allow-degraded", is_flag=True, help="Take runs that degraded, under that name.")
@json_option
@csv_option
@pass_app
def evaluate(
    app: App,
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: str | None,
    ties: Any,
    allow_degraded: bool,
    as_json: bool,
    csv_file: str | None,
) -> None:
    """Measure TREC runs against TREC qrels, with significance against a baseline.

    --csv writes the value of every topic.
    """
    from knowledge_nb.evaluation.evaluating import evaluate as measure
    from knowledge_nb.evaluation.known import known_docnos
    from knowledge_nb.evaluation.runs import named_runs

    refuse_together(json=as_json, csv=csv_file)
    named = named_runs(list(runs))
    with app.core() as core:
        known = known_docnos(core, named.values())
    record = measure(
        named, qrels, measures or DEFAULT_MEASURES, baseline=baseline, ties=ties, docnos=known,
        allow_degraded=allow_degraded,
    )  # fmt: skip
    if csv_file is not None:
        write_csv(
            csv_file,
            ("qid", "run", *record.measures),
            [
                (qid, label, *("" if v is None else repr(v) for v in _values(record, label, qid)))
                for qid in record.qids
                for label in record.runs
            ],
            store=core.files,
        )
        return
    if as_json:
        write_json(
            {
                "runs": list(record.runs),
                "baseline": record.baseline,
                "topics": list(record.qids),
                "means": [asdict(each) for each in record.means],
                "differences": [asdict(each) for each in record.differences],
                "values": record.values,
                "notes": list(record.notes),
            }
        )
        return
    _render(record)


def _values(record: EvaluationRecord, label: str, qid: str) -> list[float | None]:
    return [record.values[label][measure].get(qid) for measure in record.measures]


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _render(record: EvaluationRecord) -> None:
    say(record.tier)
    means = [m for m in record.means if not m.summed]
    sums = [m for m in record.means if m.summed]
    if means:
        title("Means (95 % bootstrap interval)")
        table(
            ("measure", "run", "mean", "low", "high", "topics"),
            [
                (m.measure, m.run, _number(m.mean), _number(m.low), _number(m.high), m.topics)
                for m in means
            ],
            path=1,
        )
    if sums:
        title("Sums over the topics")
        table(
            ("measure", "run", "sum", "topics"),
            [(m.measure, m.run, _number(m.mean), m.topics) for m in sums],
            path=1,
        )
    if record.differences:
        title(f"Against {record.baseline} (p after Holm's correction)")
        table(
            ("measure", "run", "difference", "wins", "ties", "losses", "p random.", "p t"),
            [
                (
                    d.measure, d.run, _number(d.test.difference), d.test.wins, d.test.ties,
                    d.test.losses, _number(d.p_randomisation_holm), _number(d.p_t_holm),
                )
                for d in record.differences
            ],
            path=1,
        )  # fmt: skip
    click.echo()
    notes(record.notes)


@click.command()
@click.argument("topics", type=click.Path(), required=False)
@click.option("--a", "one", default="lexical", show_default=True, metavar="MODE|FILE",
              help="A mode, or a TREC run file.")  # fmt: skip
@click.option("--b", "two", default="fused", show_default=True, metavar="MODE|FILE")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, metavar="N")
@click.option("--allow-degraded", is_flag=True, help="Take runs that degraded, under that name.")
@limit_option
@all_option
@json_option
@csv_option
@pass_app
def compare(
    app: App,
    topics: str | None,
    one: str,
    two: str,
    k: int,
    allow_degraded: bool,
    limit: int | None,
    everything: bool,
    as_json: bool,
    csv_file: str | None,
) -> None:
    """Compare two rankings of every topic, most different first; no judgements needed."""
    from knowledge_nb.evaluation.comparing import compare as hold_together

    refuse_together(json=as_json, csv=csv_file)
    refuse_together(limit=limit, all=everything)
    with app.core() as core, count_bar("ranking") as progress:
        # What was made elsewhere takes no part in ranking, and so needs no progress either.
        options: dict[str, Any] = {"progress": progress} if progress is not None else {}
        record = hold_together(
            core, topics, a=one, b=two, k=k, allow_degraded=allow_degraded, **options
        )
    rows = [asdict(each) for each in record.queries]
    wanted = rows_wanted(limit, everything, bool(as_json or csv_file))
    shown = rows if wanted is None else rows[:wanted]
    if csv_file is not None:
        columns = tuple(rows[0])
        values = [["" if v is None else v for v in row.values()] for row in shown]
        write_csv(csv_file, columns, values, store=core.files)
        return
    if as_json:
        write_json(
            {
                "a": _made(record.a),
                "b": _made(record.b),
                "k": k,
                "totals": record.totals,
                "queries": shown,
                "notes": list(record.notes),
            }
        )
        return
    say(f"a: {record.a.tier}")
    say(f"b: {record.b.tier}")
    click.echo()
    names = ("overlap", "jaccard", "rbo", "tau")
    table(
        ("qid", *names, "new", "lost", "query"),
        [
            (row["qid"], *(_number(row[n]) for n in names), row["new"], row["lost"], row["query"])
            for row in shown
        ],
        path=7,
    )
    click.echo()
    if len(shown) < len(rows):
        say(f"{len(shown):,} of {len(rows):,} topics shown; --all lists every one.")
    total = record.totals
    means = ", ".join(f"{name} {_number(total[name])}" for name in names)
    say(f"Means over {total['queries']:,} topics at k={k}: {means}.")
    say(
        f"{total['new']:,} documents come into the first {k}, {total['lost']:,} leave it; "
        f"{total['other_first']:,} topics have another first document."
    )
    notes(record.notes)


def _made(record: RunRecord) -> dict[str, Any]:
    made = record.provenance
    return {
        "name": record.label,
        "degraded": list(record.degraded),
        "provenance": None if made is None else asdict(made),
    }


@click.command()
@click.argument("query")
@click.argument("target", metavar="PATH|CITATION")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
              help="The top that it is, or is not, in.")  # fmt: skip
@click.option("--mode", type=MODE, help="The ranking. [default: the best that the store has]")
@_fusion_options
@under_option
@json_option
@pass_app
def explain(
    app: App,
    query: str,
    target: str,
    k: int,
    mode: Mode | None,
    weights: tuple[float, float],
    rrf_k: float,
    window: int | None,
    under: str,
    as_json: bool,
) -> None:
    """Say why a document stands where it stands for a query, and what would bring it higher.

    Put the query in quotes: it is one argument.
    """
    from knowledge_nb.evaluation.explaining import explain as account_for

    with app.core() as core:
        record = account_for(
            core, query, target, k=k, mode=mode, weights=weights, rrf_k=rrf_k, window=window,
            under=under,
        )  # fmt: skip
    if as_json:
        write_json(asdict(record))
        return
    say(record.tier)
    for sentence in record.sentences:
        say(sentence)
    title("Tiers")
    table(
        ("tier", "rank", "of", "document", "score", "adds", "chunk"),
        [
            (
                place.tier,
                "none" if place.rank is None else f"{place.rank:,}",
                place.ranked,
                "none" if place.document_rank is None else f"{place.document_rank:,}",
                _number(place.score),
                "" if place.contribution is None else f"{place.contribution:.6f}",
                place.citation,
            )
            for place in record.places
        ],
        path=6,
    )
    if record.term_weights:
        title("Words")
        table(
            ("word", "status", "weight", "chunks", "in"),
            [
                (t.term, t.status, f"{t.weight:.4f}", t.chunks, t.place or t.reason)
                for t in record.term_weights
            ],
            path=0,
        )
