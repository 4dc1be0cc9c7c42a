"""Work in cache-sized blocks of rows on all cores: NumPy releases the GIL inside large ufuncs.

A kernel that is bound by memory gains twice: a block stays in cache from its first pass to its last,
and the cores work on different blocks. Blocks do not depend on the number of threads, and each block is
computed by one thread alone, so results are equal to the bit whatever that number is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK_BYTES = 1 << 18  # 256 KiB: half of a usual second-level cache
SERIAL_BYTES = 1 << 17  # below this a thread costs more than it gives

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_threads: int | None = None
_inside = threading.local()


def get_num_threads() -> int:
    """How many threads kernels use: ``set_num_threads``, else MINIGRAD_NUM_THREADS, else the CPUs given."""
    global _threads
    if _threads is None:
        asked = os.environ.get("MINIGRAD_NUM_THREADS", "")
        if asked and not (asked.isdecimal() and int(asked) > 0):
            raise ValueError(f"MINIGRAD_NUM_THREADS must be a positive whole number, not {asked!r}")
        _threads = int(asked) if asked else len(os.sched_getaffinity(0)) if hasattr(
            os, "sched_getaffinity") else os.cpu_count() or 1  # fmt: skip
    return _threads


def set_num_threads(n: int) -> None:
    """Use ``n`` threads (at least 1) in CPU kernels from now on."""
    global _threads, _pool
    if n < 1:
        raise ValueError(f"set_num_threads expects a positive integer, not {n}")
    with _lock:
        if _pool is not None:
            _pool.shutdown(wait=True)
        _threads, _pool = int(n), None


def _executor() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # here, as it brings `logging` with it

    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(get_num_threads() - 1, thread_name_prefix="minigrad")
        return _pool


def _forget_pool() -> None:
    """Threads do not survive a fork: a child process starts its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def row_blocks(rows: int, row_bytes: int) -> list[tuple[int, int]]:
    """Cut ``rows`` rows into (start, stop) blocks of about BLOCK_BYTES."""
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    return [(start, min(rows, start + step)) for start in range(0, rows, step)]


def over_rows(work: Callable[[int, int], object], rows: int, row_bytes: int) -> None:
    """Call ``work(start, stop)`` for blocks that together cover ``rows`` rows, on all cores.

    Args:
        work: a function that writes its block's result into arrays it was given.
        rows: how many rows there are; none is fine.
        row_bytes: bytes that one row touches; it decides the size of a block.
    """
    if rows <= 0:
        return
    if rows * row_bytes <= SERIAL_BYTES:
        work(0, rows)
        return
    each(work, row_blocks(rows, row_bytes))


def each(work: Callable[[int, int], object], blocks: list[tuple[int, int]]) -> None:
    """Call ``work(*block)`` for every block, the threads taking blocks as they become free."""
    threads = min(get_num_threads(), len(blocks))
    if threads <= 1 or getattr(_inside, "busy", False):
        for start, stop in blocks:
            work(start, stop)
        return
    todo = iter(blocks)
    take = threading.Lock()

    def worker() -> None:
        _inside.busy = True
        try:
            while True:
                with take:
                    block = next(todo, None)
                if block is None:
                    return
                work(*block)
        finally:
            _inside.busy = False

    futures: list[Future[None]] = [_executor().submit(worker) for _ in range(threads - 1)]
    try:
        worker()
    finally:
        for future in futures:
            future.result()
