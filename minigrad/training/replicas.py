"""Processes that share the batches of an update: each computes whole batches of its own, on cores of its own.

Threads that share one operation after another wait for each other after each. Where operations are small,
processes that meet once an update are faster (docs/performance.md has figures). The parent takes the batches
0, P, 2P, ... of an update, process r the batches r, r + P, ...; it adds up all gradients, always in the same
order, and changes the weights alone. Dropout is drawn anew for each batch, from the seed, the step and the
batch's number: a run can be killed and go on as any other.

Weights and gradients go through memory that the processes share; all else stays with each: a module's
buffers (running statistics) are the parent's alone. A parameter that no batch of an update uses has no
gradient, as with one process.
"""

from __future__ import annotations

import math
import mmap
import multiprocessing
import os
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from ..backend.parallel import get_num_threads, set_num_threads
from ..functions.creation import from_numpy
from ..nn.module import Module
from ..tensor import Tensor
from .batches import Batches, Stream
from .update import Loss, Part, Share, add_gradients

PATIENCE = 5.0  # seconds that a process has to end


class Replicas:
    """``count`` processes, the one that makes this among them.

    Args:
        model, loss: as in ``Trainer``. batches, epoch, batch: where the training stands.
        count: P, at least 2. accumulate: batches of an update. seed: of what the batches draw.

    Raises:
        ValueError: a model on a GPU, or a system that cannot fork. OSError: it has no room for a process.
    """

    def __init__(
        self,
        model: Module,
        loss: Loss,
        batches: Batches[Any],
        epoch: int,
        batch: int,
        *,
        count: int,
        accumulate: int,
        seed: int,
    ) -> None:
        check(model, count)
        self.share = Share(0, count, seed)
        parameters = [p for p in model.parameters() if p.requires_grad]
        self._weights, self._gradients = Shared(parameters), [Shared(parameters) for _ in range(1, count)]
        self._all_threads = get_num_threads()
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        threads = max(1, self._all_threads // count)
        try:
            for rank in range(1, count):
                job = (
                    accumulate,
                    model,
                    loss,
                    Stream(batches, epoch, batch),
                    self._weights,
                    self._gradients[rank - 1],
                    threads,
                )
                self._start(replace(self.share, rank=rank), *job)
            set_num_threads(threads)
        except BaseException:
            self.close()
            raise

    def _start(self, share: Share, *job: Any) -> None:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        self._pipes.append(ours)
        # not a daemon, which could have no worker processes of its own
        process = context.Process(target=serve, args=(share, theirs, list(self._pipes), *job))
        try:
            with warnings.catch_warnings():  # Python 3.12 warns of any fork beside threads
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        finally:
            theirs.close()
        self._processes.append(process)

    def begin(self, step: int) -> None:
        """Let the others start on their batches of an update."""
        self._weights.write()
        for rank, pipe in enumerate(self._pipes, 1):
            try:
                pipe.send(step)
            except OSError as error:
                raise self._died(rank) from error

    def join(self, own: list[Part]) -> list[Part]:
        """Wait for the others, add their gradients to those of the parent's batches, and return all parts.

        Raises:
            RuntimeError: one of them failed, or died.
        """
        parts = list(own)
        for rank, pipe in enumerate(self._pipes, 1):
            try:
                found: tuple[list[Part], list[bool]] | str = pipe.recv()
            except (EOFError, OSError) as error:
                raise self._died(rank) from error
            if isinstance(found, str):
                raise RuntimeError(f"process {rank} of the training failed:\n{found}")
            theirs, present = found
            self._gradients[rank - 1].add_to_gradients(theirs[0].weight / own[0].weight, present)
            parts += theirs
        return sorted(parts, key=lambda part: part.number)

    def _died(self, rank: int) -> RuntimeError:
        process = self._processes[rank - 1]
        process.join(PATIENCE)
        return RuntimeError(
            f"process {rank} of the training died (exit code {process.exitcode}); was there memory for it?"
        )

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the others wait, this process may use all threads."""
        one = get_num_threads()
        set_num_threads(self._all_threads)
        try:
            yield
        finally:
            set_num_threads(one)

    def close(self) -> None:
        """End the others."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send(None)  # processes that the program has begun since may hold this end open, too
            pipe.close()
        for process in self._processes:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
        set_num_threads(self._all_threads)


def check(model: Module, count: int) -> None:
    """Refuse what ``count`` processes cannot share.

    Raises:
        ValueError: a model on a GPU, or a system that cannot fork.
    """
    if count > 1 and not hasattr(os, "fork"):
        raise ValueError(f"processes={count}: this system cannot fork; use processes=1")
    away = sorted({str(p.device) for p in model.parameters() if p.device.type != "cpu"})
    if count > 1 and away:
        raise ValueError(f"processes={count} is for the CPU, and the model is on {', '.join(away)}")


class Shared:
    """Memory that a process shares with those it forks: room for one array for each parameter."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        sizes = [math.prod(p.shape) * p.array.dtype.itemsize for p in parameters]
        starts = np.cumsum([0, *(-(-size // 64) * 64 for size in sizes)]).tolist()
        memory = mmap.mmap(-1, max(1, starts[-1]))
        self._views = [
            np.frombuffer(memory, p.array.dtype, math.prod(p.shape), start).reshape(p.shape)
            for p, start in zip(parameters, starts, strict=False)
        ]

    def write(self) -> None:
        """Put the parameters' values there."""
        for view, p in zip(self._views, self._parameters, strict=True):
            view[...] = p.detach().numpy()

    def write_gradients(self) -> list[bool]:
        """Put the parameters' gradients there, take them from the parameters, and tell which have one."""
        present = [p.grad is not None for p in self._parameters]
        for view, p in zip(self._views, self._parameters, strict=True):
            if p.grad is not None:
                view[...] = p.grad.numpy()
            p.grad = None
        return present

    def read(self) -> None:
        """Take the parameters' values from there."""
        for view, p in zip(self._views, self._parameters, strict=True):
            p.detach().numpy()[...] = view

    def add_to_gradients(self, factor: float, present: list[bool]) -> None:
        """Add those that are there, times a factor, to the parameters' gradients."""
        for view, p, there in zip(self._views, self._parameters, present, strict=True):
            if not there:
                continue
            part = view * view.dtype.type(factor)
            if p.grad is None:
                p.grad = from_numpy(part)
            else:
                gradient = p.grad.numpy()
                gradient += part


def serve(
    share: Share,
    pipe: Connection,
    inherited: list[Connection],
    accumulate: int,
    model: Module,
    loss: Loss,
    stream: Stream,
    weights: Shared,
    gradients: Shared,
    threads: int,
) -> None:
    """What a process does until the parent sends None, or is gone."""
    for other in inherited:  # while one is open here, a pipe does not tell of its parent's death
        other.close()
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent hears of them, too, and ends its update
        signal.signal(number, signal.SIG_IGN)
    set_num_threads(threads)
    with suppress(EOFError, OSError):
        while (step := pipe.recv()) is not None:
            answer: tuple[list[Part], list[bool]] | str
            try:
                weights.read()
                taken = (stream.take() for _ in range(accumulate))
                parts = add_gradients(model, loss, taken, step, share)
                present = gradients.write_gradients()
                answer = [part._replace(loss=float(part.loss)) for part in parts], present
            except Exception:
                answer = traceback.format_exc()
            pipe.send(answer)
    with suppress(Exception):
        stream.close()  # ends its worker processes
    os._exit(0)  # nothing of the parent's is to be flushed or cleaned up here
