"""Runs compiled loops on all cores with a pool of threads. Each thread is bound to its own core if the system supports
that. Otherwise, a thread may wake on the core of the thread that woke it, and both take turns."""

from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress

from . import blas
from .compiled import store

PATIENCE = 10_000  # checks for work, about 30 ns each, before a thread of the pool sleeps
LOOKS = 16  # calls to a pool between two checks of the caller's CPU

_lock = allocate_lock()
_pool: _ThreadPool | None = None
_threads: int | None = None


def get_num_threads() -> int:
    """The number of threads for kernels, from ``set_num_threads``, else the environment, else the allowed CPUs."""
    global _threads
    if _threads is None:
        if count := threads_of_environment():
            set_num_threads(count)
        else:
            _threads = len(_cpus()) or os.cpu_count() or 1
    return _threads or 1


def threads_of_environment() -> int | None:
    """MINIGRAD_NUM_THREADS, or the first number in OMP_NUM_THREADS. Raises ValueError if MINIGRAD_NUM_THREADS is not a
    positive whole number. An invalid OMP_NUM_THREADS is ignored."""
    ours, general = os.environ.get("MINIGRAD_NUM_THREADS", ""), os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if ours and not (ours.isdecimal() and int(ours) > 0):
        raise ValueError(f"MINIGRAD_NUM_THREADS must be a positive whole number, not {ours!r}")
    text = ours or general.strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def set_num_threads(n: int) -> None:
    """Use ``n`` threads (at least 1) in CPU kernels and in matrix products with NumPy's OpenBLAS."""
    global _threads, _pool
    if n < 1:
        raise ValueError(f"set_num_threads expects a positive integer, not {n}")
    with _lock:
        pool, _threads, _pool = _pool, int(n), None
    if pool is not None:
        pool.dismiss()
    blas.set_num_threads(int(n))


def _cpus() -> list[int]:
    """The CPUs that this process may use, or an empty list if the system lacks the call."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class _ThreadPool:
    """Threads that run blocks of compiled loops without Python (``compiled/thread_pool.py``), alongside the calling
    thread. Each is bound to a CPU other than the caller's, if possible. ``user`` is the call that uses the pool, which
    is the first to add itself. ``threads`` are the threads that the system could start."""

    def __init__(self, library: store.Library, count: int) -> None:
        import threading  # imported here, as only compiled loops need threads

        from .compiled import thread_pool

        place, text = ctypes.c_int64, ctypes.c_char_p
        self.serial = library.function("serial", place, place, text, text, place, place, place)
        self.launch = library.function("launch", place, place, place, text, text, place, place, place)
        self._serve = library.function("serve", None, place, place, place)
        self._dismiss = library.function("dismiss", None, place, place)
        self.user: dict[str, object] = {}
        self._calls, self._bound, self._current_cpu = -1, set[int](), _sched_getcpu()
        self._memory = thread_pool.new_state(count)
        self.state = self._memory.ctypes.data
        self.threads: list[threading.Thread] = []
        for number in range(count):
            thread = threading.Thread(target=self._work, args=(number,), name="minigrad", daemon=True)
            with suppress(RuntimeError):  # the system allows no more threads
                thread.start()
                self.threads.append(thread)

    def _work(self, number: int) -> None:
        self._serve(self.state, number, PATIENCE)

    def place(self) -> None:
        """Bind the threads again if one is on the caller's CPU. Checked only occasionally, as callers seldom move."""
        self._calls += 1
        if self._calls % LOOKS or self._current_cpu is None or not hasattr(os, "sched_setaffinity"):
            return
        if len(cpus := _cpus()) <= len(self.threads):
            return
        here = self._current_cpu()
        if self._bound and here not in self._bound:
            return
        others = [cpu for cpu in cpus if cpu != here][: len(self.threads)]
        self._bound = set(others)
        try:
            for thread, cpu in zip(self.threads, others, strict=True):
                os.sched_setaffinity(thread.native_id or 0, {cpu})
        except OSError:  # not permitted: the system places the threads
            self._current_cpu = None

    def dismiss(self) -> None:
        """End the threads once they are free."""
        for number in range(len(self.threads)):
            self._dismiss(self.state, number)


def _sched_getcpu() -> Callable[[], int] | None:
    """The system call for the CPU of the calling thread, or None if it is missing or threads cannot be bound."""
    try:
        getcpu: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None
    return getcpu if hasattr(os, "sched_setaffinity") else None


def launch(kernel: int, words: bytes, spec: bytes, arguments: int, count: int, grain: int) -> int:
    """Run a compiled loop over [0, ``count``) in blocks of ``grain``, on all cores, for ``compiled/loops.py``. Returns
    0. If an argument does not match ``spec``, it runs nothing and returns that argument's number (from 1)."""
    pool = _pool or _new_pool()
    if count <= grain or not pool.threads:
        return int(pool.serial(kernel, words, spec, arguments, count, grain))
    this, user = object(), pool.user
    try:  # twice, as Ctrl-C may also raise KeyboardInterrupt within the inner ``finally``
        try:
            if user.setdefault("call", this) is not this:
                return int(pool.serial(kernel, words, spec, arguments, count, grain))
            pool.place()
            return int(pool.launch(pool.state, kernel, words, spec, arguments, count, grain))
        finally:
            if user.get("call") is this:
                del user["call"]
    finally:
        if user.get("call") is this:
            del user["call"]


def _new_pool() -> _ThreadPool:
    global _pool
    library = store.library()
    assert library is not None, "a compiled loop runs"
    get_num_threads()  # may set the number, so it is called before the lock is taken
    with _lock:
        _pool = _pool or _ThreadPool(library, get_num_threads() - 1)
        return _pool


def _forget_threads() -> None:
    """Drop the pool after a fork, which threads do not survive. A child process starts its own threads."""
    global _pool, _lock
    _pool, _lock = None, allocate_lock()
    blas.forget_threads()
    store.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
