"""Work in blocks of rows on all cores: NumPy releases the GIL inside large ufuncs and products.

A kernel that is bound by memory gains twice: a block stays in cache from its first pass to its last,
and the cores work on different blocks. Each block is computed by one thread alone, and ``row_blocks`` does
not ask for the number of threads, so results are equal to the bit whatever it is.

Two things decide the speed (docs/performance.md has the figures). Calls of NumPy must be long, or the threads
wait for the GIL more than they work: so blocks are larger than a second-level cache. And each thread must
have a core of its own: a thread that wakes may be put on the core of the one that woke it, and then both
take turns; so the threads are bound to cores where the system can do that.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

import numpy as np

from . import blas
from .compiled import store

BLOCK_BYTES = 4 << 20  # of all arrays that a block touches: a share of the third-level cache
SERIAL_BYTES = 1 << 20  # below this a thread costs more than it gives
TINY_BYTES = 1 << 15  # below this OpenBLAS starts no threads
PATIENCE = 10_000  # looks for work, of some 30 ns each, before a thread sleeps that runs compiled loops
LOOKS = 16  # calls of a crew from one look at the caller's CPU to the next
MANY = 4  # pieces of work for each core, so that none waits long for the last of the others

Blocks = list[tuple[int, ...]]
Work = Callable[..., object]

_lock = threading.Lock()
_crew: _Crew | None = None
_threads: int | None = None


def get_num_threads() -> int:
    """The number of threads of kernels: ``set_num_threads``, else the environment's, else the CPUs allowed."""
    global _threads
    if _threads is None:
        if count := threads_of_environment():
            set_num_threads(count)
        else:
            _threads = len(_cpus()) or os.cpu_count() or 1
    return _threads or 1


def threads_of_environment() -> int | None:
    """MINIGRAD_NUM_THREADS, or the first number of OMP_NUM_THREADS.

    Raises:
        ValueError: MINIGRAD_NUM_THREADS is not a positive whole number; such an OMP_NUM_THREADS is ignored.
    """
    ours, general = os.environ.get("MINIGRAD_NUM_THREADS", ""), os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if ours and not (ours.isdecimal() and int(ours) > 0):
        raise ValueError(f"MINIGRAD_NUM_THREADS must be a positive whole number, not {ours!r}")
    text = ours or general.strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def set_num_threads(n: int) -> None:
    """Use ``n`` threads (at least 1) in CPU kernels, and in the matrix products of NumPy's OpenBLAS."""
    global _threads, _crew
    if n < 1:
        raise ValueError(f"set_num_threads expects a positive integer, not {n}")
    with _lock:
        former, _threads, _crew = _crew, int(n), None
    if former is not None:  # without the lock: who works in it may ask for helpers once more
        former.dismiss()
    blas.set_num_threads(int(n))


def _cpus() -> list[int]:
    """The CPUs that this process may use; none where the system has no such call."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class _Part:
    """A helper's part in a job."""

    def __init__(self) -> None:
        self.thread, self.is_done = threading.current_thread(), False
        self.busy = threading.Lock()  # held until it is done

    def wait(self) -> None:
        """Until it is done, or its thread has died. May be interrupted, and called again."""
        while not self.is_done and not self.busy.acquire(timeout=0.2) and self.thread.is_alive():
            pass


class _Job:
    """Blocks to work on, and who is at them."""

    def __init__(self, work: Work, blocks: Blocks) -> None:
        self.work, self.todo = work, deque(blocks)
        self.context = copy_context()  # NumPy's errstate is in it
        self.parts: list[_Part] = []  # of the helpers that came
        self.errors: list[BaseException] = []

    def take(self) -> None:
        """Work on blocks until none is left, or one has failed."""
        work, take = self.work, self.todo.popleft
        try:
            while True:
                try:
                    block = take()
                except IndexError:
                    return
                work(*block)
        except BaseException as error:
            self.todo.clear()
            if not self.errors:
                self.errors.append(error)

    def help(self) -> None:
        """``take`` in another thread than the one that waits for the job."""
        part = _Part()
        with part.busy:
            self.parts.append(part)  # before it takes a block, so that the caller waits for it
            try:
                self.context.copy().run(self.take)
            finally:
                part.is_done = True

    def end(self) -> None:
        """Wait for the helpers. Blocks that are left stay so."""
        self.todo.clear()
        for part in self.parts:
            part.wait()


