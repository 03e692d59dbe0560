"""The command `knowledge`: a leaf that asks the core and formats the answer.

`group` holds the table of verbs, the exit statuses and the translation of errors; each
`verbs_*` module is imported only when one of its verbs runs.
"""

from __future__ import annotations

import os
import sys

UNUSABLE = 4


def main() -> None:
    """Run the command line of this process and exit."""
    if sys.stderr is None:  # closed by the caller; what is said there is lost, and no error
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stderr.write("knowledge: stdout is closed, so no answer can be given\n")
        sys.exit(UNUSABLE)
    try:
        from knowledge_nb.cli.group import knowledge

        knowledge(prog_name="knowledge")
    except KeyboardInterrupt:  # before, or after, the group had it in hand
        sys.stderr.write("knowledge: interrupted\n")
        sys.exit(130)
    except Exception:  # noqa: BLE001 - reported whole, and ended with a status of its own
        # Python's own status for it is 1, which says here that the answer is no.
        import traceback

        traceback.print_exc()
        sys.exit(70)
