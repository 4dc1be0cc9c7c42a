"""DataLoader: PyTorch's batches from the same seed, with and without workers; workers that fail, and shutdown."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info
from minigrad.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter
from tests.support.cases import cases, each, raises
from tests.support.parity import torch
from tests.support.ranks import begun, is_running, until

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="datasets of this file reach workers by fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # PyTorch's, with few CPUs
]


class Examples(Dataset[Any]):
    """``make(i)``, or i."""

    def __init__(self, size: int, make: Callable[[int], Any] = lambda i: i) -> None:
        self.size, self.make = size, make

    def __getitem__(self, index: int) -> Any:
        return self.make(index)

    def __len__(self) -> int:
        return self.size


class Stream(IterableDataset[int]):
    """0, 1, 2, ...; each worker has a different part if ``shared``. ``length`` is the result of len()."""

    def __init__(self, size: int, shared: bool = False, length: int | None = None) -> None:
        self.size, self.shared, self.length = size, shared, length

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info and self.shared else (0, 1)
        yield from range(first, self.size, step)

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("no length")
        return self.length


def plain(batch: Any) -> Any:
    """A batch of either library as Python values."""
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    """Check that no worker is left after each test."""
    yield
    if multiprocessing.active_children():
        gc.collect()
    assert not multiprocessing.active_children()


OPTIONS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "shuffled": lambda d, g: {"batch_size": 4, "shuffle": True},
    "in order": lambda d, g: {"batch_size": 4},
    "whole batches": lambda d, g: {"batch_size": 4, "shuffle": True, "drop_last": True},
    "single": lambda d, g: {"batch_size": None, "shuffle": True},
    "sampler": lambda d, g: {"batch_size": 3, "sampler": d.RandomSampler(range(13), True, 40, generator=g)},
    "single, sampler": lambda d, g: {"batch_size": None, "sampler": d.SubsetRandomSampler([3, 4, 5], g)},
    "weighted": lambda d, g: {"batch_size": 2, "sampler": d.WeightedRandomSampler([1, 2, 0.5], 7, True, g)},
    "batch sampler": lambda d, g: {"batch_sampler": d.BatchSampler(d.RandomSampler(range(13)), 5, False)},
    "list of batches": lambda d, g: {"batch_sampler": [[1, 2], [3], [0, 0, 12]]},
}


def batches_of(library: Any, name: str, own: bool, workers: str) -> list[Any]:
    """Batches over epochs, one of which ends early, with other draws in between and in workers."""

    def example(i: int) -> Any:
        return i, random.random(), np.random.rand(), library.rand(1)

    library.manual_seed(7)
    random.seed(1)
    np.random.seed(1)
    generator = library.Generator().manual_seed(9) if own else None
    d = library.utils.data
    options = {"num_workers": int(workers[0]), "persistent_workers": "stay" in workers, "generator": generator}
    loader = d.DataLoader(Examples(13, example), **options, **OPTIONS[name](d, generator))
    results: list[Any] = [len(loader)]
    for epoch in range(3):
        for i, batch in enumerate(loader):
            results += [plain(batch), library.rand(1).item()]
            if own and i == 1:
                results.append(library.rand(1, generator=generator).item())
            if epoch == 1 and i == 2:
                break
        results.append(library.rand(1).item())
    return results


WAYS = [
    *((name, own, "0") for name in OPTIONS for own in (False, True)),
    ("shuffled", True, "2"),
    ("single, sampler", False, "2"),
    ("batch sampler", False, "2 that stay"),
    ("sampler", True, "2 that stay"),
]


def test_same_seed_same_batches() -> None:
    for way in WAYS:
        assert batches_of(minigrad, *way) == batches_of(torch, *way), way


STREAMS: list[tuple[int, bool, dict[str, Any]]] = [
    (0, False, {"batch_size": 3}),
    (0, False, {"batch_size": None}),
    (2, True, {"batch_size": 3}),
    (2, False, {"batch_size": 3, "drop_last": True}),
    (2, True, {"batch_size": None}),
    (3, True, {"batch_size": 3, "drop_last": True}),
]


@cases("workers, shared, batch", STREAMS)
def test_streams_are_pytorchs(workers: int, shared: bool, batch: dict[str, Any]) -> None:
    def batches(library: Any) -> list[Any]:
        info = library.utils.data.get_worker_info

        class OneStream(library.utils.data.IterableDataset):  # type: ignore[misc]
            def __iter__(self) -> Iterator[int]:
                worker = info()
                return iter(range(*((worker.id, 20, worker.num_workers) if worker and shared else (20,))))

        loader = library.utils.data.DataLoader(OneStream(), num_workers=workers, **batch)
        return [plain(b) for _ in range(2) for b in loader]

    ours, theirs = batches(minigrad), batches(torch)
    if workers == 3:  # with three workers PyTorch's order depends on which ends first
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    assert ours == theirs


def test_attributes() -> None:
    loader = DataLoader(range(5), batch_size=2, shuffle=True, drop_last=True)
    assert len(loader) == 2 and loader.batch_size == 2 and loader.drop_last and loader.num_workers == 0
    assert type(loader.sampler).__name__ == "RandomSampler" and loader.prefetch_factor is None
    assert type(loader.batch_sampler).__name__ == "BatchSampler" and len(iter(loader)) == 2
    loader.num_workers = 1  # it may still change
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, getattr(loader, name))
    raises(NotImplementedError, "cannot be pickled", lambda: iter(DataLoader(range(5))).__getstate__())


class Many(Examples):
    """Examples that can be fetched in batches, as negative numbers."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [-i for i in indices]


