"""Loops: their arguments arrive, exactly one thread runs each block, and the threads cause no problems."""

import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from minigrad.backend.compiled import loops, store
from tests.support import compiled_probe as probe
from tests.support.cases import cases, raises
from tests.support.compiled_checks import needs_numba

pytestmark = needs_numba
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    probe.compiled()
    before = parallel.get_num_threads()
    parallel.set_num_threads(3)
    yield
    parallel.set_num_threads(before)


def defaults() -> dict[str, Any]:
    """Arguments for ``probe.see``."""
    draw = np.random.default_rng(0)
    return {
        "flat": draw.random((2, 3, 4), np.float32),
        "rows": draw.random((2, 3, 4), np.float32),
        "cube": draw.random((2, 3, 4, 5), np.float32),
        "flags": np.array([[False, True], [False, True]]),
        "indices": np.array([3, -4]),
        "words": np.array([1, 2, 1 << 53], np.uint64),
        "doubles": draw.random((2, 2)),
        "strided": draw.random((4, 6), np.float32)[::2, ::3],
        "whole": -(1 << 40),
        "real": 0.1,
        "out": np.zeros(24),
    }


def observe(**changes: Any) -> Any:
    arguments = {**defaults(), **changes}
    probe.see(1, 1, *arguments.values())
    return arguments["out"]


def test_kinds() -> None:
    a = defaults()
    last = [float(a[name].reshape(-1)[-1]) for name in ("flat", "rows", "cube", "doubles")]
    expected = [24, last[0], 6, 4, last[1], 6, 4, 5, last[2], 4, 2, 3, 4, 1, -4, 1 << 53, last[3], 2, 2, 2, 12, 1]
    np.testing.assert_array_equal(observe(), [*expected, -(1 << 40), 0.1])


def test_fewer_axes_than_a_kind_has() -> None:
    x = np.ones(5, np.float32)
    out = observe(rows=x, cube=x)
    np.testing.assert_array_equal(out[2:4], (1, 5))
    np.testing.assert_array_equal(out[5:8], (1, 1, 5))
    assert observe(flat=np.ones((), np.float32))[0] == 1


def test_an_array_from_a_pickle_has_another_dtype_object() -> None:
    there = pickle.loads(pickle.dumps(defaults()["rows"]))
    assert there.dtype is not np.dtype(np.float32)
    np.testing.assert_array_equal(observe(rows=there, strided=there)[:8], observe(rows=defaults()["rows"])[:8])


def test_empty_arrays() -> None:
    names = ("flat", "rows", "cube", "flags", "indices", "words", "doubles")
    out = observe(**dict.fromkeys(names))
    np.testing.assert_array_equal(out[[0, 4, 8, 9, 10, 11, 12]], 0)
    for name in names:
        assert observe(**{name: None}).any()


KINDS = ("flat", "rows", "cube", "flags", "indices", "words", "doubles")


@cases("name", [*KINDS, "strided"])
def test_another_dtype_is_refused(name: str) -> None:
    number = list(defaults()).index(name)
    own = defaults()[name]
    for dtype in (np.float16, np.int32, np.complex64, own.dtype.newbyteorder()):
        if dtype != own.dtype:
            with pytest.raises(TypeError, match=f"see: argument {number} does not match"):
                observe(**{name: own.astype(dtype)})
    for other in ([1.0], (), "text", 1.5, object()):
        with pytest.raises(TypeError, match=f"argument {number} "):
            observe(**{name: other})


@cases("name", KINDS)
def test_steps_are_refused(name: str) -> None:
    own = defaults()[name]
    wide = np.repeat(own, 2, axis=-1)
    for array in (wide[..., ::2], np.repeat(wide, 2, axis=0)[::2].T):
        with pytest.raises(TypeError, match="does not match"):
            observe(**{name: array})


def test_numbers_are_refused_where_they_do_not_fit() -> None:
    for changes in ({"whole": None}, {"whole": 0.5}, {"whole": 1 << 64}, {"real": "text"}):
        with pytest.raises((struct.error, TypeError)):
            observe(**changes)
    raises(TypeError, "arguments, not 1", lambda: probe.see(1, 1, 2))
    assert observe(whole=True)[22] == 1
    assert observe(real=np.float32(0.5))[23] == 0.5


