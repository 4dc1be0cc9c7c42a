"""Training steps on the CPU with more and more threads: a machine with a GPU has many cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from ..process import Missing, ask
from .place import Place

THREADS = (16, 8, 4, 2, 1)
NAMES = ("OMP", "OPENBLAS", "MKL", "MINIGRAD")


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Steps of two workloads by threads, on both libraries."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = place.choose([n for n in THREADS if n <= most], [1])
    works = place.choose(("gpt-384", "multi30k"), ("tiny",))
    each = [(work, n, library) for work in works for n in counts for library in ("minigrad", "torch")]
    return {f"{work}, {n} threads, {library}": partial(timed, place, work, n, library) for work, n, library in each}


def timed(place: Place, work: str, threads: int, library: str) -> dict[str, Any]:
    """The median step. Raises Missing: the library is not installed."""
    environment = {f"{name}_NUM_THREADS": str(threads) for name in NAMES}
    environment["MINIGRAD_FAST"] = place.choose("1", "0")
    seconds = place.choose(2.0, 0.01)
    answer = ask("benchmarks.steps:train", library, environment=environment, work=work, seconds=seconds)
    if "missing" in answer:
        raise Missing(answer["missing"])
    return {"step": work, "threads": str(threads), f"{library} ms": median(answer["times"])}
