"""Whether runs are of one state of one index: else they differ by more than how they rank."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge_nb.evaluation.runs import Provenance, RunRecord


def state_notes(runs: Mapping[str, RunRecord]) -> tuple[str, ...]:
    """Say that runs are of different index generations, or of different stores.

    Parameters
    ----------
    runs : mapping of str to RunRecord
        By the label that the note is to give them. Runs of other tools have no generation, and are
        passed over.

    Returns
    -------
    tuple of str
        One note, which names every run with its generation; empty where all are of one state.
    """
    made = {label: run.provenance for label, run in runs.items() if run.provenance is not None}
    # Runs saved by earlier versions do not know their store; then the base has to tell.
    stores = {each.store_id for each in made.values() if each.store_id}
    bases = {each.base for each in made.values()}
    if len(stores) > 1 or len(bases) > 1:
        named = ", ".join(f"{label}: {_state(each)}" for label, each in made.items())
        what = "stores"
    elif len({each.generation for each in made.values()}) > 1:
        named = ", ".join(f"{label}: {each.generation}" for label, each in made.items())
        what = "index generations"
    else:
        return ()
    return (
        f"The runs are of different {what} ({named}), so they may differ by more than how they "
        "rank.",
    )


def _state(made: Provenance) -> str:
    store = f" of store {made.store_id[:8]}" if made.store_id else ""
    return f"generation {made.generation}{store} over {made.base}"
