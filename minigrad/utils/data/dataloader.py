"""DataLoader: fetches batches of a dataset in this process or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice, repeat
from multiprocessing.connection import wait
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ...autograd.observer import span
from ...autograd.tracebacks import border_methods, warn
from ...backend.random import Generator, default_generator
from ._utils.collate import default_collate, default_convert
from ._utils.worker import Ended, Failure, Worker, WorkerInfo, get_worker_info, task_loop
from .dataset import Dataset, IterableDataset, examples_of
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, batch_count

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

if TYPE_CHECKING:  # before Python 3.13, only type checkers know TypeVar defaults
    from typing_extensions import TypeVar as DefaultTypeVar

    Batch_co = DefaultTypeVar("Batch_co", covariant=True, default=Any)
else:
    Batch_co = TypeVar("Batch_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]  # PyTorch's name
T_co = TypeVar("T_co", covariant=True)
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}
_PATIENCE = 5.0  # seconds that a worker has to finish before being killed


class Examples(Protocol[T_co]):
    """Anything whose examples can be indexed, such as a list."""

    def __getitem__(self, index: int, /) -> T_co: ...


class _DatasetKind:
    """Whether examples are fetched by index or by iteration, with PyTorch's values."""

    Map, Iterable = 0, 1


class DataLoader(Generic[T_co, Batch_co]):
    """Batches of a dataset. Each ``for`` loop is a new pass. The same seed yields the same batches as in PyTorch.

    Args:
        dataset: a Dataset, anything with ``__getitem__`` and ``__len__``, or an IterableDataset.
        batch_size: examples per batch; None yields single examples. shuffle: use a new random order in each pass.
        sampler: yields the example indices, in place of ``shuffle``.
        batch_sampler: yields lists of indices. Cannot be combined with batch_size, shuffle, sampler or drop_last.
        num_workers: the number of worker processes. If 0, this process fetches the batches.
        collate_fn: makes a batch from a list of examples. The default is ``default_collate``, or ``default_convert``
            for single examples.
        pin_memory, pin_memory_device: ignored, as minigrad does not use pinned memory.
        drop_last: omit the last batch if shorter. timeout: seconds to wait for a worker's batch; 0 means no limit.
        worker_init_fn: called in each worker with its number when it starts.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context. By default, the method set by
            ``multiprocessing.set_start_method``, or if none is set, fork on Linux.
        generator: draws the order and the worker seeds; None means the default generator.
        prefetch_factor: how many batches each worker fetches in advance; None means 2.
        persistent_workers: keep workers for the next pass. in_order: yield batches in sampler order, not arrival order.

    For type checkers, the class is ``DataLoader[Example, Batch]``, where ``collate_fn`` returns a Batch. In
    ``DataLoader[Example]``, the batch type is unspecified.

    Raises ValueError for mutually exclusive arguments. While iterating, raises RuntimeError if a worker dies or
    exceeds ``timeout``, and re-raises dataset errors from workers, with the traceback in the message.

    >>> data = mg.utils.data.TensorDataset(mg.arange(5))
    >>> [batch.tolist() for (batch,) in mg.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    dataset: Any  # Any, so that type checkers accept len(dataset)
    _iterator: _BaseDataLoaderIter | None = None
    _initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | Examples[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Batch_co] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        if multiprocessing_context is not None and not num_workers:
            raise ValueError(f"multiprocessing_context can only be used with num_workers > 0, not {num_workers}")
        context: Any = multiprocessing_context
        self.multiprocessing_context = multiprocessing.get_context(context) if isinstance(context, str) else context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option: {value}")
            sampler = repeat(None)  # the dataset itself ends the pass
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                others = "batch_size, shuffle, sampler, and drop_last"
                raise ValueError(f"batch_sampler option is mutually exclusive with {others}")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = RandomSampler(self.dataset, generator=generator) if shuffle else SequentialSampler(self.dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._auto_collation = batch_sampler is not None
        self._index_sampler: Any = batch_sampler if self._auto_collation else sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._IterableDataset_len_called: int | None = None  # the length that an IterableDataset reported
        self._initialized = True

    def __class_getitem__(cls, types: Any) -> GenericAlias:
        return GenericAlias(cls, types)  # with or without the batch type

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Batch_co]:
        kind = _MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter
        if not self.persistent_workers:
            return kind(self)
        if self._iterator is None:
            self._iterator = kind(self)
        else:
            self._iterator._reset()
        return self._iterator

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the dataset has no length."""
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        size = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return size
        return batch_count(size, self.batch_size, self.drop_last)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch_factor is not None and not num_workers:
        raise ValueError("prefetch_factor needs num_workers > 0: without workers nothing is prefetched")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"prefetch_factor should be at least 1, not {prefetch_factor}")
    if persistent_workers and not num_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _fetcher(
    iterable: bool, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool, dataset: Any
) -> Callable[[Any], Any]:
    """A function that maps an index to an example or, if ``batched``, a list of indices to a batch. For an iterable, it
    returns as many of the next examples as there are indices, and raises StopIteration at the end."""
    if not iterable:
        return lambda index: collate_fn(examples_of(dataset, index) if batched else dataset[index])
    # not islice, which calls ``iter`` and so would restart a dataset that is its own iterator
    examples = (example for example in dataset)

    def fetch(index: Any) -> Any:
        if not batched:
            return collate_fn(next(examples))
        batch = list(islice(examples, len(index)))
        if not batch or (drop_last and len(batch) < len(index)):
            raise StopIteration
        return collate_fn(batch)

    return fetch


