"""Tests on the GPU, in a box of time: the kernels' own, or a sample of all."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from .place import Place

RESERVE = 6.0  # seconds in which pytest ends
PROCESSES = 12  # that share the GPU
SHOWN = 15  # failures whose reasons are kept
_CUDA = ("test_cuda_kernels.py", "test_cuda_attention.py", "test_cuda_backend.py", "kernels")
KERNELS = [f"tests/backend/{name}" for name in _CUDA]
SAMPLE = ["tests"]
TINY = {"kernels": "tests/backend/test_cuda_backend.py", "tests": "tests/backend/test_device.py"}


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The suite of the stage's name."""
    return {place.stage: partial(tested, place)}


def tested(place: Place) -> dict[str, Any]:
    """How many tests passed and failed. Raises AssertionError: any failed, or none ran; it names them."""
    file = place.work / f"{place.stage}.tests"
    file.touch()
    with subprocess.Popen(command(place), env={**os.environ, "MINIGRAD_TESTS": str(file)}) as process:
        try:
            process.wait(max(1.0, place.left() - RESERVE))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(RESERVE / 2)
            process.kill()
    lines = file.read_text(encoding="utf-8").splitlines()
    return counted(place.stage, [json.loads(line) for line in lines])


def command(place: Place) -> list[str]:
    """pytest's command line; the order is random, so that any part of it is a sample."""
    which = place.choose(KERNELS if place.stage == "kernels" else SAMPLE, [TINY[place.stage]])
    select = place.choose(["-m", "cuda and not nightly"], ["-m", "not nightly"])
    plugins = ["-p", "benchmarks.gpu.pytest_rows", "-p", "no:cacheprovider"]
    split = importlib.util.find_spec("xdist") and not place.rehearsal
    beside = ["-n", str(min(PROCESSES, os.cpu_count() or 1))] if split else []
    select += ["--continue-on-collection-errors"]  # the machine may lack packages
    return [sys.executable, "-m", "pytest", "-q", "--tb=short", *select, *plugins, *beside, *which]


def counted(stage: str, tests: list[dict[str, str]]) -> dict[str, Any]:
    """The row of a suite. Raises as ``tested``."""
    ends = Counter(test["end"] for test in tests)
    bad = [f"{test['test']}: {test['why']}" for test in tests if test["end"] == "failed"]
    row = {"tests": stage, **{end: ends[end] for end in ("passed", "failed", "skipped")}}
    if bad or not ends["passed"]:
        raise AssertionError(f"{row}; " + "; ".join(bad[:SHOWN]))
    return row
