"""What all tests share: the devices they run on, and a fixed seed."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side (pytest-xdist): one core each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MINIGRAD_NUM_THREADS", "1")

import numpy as np
import pytest

import minigrad
from minigrad import cuda
from tests.support import strict

_GPU = [pytest.mark.cuda, pytest.mark.skipif(not cuda.is_available(), reason="no GPU")]
DEVICES = ["cpu", "strict", "strict kernels", pytest.param("cuda", marks=_GPU)]


def pytest_configure(config: pytest.Config) -> None:
    """Pytest replaces the filter that minigrad sets: 1/0 is silent, as in PyTorch."""
    config.addinivalue_line("filterwarnings", r"ignore::RuntimeWarning:minigrad\..*")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device by name: the CPU; "strict", which refuses what CuPy refuses; a GPU where there is one.

    Tests run on "strict" twice: with the plain definitions of fused ops, and with the CUDA kernels, which an
    emulator runs (where g++ is missing, these are the plain definitions again).
    """
    if not request.param.startswith("strict"):
        yield request.param
        return
    before = strict.BACKEND.emulate
    strict.install(emulate=request.param == "strict kernels")
    yield "strict"
    strict.BACKEND.emulate = before


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test begins with the same seed, whatever ran before it."""
    minigrad.manual_seed(0)
    np.random.seed(0)
    return 0
