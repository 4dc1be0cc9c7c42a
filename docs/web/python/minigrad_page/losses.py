"""The losses that a program computes, for the curve beside it: each number that ``backward`` starts from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.autograd.observer import Observer, observed

EVERY = 0.03  # seconds between points: more than a screen shows would slow the program


class Losses(Observer):
    """Tells of each ``backward`` from one number: how many there were before, and the number."""

    def __init__(self, tell: Callable[[int, float], None]):
        self._tell, self._steps, self._told = tell, 0, 0.0
        self._held: tuple[int, float] | None = None

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """A walk begins."""
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
        """Tell of the last, which may have come too soon after the one before."""
        if self._held:
            self._tell(*self._held)


@contextmanager
def watch(tell: Callable[[int, float], None]) -> Iterator[None]:
    """Tell of the losses within it: ``tell(step, loss)``."""
    losses = Losses(tell)
    with observed(losses):
        try:
            yield
        finally:
            losses.finish()