class _Crew:
    """Threads that wait for blocks to work on, beside the thread that calls.

    Each is bound to a CPU other than the one that the caller is on: a thread that wakes may be put on the
    CPU of the one that woke it, where the two take turns while another CPU has nothing to do. A thread that
    comes when all blocks are taken is not waited for.
    """

    def __init__(self, count: int, native: _Native | None) -> None:
        self.user: dict[str, object] = {}  # the call that uses the crew: the first one to enter itself here
        self.native = native
        self.calls = -1
        self.job: _Job | None = None
        self.where = _sched_getcpu() if hasattr(os, "sched_setaffinity") else None
        cpus = _cpus() if self.where and len(_cpus()) > count else []
        here = self.where() if self.where else -1
        self.spare = [cpu for cpu in cpus if cpu != here] + [here] * (here in cpus)
        self.members: list[_Member] = []
        while len(self.members) < count:
            try:
                self.members.append(_Member(self, len(self.members)))
            except RuntimeError:  # the system gives no more threads
                break
            self.place(self.members[-1])

    def place(self, member: _Member) -> None:
        """Bind a thread to a CPU that no other one of the crew has."""
        if self.spare and hasattr(os, "sched_setaffinity"):
            try:
                os.sched_setaffinity(member.native_id or 0, {self.spare[0]})
            except OSError:  # not allowed: the system places it
                self.spare, self.where = [], None
                return
            before, member.cpu = member.cpu, self.spare.pop(0)
            if before is not None:
                self.spare.append(before)

    def run(self, work: Work, blocks: Blocks) -> None:
        """All blocks; each thread takes the next one when it is free. Nobody works on them after it has ended, by an
        interrupt too."""
        job = _Job(work, blocks)
        try:
            self.job = job
            self.place_all()
            for member in self.members[: len(blocks) - 1]:
                member.call()
            job.take()
            self.job = None
            job.end()
        finally:
            self.job = None
            job.end()
        if job.errors:
            raise job.errors.pop()  # the job must not hold it: its traceback holds the job

    def place_all(self) -> None:
        """Bind those threads anew that have the caller's CPU. It is looked at now and then: callers seldom move."""
        self.calls += 1
        if self.calls % LOOKS:
            return
        here = self.where() if self.where else -1
        for i, member in enumerate(self.members):
            if not member.is_alive():  # somebody has raised an exception in it
                self.spare += [] if member.cpu is None else [member.cpu]
                with suppress(RuntimeError):  # the system gives no more threads
                    self.members[i] = _Member(self, i)
                    self.place(self.members[i])
            elif member.cpu == here:
                self.place(member)

    def dismiss(self) -> None:
        """Let the threads end, when they are free."""
        for member in self.members:
            member.wanted = False
            member.call()


def _sched_getcpu() -> Callable[[], int] | None:
    """The system call for the CPU of the calling thread; None where there is none."""
    try:
        getcpu: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError):
        return None
    return getcpu


class _Member(threading.Thread):
    """One thread of a crew. Its lock ``go`` is a signal: released by the caller, acquired by the thread.

    Where there are compiled loops it waits for these without Python (``compiled/crew.py``), and is called out of there.
    """

    def __init__(self, crew: _Crew, number: int) -> None:
        super().__init__(name="minigrad", daemon=True)
        self.crew, self.number, self.wanted = crew, number, True
        self.cpu: int | None = None
        self.go = threading.Lock()
        self.go.acquire()
        self.start()

    def call(self) -> None:
        """Let it look for a job."""
        if self.go.locked():  # else it has been called before, and has not come yet
            with suppress(RuntimeError):  # two call it at once
                self.go.release()
            if (native := self.crew.native) is not None:
                native.attend(native.state, self.number)

    def run(self) -> None:
        native = self.crew.native
        while True:
            if native is not None:
                native.serve(native.state, self.number, PATIENCE)
            self.go.acquire()
            if not self.wanted:
                return
            job = self.crew.job
            if job is not None:
                job.help()
            del job  # and with it the arrays


