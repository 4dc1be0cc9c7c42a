"""How much longer `import minigrad` takes than `import numpy`, which it needs. The goal: at most 1.5 times.

    python -m benchmarks.import_time [--runs 15]

Each import is timed inside a Python process of its own. The libraries take turns, so that whatever else the
machine does meets all. A first run of each, which compiles, is thrown away; what it compiled is kept until
the end. PyTorch is timed too, where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from statistics import median

from .machine import describe
from .process import ROOT, progress
from .table import Table, ratio

GOAL = 1.5
PROGRAM = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def seconds(module: str, compiled: str) -> float:
    """The time of one import in a fresh process that keeps compiled files in the folder ``compiled``."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return float(ran.stdout)


def table(runs: int) -> Table:
    """The table, a row for each library."""
    times: dict[str, list[float]] = {"numpy": [], "minigrad": []}
    if importlib.util.find_spec("torch") is not None:
        times["torch"] = []
    with tempfile.TemporaryDirectory() as compiled:
        for turn in range(runs + 1):
            progress(f"import: turn {turn} of {runs}")
            for module, found in times.items():
                found.append(1000 * seconds(module, compiled))
    result = Table("Time of an import", ("import", "ms", "to numpy's", "goal"), ("", ".1f", ".2f", ".1f"))
    medians = {module: median(found[1:]) for module, found in times.items()}
    for module, time in medians.items():
        result.add(module, time, ratio(time, medians["numpy"]), GOAL if module == "minigrad" else None)
    result.notes.append(f"each in a process of its own, median of {runs}")
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=15, help="measurements of each import (default: 15)")
    runs = parser.parse_args().runs
    print(describe("safetensors"))
    print(table(runs).text())


if __name__ == "__main__":
    main()
