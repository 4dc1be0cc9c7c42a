"""Integers without a given dtype are int64, even where NumPy's default is int32, as in WebAssembly."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from tests.support.cases import cases
from tests.support.expressions import evaluate, split

X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])
I = np.array([[3, 1, 2], [0, 5, 5]], np.int64)

RESULTS = """
mg.tensor(3) ; mg.tensor([[1], [2]]) ; mg.as_tensor([True, 2]) ; mg.tensor([mg.tensor(1), 2]) ; mg.tensor(range(3))
mg.arange(3) ; mg.full((2,), 3) ; mg.randint(0, 5, (2,)) ; mg.randperm(4) ; i.new_tensor([1]) ; (x > 1) + 1
(x > 1) * 2 ; mg.maximum(x > 1, mg.tensor(1)) ; mg.where(x > 1, 1, 0) ; (x > 1).sum() ; i.int().sum(0)
(x > 1).prod() ; (x > 1).cumsum(0) ; (mg.count_nonzero(x), mg.count_nonzero(x, 0)) ; x.argmax() ; x.argmax(0)
x.argmax(0, keepdim=True) ; x.argmin(1) ; i.int().argmax(0)
(x.argsort(), x.argsort(descending=True), i.int().argsort()) ; (x.sort().indices, x.sort(descending=True).indices)
x.topk(2).indices ; x.topk(1, largest=False).indices ; mg.rand(99).topk(1).indices
(x.max(0).indices, x.min(1).indices) ; x.kthvalue(1).indices ; x.median(0).indices ; x.nanmedian(0).indices
x.mode(0).indices ; (x.cummax(1).indices, x.cummin(0).indices) ; x.nonzero() ; x.nonzero(as_tuple=True)
mg.argwhere(x) ; mg.where(x > 1) ; x.unique(return_inverse=True, return_counts=True)[1:]
x.unique(return_inverse=True, return_counts=True, dim=0)[1:]
x.unique_consecutive(return_inverse=True, return_counts=True)[1:] ; i[0].bincount()
mg.searchsorted(x[0].sort().values, x) ; mg.bucketize(x, mg.tensor([1.0, 2.0])) ; x.multinomial(2)
mg.linalg.matrix_rank(x) ; mg.repeat_interleave(mg.tensor([1, 2])) ; i.repeat_interleave(2, 0) ; F.one_hot(i)
F.max_pool1d(x[None], 2, return_indices=True)[1] ; F.max_pool2d(x[None, None], 2, return_indices=True)[1]
F.adaptive_max_pool1d(x[None], 2, return_indices=True)[1]
nn.utils.rnn.pack_padded_sequence(x[:, :, None].mT, mg.tensor([1])).batch_sizes
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([mg.rand(3), mg.rand(2)]))[1]
nn.utils.rnn.pack_sequence([mg.rand(2), mg.rand(3)], enforce_sorted=False).sorted_indices
mg.vmap(lambda row: row.argmax())(x)
"""


def tensors(value: Any) -> Iterator[mg.Tensor]:
    for part in value if isinstance(value, tuple) else (value,):
        assert isinstance(part, mg.Tensor)
        yield part


@cases("expression", split(RESULTS))
def test_int64(expression: str, device: str) -> None:
    x, i = mg.tensor(X, device=device), mg.tensor(I, device=device)
    results = tensors(evaluate(expression, mg=mg, nn=nn, F=F, x=x, i=i))
    assert [part.dtype for part in results if part.dtype is not mg.int64] == []


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
