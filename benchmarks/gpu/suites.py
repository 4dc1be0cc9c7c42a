"""Runs tests on the GPU within a time limit: the kernel tests, or a sample of all tests."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from .place import Place
from .runner import ROOT

RESERVE = 6.0  # seconds for pytest to end
PROCESSES = 12  # processes that share the GPU
SHOWN = 15  # failures with reasons to keep
_CUDA = ("test_cuda_kernels.py", "test_cuda_attention.py", "test_cuda_backend.py", "kernels")
KERNELS = [f"tests/backend/{name}" for name in _CUDA]
TINY = {"kernels": "tests/backend/test_cuda_backend.py", "tests": "tests/backend/test_device.py"}
# A line from ``pytest -v``, whose parts are in a different order if there are several processes.
ALONE = re.compile(r"^(\S+::.*) (PASSED|FAILED|ERROR|SKIPPED).* \[ *\d+%\]$", re.MULTILINE)
OF_SEVERAL = re.compile(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED) (.*\S)", re.MULTILINE)


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The test suite that the stage is named after."""
    return {place.stage: partial(tested, place)}


def tested(place: Place) -> dict[str, Any]:
    """How many tests passed and failed. Raises AssertionError with the failures, or if no test ran."""
    log = place.work / f"{place.stage}.tests"
    streams: dict[str, Any] = {"stderr": subprocess.STDOUT, "env": {**os.environ, "COLUMNS": "300"}}
    with log.open("w") as output, subprocess.Popen(command(place), stdout=output, **streams) as process:
        try:
            process.wait(max(1.0, place.left() - RESERVE))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # pytest still prints why tests failed
            with suppress(subprocess.TimeoutExpired):
                process.wait(RESERVE / 2)
            process.kill()
    text = log.read_text(encoding="utf-8", errors="replace")
    print(text)
    return counted(place.stage, text)


def command(place: Place) -> list[str]:
    """The pytest command line. For all tests, the files are in random order, so that the first files are a sample."""
    which = KERNELS
    if place.rehearsal:
        which = [TINY[place.stage]]
    elif place.stage == "tests":
        which = sorted(str(file.relative_to(ROOT)) for file in Path(ROOT, "tests").rglob("test_*.py"))
        random.Random(0).shuffle(which)
    select = place.choose(["-m", "cuda and not nightly"], ["-m", "not nightly"])
    split = importlib.util.find_spec("xdist") and not place.rehearsal
    parallel = ["-n", str(min(PROCESSES, os.cpu_count() or 1))] if split else []
    select += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]  # the machine may lack packages
    return [sys.executable, "-m", "pytest", "-v", "-rfE", "--tb=short", *select, *parallel, *which]


def counted(stage: str, text: str) -> dict[str, Any]:
    """The row of a suite, from the pytest output. Raises the same errors as ``tested``."""
    ends = dict(ALONE.findall(text)) | {name: end for end, name in OF_SEVERAL.findall(text)}
    count = Counter(ends.values())
    reasons = dict(re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$", text, re.MULTILINE))
    bad = [name for name, end in ends.items() if end in ("FAILED", "ERROR")]
    bad += [name for name in reasons if name not in ends]  # a file that cannot be imported
    row = {"tests": stage, "passed": count["PASSED"], "failed": len(bad), "skipped": count["SKIPPED"]}
    if bad or not count["PASSED"]:
        raise AssertionError(f"{row}; " + "; ".join(f"{name}: {reasons.get(name, '')}" for name in bad[:SHOWN]))
    return row
