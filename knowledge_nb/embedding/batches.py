"""Halving: how a batch that fails is cut until each text has a vector or a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .errors import (
    EmbedderBusy,
    EmbedderDropped,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbedderUnavailable,
)
from .protocol import EmbeddingTally, Refused, Vector

_DIVISIBLE_STATUS: Final = frozenset({400, 413, 422})


def is_divisible(error: EmbedderUnavailable) -> bool:
    """Whether a smaller batch may fare better.

    True for 400, 413, 422 and 5xx, for an answer that cannot be mapped, and for a dropped
    connection. A server that is absent, silent, busy or forbids everything does so at any size.
    """
    if isinstance(error, EmbedderRefused):
        return not isinstance(error, EmbedderBusy) and (
            error.status in _DIVISIBLE_STATUS or error.status >= 500
        )
    return isinstance(error, EmbedderProtocolError | EmbedderDropped)


@dataclass(slots=True)
class WorkingSize:
    """The largest batch that is tried; shrinks as a server's limit is found."""

    inputs: int


class Halving:
    """One pass over many texts.

    Parameters
    ----------
    send : callable
        Sends one batch and returns a vector for each text; raises `EmbedderUnavailable`.
    prove : callable
        Sends one harmless text; raises when even that fails. Asked when single texts fail and no
        batch succeeded since, so that a broken server stops the run and is not blamed on the texts.
    size : WorkingSize
        Shared by the passes of a run.
    tally : EmbeddingTally
    """

    def __init__(
        self,
        send: Callable[[Sequence[str]], list[Vector]],
        prove: Callable[[], None],
        size: WorkingSize,
        tally: EmbeddingTally,
    ) -> None:
        self._send = send
        self._prove = prove
        self._size = size
        self._tally = tally
        self._proven = False

    def run(
        self, texts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> list[Vector | Refused]:
        """Embed all, in order.

        Raises
        ------
        EmbedderUnavailable
            A failure that no smaller batch avoids.
        """
        settled: list[Vector | Refused] = []
        while len(settled) < len(texts):
            group = texts[len(settled) : len(settled) + self._size.inputs]
            settled += self._group(group)
            if on_progress is not None:
                on_progress(len(group))
        return settled

    def _group(self, group: Sequence[str]) -> list[Vector | Refused]:
        if len(group) > self._size.inputs:
            return self.run(group)
        try:
            vectors: list[Vector | Refused] = [*self._send(group)]
        except EmbedderUnavailable as error:
            if not is_divisible(error):
                raise
            return self._halved(group, error) if len(group) > 1 else [self._refused(error)]
        self._proven = True
        return vectors

    def _halved(self, group: Sequence[str], error: EmbedderUnavailable) -> list[Vector | Refused]:
        self._tally.halvings += 1
        middle = (len(group) + 1) // 2
        if isinstance(error, EmbedderRefused) and error.status == 413:
            self._shrink(middle)
        halves = self._group(group[:middle]) + self._group(group[middle:])
        # Only when every text of a failed batch went through was its size to blame. Otherwise one
        # bad text would bring the whole run down to single inputs.
        if not any(isinstance(each, Refused) for each in halves):
            self._shrink(middle)
        return halves

    def _shrink(self, inputs: int) -> None:
        self._size.inputs = min(self._size.inputs, inputs)

    def _refused(self, error: EmbedderUnavailable) -> Refused:
        if not self._proven:
            self._prove()
        self._proven = False
        return Refused(str(error))
