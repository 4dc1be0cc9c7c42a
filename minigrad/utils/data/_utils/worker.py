"""Worker processes, which fetch batches by index in parallel with the main process.

A worker and its parent share one pipe. Answers arrive in task order, so the parent knows which worker is next by
counting. In the worker, a thread writes answers, so the worker can read its next task while its last answer waits in
the pipe. Thus worker and parent never deadlock.
"""

from __future__ import annotations

import os
import pickle
import random
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import numpy as np

from ....backend.parallel import set_num_threads
from ....backend.random import manual_seed


@dataclass(frozen=True)
class WorkerInfo:
    """The result of ``get_worker_info()`` in a worker."""

    id: int  # from 0
    num_workers: int
    seed: int  # for random numbers: the workers' common seed plus the id
    dataset: Any  # the worker's copy, which may be changed to yield only a part


class Ended:
    """A worker's answer at the end of its part of an IterableDataset."""


class _KeyErrorMessage(str):
    """Text that KeyError shows line by line without quotes."""

    __repr__ = str.__str__


class Failure:
    """A worker's exception: its type, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        text = "".join(traceback.format_exception(error))
        self.message = f"Caught {self.kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raise an exception of the same type, or RuntimeError if that type requires more than a message."""
        message: str = _KeyErrorMessage(self.message) if self.kind is KeyError else self.message
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """This process's worker info, or None in the main process."""
    return _info


def run(connection: Connection, loop: Callable[..., None], inherited: list[Connection]) -> None:
    """The main function of a worker. It runs until the parent ends the worker or dies."""
    for other in inherited:  # a copy of the parent's end would keep the pipe open after the parent dies
        other.close()
    answers: SimpleQueue[bytes | None] = SimpleQueue()
    sender = threading.Thread(target=_write_answers, args=(connection, answers), daemon=True)
    sender.start()
    try:
        loop(connection, answers)
        answers.put(None)
        sender.join()
    except (KeyboardInterrupt, EOFError, OSError):
        pass  # the parent also receives Ctrl-C and reports it, or the parent has ended


def _write_answers(connection: Connection, answers: SimpleQueue[bytes | None]) -> None:
    try:
        while (answer := answers.get()) is not None:
            connection.send_bytes(answer)
    except OSError:  # the parent has ended, or stopped reading
        os._exit(0)
    except BaseException:  # not enough memory for the message
        traceback.print_exc()
        os._exit(1)


def _generate_state(base_seed: int, worker_id: int) -> Any:
    """The state that seeds NumPy in a worker, as in PyTorch."""
    return np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4)


def task_loop(
    info: WorkerInfo,
    base_seed: int,
    fetcher: Callable[[Any], Callable[[Any], Any]],
    iterable: bool,
    init: Callable[[int], Any] | None,
    connection: Connection,
    answers: SimpleQueue[bytes | None],
) -> None:
    """Seed the generators, set the number of threads to 1, call the user's ``init``, and answer each (epoch, index)
    with (epoch, batch). For each epoch, ``fetcher`` returns a new function that fetches from the dataset."""
    global _info
    _info, where = info, f"in DataLoader worker process {info.id}"
    set_num_threads(1)
    random.seed(info.seed)
    manual_seed(info.seed)
    np.random.seed(_generate_state(base_seed, info.id))
    failure: Failure | None = None
    try:
        if init is not None:
            init(info.id)
    except Exception as error:
        failure = Failure(error, where)
    fetch: Any = None
    fetching = None  # the epoch that ``fetch`` belongs to
    while (task := connection.recv()) is not None:
        epoch, index = task
        answer: Any = failure or Ended()
        try:
            if failure is None and epoch != fetching:
                fetching, fetch = epoch, None
                fetch = fetcher(info.dataset)
            if fetch is not None:
                answer = fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and iterable:
                fetch = None
            else:
                answer = Failure(error, where)
        answers.put(_pickled(epoch, answer, where))


def _pickled(epoch: int, answer: Any, where: str) -> bytes:
    """The pickled answer for the pipe, or the pickled error if pickling fails."""
    try:
        return pickle.dumps((epoch, answer), protocol=5)
    except Exception as error:
        if not isinstance(answer, Failure):
            return _pickled(epoch, Failure(error, where), where)
        answer.kind = RuntimeError  # its type cannot be imported by name
        return pickle.dumps((epoch, answer), protocol=5)


class Worker:
    """The parent's handle of a worker process, which starts after the ``others``. The worker calls ``loop`` with the
    task pipe and a queue for answers."""

    def __init__(self, context: Any, loop: Callable[..., None], others: list[Worker]) -> None:
        self.number = len(others)
        self.connection, theirs = context.Pipe()
        forked = context.get_start_method() == "fork"
        inherited = [worker.connection for worker in (self, *others)] if forked else []
        self.process = context.Process(target=run, args=(theirs, loop, inherited), daemon=True)
        with warnings.catch_warnings():  # other threads of the parent are harmless: `run` needs none of them
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            try:
                self.process.start()
            except (ConnectionError, EOFError) as error:  # while sending the dataset
                raise RuntimeError(f"DataLoader worker {self.number} died while it was starting") from error
        theirs.close()

    def send(self, task: tuple[int, Any] | None) -> None:
        """Send a task (an epoch and an index); None ends the worker."""
        with suppress(OSError):  # if the worker has died, reading its answers will fail
            self.connection.send(task)