class _BaseDataLoaderIter:
    """One pass over the batches. The worker seed is drawn first, and the seed of the order with the first index."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self._index_sampler = loader, loader._index_sampler
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        how = self._iterable, loader._auto_collation, loader.collate_fn, loader.drop_last
        self._fetcher = partial(_fetcher, *how)
        self._reset()
        self._base_seed = (loader.generator or default_generator).random64()

    def _reset(self) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        with span(f"{type(self).__name__}.__next__", "data", self):
            data = self._next_data()
            self._num_yielded += 1
        loader, length = self._loader, self._loader._IterableDataset_len_called
        if length is not None and self._num_yielded > len(loader):  # for example, when each worker yields everything
            hint = " Each worker iterates over its own copy: use get_worker_info() to yield a different part in each."
            warn(
                f"IterableDataset {loader.dataset!r} reports {length} examples, or {len(loader)} "
                f"batches, but {self._num_yielded} batches have been fetched.{hint if loader.num_workers else ''}"
            )
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


border_methods(DataLoader, "__init__", "__iter__")
border_methods(_BaseDataLoaderIter, "__next__")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._fetch = self._fetcher(loader.dataset)

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends each worker some indices in advance, and more for each batch that it returns."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._epoch = -1
        self._workers: list[Worker] = []
        self._turns: deque[Worker] = deque()  # the worker of each open task, in task order
        super().__init__(loader)
        context = loader.multiprocessing_context
        if context is None:  # unless set otherwise, fork on Linux, which is fast and supports any dataset
            keeps_default = sys.platform != "linux" or multiprocessing.get_start_method(allow_none=True)
            context = multiprocessing.get_context(None if keeps_default else "fork")
        self._stop = weakref.finalize(self, _stop, self._workers, os.getpid())  # runs at exit too
        for i in range(loader.num_workers):
            info = WorkerInfo(i, loader.num_workers, self._base_seed + i, loader.dataset)
            loop = partial(task_loop, info, self._base_seed, self._fetcher, self._iterable, loader.worker_init_fn)
            self._workers.append(Worker(context, loop, self._workers))
        self._prefetch()

    def _reset(self) -> None:
        super()._reset()
        self._epoch += 1  # discards answers from an unfinished pass
        self._turns.clear()
        self._prefetch()

    def _prefetch(self) -> None:
        for _ in range(self._loader.prefetch_factor or 0):
            for worker in self._workers:
                self._send_index(worker)

    def _send_index(self, worker: Worker) -> None:
        with suppress(StopIteration):
            worker.send((self._epoch, next(self._sampler_iter)))
            self._turns.append(worker)

    def _next_data(self) -> Any:
        while self._turns:
            worker, answer = self._receive()
            self._turns.remove(worker)
            if isinstance(answer, Ended):
                continue
            self._send_index(worker)
            if isinstance(answer, Failure):
                answer.reraise()
            return answer
        if not self._loader.persistent_workers:
            self._stop()
        raise StopIteration

    def _receive(self) -> tuple[Worker, Any]:
        """The next answer of this pass, from the next worker in turn, or from any worker that is ready."""
        due = [self._turns[0]] if self._loader.in_order else list(dict.fromkeys(self._turns))
        handles: dict[Any, Worker] = {worker.connection: worker for worker in due}  # first, as answers precede deaths
        handles |= {worker.process.sentinel: worker for worker in self._workers}
        deadline = time.monotonic() + self._loader.timeout if self._loader.timeout else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = set(wait(list(handles), left))
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds")
            handle, worker = next(item for item in handles.items() if item[0] in ready)
            if handle is not worker.connection:
                raise self._died(worker)
            try:
                message = worker.connection.recv_bytes()
            except (EOFError, OSError):  # OSError: in the middle of a message
                raise self._died(worker) from None
            epoch, answer = pickle.loads(message)
            if epoch == self._epoch:
                return worker, answer

    def _died(self, worker: Worker) -> RuntimeError:
        """The error for a dead worker. A loader with persistent workers starts new ones in its next pass."""
        if self._loader._iterator is self:
            self._loader._iterator = None
        worker.process.join(1)
        code, pid = worker.process.exitcode, worker.process.pid
        if code is None:
            how, words = "its pipe is closed", "has closed its pipe"
        elif code < 0:
            names = {each.value: each.name for each in signal.Signals}  # not all numbers have names
            how, words = f"killed by signal {-code}", f"was killed by {names.get(-code, f'signal {-code}')}"
        else:
            how, words = f"exit code {code}", f"ended with exit code {code}"
        worker_text = f"worker {worker.number} (process {pid}) {words}"
        return RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly ({how}): {worker_text}")


def _stop(workers: list[Worker], owner: int) -> None:
    """End workers by closing their pipes, which idle workers notice immediately. Kill slow workers."""
    if os.getpid() != owner:  # a forked child only drops its copy
        return
    for worker in workers:
        worker.send(None)
        worker.connection.close()
    deadline = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        worker.process.kill()
        worker.process.join()
    workers.clear()
