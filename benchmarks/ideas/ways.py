"""Several ways to do one thing, timed in turns in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minigrad.backend import parallel

Switches = Sequence[tuple[Any, str, Any]]  # (module or object, name, value)
CALLS, SECONDS = 20, 0.1  # of a turn, at most


@dataclass(frozen=True)
class Way:
    """One way.

    Attributes:
        call: what is timed. before: what is done before each call, and not timed.
        switches: names that have other values meanwhile.
    """

    call: Callable[[], object]
    before: Callable[[], object] = lambda: None
    switches: Switches = ()


@contextmanager
def switched(switches: Switches) -> Iterator[None]:
    """Give names other values, and afterwards those that they had."""
    former = [(owner, name, getattr(owner, name)) for owner, name, _ in switches]
    try:
        for owner, name, value in switches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in former:
            setattr(owner, name, value)


def take(ways: Sequence[Way], seconds: float, rest: float = 0.0) -> list[list[float]]:
    """Times of each way's calls in milliseconds.

    A turn is several calls, as the first after another way finds that one's data in the cache; it is thrown
    away. Every other round of turns goes backwards.

    Args:
        seconds: to spend on each way, roughly; there are at least two rounds.
        rest: seconds to sleep before a turn, so that threads that the last one left busy go to sleep.
    """
    times: list[list[float]] = [[] for _ in ways]
    order = list(zip(ways, times, strict=True))
    end, rounds = time.perf_counter() + seconds * len(ways), 0
    while rounds < 2 or time.perf_counter() < end:
        for way, found in order:
            time.sleep(rest)
            with switched(way.switches):
                found += _turn(way, min(SECONDS, seconds))
        order.reverse()
        rounds += 1
    return times


def _turn(way: Way, seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (len(times) <= CALLS and time.perf_counter() < end):
        way.before()
        start = time.perf_counter()
        way.call()
        times.append(1000 * (time.perf_counter() - start))
    return times[1:]


def one_pass(function: Callable[..., Any], x: Any) -> Callable[[], None]:
    """A call of one of NumPy's functions on an array, in blocks on all threads."""
    flat, out = x.reshape(-1), np.empty(x.size, x.dtype)

    def work(i: int, j: int) -> None:
        function(flat[i:j], out=out[i:j])

    return partial(parallel.over_rows, work, flat.size, 2 * flat.itemsize)