@cases("number", [1, 2, 3, 7])
@cases("count, grain", [(0, 1), (1, 1), (1, 5), (2, 1), (7, 3), (1000, 1), (1000, 7), (999, 1000), (5, 0), (5, -3)])
def test_each_once_in_the_same_blocks(number: int, count: int, grain: int) -> None:
    parallel.set_num_threads(number)
    for _ in range(5):
        times, who, first = np.zeros((3, count + 1), np.int64)
        probe.mark(count, grain, times, who, first)
        assert (times[:count] == 1).all() and times[count] == 0
        np.testing.assert_array_equal(first[:count], np.arange(count) // max(grain, 1) * max(grain, 1))
        assert (who >= 0).all() and (who < number).all()


def test_threads_share_the_work() -> None:
    """The loop runs long enough for a helper to wake up; the delay depends on the system."""
    who, out, end = np.zeros(64, np.int64), np.zeros(64), time.monotonic() + 60
    while len(set(who)) < 2:
        assert time.monotonic() < end, "one thread has done all"
        probe.work(64, 1, 100_000, who, out)


@cases("size", [1, 17, 1000, 100_003])
def test_the_number_of_threads_changes_no_bit(size: int) -> None:
    x = np.random.default_rng(0).standard_normal(size, np.float32)
    results = []
    for number in (1, 2, 3, 8):
        parallel.set_num_threads(number)
        sums = np.zeros(-(-size // 64), np.float32)
        probe.add_up(size, 64, x, 64, sums)
        results.append(sums)
        np.testing.assert_allclose(sums, np.add.reduceat(x, np.arange(0, size, 64)), rtol=1e-4, atol=1e-5)
    assert all(np.array_equal(results[0], other) for other in results)


def test_several_threads_of_the_program_at_once() -> None:
    arrays = [np.zeros((3, 50), np.int64) for _ in range(6)]

    def use(own: Any) -> None:
        for _ in range(500):
            probe.mark(50, 3, *own)

    users = [threading.Thread(target=use, args=(own,)) for own in arrays]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert all((own[0] == 500).all() for own in arrays)


def test_another_number_of_threads_at_any_time() -> None:
    stop = threading.Event()

    def change() -> None:
        i = 0
        while not stop.is_set():
            parallel.set_num_threads(1 + i % 4)
            i += 1

    changing = threading.Thread(target=change)
    changing.start()
    times, who, first = np.zeros((3, 20), np.int64)
    try:
        for _ in range(3000):
            probe.mark(20, 2, times, who, first)
    finally:
        stop.set()
        changing.join()
    np.testing.assert_array_equal(times, 3000)


def test_a_grain_is_no_larger_than_the_count_and_asks_for_no_threads() -> None:
    for count in (1, 3, 100, 5000, 1 << 20):
        for each in (1, 8, 4096, 1 << 22):
            sizes = []
            for number in (1, 3):
                parallel.set_num_threads(number)
                sizes.append(loops.grain(count, each))
            assert sizes[0] == sizes[1] >= 1


def test_without_numba_a_loop_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "library", lambda unit="": None)
    monkeypatch.setattr(probe.work, "address", 0)
    raises(RuntimeError, "unavailable", lambda: probe.work(1, 1, 1, np.zeros(1, np.int64), np.zeros(1)))


# In whole processes --------------------------------------------------------------------------------------

BEGIN = """
import os, sys, threading, time
import numpy as np
from minigrad.backend import parallel
from tests.support import compiled_probe as probe

def right():
    times, who, first = np.zeros((3, 20), np.int64)
    for _ in range(50):
        probe.mark(20, 2, times, who, first)
    return bool((times == 50).all())

if __name__ == "__main__":
    parallel.set_num_threads(3)
    probe.compiled()
    assert right()
"""
FORK_AT_WORK = """
    busy = threading.Thread(target=lambda: [right() for _ in range(200)])
    busy.start()
    while busy.is_alive():
        if (child := os.fork()) == 0:
            os._exit(0 if right() else 1)
        assert os.waitpid(child, 0)[1] == 0
"""
WORKS_STILL = """
    who, out = np.zeros(40, np.int64), np.zeros(40)
    threading.Thread(target=lambda: probe.work(40, 1, 10**9, who, out), daemon=True).start()
    time.sleep(0.1)
"""


def ends_well(program: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COMPILED_PROBE": str(probe.compiled())}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_starts_new_threads() -> None:
    ends_well(FORK_AT_WORK)


def test_a_program_ends_while_its_threads_work() -> None:
    ends_well(WORKS_STILL)
