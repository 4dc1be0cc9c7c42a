"""The number of threads and its effects; systems with less support for threads."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import parallel
from minigrad.backend.compiled import loops, store
from tests.support import training
from tests.support.cases import cases, raises
from tests.support.compiled_checks import needs_numba

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = parallel.get_num_threads()
    minigrad.set_num_threads(4)
    yield
    parallel.set_num_threads(before)


def test_numbers_of_threads() -> None:
    minigrad.set_num_threads(2)
    assert minigrad.get_num_threads() == 2
    raises(ValueError, "positive", lambda: minigrad.set_num_threads(0))


ENVIRONMENTS = [  # MINIGRAD_NUM_THREADS, OMP_NUM_THREADS, and the number of threads or the error; None is one per CPU
    *(("3", "", "3"), ("", "", None), ("none", "", "ValueError"), ("0", "", "ValueError"), ("3", "2", "3")),
    *(("", "2", "2"), ("", "5,2", "5"), ("", "none", None), ("", "0", None)),
]


@cases("value, general, expected", ENVIRONMENTS)
def test_environment(value: str, general: str, expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_threads", None)
    monkeypatch.setenv("MINIGRAD_NUM_THREADS", value)
    monkeypatch.setenv("OMP_NUM_THREADS", general)
    if expected == "ValueError":
        raises(ValueError, "MINIGRAD_NUM_THREADS", lambda: parallel.get_num_threads())
    else:
        assert parallel.get_num_threads() == int(expected or len(os.sched_getaffinity(0)))


# Systems with less support ----------------------------------------------------------------------------------


def pool_of(helpers: int) -> Any:
    library = store.library()
    assert library is not None
    return parallel._ThreadPool(library, helpers)


@pytest.mark.parametrize("error", [OSError, AttributeError, PermissionError])
@needs_numba
def test_where_the_cpu_is_not_known_or_binding_is_forbidden(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> Any:
        raise error

    if error is PermissionError:
        monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
        monkeypatch.setattr(parallel, "_sched_getcpu", lambda: lambda: 2)
    else:
        monkeypatch.setattr(parallel.ctypes, "CDLL", refuse)
        assert parallel._sched_getcpu() is None
    pool = pool_of(3)
    pool.place()
    pool.dismiss()
    assert pool._current_cpu is None


@needs_numba
def test_threads_are_bound_to_different_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even after the calling thread has moved to the CPU of one of them."""
    here, bound = [2], {}

    def bind(thread: int, cpus: set[int]) -> None:
        bound[thread] = cpus

    monkeypatch.setattr(os, "sched_setaffinity", bind, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 2, 3, 5, 7}, raising=False)
    monkeypatch.setattr(parallel, "_sched_getcpu", lambda: lambda: here[0])
    monkeypatch.setattr(parallel, "LOOKS", 1)
    pool = pool_of(3)
    for cpu in (2, 1, 7, 5, 3, 3, 2):
        here[0] = cpu
        pool.place()
        own = [next(iter(cpus)) for cpus in bound.values()]
        assert len(set(own)) == len(own) == 3
        assert cpu not in own
    pool.dismiss()
    for thread in pool.threads:
        thread.join(20)
        assert not thread.is_alive()


# Effects of the number of threads ---------------------------------------------------------------------------


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    training.cut_small(monkeypatch)


@pytest.mark.usefixtures("cut_small")
def test_training_is_the_same_to_the_bit_each_time_and_in_another_process() -> None:
    for threads in (1, 2, 3):
        here = training.digest(training.train(threads))
        assert training.digest(training.train(threads)) == here
    command = [sys.executable, "-m", "tests.support.training"]  # with three threads
    there = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    assert there.stdout.strip() == here


@pytest.mark.usefixtures("cut_small")
def test_gradients_with_other_numbers_of_threads_differ_by_rounding() -> None:
    """Compared after one step: Adam would take a full step even along a gradient that is only rounding error."""
    alone, _ = training.train(1, minigrad.float64, steps=1)
    for threads in (2, 3):
        several, _ = training.train(threads, minigrad.float64, steps=1)
        for a, b in zip(several, alone, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * max(1e-3, float(np.abs(b).max())))


@needs_numba
@pytest.mark.usefixtures("cut_small")
def test_training_is_shared_among_threads_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would prove nothing."""
    launch, shared = loops.launch, set()

    def note_loop(address: int, words: bytes, spec: bytes, arguments: int, count: int, grain: int) -> int:
        if count > grain:
            shared.update(each.name.partition(".")[0] for each in loops.LOOPS if each.address == address)
        return launch(address, words, spec, arguments, count, grain)

    monkeypatch.setattr(loops, "launch", note_loop)
    training.train(3, steps=1)
    assert shared >= {"products_numba"}
