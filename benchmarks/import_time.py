"""How much longer `import minigrad` takes than `import numpy`, which it needs. The goal: at most 1.5 times.

    python -m benchmarks.import_time [--runs 15]

Each import is timed inside a Python process of its own. The two take turns, so that whatever else the machine
does meets both. A first run of each, which compiles, is thrown away; what it compiled is kept until the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from .machine import describe

ROOT = Path(__file__).parent.parent
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=15, help="measurements of each import (default: 15)")
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {"numpy": [], "minigrad": []}
    with tempfile.TemporaryDirectory() as compiled:
        for _ in range(runs + 1):
            for module, found in times.items():
                found.append(seconds(module, compiled))
    medians = {module: median(found[1:]) for module, found in times.items()}
    ratio = medians["minigrad"] / medians["numpy"]
    print(describe("safetensors"))
    for module, time in medians.items():
        print(f"import {module:8} {time * 1e3:6.1f} ms (median of {runs})")
    print(f"ratio {ratio:.2f}, the goal is at most {GOAL}")


if __name__ == "__main__":
    main()
