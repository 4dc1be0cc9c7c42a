"""Blocks of rows on several threads."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
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
TWO = [(0,), (1,)]  # blocks
HUNDREDS = [(i, i + 100) for i in range(0, 1000, 100)]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = parallel.get_num_threads()
    minigrad.set_num_threads(4)
    yield
    parallel.set_num_threads(before)


def until(condition: Callable[[], bool]) -> None:
    """Wait, not for long, for what other threads will do soon."""
    for _ in range(6000):  # a machine under load may stop a thread for seconds
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it has not come to that")


def in_two_threads(work: Callable[[int], object]) -> None:
    """``work(0)`` and ``work(1)``, in two threads: neither goes on before the other is there."""
    both = threading.Barrier(2)

    def wait_and_work(i: int) -> None:
        both.wait(10)
        work(i)

    parallel.each(wait_and_work, TWO)


def test_work_within_work_does_not_wait_for_itself() -> None:
    done: list[int] = []
    parallel.each(lambda _: parallel.each(lambda a, b: done.append(b - a), HUNDREDS), [(i,) for i in range(10)])
    assert sum(done) == 10_000


@pytest.mark.parametrize("count", [0, 1, 15, 16, 40])
def test_many_pieces_have_a_thread_each_and_few_have_all(count: int) -> None:
    done: list[int] = []
    threads: list[set[int]] = [set() for _ in range(count)]  # of what a piece shares out, in its turn
    are_many = count >= parallel.MANY * parallel.get_num_threads()

    def share(i: int) -> None:
        threads[i].add(threading.get_ident())
        until(lambda: len(set.union(*threads) if are_many else threads[i]) > 1)

    def work(i: int) -> None:
        done.append(i)
        parallel.each(lambda _: share(i), [(k,) for k in range(8)])

    parallel.each_alone(work, count)
    assert sorted(done) == list(range(count))
    assert are_many or done == list(range(count))
    assert not are_many or all(len(one) == 1 for one in threads)


def test_numbers_of_threads() -> None:
    minigrad.set_num_threads(2)
    assert minigrad.get_num_threads() == 2
    raises(ValueError, "positive", lambda: minigrad.set_num_threads(0))


ENVIRONMENTS = [  # MINIGRAD_NUM_THREADS, OMP_NUM_THREADS, and the number of threads, or the error; None is one a CPU
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


def test_a_thread_that_comes_late_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may be busy: the thread that calls then does all the work, and the late one does nothing."""
    may_end, done = threading.Event(), []
    busy = [parallel._new_pool().submit(may_end.wait, 20) for _ in range(3)]
    parallel.each(lambda i: done.append((i, threading.current_thread().name)), [(i,) for i in range(20)])
    may_end.set()
    assert all(one.result() for one in busy)
    assert done == [(i, threading.current_thread().name) for i in range(20)]


def test_numpys_error_state_is_the_callers() -> None:
    seen: dict[int, str] = {}
    for asked in ("raise", "ignore"):
        with np.errstate(divide=asked):  # type: ignore[call-overload]
            in_two_threads(lambda i: seen.update({i: np.geterr()["divide"]}))
        assert seen == {0: asked, 1: asked}
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        parallel.each(lambda a, b: np.ones(b - a) / np.zeros(b - a), HUNDREDS)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["the thread that calls", "the other thread", "both"])
def test_an_error_in_either_thread(error: type[BaseException], where: str) -> None:
    caller, finished = threading.current_thread(), []

    def work(i: int) -> None:
        if where == "both" or (threading.current_thread() is caller) == (where == "the thread that calls"):
            raise error
        time.sleep(0.05)
        finished.append(i)

    raises(error, None, lambda: in_two_threads(work))
    assert len(finished) == (where != "both"), "who is at work is waited for"
    seen: list[int] = []
    in_two_threads(seen.append)
    assert sorted(seen) == [0, 1]