class Countdown(IterableDataset[int]):
    """4, 3, 2, 1, 0; it is its own iterator."""

    def __iter__(self) -> Iterator[int]:
        self.left = 5
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


class Loader:
    """Another kind of loader, such as fastai's: it has PyTorch's attributes."""

    _dataset_kind, _auto_collation, drop_last, generator = _DatasetKind.Iterable, False, False, None
    _IterableDataset_len_called, num_workers, dataset = None, 0, ["a", "b"]
    _index_sampler = range(5)

    @staticmethod
    def collate_fn(example: str) -> str:
        return example * 2


def test_the_sources_of_batches() -> None:
    x = minigrad.arange(6.0).reshape(3, 2)
    pairs = [[[[0, 1], [2, 3]], [0, 1]], [[[4, 5]], [2]]]
    assert plain(list(DataLoader(TensorDataset(x, minigrad.arange(3)), batch_size=2))) == pairs
    assert list(DataLoader(range(5), batch_size=2, collate_fn=sum)) == [1, 5, 4]
    assert plain(list(DataLoader(Many(3), batch_size=2))) == [[0, -1], [-2]]
    assert plain(list(DataLoader(Many(2), batch_size=None))) == [0, 1]
    loader: Any = Loader()
    assert list(_SingleProcessDataLoaderIter(loader)) == ["aa", "bb"]
    for workers in (0, 1):  # a dataset that is its own iterator is started once
        assert plain(list(DataLoader(Countdown(), batch_size=2, num_workers=workers))) == [[4, 3], [2, 1], [0]]


def test_lengths_of_streams() -> None:
    assert len(DataLoader(Stream(5, length=5), batch_size=2)) == 3
    assert len(DataLoader(Stream(5, length=5), batch_size=2, drop_last=True)) == 2
    assert len(DataLoader(Stream(5, length=5), batch_size=None)) == 5
    raises(TypeError, "no length", lambda: len(DataLoader(Stream(5))))
    loader = DataLoader(Stream(3, length=2))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reports 2 examples, or 2 batches, but 3"):
        list(loader)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "needs num_workers > 0"),
    ({"num_workers": 1, "prefetch_factor": 0}, ValueError, "at least 1"),
    ({"persistent_workers": True}, ValueError, "needs num_workers > 0"),
    ({"sampler": range(3), "shuffle": True}, ValueError, "mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_sampler": [[1]], "shuffle": True}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, ValueError, "mutually exclusive with drop_last"),
    ({"batch_size": 0}, ValueError, "batch_size=0"),
    ({"batch_size": 2.5}, ValueError, "batch_size=2.5"),
    ({"multiprocessing_context": "fork"}, ValueError, "can only be used with"),
    ({"num_workers": 1, "multiprocessing_context": "spoon"}, ValueError, "spoon"),
    ({"dataset": Stream(3), "shuffle": True}, ValueError, "unspecified shuffle option"),
    ({"dataset": Stream(3), "sampler": [1]}, ValueError, "unspecified sampler option"),
    ({"dataset": Stream(3), "batch_sampler": [[1]]}, ValueError, "unspecified batch_sampler option"),
]


def test_arguments_that_exclude_each_other() -> None:
    each(WRONG, lambda row: raises(row[1], row[2], lambda: DataLoader(**{"dataset": range(3), **row[0]})))


