"""Blocks of rows on several threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import minigrad
from minigrad.backend import parallel


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = parallel.get_num_threads()
    minigrad.set_num_threads(4)
    yield
    parallel.set_num_threads(before)


@pytest.mark.parametrize(
    ("rows", "row_bytes"), [(0, 8), (1, 8), (7, 1 << 30), (1000, 1 << 12), (12345, 100), (3, 0)]
)
def test_every_row_once(rows: int, row_bytes: int) -> None:
    seen = np.zeros(rows, np.int64)

    def work(start: int, stop: int) -> None:
        assert start < stop
        seen[start:stop] += 1

    parallel.over_rows(work, rows, row_bytes)
    assert (seen == 1).all()


def test_small_work_stays_in_the_calling_thread() -> None:
    names: list[str] = []
    parallel.over_rows(lambda a, b: names.append(threading.current_thread().name), 10, 8)
    assert names == [threading.current_thread().name]


def test_an_error_in_a_block_comes_out_and_the_pool_goes_on() -> None:
    def work(start: int, stop: int) -> None:
        if start:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parallel.over_rows(work, 1000, 1 << 14)
    done: list[int] = []
    parallel.over_rows(lambda a, b: done.append(b - a), 1000, 1 << 14)
    assert sum(done) == 1000


def test_work_within_work_does_not_wait_for_itself() -> None:
    done: list[int] = []

    def outer(start: int, stop: int) -> None:
        parallel.over_rows(lambda a, b: done.append(b - a), 100, 1 << 14)

    parallel.over_rows(outer, 100, 1 << 16)
    assert sum(done) == 100 * len(parallel.row_blocks(100, 1 << 16))


def test_numbers_of_threads() -> None:
    minigrad.set_num_threads(2)
    assert minigrad.get_num_threads() == 2
    with pytest.raises(ValueError, match="positive"):
        minigrad.set_num_threads(0)


@pytest.mark.parametrize(
    ("value", "expected"), [("3", "3"), ("", None), ("none", "ValueError"), ("0", "ValueError")]
)
def test_environment(value: str, expected: str | None) -> None:
    program = "from minigrad.backend.parallel import get_num_threads as n\nprint(n())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MINIGRAD_NUM_THREADS": value},
    )
    told = done.stdout.strip() if done.returncode == 0 else done.stderr
    assert (expected or str(len(os.sched_getaffinity(0)))) in told


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    program = (
        "import os, minigrad\n"
        "from minigrad.backend import parallel\n"
        "minigrad.set_num_threads(3)\n"
        "def total():\n"
        "    done = []\n"
        "    parallel.over_rows(lambda a, b: done.append(b - a), 1000, 1 << 14)\n"
        "    return sum(done)\n"
        "assert total() == 1000\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if total() == 1000 else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60)
