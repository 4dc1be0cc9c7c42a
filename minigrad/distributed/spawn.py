"""``torch.multiprocessing.spawn``: call a function in several processes, each with its number."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ..backend.parallel import get_num_threads, set_num_threads
from .group import is_initialized, leave, report
from .launch import LOOK, PATIENCE, ended_how
from .meeting import STATUS


class ProcessException(Exception):
    """A process has failed. ``error_index`` is its number, ``error_pid`` that of the system."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process has raised an exception; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process was killed, or has called ``sys.exit``: ``exit_code``, and ``signal_name`` or None."""

    def __init__(self, msg: str, error_index: int, pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


class ProcessContext:
    """The processes, for ``join=False``."""

    def __init__(self, processes: list[BaseProcess], pipes: list[Connection]) -> None:
        self.processes, self._pipes = processes, pipes
        self._said: dict[int, str] = {}  # tracebacks

    def pids(self) -> list[int]:
        """Their numbers in the system."""
        return [int(process.pid or 0) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all have ended, or one has failed; then end the others. Returns False if the time is over.

        Raises:
            ProcessRaisedException, ProcessExitedException: one has failed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            codes = [process.exitcode for process in self.processes]
            self._read()
            if any(codes):
                self._fail(PATIENCE if grace_period is None else grace_period)
            if None not in codes:
                return True
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(LOOK)

    def end(self, grace: float) -> None:
        """End all; kill those that still run after some seconds."""
        end = time.monotonic() + grace
        for process in self.processes:
            if process.exitcode is None:
                process.terminate()
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()

    def _read(self) -> None:
        """Take what processes say of their errors, so that none waits with it."""
        for number, pipe in enumerate(self._pipes):
            with suppress(EOFError, OSError):
                if number not in self._said and pipe.poll():
                    self._said[number] = pipe.recv()

    def _fail(self, grace: float) -> None:
        time.sleep(10 * LOOK)  # others may have ended at the same time
        self._read()
        number = min((n for n, p in enumerate(self.processes) if p.exitcode not in (0, None, STATUS)), default=None)
        self.end(grace)
        if number is None:
            number = next(n for n, p in enumerate(self.processes) if p.exitcode)
        process, pid = self.processes[number], int(self.processes[number].pid or 0)
        if number in self._said:
            text = f"\n\n-- Process {number} terminated with the following error:\n{self._said[number]}"
            raise ProcessRaisedException(text, number, pid)
        code = process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else None
        raise ProcessExitedException(f"process {number} {ended_how(code)}", number, pid, code, name)


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(number, *args)`` in ``nprocs`` processes, which may then call ``init_process_group``.

    The processes are forked, whatever the ``start_method``: they begin with all that this one has, and nothing has to
    be pickled. Each gets its share of the CPUs.

    Args:
        join: wait until all have ended; else a ``ProcessContext`` is returned. daemon: end them with this process.

    Raises:
        ProcessRaisedException, ProcessExitedException: a process has failed; the others are ended.
        RuntimeError: this process is a rank already. NotImplementedError: the system cannot fork.
    """
    if not hasattr(os, "fork"):
        raise NotImplementedError("this system cannot fork: start the ranks with mpiexec")
    if is_initialized() or "mpi4py.MPI" in sys.modules:
        raise RuntimeError("spawn must come before init_process_group: a rank cannot be forked")
    context: Any = multiprocessing.get_context("fork")
    processes: list[BaseProcess] = []
    pipes: list[Connection] = []
    threads = max(1, get_num_threads() // nprocs)
    for number in range(nprocs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_call, args=(fn, number, args, threads, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        pipes.append(ours)
    made = ProcessContext(processes, pipes)
    if not join:
        return made
    try:
        while not made.join():
            pass
    except KeyboardInterrupt:
        made.end(PATIENCE)
        raise
    return None


def _call(fn: Callable[..., Any], number: int, args: tuple[Any, ...], threads: int, pipe: Connection) -> None:
    """The main function of a process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    set_num_threads(threads)
    try:
        fn(number, *args)
    except Exception as error:
        report(error)
        pipe.send(traceback.format_exc())
        sys.stdout.flush()
        os._exit(1)
    finally:
        leave()  # a process of multiprocessing ends without atexit
