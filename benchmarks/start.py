"""How long a program waits before it begins: for imports, and for the compiled kernels.

A Python process imports NumPy, then a library, and tells both times: the ratio of a process compares times of one
moment, whatever else the machine does. The libraries take turns. A first run of each, which compiles, is thrown away;
what it compiled is kept until the end. PyTorch is timed too, where it is installed.
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

GOAL = 1.4  # of minigrad's import to NumPy's
PROGRAM = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import {module}
print(middle - start, time.perf_counter() - start)
"""
BARS = {"first": 20.0, "later": 0.3}  # seconds
RARE = ("recurrent_numba", "convolve_numba")  # kernels that are compiled when they are first asked for


def milliseconds(module: str, compiled: str) -> tuple[float, float]:
    """How long a fresh process takes to import NumPy, and until it has imported the module as well.

    Args:
        compiled: the folder that keeps compiled files.
    """
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    of_numpy, of_both = ran.stdout.split()
    return 1000 * float(of_numpy), 1000 * float(of_both)


def imports(runs: int) -> Table:
    """The table of imports, a row for each library."""
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
    result.notes.append(f"each in a process of its own, after NumPy and with its time; medians of {runs}")
    return result


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


def kernels(rounds: int) -> Table:
    """A row for the compiled kernels of transformers, and for each that is rarely needed: how long the first process
    after installation waits, and later ones."""
    columns = ("kernels", "first s", "later s", "goal, first", "goal, later")
    result = Table("Waiting for the compiled kernels", columns, ("", ".1f", ".2f", ".0f", ".1f"))
    with tempfile.TemporaryDirectory() as cache:
        for unit, what in (("crew", "of transformers"), *((name, name.removesuffix("_numba")) for name in RARE)):
            progress(f"first run: {what}")
            answers = [ask("benchmarks.start:load", "minigrad", cache=cache, unit=unit) for _ in range(1 + rounds)]
            if "missing" in answers[0]:
                result.notes.append("Numba is not installed: there is nothing to wait for")
                break
            first, *later = (answer["seconds"] for answer in answers)
            result.add(what, first, median(later), *BARS.values())
    return result
