"""The device of a stage: a GPU, or the fake GPU from the tests in a rehearsal."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..process import library_module
from .runner import read

T = TypeVar("T")
AS_IN_A_PROGRAM = """\
import runpy, sys
from tests.support import strict
strict.install()
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


class NeedsGpu(Exception):
    """Raised for something that a rehearsal cannot do without a GPU."""


@dataclass
class Place:
    """The device and files of a stage."""

    stage: str  # its name
    rows: Path  # the file for its rows
    device: str  # "cuda", or "strict" for the fake GPU
    work: Path  # the folder for the run's files
    seconds: float  # time limit

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.seconds
        self.rehearsal = self.device != "cuda"  # there is no GPU
        self.library = "torch" if self.stage.endswith("-torch") else "minigrad"  # measured by the stage

    def choose(self, real: T, tiny: T) -> T:
        """The first value on a GPU, the second in a rehearsal."""
        return tiny if self.rehearsal else real

    def left(self) -> float:
        """Seconds until the time limit of the stage."""
        return self.end - time.monotonic()

    def begin(self) -> None:
        """Register the fake GPU, if the stage runs on it."""
        if self.rehearsal:
            importlib.import_module("tests.support.strict").install()

    def module(self) -> Any:
        """The library that the stage measures. Raises ``Missing`` if it is not installed."""
        return library_module(self.library)

    def named(self) -> str:
        """The device name in the library. Without a GPU, PyTorch computes on the CPU."""
        return "cpu" if self.rehearsal and self.library == "torch" else self.device

    def xp(self) -> Any:
        """CuPy or its fake."""
        from minigrad import backend
        from minigrad.backend.device import Device

        return backend.for_device(Device(self.device)).xp

    def synchronize(self) -> None:
        """Wait until the device has finished."""
        if not self.rehearsal:
            self.module().cuda.synchronize()

    def command(self, module: str, *words: str) -> list[str]:
        """The command line of ``python -m module``. In a rehearsal, it also registers the fake GPU."""
        start = ["-c", AS_IN_A_PROGRAM, module] if self.rehearsal else ["-m", module]
        return [sys.executable, *start, *words]

    def earlier(self, stage: str) -> dict[str, dict[str, Any]]:
        """The rows of an earlier stage by item; {} if it did not write any."""
        file = self.rows.with_name(f"{stage}.jsonl")
        rows = read(file)[1] if file.exists() else []
        return {row["item"]: row["values"] for row in rows if "values" in row}

    def time(self, step: Callable[[], Any], seconds: float, warm_up: int = 2, most: int = 100) -> dict[str, float]:
        """Milliseconds for a step that does not wait for the device: "ms" by the device clock, "host ms" until the host
        has launched everything."""
        for _ in range(warm_up):
            step()
        self.synchronize()
        start = time.perf_counter()
        step()
        self.synchronize()
        repeats = max(2, min(most, int(seconds / max(time.perf_counter() - start, 1e-6))))
        start = time.perf_counter()
        begin = self._mark()
        for _ in range(repeats):
            step()
        end = self._mark()
        host = time.perf_counter() - start
        self.synchronize()
        return {"ms": self._between(begin, end) / repeats, "host ms": 1000 * host / repeats}

    def _mark(self) -> Any:
        """An event on the library's current stream, or the host time without a GPU."""
        if self.rehearsal:
            return time.perf_counter()
        event = self.module().cuda.Event(enable_timing=True) if self.library == "torch" else self.xp().cuda.Event()
        event.record()
        return event

    def _between(self, begin: Any, end: Any) -> float:
        """Milliseconds between two marks."""
        if self.rehearsal:
            return 1000 * float(end - begin)
        return float(
            begin.elapsed_time(end) if self.library == "torch" else self.xp().cuda.get_elapsed_time(begin, end)
        )
