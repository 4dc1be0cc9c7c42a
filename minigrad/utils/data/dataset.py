"""Datasets, which return examples by index (Dataset) or yield one after another (IterableDataset)."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ...autograd.tracebacks import border_functions, warn
from ...backend.random import Generator, default_generator
from ...tensor import Tensor

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset"]
__all__ += ["random_split"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A dataset that returns examples by index. Subclasses define ``__getitem__`` and, for samplers, ``__len__``.

    A dataset that is faster at fetching several examples at once may define ``__getitems__(list of indices)``.

    >>> class Squares(mg.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> [batch.tolist() for batch in mg.utils.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A dataset with only ``__iter__``. Each worker's copy can use ``get_worker_info()`` to yield only its part."""

    @abstractmethod
    def __iter__(self) -> Iterator[T_co]: ...

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors whose i-th rows form example i. Raises AssertionError unless all have the same number of rows.

    >>> mg.utils.data.TensorDataset(mg.arange(3), mg.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            lengths = ", ".join(str(len(tensor)) for tensor in tensors)
            raise AssertionError(f"Size mismatch between tensors: all must have the same number of rows, not {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Datasets whose i-th examples form a tuple, or a dict if the datasets are passed by name. Raises ValueError if
    there are no datasets, lengths differ, or only some datasets are passed by name."""

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("StackDataset takes datasets by position (for tuples) or by name (for dicts), not both")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = kwargs or args
        self._columns = list(kwargs.values() or args)
        if len({len(column) for column in self._columns}) > 1:
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        rows = zip(*(examples_of(column, indices) for column in self._columns), strict=True)
        return [dict(zip(self.datasets, row, strict=True)) if isinstance(self.datasets, dict) else row for row in rows]

    def __len__(self) -> int:
        return len(self._columns[0])


class ConcatDataset(Dataset[T_co]):
    """Concatenated datasets. Raises AssertionError for an empty list or an IterableDataset."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Dataset[T_co]] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running total of the lengths, which is where each dataset ends."""
        return list(accumulate(len(item) for item in sequence))

    def __getitem__(self, idx: int) -> T_co:
        if idx < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        idx = idx + len(self) if idx < 0 else idx
        place = bisect_right(self.cumulative_sizes, idx)
        if place == len(self.datasets):
            raise IndexError(f"index {idx} is out of range for {len(self)} examples")
        return self.datasets[place][idx - (self.cumulative_sizes[place - 1] if place else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[T_co]):
    """Chained IterableDatasets. Raises AssertionError on reaching a dataset of another kind."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(map(len, self.datasets))  # type: ignore[arg-type]


class Subset(Dataset[T_co]):
    """The examples of a dataset at ``indices``, in this order."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        return examples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def examples_of(dataset: Any, indices: Sequence[Any]) -> Any:
    """Fetch several examples, all at once if the dataset supports it, else one by one."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if at_once else [dataset[i] for i in indices]


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Split a dataset at random. The same seed yields the same parts as in PyTorch. ``lengths`` contains numbers of
    examples that add up to the dataset's length, or fractions that add up to 1. Fractions are rounded down, and the
    remaining examples go to the first parts. Raises ValueError for other lengths."""
    size = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:  # fractions
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(size * fraction) for fraction in lengths]
        for i in range(size - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
        lengths = counts
    if sum(lengths) != size:
        problem = f"Sum of input lengths does not equal the length of the input dataset! {sum(lengths)} is not {size}"
        raise ValueError(f"{problem}: pass lengths that add up to this size, or fractions that add up to 1")
    order = (generator or default_generator).permutation(size).tolist()
    ends = list(accumulate(int(length) for length in lengths))
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, lengths, strict=True)]


border_functions(globals())
