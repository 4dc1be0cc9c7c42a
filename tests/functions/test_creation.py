"""New tensors: shapes, dtypes and random streams, as in PyTorch."""

import copy
import inspect
import sys
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.expressions import split
from tests.support.parity import host, torch


def test_generators() -> None:
    g, h = minigrad.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    assert host(minigrad.rand(3, generator=g)).tolist() == host(torch.rand(3, generator=h)).tolist()
    minigrad.manual_seed(0)
    before = minigrad.rand(1).item()
    minigrad.manual_seed(0)
    minigrad.rand(3, generator=g)
    assert minigrad.rand(1).item() == before, "another generator draws from a separate stream"


def test_tensor_copies_and_from_numpy_shares() -> None:
    array = np.zeros(3, np.float32)
    shared, own, maybe = minigrad.from_numpy(array), minigrad.tensor(array), minigrad.as_tensor(array)
    array[0] = 7
    assert (shared[0].item(), own[0].item(), maybe[0].item()) == (7, 0, 7)
    x = minigrad.ones(2)
    assert minigrad.as_tensor(x) is x
    assert not np.shares_memory(minigrad.tensor(x).array, x.array)
    assert not np.shares_memory(copy.deepcopy(x).array, x.array)


def test_memory_maps(tmp_path: Any) -> None:
    """Training data is in memory-mapped files; slices of them become tensors."""
    path = tmp_path / "data.bin"
    np.arange(10, dtype=np.int64).tofile(path)
    data = np.memmap(path, dtype=np.int64, mode="r")
    x = minigrad.from_numpy(data[2:5].astype(np.int64))
    y = minigrad.stack([minigrad.from_numpy(np.asarray(data[i : i + 2])) for i in (0, 3)])
    assert (x + minigrad.ones(3, dtype=minigrad.int64)).tolist() == [3, 4, 5]
    assert y.tolist() == [[0, 1], [3, 4]]
    assert type((minigrad.from_numpy(data) * minigrad.ones(10)).array) is np.ndarray


def test_legacy_constructor() -> None:
    assert minigrad.Tensor(2, 3).shape == (2, 3)
    assert minigrad.Tensor([2, 3]).tolist() == [2, 3]
    assert minigrad.Tensor([2, 3]).dtype is minigrad.float32
    assert minigrad.Tensor(np.ones(2)).dtype is minigrad.float32
    assert minigrad.Tensor().shape == (0,)


