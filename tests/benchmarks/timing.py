"""Time of this process: processor seconds, which hardly move with other work, and wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that something took."""

    processor: float
    wall: float

    def against(self, other: Spent) -> str:
        """Ratio in processor time, then in wall time, then the seconds."""
        return (
            f"{self.processor / other.processor:.2f} (wall {self.wall / other.wall:.2f})"
            f"   [{self.processor:.3f} s / {other.processor:.3f} s of processor]"
        )


def spent(action: Callable[[], object], times: int = 1) -> Spent:
    """The fastest of `times` runs."""
    found = []
    for _ in range(times):
        processor, wall = time.process_time(), time.perf_counter()
        action()
        found.append(Spent(time.process_time() - processor, time.perf_counter() - wall))
    return min(found, key=lambda run: run.processor)
