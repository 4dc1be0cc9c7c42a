"""What all tests share: the devices they run on, and a fixed seed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side (pytest-xdist): one core each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MINIGRAD_NUM_THREADS", "1")

import numpy as np
import pytest

import minigrad
from minigrad import cuda

_HAS_STRICT = importlib.util.find_spec("tests.support.strict") is not None
DEVICES = [
    "cpu",
    pytest.param(
        "strict", marks=pytest.mark.skipif(not _HAS_STRICT, reason="tests.support.strict is missing")
    ),
    pytest.param(
        "cuda", marks=[pytest.mark.cuda, pytest.mark.skipif(not cuda.is_available(), reason="no GPU")]
    ),
]


def pytest_configure(config: pytest.Config) -> None:
    """Pytest replaces the filter that minigrad sets: 1/0 is silent, as in PyTorch."""
    config.addinivalue_line("filterwarnings", r"ignore::RuntimeWarning:minigrad\..*")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device by name: the CPU; "strict", which refuses what CuPy refuses; a GPU where there is one.

    On "strict" the plain definitions of fused ops run; the tests of its kernels ask for these themselves.
    """
    if request.param != "strict":
        yield request.param
        return
    from tests.support import strict

    before = strict.BACKEND.emulate
    strict.install(emulate=False)
    yield "strict"
    strict.BACKEND.emulate = before


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test begins with the same seed, whatever ran before it."""
    minigrad.manual_seed(0)
    np.random.seed(0)
    return 0