def test_blocks_after_an_error_are_left_alone() -> None:
    minigrad.set_num_threads(2)
    both, failed = threading.Barrier(2), threading.Event()
    done: list[int] = []

    def work(i: int) -> None:
        if i < 2:
            both.wait(10)
        if i == 0:
            threading.Timer(0.2, failed.set).start()
            raise ZeroDivisionError
        failed.wait(10)
        done.append(i)

    raises(ZeroDivisionError, None, lambda: parallel.each(work, [(i,) for i in range(100)]))
    assert done == [1]


@pytest.mark.parametrize("fails", [False, True])
def test_nobody_holds_the_arrays_afterwards(fails: bool) -> None:
    """Neither threads that wait for more, nor an error that has been dealt with; nothing is left to the
    garbage collector."""

    def use(array: Any) -> None:
        def work(i: int) -> None:
            array[i] += 1
            if fails:
                raise ZeroDivisionError

        if not fails:
            in_two_threads(work)
            return
        raises(ZeroDivisionError, None, lambda: in_two_threads(work))

    gc.collect()
    gc.disable()
    try:
        array = np.zeros(4)
        alive = weakref.ref(array)
        use(array)
        assert (array[:2] == 1).all()
        del array
        until(lambda: alive() is None)
    finally:
        gc.enable()


def test_another_number_of_threads_while_a_block_asks_for_more() -> None:
    """It holds up nothing that the job does meanwhile."""
    done: list[int] = []
    setter = threading.Thread(target=minigrad.set_num_threads, args=(2,))

    def work(i: int) -> None:
        if i == 0:
            setter.start()
            until(lambda: minigrad.get_num_threads() == 2)
        parallel.each(done.append, TWO)

    in_two_threads(work)
    setter.join(10)
    assert not setter.is_alive()
    assert sorted(done) == [0, 0, 1, 1]


def test_another_number_of_threads_while_idle() -> None:
    before = set(threading.enumerate())
    for n in (3, 5, 2, 1, 4):
        minigrad.set_num_threads(n)
        done: list[int] = []
        parallel.each(done.append, [(i,) for i in range(50)])
        assert sorted(done) == list(range(50))
        until(lambda n=n: len(set(threading.enumerate()) - before) <= n - 1)  # type: ignore[misc]


# Where the system does less ---------------------------------------------------------------------------------


def crew_of(helpers: int) -> Any:
    library = store.library()
    assert library is not None
    return parallel._Crew(library, helpers)


def _works() -> None:
    """New threads do all blocks."""
    minigrad.set_num_threads(4)
    total = np.zeros(1000)
    parallel.each(lambda a, b: np.add(total[a:b], 1, out=total[a:b]), HUNDREDS)
    assert (total == 1).all()


def test_where_threads_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS."""
    for name in ("sched_setaffinity", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    _works()
    in_two_threads(lambda i: None)
    monkeypatch.setattr(parallel, "_threads", None)
    for name in ("MINIGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert parallel.get_num_threads() == (os.cpu_count() or 1)


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
    crew = crew_of(3)
    crew.place()
    crew.dismiss()
    assert crew._current_cpu is None


@needs_numba
def test_threads_are_bound_to_cpus_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the thread that calls has been moved to the CPU of one of them."""
    here, bound = [2], {}

    def bind(thread: int, cpus: set[int]) -> None:
        bound[thread] = cpus

    monkeypatch.setattr(os, "sched_setaffinity", bind, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 2, 3, 5, 7}, raising=False)
    monkeypatch.setattr(parallel, "_sched_getcpu", lambda: lambda: here[0])
    monkeypatch.setattr(parallel, "LOOKS", 1)
    crew = crew_of(3)
    for cpu in (2, 1, 7, 5, 3, 3, 2):
        here[0] = cpu
        crew.place()
        own = [next(iter(cpus)) for cpus in bound.values()]
        assert len(set(own)) == len(own) == 3
        assert cpu not in own
    crew.dismiss()
    for thread in crew.threads:
        thread.join(20)
        assert not thread.is_alive()


