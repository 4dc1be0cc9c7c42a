"""Measures how long a program waits for imports and for compiled kernels before it starts.

A Python process imports NumPy, then a library, and prints both times. Their ratio does not depend on other load on the
machine. The libraries take turns. The first run of each library compiles its bytecode for the later runs, and its times
are discarded. PyTorch is timed as well if it is installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

from .process import ROOT, Answer, Missing, ask, library_module, progress
from .table import Table

GOAL = 1.4  # the ratio of minigrad's import time to that of NumPy
PROGRAM = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import {module}
print(middle - start, time.perf_counter() - start)
"""
BARS = {"first": 20.0, "later": 0.3}  # seconds
RARE = ("recurrent_numba", "convolve_numba")  # kernels compiled on first use


def milliseconds(module: str, compiled: str) -> tuple[float, float]:
    """How long a new process takes to import NumPy, and to import both NumPy and the module.

    Args:
        compiled: the folder for compiled files.
    """
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    of_numpy, of_both = ran.stdout.split()
    return 1000 * float(of_numpy), 1000 * float(of_both)


def imports(runs: int) -> Table:
    """The table of imports, with one row per library."""
    times: dict[str, list[tuple[float, float]]] = {"minigrad": []}
    if importlib.util.find_spec("torch") is not None:
        times["torch"] = []
    with tempfile.TemporaryDirectory() as compiled:
        for turn in range(runs + 1):
            progress(f"import: turn {turn} of {runs}")
            for module, measured in times.items():
                measured.append(milliseconds(module, compiled))
    result = Table("Time of an import", ("import", "ms", "to numpy's", "goal"), ("", ".1f", ".2f", ".1f"))
    result.add("numpy", median(first for measured in times.values() for first, _ in measured[1:]), 1.0, None)
    for module, measured in times.items():
        ratios = [both / first for first, both in measured[1:]]
        goal = GOAL if module == "minigrad" else None
        result.add(module, median(both for _, both in measured[1:]), median(ratios), goal)
    result.notes.append(f"each in a separate process, after NumPy and including its time; medians of {runs}")
    return result


def load(library: str, cache: str, unit: str = "thread_pool") -> Answer:
    """How long it takes to load the compiled kernels, whose files are in ``cache``: {"seconds": ...}."""
    os.environ["MINIGRAD_CACHE"] = cache
    library_module(library)
    from minigrad.backend.compiled import store

    start = time.perf_counter()
    store.library()
    loaded = time.perf_counter()
    if store.library(unit) is None:
        raise Missing("no Numba")
    return {"seconds": time.perf_counter() - (start if unit == "thread_pool" else loaded)}


def kernels(rounds: int) -> Table:
    """A row for the compiled transformer kernels, and a row for each rarely used kernel: how long the first process
    after installation waits, and how long later processes wait."""
    columns = ("kernels", "first s", "later s", "goal, first", "goal, later")
    result = Table("Waiting for the compiled kernels", columns, ("", ".1f", ".2f", ".0f", ".1f"))
    with tempfile.TemporaryDirectory() as cache:
        for unit, what in (("thread_pool", "of transformers"), *((name, name.removesuffix("_numba")) for name in RARE)):
            progress(f"first run: {what}")
            answers = [ask("benchmarks.start:load", "minigrad", cache=cache, unit=unit) for _ in range(1 + rounds)]
            if "missing" in answers[0]:
                result.notes.append("Numba is not installed: nothing to compile")
                break
            first, *later = (answer["seconds"] for answer in answers)
            result.add(what, first, median(later), *BARS.values())
    return result