class _Native:
    """The functions of ``compiled/crew.py``, and the state that a crew's threads share there."""

    def __init__(self, library: store.Library, helpers: int) -> None:
        from .compiled import crew  # here, as it is only needed beside compiled loops

        place, text = ctypes.c_int64, ctypes.c_char_p
        self.launch = library.function("launch", place, place, place, text, text, place, place, place)
        self.serve = library.function("serve", None, place, place, place)
        self.attend = library.function("attend", None, place, place)
        line = 8 * crew.LINE
        self._memory = np.zeros(crew.size(helpers) + crew.LINE, np.int64)
        start = -self._memory.ctypes.data % line // 8  # lines begin where the cache's do
        words = self._memory[start:]
        self.state = words.ctypes.data
        locks = [ctypes.pythonapi.PyThread_acquire_lock, ctypes.pythonapi.PyThread_release_lock]
        words[crew.ACQUIRE // 8], words[crew.RELEASE // 8] = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in locks)
        words[crew.HELPERS // 8] = helpers
        allocate, acquire = ctypes.pythonapi.PyThread_allocate_lock, locks[0]
        allocate.restype, allocate.argtypes, acquire.argtypes = ctypes.c_void_p, [], [ctypes.c_void_p, ctypes.c_int]
        for i in range(helpers):
            lock = allocate()
            acquire(lock, 1)
            words[(crew.MEMBERS + i * crew.SIZE + crew.LOCK) // 8] = lock


_alone: Callable[..., int] | None = None  # a compiled loop without a crew


def launch(kernel: int, words: bytes, spec: bytes, arguments: int, count: int, grain: int) -> int:
    """A compiled loop over [0, ``count``) in blocks of ``grain``, on all cores: called by ``compiled/loops.py``.

    Returns:
        0, or the number, from 1 on, of an argument that is not what ``spec`` asks for; nothing has run then.
    """
    global _alone
    if _alone is None:
        place, text = ctypes.c_int64, ctypes.c_char_p
        library = store.library()
        assert library is not None
        _alone = library.function("alone", place, place, text, text, place, place, place)
    crew = _helpers() if count > grain and get_num_threads() > 1 else None
    if crew is None or crew.native is None:
        return _alone(kernel, words, spec, arguments, count, grain)
    this, user = object(), crew.user
    try:  # twice: Ctrl-C may raise KeyboardInterrupt within the inner ``finally``, too
        try:
            if user.setdefault("call", this) is not this:
                return _alone(kernel, words, spec, arguments, count, grain)
            crew.place_all()
            return int(crew.native.launch(crew.native.state, kernel, words, spec, arguments, count, grain))
        finally:
            if user.get("call") is this:
                del user["call"]
    finally:
        if user.get("call") is this:
            del user["call"]


def _helpers() -> _Crew:
    global _crew
    if (crew := _crew) is not None and (crew.native is not None or _alone is None):
        return crew
    former = None
    with _lock:
        if _crew is None or (_crew.native is None and _alone is not None):
            library, former = store.library() if _alone is not None else None, _crew
            count = get_num_threads() - 1
            _crew = _Crew(count, _Native(library, count) if library is not None else None)
        crew = _crew
    if former is not None:  # without the lock, as in ``set_num_threads``
        former.dismiss()
    return crew


def _forget_crew() -> None:
    """Threads do not survive a fork: a child process starts its own."""
    global _crew, _lock
    _crew, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_crew)


def row_blocks(rows: int, row_bytes: int) -> Blocks:
    """Cut ``rows`` rows into (start, stop) blocks of at most about BLOCK_BYTES: one, or an even number."""
    if rows * row_bytes <= SERIAL_BYTES:
        return [(0, rows)] if rows else []
    count = -(-rows * row_bytes // BLOCK_BYTES)
    count += count % 2
    step = max(1, -(-rows // count))
    return [(start, min(rows, start + step)) for start in range(0, rows, step)]


def over_rows(work: Work, rows: int, row_bytes: int) -> None:
    """Call ``work(start, stop)`` for blocks that together cover ``rows`` rows, on all cores.

    Args:
        work: a function that writes the result of its block into arrays.
        row_bytes: bytes that one row touches; it decides the size of a block.
    """
    if 0 < rows * row_bytes <= TINY_BYTES:
        work(0, rows)
    elif rows > 0:
        each(work, row_blocks(rows, row_bytes))


def each(work: Work, blocks: Blocks) -> None:
    """Call ``work(*block)`` for every block, the threads taking blocks as they become free.

    Called from within ``work``, or while another thread of the program is in here, it does all by itself.
    """
    crew = _helpers() if len(blocks) > 1 and get_num_threads() > 1 else None
    this, user = object(), {} if crew is None else crew.user
    try:  # twice: Ctrl-C may raise KeyboardInterrupt within the inner ``finally``, too
        try:
            with blas.one_thread() as one, one:
                if crew is not None and user.setdefault("call", this) is this:
                    crew.run(work, blocks)
                else:
                    for block in blocks:
                        work(*block)
        finally:
            if user.get("call") is this:
                del user["call"]
    finally:
        if user.get("call") is this:
            del user["call"]


def each_alone(work: Callable[[int], object], count: int) -> None:
    """Call ``work(i)`` for i from 0 to ``count``, not included: if there are many, each by one core alone, which never
    waits for another; else one after another, by all cores.

    Args:
        work: takes much longer than calling a thread, and is the longer the smaller i is, if they differ. What holds
            for a thread (``no_grad``) it has to ask for itself.
    """
    if count >= MANY * get_num_threads():
        each(work, [(i,) for i in range(count)])
    else:
        for i in range(count):
            work(i)
