"""Datasets: their examples, in PyTorch's order, and their errors."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tests.support.cases import raises
from tests.support.parity import torch


class Squares(Dataset[int]):
    """0, 1, 4, 9, ..."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index: int) -> int:
        return index**2

    def __len__(self) -> int:
        return self.size


class Many(Squares):
    """Squares that can also be fetched in batches, as negative numbers."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [-(i**2) for i in indices]


class Count(IterableDataset[int]):
    """0, 1, 2, ..."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.size))


class Sized(Count):
    """A stream that knows its length."""

    def __len__(self) -> int:
        return self.size


def test_a_dataset_says_what_is_missing() -> None:
    raises(NotImplementedError, "should implement __getitem__", lambda: Dataset[int]()[0])
    raises(TypeError, "has no len", lambda: len(Dataset[int]()))
    raises(TypeError, "abstract", IterableDataset[int])


def test_tensor_dataset() -> None:
    x, y = minigrad.arange(6).reshape(3, 2), minigrad.tensor([1.0, 2, 3])
    dataset = TensorDataset(x, y)
    assert len(dataset) == 3 and dataset.tensors == (x, y)
    assert [part.tolist() for part in dataset[1]] == [[2, 3], 2.0]
    assert [part.tolist() for part in dataset[1:]] == [[[2, 3], [4, 5]], [2.0, 3.0]]
    raises(AssertionError, "Size mismatch between tensors", lambda: TensorDataset(x, y[:2]))


def test_concat_dataset() -> None:
    both = Squares(3) + Squares(4)
    assert isinstance(both, ConcatDataset)
    assert [both[i] for i in range(len(both))] == [0, 1, 4, 0, 1, 4, 9]
    assert both[-1] == 9 and both[-7] == 0 and both.cumulative_sizes == [3, 7]
    empty_inside = ConcatDataset([Squares(0), Squares(2), Squares(0), Squares(1)])
    assert [empty_inside[i] for i in range(3)] == [0, 1, 0]
    raises(ValueError, "should not exceed dataset length", lambda: both[-8])
    raises(IndexError, None, lambda: both[7])
    raises(AssertionError, "empty", lambda: ConcatDataset([]))
    raises(AssertionError, "does not support IterableDataset", lambda: ConcatDataset([Squares(2), Count(2)]))


def test_chain_dataset() -> None:
    chain = Count(2) + Count(3)
    assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 0, 1, 2]
    assert len(ChainDataset([Sized(2), Sized(3)])) == 5
    raises(TypeError, "has no len", lambda: len(chain))
    raises(AssertionError, "only supports IterableDataset", lambda: list(ChainDataset([Squares(2)])))


def test_stack_dataset() -> None:
    assert StackDataset(Squares(3), [7, 8, 9])[2] == (4, 9)
    stack = StackDataset(a=Squares(3), b=[7, 8, 9])
    assert len(stack) == 3 and stack[1] == {"a": 1, "b": 8}
    assert StackDataset(Many(3), [7, 8, 9]).__getitems__([1, 2]) == [(-1, 8), (-4, 9)]
    assert StackDataset(a=Many(3)).__getitems__([2]) == [{"a": -4}]
    raises(ValueError, "At least one", StackDataset)
    raises(ValueError, "Size mismatch", lambda: StackDataset([1], [1, 2]))
    raises(ValueError, "not both", lambda: StackDataset([1], a=[1]))


def test_subset() -> None:
    part = Subset(Squares(9), [5, 3])
    assert len(part) == 2 and [part[0], part[1]] == [25, 9]
    assert part.__getitems__([1, 0]) == [9, 25]
    assert Subset(Many(9), [5, 3]).__getitems__([0]) == [-25]
    rows = Subset(TensorDataset(minigrad.arange(5)), [4, 2])
    assert rows[[0, 1]][0].tolist() == [4, 2]  # type: ignore[index]
    assert Subset(np.arange(5), [4])[0] == 4  # type: ignore[arg-type]


def parts(library: Any, lengths: list[float], own: bool) -> list[list[int]]:
    library.manual_seed(4)
    options = {"generator": library.Generator().manual_seed(5)} if own else {}
    return [list(part.indices) for part in library.utils.data.random_split(range(10), lengths, **options)]


def test_random_split_is_pytorchs() -> None:
    lengths: list[list[float]] = [[6, 4], [10], [0, 10], [0.5, 0.5], [0.33, 0.33, 0.34], [0.85, 0.15]]
    for case in product(lengths, (False, True)):
        assert parts(minigrad, *case) == parts(torch, *case), case


def test_random_split_refuses() -> None:
    raises(ValueError, "does not equal", lambda: random_split(Squares(5), [3, 3]))
    raises(ValueError, "index 0 is not between", lambda: random_split(Squares(5), [1.5, -0.5]))
    with pytest.warns(UserWarning, match="index 0 is 0"):
        assert [len(part) for part in random_split(Squares(5), [0.0, 1.0])] == [0, 5]
