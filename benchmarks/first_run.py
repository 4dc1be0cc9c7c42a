"""How long the compiled kernels keep a program waiting: once after installation, and in each process after that."""

from __future__ import annotations

import os
import tempfile
import time
from statistics import median

from .process import Answer, Missing, ask, library_module, progress
from .table import Table

BARS = {"first": 20.0, "later": 0.3}  # seconds
RARE = ("lstm_numba", "convolve_numba")  # kernels that are compiled when they are first asked for


def load(library: str, cache: str, unit: str = "crew") -> Answer:
    """{"seconds": ...}: from asking for the compiled kernels to having them, with ``cache`` for their files."""
    os.environ["MINIGRAD_CACHE"] = cache
    library_module(library)
    from minigrad.backend.compiled import store

    start = time.perf_counter()
    store.library()
    begun = time.perf_counter()
    if store.library(unit) is None:
        raise Missing("no Numba")
    return {"seconds": time.perf_counter() - (start if unit == "crew" else begun)}


def table(rounds: int) -> Table:
    """A row for the first process, one for later ones, and for kernels that are rarely needed."""
    columns = ("kernels", "first s", "later s", "goal, first", "goal, later")
    result = Table("Waiting for the compiled kernels", columns, ("", ".1f", ".2f", ".0f", ".1f"))
    with tempfile.TemporaryDirectory() as cache:
        for unit, what in (("crew", "of transformers"), *((name, name.removesuffix("_numba")) for name in RARE)):
            progress(f"first run: {what}")
            first = ask("benchmarks.first_run:load", "minigrad", cache=cache, unit=unit)
            if "missing" in first:
                result.notes.append("Numba is not installed: there is nothing to wait for")
                break
            later = [ask("benchmarks.first_run:load", "minigrad", cache=cache, unit=unit) for _ in range(rounds)]
            result.add(what, first["seconds"], median(a["seconds"] for a in later), *BARS.values())
    return result
