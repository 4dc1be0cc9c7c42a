"""The losses that a program computes, for the curve next to it: each number on which ``backward`` is called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.autograd.observer import Observer, observed

EVERY = 0.03  # seconds between points: more points would slow down the program


class Losses(Observer):
    """Reports each ``backward`` of a single number: how many losses came before, and this loss."""

    def __init__(self, tell: Callable[[int, float], None]):
        self._tell, self._steps, self._told = tell, 0, 0.0
        self._held: tuple[int, float] | None = None

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """Handle the start of a backward pass."""
        if kind != "walk" or name != "backward" or subject[0].array.size != 1 or subject[0].array.dtype.kind == "c":
            return
        point = self._steps, float(subject[0].array.reshape(()))
        self._steps += 1
        if time.monotonic() - self._told < EVERY:
            self._held = point
            return
        self._held, self._told = None, time.monotonic()
        self._tell(*point)

    def finish(self) -> None:
        """Report the last loss, which may have followed the previous one too soon."""
        if self._held:
            self._tell(*self._held)


@contextmanager
def watch(tell: Callable[[int, float], None]) -> Iterator[None]:
    """Report the losses of the enclosed code: ``tell(step, loss)``."""
    losses = Losses(tell)
    with observed(losses):
        try:
            yield
        finally:
            losses.finish()
