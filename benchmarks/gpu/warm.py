"""CuPy compiles each array function at its first use: several processes use them, so that later stages find them all.

    python -m benchmarks.gpu.warm DEVICE NUMBER

does every ``PROCESSES``-th job from NUMBER on. Errors do not matter here: the probes report them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..workloads import TINY, Work
from . import probes_arrays
from .place import Place
from .works import Step

PROCESSES = 12


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """One item, of several processes."""
    return {"array functions": partial(warmed, place)}


def warmed(place: Place) -> dict[str, Any]:
    """Do the jobs; a rehearsal does a part of them."""
    command = [sys.executable, "-m", "benchmarks.gpu.warm", place.device]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(place.choose(PROCESSES, 1))]
    return {"processes": len(processes), "that came to their end": [process.wait() for process in processes].count(0)}


def main(device: str, number: str) -> None:
    """Use array functions as the probes do, and as training steps do."""
    place = Place("warm", Path("none"), device, Path("none"), 0.0)
    place.begin()
    jobs = list(probes_arrays.items(place).values())
    jobs += [partial(trained, place, work, dtype) for work in TINY.values() for dtype in ("float32", "bfloat16")]
    for job in jobs[int(number) :: PROCESSES]:
        with suppress(Exception):
            job()


def trained(place: Place, work: Work, precision: str) -> None:
    """Some steps of a tiny model."""
    step = Step(place, work, precision)
    for _ in range(2):
        step()
    place.synchronize()


if __name__ == "__main__":
    main(*sys.argv[1:])
