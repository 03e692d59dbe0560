"""The command `knowledge`: a leaf that asks the core and formats the answer.

`group` holds the table of verbs, the exit statuses and the translation of errors; each
`verbs_*` module is imported only when one of its verbs runs.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit."""
    try:
        from knowledge_nb.cli.group import knowledge

        knowledge(prog_name="knowledge")
    except KeyboardInterrupt:  # before, or after, the group had it in hand
        sys.stderr.write("knowledge: interrupted\n")
        sys.exit(130)
