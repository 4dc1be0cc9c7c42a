"""Processes that share the batches of an update, each with its own batches and its own cores.

Threads wait for each other after every operation. If operations are small, processes that meet once per update
are faster (docs/performance.md has figures). Of P processes, the parent takes the batches 0, P, 2P, ... of an
update, process r the batches r, r + P, ...; the parent adds up all gradients, always in the same order, and
changes the weights. Dropout depends on the seed, the step and the batch's number alone: a run can be killed and
resumed like any other.

Weights and gradients go through shared memory. Everything else is separate: buffers (running statistics) are
the parent's alone. A parameter that no batch of an update uses has no gradient, as with one process.
"""

from __future__ import annotations

import math
import mmap
import multiprocessing
import os
import signal
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
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

PATIENCE = 5.0  # seconds for a process to end


class Replicas:
    """``count`` processes (P), this one among them, which train from the position (``epoch``, ``batch``) on. An update
    has ``accumulate`` batches, whose random numbers depend on ``seed``; the rest is as in ``Trainer``. Raises OSError:
    no room for a process."""

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
        self.share = Share(0, count, seed)
        self._model, self._loss, self._stream, self._accumulate = model, loss, Stream(batches, epoch, batch), accumulate
        parameters = [p for p in model.parameters() if p.requires_grad]
        self._weights, self._gradients = Shared(parameters), [Shared(parameters) for _ in range(1, count)]
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        try:
            with self._fewer_threads():
                for rank in range(1, count):
                    self._start(rank)
        except BaseException:
            self.close()
            raise

    def _start(self, rank: int) -> None:
        context: Any = multiprocessing.get_context("fork")  # Windows has none, which ``check`` says
        ours, theirs = context.Pipe()
        self._pipes.append(ours)
        # not a daemon: a daemon could have no worker processes
        process = context.Process(target=self._serve, args=(rank, theirs))
        try:
            with warnings.catch_warnings():  # Python 3.12 warns of any fork beside threads
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        finally:
            theirs.close()
        self._processes.append(process)

    def add_gradients(self, batches: Iterable[Any], step: int) -> list[Part]:
        """Add up the gradients of all batches of an update. Raises RuntimeError: a process failed, or died."""
        self._weights.write()
        for rank, pipe in enumerate(self._pipes, 1):
            try:
                pipe.send(step)
            except OSError as error:
                raise self._died(rank) from error
        with self._fewer_threads():
            parts = add_gradients(self._model, self._loss, batches, step, self.share)
        first = parts[0].weight
        for rank, pipe in enumerate(self._pipes, 1):
            try:
                answer: tuple[list[Part], list[bool]] | str = pipe.recv()
            except (EOFError, OSError) as error:
                raise self._died(rank) from error
            if isinstance(answer, str):
                raise RuntimeError(f"process {rank} of the training failed:\n{answer}")
            theirs, present = answer
            self._gradients[rank - 1].add_to_gradients(theirs[0].weight / first, present)
            parts += theirs
        return sorted(parts, key=lambda part: part.number)

    def _died(self, rank: int) -> RuntimeError:
        process = self._processes[rank - 1]
        process.join(PATIENCE)
        return RuntimeError(
            f"process {rank} of the training died (exit code {process.exitcode}); was there memory for it?"
        )

    @contextmanager
    def _fewer_threads(self) -> Iterator[None]:
        threads = get_num_threads()
        set_num_threads(max(1, threads // self.share.count))
        try:
            yield
        finally:
            set_num_threads(threads)

    def close(self) -> None:
        """End the other processes."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send(None)  # a later process of the program may hold this end open, too
            pipe.close()
        for process in self._processes:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()

    def _serve(self, rank: int, pipe: Connection) -> None:
        """The main function of another process, until the parent sends None, or dies."""
        for other in self._pipes:  # a copy of the parent's end would keep the pipe open after the parent's death
            other.close()
        for number in (signal.SIGINT, signal.SIGTERM):  # the parent handles them, and finishes its update
            signal.signal(number, signal.SIG_IGN)
        set_num_threads(get_num_threads())  # this process begins without threads
        share, gradients = replace(self.share, rank=rank), self._gradients[rank - 1]
        with suppress(EOFError, OSError):
            while (step := pipe.recv()) is not None:
                answer: tuple[list[Part], list[bool]] | str
                try:
                    self._weights.read()
                    taken = (self._stream.take() for _ in range(self._accumulate))
                    parts = add_gradients(self._model, self._loss, taken, step, share)
                    present = gradients.write_gradients()
                    answer = [part._replace(loss=float(part.loss)) for part in parts], present
                except Exception:
                    answer = traceback.format_exc()
                pipe.send(answer)
        with suppress(Exception):
            self._stream.close()  # ends its worker processes
        os._exit(0)  # without flushing or cleaning up what is the parent's


def check(model: Module, count: int) -> None:
    """Raise ValueError for a model on a GPU, or a system that cannot fork, if ``count`` is above 1."""
    if count > 1 and not hasattr(os, "fork"):
        raise ValueError(f"processes={count}: this system cannot fork; use processes=1")
    away = sorted({str(p.device) for p in model.parameters() if p.device.type != "cpu"})
    if count > 1 and away:
        raise ValueError(f"processes={count} is for the CPU, and the model is on {', '.join(away)}")


class Shared:
    """Memory that a process shares with those that it forks: one array for each parameter."""

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
        """Copy the parameters to the memory."""
        for view, p in zip(self._views, self._parameters, strict=True):
            view[...] = p.array

    def write_gradients(self) -> list[bool]:
        """Move the parameters' gradients to the memory. Returns which parameters had one."""
        present = [p.grad is not None for p in self._parameters]
        for view, p in zip(self._views, self._parameters, strict=True):
            if p.grad is not None:
                view[...] = p.grad.array
            p.grad = None
        return present

    def read(self) -> None:
        """Copy the memory to the parameters."""
        for view, p in zip(self._views, self._parameters, strict=True):
            p.array[...] = view

    def add_to_gradients(self, factor: float, present: list[bool]) -> None:
        """Add the gradients that are ``present``, times a factor, to those of the parameters."""
        for view, p, is_present in zip(self._views, self._parameters, present, strict=True):
            if not is_present:
                continue
            part = view * view.dtype.type(factor)
            if p.grad is None:
                p.grad = from_numpy(part)
            else:
                gradient = p.grad.array
                gradient += part
