"""How threads share the blocks of a compiled loop. These functions are compiled too, and run without the GIL.

The state of a pool is an array of int64. Each word is on its own cache line, and few threads write to it. ``OPEN`` is
the number of the current loop, or 0 for none. A thread that joins increments ``INSIDE`` before it checks whether the
loop is still open, and the caller closes the loop before it checks ``INSIDE``. All threads see these steps in the same
order, so at least one of the two sees the other. A loop's description is never written while a thread may read it.

A helper with nothing to do keeps looking for work for a few tenths of a millisecond, so that it need not be woken
between two operations of a training step. After that, it waits for a system lock.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .native import acquire, add, exchange, load, pause, release, run, store, word

LINE = 16  # words in a cache line and the adjacent line, which is fetched with it
OPEN, NEXT, INSIDE, NUMBER, JOB = (8 * LINE * i for i in range(5))  # in bytes
KERNEL, WORDS, COUNT, GRAIN = JOB, JOB + 8, JOB + 16, JOB + 24
ACQUIRE, RELEASE, HELPERS = JOB + 32, JOB + 40, JOB + 48
MEMBERS = 8 * LINE * 5  # where the helpers' lines begin
DTYPE, FLAGS = (object.__basicsize__ + i for i in (40, 48))  # offsets in a NumPy array: see functions.py
LEAVE, ASLEEP, LOCK, SIZE = 0, 8, 16, 8 * LINE  # words of a helper


def new_state(helpers: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A new state, aligned to cache lines."""
    memory = np.zeros((MEMBERS + helpers * SIZE) // 8 + LINE, np.int64)
    state = memory[-memory.ctypes.data % (8 * LINE) // 8 :]
    python = ctypes.pythonapi
    locks = python.PyThread_acquire_lock, python.PyThread_release_lock
    state[ACQUIRE // 8], state[RELEASE // 8] = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in locks)
    state[HELPERS // 8] = helpers
    allocate, acquire = python.PyThread_allocate_lock, locks[0]
    allocate.restype, allocate.argtypes, acquire.argtypes = ctypes.c_void_p, [], [ctypes.c_void_p, ctypes.c_int]
    for i in range(helpers):
        lock = allocate()
        acquire(lock, 1)
        state[(MEMBERS + i * SIZE + LOCK) // 8] = lock
    return state


def _check(words: int, spec: int, arguments: int) -> int:
    """The number (from 1) of the first argument that does not match ``spec`` (loops.py), or 0 if all match."""
    for i in range(arguments):
        dtype = word(spec + 8 * i)
        if dtype == 0:
            continue
        array = word(words + 8 * i)
        if dtype < 0 and (word(array + FLAGS) & 1) == 0:
            return i + 1
        if word(array + DTYPE) != abs(dtype):
            return i + 1
    return 0


def serial(kernel: int, words: int, spec: int, arguments: int, count: int, grain: int) -> int:
    """Run all blocks on this thread. Returns the result of ``_check``, and runs nothing unless that is 0."""
    wrong = _check(words, spec, arguments)
    if wrong == 0:
        for start in range(0, count, grain):
            run(kernel, start, min(count, start + grain), 0, words)
    return wrong


def _work(state: int, thread: int) -> None:
    """Run blocks until none is left."""
    kernel, words, count, grain = load(state + KERNEL), load(state + WORDS), load(state + COUNT), load(state + GRAIN)
    while True:
        start = add(state + NEXT, grain)
        if start >= count:
            break
        run(kernel, start, min(count, start + grain), thread, words)


def _wake(state: int, member: int) -> None:
    if exchange(member + ASLEEP, 1, 0):
        release(load(state + RELEASE), load(member + LOCK))


def launch(state: int, kernel: int, words: int, spec: int, arguments: int, count: int, grain: int) -> int:
    """Run all blocks, shared with the threads that join. Returns the same result as ``serial``."""
    wrong = _check(words, spec, arguments)
    if wrong != 0:
        return wrong
    store(state + KERNEL, kernel)
    store(state + WORDS, words)
    store(state + COUNT, count)
    store(state + GRAIN, grain)
    store(state + NEXT, 0)
    number = load(state + NUMBER) + 1
    store(state + NUMBER, number)
    store(state + OPEN, number)
    blocks = (count + grain - 1) // grain
    for i in range(min(load(state + HELPERS), blocks - 1)):
        _wake(state, state + MEMBERS + i * SIZE)
    _work(state, 0)
    store(state + OPEN, 0)
    while load(state + INSIDE) != 0:
        pause()
    return 0


def dismiss(state: int, helper: int) -> None:
    """End a helper's thread once it is free."""
    member = state + MEMBERS + helper * SIZE
    store(member + LEAVE, 1)
    _wake(state, member)


def serve(state: int, helper: int, patience: int) -> None:
    """The main loop of a helper, until it is dismissed: work, look for work ``patience`` times, sleep."""
    member = state + MEMBERS + helper * SIZE
    served, idle = 0, 0
    while True:
        if exchange(member + LEAVE, 1, 0):
            return
        number = load(state + OPEN)
        if number != 0 and number != served:
            add(state + INSIDE, 1)
            number = load(state + OPEN)
            if number != 0:
                served = number
                _work(state, helper + 1)
            add(state + INSIDE, -1)
            idle = 0
        elif idle < patience:
            pause()
            idle += 1
        else:
            store(member + ASLEEP, 1)
            number = load(state + OPEN)
            busy = (number != 0 and number != served) or load(member + LEAVE) == 1
            if not busy or not exchange(member + ASLEEP, 1, 0):  # else another thread released the lock
                acquire(load(state + ACQUIRE), load(member + LOCK))
            idle = 0


FUNCTIONS = {"serial": serial, "launch": launch, "dismiss": dismiss, "serve": serve}
PARTS = (_check, _work, _wake)