def test_worker_info_and_init_fn() -> None:
    def info_of(_: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return info.id, info.num_workers, info.seed, len(info.dataset), minigrad.get_num_threads()

    loader = DataLoader(Examples(4, info_of), num_workers=2, batch_size=None)
    iterator = iter(loader)
    rows = list(iterator)
    base = iterator._base_seed
    assert rows == [[i, 2, base + i, 4, 1] for i in (0, 1, 0, 1)]
    assert get_worker_info() is None

    def init(worker: int) -> None:
        get_worker_info().dataset.make = lambda i: (worker, i)

    dataset = Examples(4, lambda i: (None, i))
    loader = DataLoader(dataset, num_workers=2, batch_size=None, worker_init_fn=init)
    assert list(loader) == [[0, 0], [1, 1], [0, 2], [1, 3]]
    assert dataset[0] == (None, 0)  # a worker changes its own copy


def test_batches_larger_than_a_pipe_come_back_whole() -> None:
    def example(i: int) -> Any:
        return minigrad.full((300_000,), i), np.arange(3) + i

    loader = DataLoader(Examples(6, example), num_workers=2, batch_size=2, prefetch_factor=1)
    for i, (large, small) in enumerate(loader):
        assert large.shape == (2, 300_000) and large.dtype is minigrad.int64
        assert large[:, 0].tolist() == large[:, -1].tolist() == [2 * i, 2 * i + 1]
        large.add_(1)  # it may be written to
        assert small.tolist() == [[2 * i, 2 * i + 1, 2 * i + 2], [2 * i + 1, 2 * i + 2, 2 * i + 3]]


@cases("in_order", [True, False])
def test_a_slow_worker(in_order: bool) -> None:
    """The first example waits until another has arrived or, in order, until the other worker is further on."""
    event = multiprocessing.Event()

    def example(i: int) -> int:
        if in_order and i == 3:
            event.set()
        assert i or event.wait(60)
        return i

    iterator = iter(DataLoader(Examples(6, example), num_workers=2, batch_size=None, in_order=in_order))
    first = next(iterator)
    event.set()
    rest = list(iterator)
    assert first == (0 if in_order else 1) and sorted([first, *rest]) == [0, 1, 2, 3, 4, 5]
    assert not in_order or rest == sorted(rest)


@cases("error", [KeyError, StopAsyncIteration])
def test_an_exception_in_a_worker(error: type[Exception]) -> None:
    def example(i: int) -> int:
        if i == 2:
            raise error("the third is missing")
        return i

    loader = iter(DataLoader(Examples(4, example), num_workers=2, batch_size=None))
    assert [next(loader), next(loader)] == [0, 1]
    with pytest.raises(error) as info:
        next(loader)
    text = str(info.value)
    assert f"Caught {error.__name__} in DataLoader worker process 0." in text
    assert "\nOriginal Traceback" in text and "in example" in text and "the third is missing" in text
    assert next(loader) == 3  # the others continue


class TwoError(Exception):
    """A class that cannot be rebuilt from only the error's text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def fail(error: BaseException) -> Any:
    raise error


def killed(number: int | str, pid: Any = r"\d+") -> str:
    """The pattern of the message about a worker that SIGKILL has killed."""
    return rf"^DataLoader worker \(pid\(s\) {pid}\) .*worker {number} \(process {pid}\) was killed by SIGKILL$"


def end_by_kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(3600)


def ending(index: int, end: Callable[[], Any]) -> Examples:
    """Ten examples, one of which ends its worker."""
    return Examples(10, lambda i: end() if i == index else i)


def no_file(worker: int) -> None:
    raise OSError(f"no file for {worker}")


ENDED = r"\(pid\(s\) \d+\) .*worker 1 \(process \d+\) ended with exit code 3$"
FAILURES: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (Examples(1, lambda i: fail(TwoError(1, 2))), {}, RuntimeError, "Caught TwoError in DataLoader worker process 0"),
    (Examples(1, lambda i: lambda: i), {"batch_size": None}, Exception, r"(?s)in DataLoader worker process 0.*pickle"),
    (Examples(4), {"worker_init_fn": no_file}, OSError, "no file for 0"),
    (Stream(4), {"worker_init_fn": no_file}, OSError, "no file for 0"),
    (Examples(8), {"worker_init_fn": lambda number: number and end_by_kill()}, RuntimeError, killed(1)),
    (ending(1, end_by_kill), {}, RuntimeError, killed(1)),  # at its first example
    (ending(3, end_by_kill), {}, RuntimeError, killed(1)),  # while others wait for it
    (ending(9, end_by_kill), {"in_order": False}, RuntimeError, killed("[01]")),  # at the end of the pass
    (ending(3, lambda: sys.exit(3)), {}, RuntimeError, ENDED),
    (ending(3, lambda: os._exit(3)), {}, RuntimeError, ENDED),
    (Examples(2, lambda i: time.sleep(3600)), {"timeout": 0.2}, RuntimeError, "timed out after 0.2 seconds"),
]


@cases("dataset, options, error, text", FAILURES)
def test_a_worker_that_fails_is_named(dataset: Any, options: dict[str, Any], error: Any, text: str) -> None:
    loader: Any = iter(DataLoader(dataset, num_workers=2, **options))
    raises(error, text, lambda: list(loader))
    for worker in loader._workers:
        worker.process.kill()


def test_a_worker_that_is_killed_within_a_message_or_between_two_passes() -> None:
    large = Examples(4, lambda i: np.zeros(1_000_000))
    loader = DataLoader(large, num_workers=1, prefetch_factor=1, persistent_workers=True)
    iterator: Any = iter(loader)
    worker = iterator._workers[0]
    assert worker.connection.poll(60)  # more than the pipe holds follows
    worker.process.kill()
    for _ in range(2):
        raises(RuntimeError, killed(0, worker.process.pid), lambda: next(iterator))
    assert len(list(loader)) == 4  # by new workers
    process = loader._iterator._workers[0].process  # type: ignore[union-attr]
    process.kill()
    process.join()
    raises(RuntimeError, killed(0, process.pid), lambda: list(loader))
    assert len(list(loader)) == len(list(loader)) == 4


def test_persistent_workers_are_the_same_processes() -> None:
    loader = DataLoader(Examples(4, lambda i: os.getpid()), num_workers=2, batch_size=None, persistent_workers=True)
    first = list(loader)
    assert len(set(first)) == 2 and os.getpid() not in first
    next(iter(loader))  # stopped early
    assert list(loader) == first
    stream = DataLoader(Stream(5, shared=True), num_workers=2, batch_size=None, persistent_workers=True)
    assert [list(stream), list(stream)] == [[0, 1, 2, 3, 4]] * 2


def test_stopping_early_ends_the_workers_without_killing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[DataLoader.__module__], "_PATIENCE", 60)
    loader = DataLoader(Examples(100, lambda i: np.zeros(100_000)), num_workers=2)
    for _ in loader:
        workers = multiprocessing.active_children()
        assert len(workers) == 2
        break
    gc.collect()
    assert [worker.exitcode for worker in workers] == [0, 0]


SCRIPT = """
    import os, sys, time
    from minigrad.utils.data import DataLoader, Dataset

    class Slow(Dataset):
        def __len__(self):
            return 1000
        def __getitem__(self, i):
            time.sleep(SECONDS)
            return os.getpid()

    if __name__ == "__main__":
        loader = DataLoader(Slow(), num_workers=2, batch_size=1, multiprocessing_context=METHOD)
        for pid in loader:
            print(int(pid), flush=True)
            END
"""


def started(tmp_path: Path, seconds: str, method: str, end: str) -> subprocess.Popen[str]:
    """A program with two workers, which prints the process of each batch's worker."""
    program = tmp_path / "program.py"
    text = SCRIPT.replace("SECONDS", seconds).replace("METHOD", repr(method)).replace("END", end)
    program.write_text(textwrap.dedent(text), encoding="utf-8")
    return begun([sys.executable, program], tmp_path)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, *(pytest.param(s, marks=pytest.mark.nightly) for s in (signal.SIGINT, signal.SIGTERM))]
)
def test_workers_end_with_the_program(how: signal.Signals, tmp_path: Path) -> None:
    with started(tmp_path, "0.01", "fork", "") as process:
        assert process.stdout is not None and process.stderr is not None
        pids = {int(process.stdout.readline()) for _ in range(4)}
        assert len(pids) == 2
        if how is signal.SIGINT:
            os.killpg(process.pid, how)  # as Ctrl-C in a terminal: workers also get it
        else:
            process.send_signal(how)
        process.wait(60)
        errors = process.stderr.read()
    until(lambda: not any(map(is_running, pids)), "the end of the workers")
    assert errors.count("Traceback") == (1 if how is signal.SIGINT else 0), errors


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.nightly)])
def test_ways_to_start_a_process(method: str, tmp_path: Path) -> None:
    with started(tmp_path, "0", method, "break") as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and errors == "" and int(out) != process.pid
