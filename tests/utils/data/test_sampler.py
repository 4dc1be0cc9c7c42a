"""Samplers give PyTorch's order from the same seed, several passes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad.utils import data
from tests.support.parity import torch

Make = Callable[[Any, Any], Any]
MAKERS: dict[str, Make] = {
    "sequential": lambda d, g: d.SequentialSampler(range(7)),
    "random": lambda d, g: d.RandomSampler(range(23), generator=g),
    "random, one": lambda d, g: d.RandomSampler(range(1), generator=g),
    "random, replacement": lambda d, g: d.RandomSampler(range(9), True, generator=g),
    "random, replacement, 70": lambda d, g: d.RandomSampler(range(9), True, 70, generator=g),
    "random, 5 of 9": lambda d, g: d.RandomSampler(range(9), num_samples=5, generator=g),
    "random, 30 of 9": lambda d, g: d.RandomSampler(range(9), num_samples=30, generator=g),
    "subset": lambda d, g: d.SubsetRandomSampler([3, 1, 4, 15, 9], generator=g),
    "weighted": lambda d, g: d.WeightedRandomSampler([0.1, 2.0, 0.5, 0.0], 20, generator=g),
    "weighted, one": lambda d, g: d.WeightedRandomSampler([0.1, 2.0, 0.5], 1, generator=g),
    "weighted, no replacement": lambda d, g: d.WeightedRandomSampler([0.1, 2, 5], 3, False, g),
    "batches": lambda d, g: d.BatchSampler(d.RandomSampler(range(10), generator=g), 4, False),
    "whole batches": lambda d, g: d.BatchSampler(d.RandomSampler(range(10), generator=g), 4, True),
    "batches of a list": lambda d, g: d.BatchSampler(["a", "b", "c"], 2, False),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("own", [False, True], ids=["default generator", "own generator"])
def test_same_seed_same_order(name: str, own: bool) -> None:
    def passes(library: Any) -> list[Any]:
        library.manual_seed(3)
        generator = library.Generator().manual_seed(5) if own else None
        sampler = MAKERS[name](library.utils.data, generator)
        found: list[Any] = [len(sampler)]
        for _ in range(3):
            found += [list(sampler), library.rand(1).item(), library.rand(1, generator=generator).item()]
        return found

    assert passes(minigrad) == passes(torch)


@pytest.mark.parametrize("name", ["random", "subset", "weighted"])
def test_nothing_is_drawn_before_the_first_number(name: str) -> None:
    sampler = MAKERS[name](data, None)
    iter(sampler)
    first = minigrad.rand(1).item()
    minigrad.manual_seed(0)
    assert minigrad.rand(1).item() == first


def test_a_random_sampler_sees_a_dataset_that_grows() -> None:
    dataset = [1, 2]
    sampler = data.RandomSampler(dataset)
    dataset.append(3)
    assert len(sampler) == 3 and sorted(sampler) == [0, 1, 2]


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: data.RandomSampler([]), ValueError, "num_samples should be a positive"),
    (lambda: data.RandomSampler([1], num_samples=0), ValueError, "num_samples=0"),
    (lambda: data.RandomSampler([1], num_samples=2.5), ValueError, "num_samples=2.5"),  # type: ignore[arg-type]
    (lambda: data.RandomSampler([1], 1), TypeError, "replacement=1"),  # type: ignore[arg-type]
    (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size=0"),
    (lambda: data.BatchSampler([1], True, False), ValueError, "batch_size=True"),
    (lambda: data.BatchSampler([1], 2, 1), ValueError, "drop_last=1"),  # type: ignore[arg-type]
    (lambda: data.WeightedRandomSampler([1.0], 0), ValueError, "num_samples=0"),
    (lambda: data.WeightedRandomSampler([1.0], 1, 3), ValueError, "replacement=3"),  # type: ignore[arg-type]
    (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, r"shape \(1, 1\)"),  # type: ignore[list-item]
    (lambda: list(data.WeightedRandomSampler([1.0], 2, False)), RuntimeError, "without replacement"),
    (lambda: iter(data.Sampler()), NotImplementedError, "__iter__"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG, ids=[w[2] for w in WRONG])
def test_wrong_arguments(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_sampler_of_an_earlier_pytorch() -> None:
    class Backwards(data.Sampler[int]):
        def __init__(self, data_source: list[int]) -> None:
            super().__init__(data_source)
            self.data_source = data_source

        def __iter__(self) -> Any:
            return iter(reversed(range(len(self.data_source))))

    assert list(Backwards([5, 6, 7])) == [2, 1, 0]


# Parts of a dataset for several processes ------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 2, 10, 23])
@pytest.mark.parametrize("replicas", [1, 3, 7])
@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"shuffle": False}, {"seed": 5}], ids=str)
def test_parts_are_pytorchs(size: int, replicas: int, options: dict[str, Any]) -> None:
    def parts(library: Any) -> list[Any]:
        found = []
        for rank in range(replicas):
            make = library.utils.data.distributed.DistributedSampler
            sampler = make(range(size), replicas, rank, **options)
            found.append(len(sampler))
            for epoch in range(2):
                sampler.set_epoch(epoch)
                found.append(list(sampler))
        return found

    assert parts(minigrad) == parts(torch)


def test_without_a_process_group_there_is_one_process() -> None:
    sampler = data.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and (sampler.num_replicas, sampler.rank) == (1, 0)
    with pytest.raises(ValueError, match="Invalid rank 2"):
        data.DistributedSampler(range(5), num_replicas=2, rank=2)
