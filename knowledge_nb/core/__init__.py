"""The core: one method per verb, records in and out, soft statuses as data.

Front ends (CLI, MCP, forms) ask it and format; `knowledge_base` makes frames of it for notebooks.
It owns the lifetimes: the shared reader, the embedder, the words kept per committed state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_nb.core.reading import Reading
from knowledge_nb.core.writing import Writing, check_roots

if TYPE_CHECKING:
    from knowledge_nb.audit.doctor import DoctorReport
    from knowledge_nb.records import Check

__all__ = ["Core", "check_roots"]


class Core(Reading, Writing):
    """Every verb of one store, with records as answers; see `Handles` for the parameters."""

    def doctor(self, *, integrity: bool = False, wait: float = 0.0) -> DoctorReport:
        """Every check of the doctor; see `KnowledgeBase.doctor`."""
        from knowledge_nb.audit.doctor import examine

        return examine(self, integrity=integrity, wait=wait)

    def check(self, *, wait: float = 0.0) -> tuple[Check, ...]:
        """Compare index, rows and stored text; see `KnowledgeBase.check`."""
        from knowledge_nb.audit.doctor import examine_integrity

        return examine_integrity(self, wait=wait)