def test_requires_grad() -> None:
    assert minigrad.zeros(2, requires_grad=True).is_leaf
    assert minigrad.randn(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradients"):
        minigrad.tensor([1, 2], requires_grad=True)


def test_errors() -> None:
    raises(ValueError, "equal lengths", lambda: minigrad.tensor([[1, 2], [3]]))
    raises(TypeError, "not numbers", lambda: minigrad.tensor("text"))
    raises(TypeError, "are not supported; convert to one of", lambda: minigrad.from_numpy(np.ones(2, np.longdouble)))
    raises(TypeError, r"expected np\.ndarray \(got list\)", lambda: minigrad.from_numpy([1, 2]))
    raises(RuntimeError, r"negative dimension: \[2, -1\]", lambda: minigrad.zeros(2, -1))
    raises(TypeError, "a shape must consist of ints", lambda: minigrad.zeros(2.5))
    raises(TypeError, "unexpected keyword argument 'colour'", lambda: minigrad.zeros(2, colour="red"))
    raises(TypeError, "'float99' is not a dtype", lambda: minigrad.zeros(2, dtype="float99"))
    raises(RuntimeError, "'gpu' is not a device", lambda: minigrad.zeros(2, device="gpu"))
    raises(RuntimeError, "arange", lambda: minigrad.arange(0, 5, -1))
    raises(RuntimeError, "less than 'to'", lambda: minigrad.randint(3, 3, (2,)))
    for weights in ([-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(RuntimeError, match="weights must be"):
            minigrad.multinomial(minigrad.tensor(weights), 1)
    raises(RuntimeError, "cannot draw 3 samples", lambda: minigrad.multinomial(minigrad.ones(2), 3))
    with pytest.raises(RuntimeError, match=r"categories cannot exceed 2\^24"):
        minigrad.multinomial(minigrad.zeros(1).expand(2**24 + 1), 1)
    if not minigrad.cuda.is_available():
        raises(RuntimeError, r"(?i)cupy|cuda", lambda: minigrad.zeros(2, device="cuda"))


def test_multinomial_draws_by_the_weights() -> None:
    weights = minigrad.tensor([1.0, 0.0, 3.0])
    rows = host(minigrad.multinomial(weights, 4000, replacement=True))
    assert 1 not in rows
    assert abs((rows == 2).mean() - 0.75) < 0.03


def test_default_dtype() -> None:
    minigrad.set_default_dtype(minigrad.float64)
    try:
        of_numbers = minigrad.tensor(1.5), minigrad.tensor([1, 2]) / 2, minigrad.arange(0, 1, 0.5)
        for x in (minigrad.zeros(1), minigrad.rand(1), *of_numbers):
            assert x.dtype is minigrad.float64
    finally:
        minigrad.set_default_dtype(minigrad.float32)
    raises(TypeError, "floating-point", lambda: minigrad.set_default_dtype(minigrad.int64))


@cases("shapes", [[(1,)], [(1,), ()], [(1, 1), (1,)]])
def test_lists_of_tensors_of_one_element(shapes: list[tuple[int, ...]]) -> None:
    """They count as numbers: ``[t, t, t]`` becomes a vector."""
    actual, expected = (t.tensor([t.full(shape, 2.0) for shape in shapes] * 3) for t in (minigrad, torch))
    assert actual.shape == tuple(expected.shape) == (3 * len(shapes),)
    assert actual.tolist() == expected.tolist()


def test_unset_elements_with_steps() -> None:
    for t in (minigrad, torch):
        x = t.empty_permuted((2, 3, 4), (1, 2, 0), dtype=t.float64)
        assert (tuple(x.shape), x.stride(), x.dtype) == ((2, 3, 4), (1, 8, 2), t.float64)
        y = x.new_empty_strided((2, 3), (1, 2))
        assert (tuple(y.shape), y.stride(), y.dtype) == ((2, 3), (1, 2), t.float64)
    raises(RuntimeError, "must name each of 2 axes once", lambda: minigrad.empty_permuted((2, 3), (0, 0)))


@cases("shape", [(0,), (0, 2), (2, 0), (3, 1, 0, 4), ()])
def test_steps_of_an_empty_tensor(shape: tuple[int, ...]) -> None:
    actual, expected = (t.zeros(shape).stride() for t in (minigrad, torch))
    assert actual == expected


@cases("start, end", [(4.3, -3), (4.3, 50), (0, 1.2), (2, 1.2), (-3, 7)])
@cases("steps", [0, 1, 4, 50])
def test_integers_at_equal_distances(start: float, end: float, steps: int) -> None:
    """The ends are truncated first."""
    agree(lambda t: t.linspace(start, end, steps, dtype=t.int64))
    for base in ({}, {"base": 3.0}):
        agree(lambda t, base: t.logspace(start, min(end, 7), steps, dtype=t.int64, **base), base)
    for t in (minigrad, torch):
        with pytest.raises(RuntimeError, match="without overflow"):
            t.linspace(0, float("inf"), 3, dtype=t.int64)


def test_the_signature_shows_the_keywords_of_all_creating_functions() -> None:
    signature = inspect.signature(minigrad.full)
    keywords = ["dtype", "layout", "device", "pin_memory", "requires_grad"]
    assert list(signature.parameters) == ["size", "fill_value", *keywords]
    assert inspect.signature(minigrad.zeros_like).parameters["device"].kind is inspect.Parameter.KEYWORD_ONLY


HUGE = 1 << 50


BEYOND = """
t.zeros(HUGE) ; t.empty(HUGE) ; t.full((HUGE,),1.0) ; t.arange(HUGE) ; t.linspace(0,1,HUGE) ; t.logspace(0,1,HUGE)
t.eye(1 << 25) ; t.tril_indices(HUGE,HUGE) ; t.triu_indices(HUGE,HUGE) ; t.rand(HUGE) ; t.randn(HUGE)
t.randint(0,5,(HUGE,)) ; t.randperm(HUGE) ; t.combinations(t.arange(1 << 20),3) ; t.ones(1).repeat(HUGE)
t.ones(1).expand(HUGE) + 1 ; t.hann_window(HUGE)
"""


@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="on 32 bits NumPy refuses such lengths before it asks for memory")
@cases("expression", split(BEYOND))
def test_more_elements_than_fit_into_memory(expression: str) -> None:
    raises(MemoryError, "Unable to allocate", lambda: eval(expression, {"t": minigrad, "HUGE": HUGE}))
