"""Where pure NumPy ends."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np

from minigrad.backend import parallel
from minigrad.backend.kernels import gelu

from .idea import LIMIT, Given, Row, idea, two_threads
from .ways import Way, one_pass


@idea(LIMIT, "one pass for each operation", "kernels/gelu.py")
def passes(given: Given) -> list[Row]:
    """GELU with its slope is some 25 calls of NumPy, each a pass over a block; a compiler makes one of them.
    Compared with one such pass."""
    x = given.random(given.part(2048), 1536)
    whole = Way(partial(gelu.forward, (True,), x, "none"))
    return [given.compare("GELU of 2048 × 1536", whole, Way(one_pass(np.square, x)))]


@idea(LIMIT, "threads that must be woken", "backend/parallel.py, each")
def waking(given: Given) -> list[Row]:
    """PyTorch's threads spin for a while before they sleep, ours sleep at once. Compared with an empty job
    done by the thread that calls."""
    two_threads()
    caller, done = threading.get_ident(), threading.Lock()
    done.acquire()

    def work(_: int) -> None:
        """The caller waits until another thread has been here."""
        if threading.get_ident() == caller:
            done.acquire(timeout=1)
        elif done.locked():
            done.release()

    x = given.random(given.part(1 << 17))
    busy = partial(np.exp, x, np.empty_like(x))  # between two calls, so that the other thread falls asleep
    there_and_back = Way(partial(parallel.each, work, [(0,), (1,)]), busy)
    alone = Way(partial(parallel.each, lambda _: None, [(0,)]), busy)
    row = given.compare("an empty job for another thread", there_and_back, alone)
    return [Row(row.what, [1000 * ms for ms in row.figures], "µs")]


@idea(LIMIT, "the GIL between calls", "backend/parallel.py, each")
def gil(given: Given) -> list[Row]:
    """Two threads in short calls of NumPy mostly wait for one another. Compared with one thread."""
    two_threads()
    x = given.random(given.part(1 << 21))
    out = np.empty_like(x)

    def work(i: int, j: int, step: int) -> None:
        for k in range(i, j, step):
            np.exp(x[k : k + step], out=out[k : k + step])

    found = []
    for size, step in (("4 KiB", 1 << 10), ("32 KiB", 1 << 13), ("256 KiB", 1 << 16), ("2 MiB", 1 << 19)):
        halves: parallel.Blocks = [(0, x.size // 2, step), (x.size // 2, x.size, step)]
        two, one = Way(partial(parallel.each, work, halves)), Way(partial(work, 0, x.size, step))
        found.append(given.compare(f"exp of 2,097,152 numbers in calls of {size}, two threads", two, one))
    return found
