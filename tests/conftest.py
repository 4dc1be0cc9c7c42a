"""What all tests share: the devices they run on, and a fixed seed."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side (pytest-xdist): one core each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MINIGRAD_NUM_THREADS", "1")

import numpy as np
import pytest

import minigrad
from minigrad.backend import cuda
from tests.support import strict

GPUS = [pytest.param("cuda", marks=pytest.mark.cuda)] if cuda.is_available() else []
DEVICES = ["cpu", "strict", "strict kernels", *GPUS]
_without_kernels: set[str] = set()  # the tests that ran on "strict" and asked for no kernel


def pytest_configure(config: pytest.Config) -> None:
    """As in PyTorch, 1 / 0 is silent: a warning of NumPy's that comes from within minigrad is an error."""
    config.addinivalue_line("filterwarnings", r"error::RuntimeWarning:minigrad\..*")
    # In the background of a script Ctrl-C is ignored, also by child processes; here it is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Where there is no GPU no test is made for one: say so, and why, in the first lines."""
    names = "cpu, strict, strict kernels"
    return f"devices: {names}, cuda" if GPUS else f"devices: {names}; no GPU: {cuda.why_not()}"


def pytest_collection_finish() -> None:
    """What there is now, millions of small objects, stays to the end: the collector need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device by name: the CPU; "strict", which refuses what CuPy refuses; a GPU where there is one.

    Tests run on "strict" twice: with the plain definitions of fused ops, and with the CUDA kernels, which an
    emulator runs (where g++ is missing, these are the plain definitions again). A test that asked for no
    kernel the first time would do the same a second time, and does not.
    """
    if not request.param.startswith("strict"):
        yield request.param
        return
    emulate, test = request.param == "strict kernels", request.node.nodeid
    if emulate and test.replace("strict kernels", "strict", 1) in _without_kernels:
        pytest.skip("asks for no kernel: the same as on strict")
    before = strict.BACKEND.emulate
    strict.install(emulate).asked = False
    yield "strict"
    if not (emulate or strict.BACKEND.asked):
        _without_kernels.add(test)
    strict.BACKEND.emulate = before


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test begins with the same seed, whatever ran before it."""
    minigrad.manual_seed(0)
    np.random.seed(0)
    return 0
