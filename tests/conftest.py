"""The fixtures that all tests share: the devices they run on, and a fixed seed."""

import gc
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side (pytest-xdist): one core each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MINIGRAD_NUM_THREADS", "1")

import numpy as np
import pytest

import minigrad
from minigrad.autograd.observer import Watch, detach, watch
from minigrad.backend import cuda, dtype, parallel, random
from minigrad.ops.op import REGISTRY
from tests.support import strict
from tests.support.comparisons import HAS_TORCH, compares

TESTS = Path(__file__).parent
os.environ.setdefault("MINIGRAD_DATA", str(TESTS.parents[1] / "shared" / "data"))  # data sets, if there are any
NIGHTLY = ("benchmarks", "ecosystem", "fuzz", "newcomer", "peers", "user_types", "web")  # folders
# The default tier also runs these files on the stand-in for a GPU; others run there only in the nightly tier.
ON_STRICT = ("backend/", "ops/", "nn/", "models/test_language_models.py", "optim/test_optimizers.py")
ON_STRICT += ("models/training/test_pending.py",)
GPUS = [pytest.param("cuda", marks=pytest.mark.cuda)] if cuda.is_available() else []


def pytest_configure(config: pytest.Config) -> None:
    """As in PyTorch, 1 / 0 is silent: a NumPy warning from within minigrad is an error."""
    config.addinivalue_line("filterwarnings", r"error::RuntimeWarning:minigrad\..*")
    minigrad.set_traceback_filtering(False)  # developers need the frames within the library
    # Processes that a script starts in the background ignore Ctrl-C, and so do their children; some tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes a ``device`` on the CPU, on "strict", which raises CuPy's errors, and on a GPU if there
    is one. Backend tests run on "strict" twice: the second time an emulator runs the CUDA kernels."""
    marks = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "device" not in metafunc.fixturenames or any("device" in names for names in marks):
        return
    path = metafunc.definition.path.relative_to(TESTS).as_posix()
    is_nightly = [] if path.startswith(ON_STRICT) else [pytest.mark.nightly]
    strict = [] if sys.platform == "emscripten" else [pytest.param("strict", marks=is_nightly)]
    kernels = ["strict kernels"] if path.startswith("backend/") and strict else []
    metafunc.parametrize("device", ["cpu", *strict, *kernels, *GPUS], indirect=True)


@pytest.hookimpl(tryfirst=True)  # before pytest's own hook, which selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of whole folders as nightly; without PyTorch, skip comparisons with it."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in NIGHTLY:
            item.add_marker("nightly")
    if not HAS_TORCH:
        left_out = [item for item in items if isinstance(item, pytest.Function) and compares(item.function)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders that have only nightly tests, unless they are requested."""
    is_nightly = collection_path.parent == TESTS and collection_path.name in NIGHTLY
    return (is_nightly and config.option.markexpr == "not nightly") or None


def pytest_report_header() -> list[str]:
    """List in the header the tests that this machine leaves out."""
    lacks_gpu = [] if GPUS else [f"no GPU: {cuda.why_not()}"]
    return lacks_gpu + ([] if HAS_TORCH else ["PyTorch is not installed: comparisons with it are left out"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the command that reruns only the first failed test."""
    failed = [report for end in ("error", "failed") for report in terminalreporter.getreports(end)]
    for report in [report for report in failed if isinstance(report, pytest.TestReport)][:1]:
        tier = " --nightly" if "nightly" in report.keywords else ""
        terminalreporter.line(f"Alone: python tasks.py test{tier} {shlex.quote(report.nodeid)}")


def pytest_collection_finish() -> None:
    """Freeze the millions of objects that exist now and live to the end, so that the garbage collector skips them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a device; see ``pytest_generate_tests``."""
    if not request.param.startswith("strict"):
        yield request.param
        return
    before = strict.BACKEND.emulate
    strict.install(request.param == "strict kernels")
    yield "strict"
    strict.BACKEND.emulate = before


@pytest.fixture(autouse=True)
def as_many_threads() -> Iterator[None]:
    """Fail a test that leaves a different number of threads: later tests would be several times slower."""
    before = parallel.get_num_threads()
    yield
    if (after := parallel.get_num_threads()) != before:
        parallel.set_num_threads(before)
        pytest.fail(f"this test leaves {after} threads instead of {before}")


@pytest.fixture(autouse=True)
def no_observer_stays() -> Iterator[None]:
    """Detach the observers that a test leaves behind: a program that runs as if on PyTorch may attach one for good."""
    before, forwards = Watch.observers, {op: op.forward for op in REGISTRY.values()}
    yield
    for observer in (*Watch.observers, *watch.observers):
        if observer not in before:
            detach(observer)
    dtype.memory_format.on_use = None
    for op, forward in forwards.items():
        op.forward = forward


@cache
def generators() -> list[tuple[np.random.Generator, Any]]:
    """The generators that test modules share, with their states after all imports."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    shared = {id(v): v for module in modules for v in vars(module).values() if isinstance(v, np.random.Generator)}
    return [(generator, generator.bit_generator.state) for generator in shared.values()]


@pytest.fixture(autouse=True)
def seed() -> int:
    """Start every test from the same seed and in minigrad's own mode, whatever ran before."""
    for generator, state in generators():
        generator.bit_generator.state = state
    random.run_as_pytorch(False)
    minigrad.manual_seed(0)
    np.random.seed(0)
    return 0


@pytest.fixture(params=["minigrad", "torch"] if HAS_TORCH else ["minigrad"])
def t(request: pytest.FixtureRequest) -> Any:
    """Each of the two libraries, for code that runs on both."""
    return pytest.importorskip(request.param)
