"""How much longer `import minigrad` takes than `import numpy`, which it needs. The goal: at most 1.4 times.

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
from statistics import median

from .process import ROOT, progress
from .table import Table

GOAL = 1.4
PROGRAM = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import {module}
print(middle - start, time.perf_counter() - start)
"""


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


def table(runs: int) -> Table:
    """The table, a row for each library."""
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
