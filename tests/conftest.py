"""What all tests share: the devices they run on, and a fixed seed."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side (pytest-xdist): one core each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MINIGRAD_NUM_THREADS", "1")

import numpy as np
import pytest

import minigrad
from minigrad.backend import cuda, parallel, random
from tests.support import strict

GPUS = [pytest.param("cuda", marks=pytest.mark.cuda)] if cuda.is_available() else []
PLAIN = ["cpu"] if sys.platform == "emscripten" else ["cpu", "strict", "strict kernels"]  # nobody has GPUs there
DEVICES = [*PLAIN, *GPUS]
MANY = 60  # cases of a test function, of which ``--sample`` takes a part
SLOW_START = (
    "tests/backend/test_cuda",
    "tests/benchmarks/",
    "tests/compat/",
    "tests/docs/",
    "tests/examples/",
    "tests/programs/",
    "tests/translate/",
    "tests/test_docs.py",
    "tests/test_package.py",
    "tests/test_tasks.py",
    "tests/text/",
    "tests/training/",
    "tests/utils/data/",
    "tests/viz/",
)
_without_kernels: set[str] = set()  # the tests that ran on "strict" and asked for no kernel


def pytest_configure(config: pytest.Config) -> None:
    """As in PyTorch, 1 / 0 is silent: a warning of NumPy's that comes from within minigrad is an error."""
    config.addinivalue_line("filterwarnings", r"error::RuntimeWarning:minigrad\..*")
    minigrad.set_traceback_filtering(False)  # who works on the library wants to see where within it
    # In the background of a script Ctrl-C is ignored, also by child processes; here it is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--smoke``: a look at everything in under a minute. ``--sample``: what fits into CI's time."""
    text = "the CPU alone, and of each test function one case, without those that start programs"
    parser.addoption("--smoke", action="store_true", help=text)
    text = f"of a test function with more than {MANY} cases, a third of them"
    parser.addoption("--sample", action="store_true", help=text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``--smoke``, leave out tests that take seconds for compilers, browsers and processes of their own."""
    place = collection_path.relative_to(config.rootpath).as_posix()
    return (config.getoption("--smoke") and place.startswith(SLOW_START)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--smoke``, keep the first case of each test function, if it is a quick one; with ``--sample``, of many
    cases every third."""
    if config.getoption("--sample"):
        _keep_a_sample(config, items)
    if not config.getoption("--smoke"):
        return
    kept: dict[str, pytest.Item] = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            kept.setdefault(item.nodeid.partition("[")[0], item)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept.values())])
    items[:] = kept.values()


def _keep_a_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test function with more than MANY cases every third, and after nine the next third: all devices come."""
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        if cases[name] <= MANY or (seen[name] + seen[name] // 9) % 3 == 0:
            kept.append(item)
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that is itself marked as a comparison with PyTorch is skipped where that is missing, whatever it imports.
    Of a file that is marked, those are that ask PyTorch (tests/support/parity.py)."""
    if any(mark.name == "parity" for mark in item.own_markers) and not importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is not installed: no comparison with it")


def pytest_report_header() -> str:
    """Where there is no GPU no test is made for one: say so, and why, in the first lines."""
    names = ", ".join(PLAIN)
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
def as_many_threads() -> Iterator[None]:
    """A test that leaves more threads than it found makes all tests after it slow, several times."""
    before = parallel.get_num_threads()
    yield
    if (after := parallel.get_num_threads()) != before:
        parallel.set_num_threads(before)
        pytest.fail(f"this test leaves {after} threads in place of {before}")


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test begins with the same seed, and as a program of minigrad's own, whatever ran before it."""
    random.run_as_pytorch(False)
    minigrad.manual_seed(0)
    np.random.seed(0)
    return 0


@pytest.fixture(params=["minigrad", "torch"])
def t(request: pytest.FixtureRequest) -> Any:
    """Each of the two libraries, for programs that run on both."""
    return pytest.importorskip(request.param)
