"""Samplers return PyTorch's order from the same seed, over several passes."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import minigrad
from minigrad.utils import data
from tests.support.cases import each, raises
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


def passes(library: Any, name: str, own: bool) -> list[Any]:
    library.manual_seed(3)
    generator = library.Generator().manual_seed(5) if own else None
    sampler = MAKERS[name](library.utils.data, generator)
    results: list[Any] = [len(sampler)]
    for _ in range(3):
        results += [list(sampler), library.rand(1).item(), library.rand(1, generator=generator).item()]
    return results


def test_same_seed_same_order() -> None:
    for name in MAKERS:
        for own in (False, True):
            assert passes(minigrad, name, own) == passes(torch, name, own), (name, own)


def test_nothing_is_drawn_before_the_first_number() -> None:
    for name in ("random", "subset", "weighted"):
        minigrad.manual_seed(0)
        iter(MAKERS[name](data, None))
        first = minigrad.rand(1).item()
        minigrad.manual_seed(0)
        assert minigrad.rand(1).item() == first, name


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


def test_wrong_arguments() -> None:
    each(WRONG, lambda row: raises(row[1], row[2], row[0]))


def test_a_sampler_of_an_earlier_pytorch() -> None:
    class Backwards(data.Sampler[int]):
        def __init__(self, data_source: list[int]) -> None:
            super().__init__(data_source)
            self.data_source = data_source

        def __iter__(self) -> Any:
            return iter(reversed(range(len(self.data_source))))

    assert list(Backwards([5, 6, 7])) == [2, 1, 0]


def parts(library: Any, size: int, replicas: int, options: dict[str, Any]) -> list[Any]:
    results: list[Any] = []
    for rank in range(replicas):
        sampler = library.utils.data.distributed.DistributedSampler(range(size), replicas, rank, **options)
        results.append(len(sampler))
        for epoch in range(2):
            sampler.set_epoch(epoch)
            results.append(list(sampler))
    return results


def test_parts_are_pytorchs() -> None:
    """The parts of a dataset that several processes get."""
    ways: list[dict[str, Any]] = [{}, {"drop_last": True}, {"shuffle": False}, {"seed": 5}]
    for case in product((0, 2, 10, 23), (1, 3, 7), ways):
        assert parts(minigrad, *case) == parts(torch, *case), case


def test_without_a_process_group_there_is_one_process() -> None:
    sampler = data.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and (sampler.num_replicas, sampler.rank) == (1, 0)
    with pytest.raises(ValueError, match="Invalid rank 2"):
        data.DistributedSampler(range(5), num_replicas=2, rank=2)
