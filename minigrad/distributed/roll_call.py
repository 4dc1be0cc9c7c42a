"""Who waits: a rank whose call is late asks all others, and those that wait themselves answer."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .mpi import Mpi

ASK, ANSWER = 11, 12  # tags
GRACE = 2.0  # seconds for answers


class RollCall:
    """The messages of one group about who is there."""

    def __init__(self, control: Mpi) -> None:
        self.control = control
        self._sent: list[Any] = []
        self._empty = np.zeros(1, np.uint8)

    def answer(self) -> None:
        """Answer those who ask: this rank waits in a call."""
        while (source := self.control.first_waiting(ASK)) is not None:
            self._take(source, ASK)
            self._send(source, ANSWER)

    def hold(self) -> set[int]:
        """Ask all. Returns the ranks that wait, this one among them, after some seconds or when all have answered."""
        here = {self.control.rank}
        for rank in range(self.control.size):
            if rank != self.control.rank:
                self._send(rank, ASK)
        end = time.monotonic() + GRACE
        while len(here) < self.control.size and time.monotonic() < end:
            # who asks waits, too
            for tag in (ASK, ANSWER):
                while (source := self.control.first_waiting(tag)) is not None:
                    self._take(source, tag)
                    here.add(source)
                    if tag == ASK:
                        self._send(source, ANSWER)
            time.sleep(0.001)
        return here

    def _take(self, source: int, tag: int) -> None:
        request = self.control.receive(np.empty(1, np.uint8), source, tag)
        while not request.done():
            pass

    def _send(self, to: int, tag: int) -> None:
        self._sent = [request for request in self._sent if not request.done()]
        self._sent.append(self.control.send(self._empty, to, tag))