def test_where_no_more_threads_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = threading.Thread.start, [1]

    def few(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", few)
    _works()
    in_two_threads(lambda i: None)  # the one that there is


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_is_at_work() -> None:
    """The child has not that thread: it must not wait for it."""
    program = (
        "import os, threading, minigrad\n"
        "from minigrad.backend import parallel\n"
        "minigrad.set_num_threads(3)\n"
        "inside, leave = threading.Barrier(3), threading.Event()\n"
        "def work(i):\n"
        "    inside.wait(20)\n"
        "    leave.wait(20)\n"
        "other = threading.Thread(target=parallel.each, args=(work, [(0,), (1,)]))\n"
        "other.start()\n"
        "inside.wait(20)\n"
        "def total():\n"
        "    done = []\n"
        "    parallel.each(lambda a, b: done.append(b - a), [(i, i + 100) for i in range(0, 1000, 100)])\n"
        "    return sum(done)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    right = total() == 1000\n"
        "    minigrad.set_num_threads(2)\n"
        "    os._exit(0 if right and total() == 1000 else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "assert total() == 1000\n"
        "leave.set()\n"
        "other.join()\n"
        "assert total() == 1000\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60, cwd=ROOT)


def test_a_program_ends_while_threads_wait_or_work() -> None:
    program = (
        "import atexit, threading, time, minigrad\n"
        "from minigrad.backend import parallel\n"
        "minigrad.set_num_threads(3)\n"
        "def total():\n"
        "    done = []\n"
        "    parallel.each(lambda a, b: done.append(b - a), [(i, i + 100) for i in range(0, 1000, 100)])\n"
        "    return sum(done)\n"
        "atexit.register(lambda: print(total()))\n"
        "def forever():\n"
        "    while True: total()\n"
        "threading.Thread(target=forever, daemon=True).start()\n"
        "print(total())\n"
        "time.sleep(0.2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["1000", "1000"]
    assert not done.stderr


# What the number of threads changes -------------------------------------------------------------------------


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    training.cut_small(monkeypatch)


@pytest.mark.usefixtures("cut_small")
def test_training_is_the_same_to_the_bit_each_time_and_in_another_process() -> None:
    for threads in (1, 2, 3):
        here = training.digest(training.train(threads))
        assert training.digest(training.train(threads)) == here
    command = [sys.executable, "-m", "tests.support.training"]  # of three threads
    there = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    assert there.stdout.strip() == here


@pytest.mark.usefixtures("cut_small")
def test_gradients_with_other_numbers_of_threads_differ_by_rounding() -> None:
    """Of one step: Adam would make a step of full length even of a gradient that is nothing but rounding."""
    alone, _ = training.train(1, minigrad.float64, steps=1)
    for threads in (2, 3):
        several, _ = training.train(threads, minigrad.float64, steps=1)
        for a, b in zip(several, alone, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * max(1e-3, float(np.abs(b).max())))


@pytest.mark.usefixtures("cut_small")
def test_training_is_shared_among_threads_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above would say nothing."""
    share, launch, shared = parallel._share, loops.launch, set()

    def note(work: Any, blocks: Any) -> None:
        shared.add(getattr(work, "func", work).__module__.rpartition(".")[2])
        share(work, blocks)

    def note_loop(address: int, words: bytes, spec: bytes, arguments: int, count: int, grain: int) -> int:
        if count > grain:
            shared.update(each.name.partition(".")[0] for each in loops.LOOPS if each.address == address)
        return launch(address, words, spec, arguments, count, grain)

    monkeypatch.setattr(parallel, "_share", note)
    monkeypatch.setattr(loops, "launch", note_loop)
    training.train(3, steps=1)
    training.train(3, minigrad.float64, steps=1)
    assert shared >= {"products"}
    if store.library() is not None:
        assert shared >= {"products_numba"}
