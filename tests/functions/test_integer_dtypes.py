"""Integers that nobody gave a dtype are int64, also where NumPy's own are int32, as in WebAssembly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from tests.support.tables import in_one_test

X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])
I = np.array([[3, 1, 2], [0, 5, 5]], np.int64)

RESULTS: dict[str, Any] = {
    "an int": lambda x, i: mg.tensor(3),
    "a list": lambda x, i: mg.tensor([[1], [2]]),
    "bools and ints": lambda x, i: mg.as_tensor([True, 2]),
    "tensors in a list": lambda x, i: mg.tensor([mg.tensor(1), 2]),
    "range": lambda x, i: mg.tensor(range(3)),
    "arange": lambda x, i: mg.arange(3),
    "full": lambda x, i: mg.full((2,), 3),
    "randint": lambda x, i: mg.randint(0, 5, (2,)),
    "randperm": lambda x, i: mg.randperm(4),
    "new_tensor": lambda x, i: i.new_tensor([1]),
    "bool + 1": lambda x, i: (x > 1) + 1,
    "bool * 2": lambda x, i: (x > 1) * 2,
    "maximum": lambda x, i: mg.maximum(x > 1, mg.tensor(1)),
    "where": lambda x, i: mg.where(x > 1, 1, 0),
    "sum": lambda x, i: (x > 1).sum(),
    "sum of int32": lambda x, i: i.int().sum(0),
    "prod": lambda x, i: (x > 1).prod(),
    "cumsum": lambda x, i: (x > 1).cumsum(0),
    "count_nonzero": lambda x, i: (mg.count_nonzero(x), mg.count_nonzero(x, 0)),
    "argmax": lambda x, i: (x.argmax(), x.argmax(0), x.argmax(0, keepdim=True), x.argmin(1), i.int().argmax(0)),
    "argsort": lambda x, i: (x.argsort(), x.argsort(descending=True), i.int().argsort()),
    "sort": lambda x, i: (x.sort().indices, x.sort(descending=True).indices),
    "topk": lambda x, i: (x.topk(2).indices, x.topk(1, largest=False).indices, mg.rand(99).topk(1).indices),
    "max": lambda x, i: (x.max(0).indices, x.min(1).indices),
    "kthvalue": lambda x, i: x.kthvalue(1).indices,
    "median": lambda x, i: (x.median(0).indices, x.nanmedian(0).indices, x.mode(0).indices),
    "cummax": lambda x, i: (x.cummax(1).indices, x.cummin(0).indices),
    "nonzero": lambda x, i: (x.nonzero(), *x.nonzero(as_tuple=True), mg.argwhere(x), *mg.where(x > 1)),
    "unique": lambda x, i: (
        *x.unique(return_inverse=True, return_counts=True)[1:],
        *x.unique(return_inverse=True, return_counts=True, dim=0)[1:],
        *x.unique_consecutive(return_inverse=True, return_counts=True)[1:],
    ),
    "bincount": lambda x, i: i[0].bincount(),
    "searchsorted": lambda x, i: (mg.searchsorted(x[0].sort().values, x), mg.bucketize(x, mg.tensor([1.0, 2.0]))),
    "multinomial": lambda x, i: x.multinomial(2),
    "matrix_rank": lambda x, i: mg.linalg.matrix_rank(x),
    "repeat_interleave": lambda x, i: (mg.repeat_interleave(mg.tensor([1, 2])), i.repeat_interleave(2, 0)),
    "one_hot": lambda x, i: F.one_hot(i),
    "max_pool": lambda x, i: (
        F.max_pool1d(x[None], 2, return_indices=True)[1],
        F.max_pool2d(x[None, None], 2, return_indices=True)[1],
        F.adaptive_max_pool1d(x[None], 2, return_indices=True)[1],
    ),
    "packed": lambda x, i: (
        nn.utils.rnn.pack_padded_sequence(x[:, :, None].mT, mg.tensor([1])).batch_sizes,
        nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([mg.rand(3), mg.rand(2)]))[1],
        nn.utils.rnn.pack_sequence([mg.rand(2), mg.rand(3)], enforce_sorted=False).sorted_indices,
    ),
    "vmap": lambda x, i: mg.vmap(lambda row: row.argmax())(x),
}


def tensors(value: Any) -> Iterator[mg.Tensor]:
    for part in value if isinstance(value, tuple) else (value,):
        assert isinstance(part, mg.Tensor)
        yield part


@in_one_test("name", RESULTS)
def test_int64(name: str, device: str) -> None:
    x, i = mg.tensor(X, device=device), mg.tensor(I, device=device)
    assert [part.dtype for part in tensors(RESULTS[name](x, i)) if part.dtype is not mg.int64] == []


def test_numpys_own_int32_stays() -> None:
    assert mg.tensor(np.array([1], np.int32)).dtype is mg.tensor([np.int32(1)]).dtype is mg.int32
    assert mg.from_numpy(np.array([1], np.int32)).dtype is (mg.tensor([1]).int() + 1).dtype is mg.int32


def test_int64_where_numpy_takes_its_own_integers() -> None:
    i = mg.tensor([0, 2, 2])
    assert i.bincount().tolist() == [1, 0, 2] and i.bincount(mg.ones(3)).tolist() == [1, 0, 2]
    assert mg.arange(3).repeat_interleave(i).tolist() == [1, 1, 2, 2]
    x = mg.ones(1, 1, 3, requires_grad=True)
    F.interpolate(x, scale_factor=2, mode="linear").sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[2, 2, 2]]]
