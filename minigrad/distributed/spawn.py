"""``torch.multiprocessing.spawn``: call a function in several numbered processes using mpiexec."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing import spawn as python_spawn
from pathlib import Path
from typing import Any

from . import launch
from .group import report

START = "import sys; sys.path[:] = {0!r}; from minigrad.distributed.spawn import call; call({1!r})"


class ProcessException(Exception):
    """Raised if a process has failed. ``error_index`` is its number (-1 if unknown); ``exit_code`` is mpiexec's."""

    def __init__(self, msg: str, error_index: int, exit_code: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.exit_code = msg, error_index, exit_code


class ProcessRaisedException(ProcessException):
    """A process has raised an exception; the message contains its traceback."""


class ProcessExitedException(ProcessException):
    """A process was killed or called ``sys.exit``."""


class ProcessContext:
    """The processes started with ``join=False``."""

    def __init__(self, words: list[str], folder: tempfile.TemporaryDirectory[str]) -> None:
        self._process, self._folder = subprocess.Popen(words), folder

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all processes have ended. If one fails, mpiexec ends the others. Returns False on a timeout.
        ``grace_period`` is ignored. Raises ProcessRaisedException or ProcessExitedException if one has failed."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        except KeyboardInterrupt:
            self._process.terminate()
            self._process.wait()
            raise
        texts = {int(path.stem): path.read_text() for path in Path(self._folder.name).glob("*.error")}
        self._folder.cleanup()
        for number, text in sorted(texts.items()):
            message = f"\n\n-- Process {number} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, number, code)
        if code:
            raise ProcessExitedException(f"a process has failed: mpiexec returned {code}", -1, code)
        return True


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(number, *args)`` in ``nprocs`` processes, which may then call ``init_process_group``.

    Each process imports the program, which therefore needs ``if __name__ == "__main__":``. The function and its
    arguments are pickled. With ``join``, wait until all processes have ended; otherwise, return a ``ProcessContext``.
    ``daemon`` and ``start_method`` are ignored. Raises ProcessRaisedException or ProcessExitedException if a process
    has failed, after ending the others, and ImportError if mpiexec is missing.
    """
    folder = tempfile.TemporaryDirectory(prefix="minigrad-")
    prepared = python_spawn.get_preparation_data("rank")
    prepared.pop("authkey", None)  # it cannot be pickled
    (Path(folder.name) / "call").write_bytes(pickle.dumps(prepared) + pickle.dumps((fn, args)))
    words = [sys.executable, "-c", START.format(sys.path, folder.name)]
    context = ProcessContext(launch.command(words, nprocs), folder)
    if not join:
        return context
    context.join()
    return None


def call(folder: str) -> None:
    """The main function of a process."""
    number = launch.find_place().rank
    with (Path(folder) / "call").open("rb") as file:
        python_spawn.prepare(pickle.load(file))
        fn, args = pickle.load(file)
    try:
        fn(number, *args)
    except Exception as error:
        (Path(folder) / f"{number}.error").write_text(traceback.format_exc())
        report(error)
        sys.exit(1)
