"""Worker processes: each fetches batches, given their indices, beside the main process.

A worker and its parent share one pipe. Answers come in the order of tasks, so the parent knows whose turn it
is by counting. In the worker, one thread takes tasks from the pipe and one puts answers in: the parent never
waits to give a task, and a worker goes on to its next batch while the last waits to be read.
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
from .fetch import IterableFetcher


@dataclass(frozen=True)
class WorkerInfo:
    """What ``get_worker_info()`` tells in a worker.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: what its random numbers began from: one seed of the epoch, plus the id.
        dataset: its own copy, which may be changed so that each worker gives a part.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True)
class Job:
    """What a worker is told when it starts."""

    info: WorkerInfo
    base_seed: int
    make_fetcher: Callable[[Any], Any]
    init: Callable[[int], Any] | None


class Ended:
    """The answer of a worker whose part of an IterableDataset has come to its end."""


class _KeyErrorMessage(str):
    """A text that KeyError shows as it is, line by line."""

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception on its way from a worker: its type, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        text = "".join(traceback.format_exception(error))
        self.message = f"Caught {self.kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raise an exception of the same type, or RuntimeError if that takes more than a message."""
        message: str = _KeyErrorMessage(self.message) if self.kind is KeyError else self.message
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker this process is, or None in the main process."""
    return _info


def run(connection: Connection, job: Job, inherited: list[Connection]) -> None:
    """What a worker process does, until the parent says that it is enough, or is gone."""
    for other in inherited:  # the parent's ends: while one is open here, a pipe does not tell of its death
        other.close()
    tasks: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    sender = threading.Thread(target=_send, args=(connection, answers), daemon=True)
    sender.start()
    try:
        _work(job, tasks, answers)
        answers.put(None)
        sender.join()
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches the parent, too, which tells about it


def _listen(connection: Connection, tasks: SimpleQueue[Any]) -> None:
    """Take tasks in. None is the last; if the parent dies, so does its worker."""
    try:
        while (task := connection.recv()) is not None:
            tasks.put(task)
        tasks.put(None)
    except BaseException as error:
        if not isinstance(error, (EOFError, OSError)):
            traceback.print_exc()  # an index that cannot be read here
        os._exit(1)


def _send(connection: Connection, answers: SimpleQueue[bytes | None]) -> None:
    """Put answers in the pipe."""
    try:
        while (answer := answers.get()) is not None:
            connection.send_bytes(answer)
    except OSError:
        os._exit(1)


def _work(job: Job, tasks: SimpleQueue[Any], answers: SimpleQueue[bytes | None]) -> None:
    """Answer (epoch, index) with (epoch, batch); a fetcher begins anew with each epoch."""
    where = f"in DataLoader worker process {job.info.id}"
    failure = _prepare(job, where)
    fetcher: Any = None
    fetching = None  # the epoch that the fetcher is for
    while (task := tasks.get()) is not None:
        epoch, index = task
        answer: Any = failure
        try:
            if failure is None and epoch != fetching:
                fetching, fetcher = epoch, None
                fetcher = job.make_fetcher(job.info.dataset)
            if failure is None:
                answer = Ended() if fetcher is None else _fetched(fetcher, index)
        except Exception as error:
            answer = Failure(error, where)
        if isinstance(answer, Ended):
            fetcher = None
        answers.put(_pickled(epoch, answer, where))


def _fetched(fetcher: Any, index: Any) -> Any:
    try:
        return fetcher.fetch(index)
    except StopIteration:
        if isinstance(fetcher, IterableFetcher):
            return Ended()
        raise  # the dataset's own


def _prepare(job: Job, where: str) -> Failure | None:
    """Seeds, one thread, and the user's function; what that raised."""
    global _info
    _info = job.info
    seed, words = job.info.seed, [job.info.id, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32, 0]
    set_num_threads(1)
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(np.random.SeedSequence(words).generate_state(4))  # PyTorch's seeds for NumPy
    try:
        if job.init is not None:
            job.init(job.info.id)
    except Exception as error:
        return Failure(error, where)
    return None


def _pickled(epoch: int, answer: Any, where: str) -> bytes:
    """An answer for the pipe; where it cannot be pickled, what is wrong with it."""
    try:
        return pickle.dumps((epoch, answer), protocol=5)
    except Exception as error:
        if isinstance(answer, Failure):  # of an exception whose type has no name in a module
            answer.kind = RuntimeError
            return pickle.dumps((epoch, answer), protocol=5)
        return _pickled(epoch, Failure(error, where), where)


# In the parent ---------------------------------------------------------------------------------------------


class Worker:
    """A worker process, seen from its parent.

    Args:
        context: multiprocessing's, which says how processes begin.
        job: what it is told.
        others: the workers that have begun before it.
    """

    def __init__(self, context: Any, job: Job, others: list[Worker]) -> None:
        self.connection, theirs = context.Pipe()
        forked = context.get_start_method() == "fork"
        inherited = [worker.connection for worker in (self, *others)] if forked else []
        self.process = context.Process(target=run, args=(theirs, job, inherited), daemon=True)
        with warnings.catch_warnings():  # other threads of the parent are harmless: `run` needs none of them
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            self.process.start()
        theirs.close()

    def tell(self, task: tuple[int, Any] | None) -> None:
        """Give it a task, an epoch and an index; None says that it is enough."""
        with suppress(OSError):  # it has died: who waits for its answer is told
            self.connection.send(task)
