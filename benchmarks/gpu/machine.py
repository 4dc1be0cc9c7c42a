"""Measures the limits of the GPU (copies, matrix products, launches) and the speed of the host; reports versions."""

from __future__ import annotations

import importlib
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import minigrad as mg

from ..machine import version
from ..process import library_module
from .place import NeedsGpu, Place

LOOP = 1_000_000
PRECISIONS = ("float32", "float64", "float16", "bfloat16", "TF32")


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The GPU, its limits, and the speed of the host."""
    precisions = place.choose(PRECISIONS, PRECISIONS[:2])
    rates = {f"products {name}": partial(rate, place, name) for name in precisions}
    return {
        "card": partial(card, place),
        "copy": partial(copy, place),
        **rates,
        "launch": partial(launch, place),
        "host": host,
    }


def card(place: Place) -> dict[str, Any]:
    """The name, driver and versions. Raises NeedsGpu without a GPU."""
    if place.rehearsal:
        raise NeedsGpu("to report its name, driver and CUDA version")
    cupy = place.xp()
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(0)
    return {
        "card": properties["name"].decode(),
        "driver": driver(),
        "CUDA": f"{_number(runtime.runtimeGetVersion())} (driver's: {_number(runtime.driverGetVersion())})",
        "NVRTC": ".".join(map(str, importlib.import_module("cupy_backends.cuda.libs.nvrtc").getVersion())),
        "CuPy": cupy.__version__,
        "torch": version("torch"),
        "memory GiB": round(properties["totalGlobalMem"] / 2**30),
    }


def driver() -> str:
    """The version of the NVIDIA driver."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.split()[0]


def _number(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def copy(place: Place) -> dict[str, Any]:
    """Bytes per second read and written by a copy within the device."""
    source = place.xp().zeros(place.choose(2**30, 2**16), "uint8")
    target = source.copy()

    def step() -> None:
        target[...] = source

    ms = place.time(step, place.choose(0.5, 0.01))["ms"]
    return {"ceiling": "copy, GB/s", "of": f"{source.nbytes >> 10:,} KiB", "figure": 2 * source.nbytes / ms / 1e6}


def rate(place: Place, precision: str) -> dict[str, Any]:
    """Floating-point operations per second in a matrix product. Raises Missing if no package provides bfloat16."""
    if precision == "bfloat16":
        library_module("ml_dtypes")
    n = place.choose(2048 if precision == "float64" else 8192, 16)
    x = mg.randn(n, n, device=place.device).to(getattr(mg, "float32" if precision == "TF32" else precision))
    mg.set_float32_matmul_precision("high" if precision == "TF32" else "highest")
    ms = place.time(lambda: x @ x, place.choose(0.3, 0.01))["ms"]
    return {"ceiling": f"product in {precision}, TFLOP/s", "of": f"{n} × {n} × {n}", "figure": 2 * n**3 / ms / 1e9}


def launch(place: Place) -> dict[str, Any]:
    """The time of one small operation in a long series, by the clocks of the device and of the host."""
    x = place.xp().zeros(32, "float32")

    def step() -> None:
        for _ in range(100):
            x.__iadd__(1)

    times = place.time(step, place.choose(0.2, 0.01))
    row = {"ceiling": "launch of x += 1, µs", "of": "32 numbers", "figure": 10 * times["ms"]}
    return {**row, "host": 10 * times["host ms"]}


def host() -> dict[str, Any]:
    """Milliseconds for a loop in Python, as the host limits how fast kernels are launched."""
    start = time.perf_counter()
    for _ in range(LOOP):
        pass
    ms = 1000 * (time.perf_counter() - start)
    return {"ceiling": "host: a loop in Python, ms", "of": f"{LOOP:,} turns, {os.cpu_count()} cores", "figure": ms}
