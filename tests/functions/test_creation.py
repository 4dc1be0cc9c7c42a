"""New tensors: shapes, dtypes and random streams, as PyTorch."""

from __future__ import annotations

import copy
import inspect
import sys
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, assert_same_dtype, host, torch

MADE: list[Any] = [
    lambda t: t.tensor([1, 2]),
    lambda t: t.tensor([1.0, 2]),
    lambda t: t.tensor(3),
    lambda t: t.tensor(True),
    lambda t: t.tensor([[True], [False]]),
    lambda t: t.tensor([]),
    lambda t: t.tensor([1, 2], dtype=t.float64),
    lambda t: t.tensor(np.arange(3)),
    lambda t: t.tensor(np.float64(2.5)),
    lambda t: t.tensor(np.ones(2)),
    lambda t: t.tensor([np.float32(1), np.float32(2)]),
    lambda t: t.tensor((1, (2))),
    lambda t: t.tensor([[]]),
    lambda t: t.tensor([t.tensor(1), t.tensor(2)]),
    lambda t: t.tensor([1.5, 2.5], dtype=t.int64),
    lambda t: t.as_tensor([1.5]),
    lambda t: t.asarray([1, 2]),
    lambda t: t.zeros(2, 3),
    lambda t: t.zeros((2, 3)),
    lambda t: t.zeros([2], dtype=t.int32),
    lambda t: t.zeros(size=(2, 2)),
    lambda t: t.ones(()),
    lambda t: t.ones(2, dtype=t.bool),
    lambda t: t.full((2, 3), 7),
    lambda t: t.full((2,), 7.5),
    lambda t: t.full((1,), True),
    lambda t: t.full([2], 3, dtype=t.float64),
    lambda t: t.full((2, 2), float("-inf")),
    lambda t: t.full_like(t.ones(2, 3), 4),
    lambda t: t.zeros_like(t.ones(2, dtype=t.int64)),
    lambda t: t.ones_like(t.zeros(2), dtype=t.float64),
    lambda t: t.arange(5),
    lambda t: t.arange(1, 6, 2),
    lambda t: t.arange(0, 1, 0.25),
    lambda t: t.arange(5.0),
    lambda t: t.arange(5, 0, -2),
    lambda t: t.arange(0, 4, dtype=t.float32),
    lambda t: t.arange(3, 3),
    lambda t: t.linspace(0, 1, 5),
    lambda t: t.linspace(2, -2, 3, dtype=t.float64),
    lambda t: t.linspace(0, 1, 1),
    lambda t: t.eye(3),
    lambda t: t.eye(2, 3),
    lambda t: t.empty(2, 0),
    lambda t: t.from_numpy(np.ones((2, 2), np.int32)),
    lambda t: t.ones(2).new_zeros(3),
    lambda t: t.ones(2).new_zeros((3, 1)),
    lambda t: t.ones(2, dtype=t.int64).new_ones(2, 2),
    lambda t: t.ones(2).new_full((2,), 3),
    lambda t: t.ones(2).new_tensor([1, 2]),
    lambda t: t.ones(2, dtype=t.float64).new_tensor([1]),
    lambda t: t.tensor([1, 2], dtype=t.float),
    lambda t: t.tensor([1, 2]).type(t.float64),
    lambda t: t.tensor([1, 2]).type_as(t.ones(1)),
    lambda t: t.tensor([1.7]).long(),
    lambda t: t.tensor([0, 2]).bool(),
    lambda t: t.tensor([1]).double(),
    lambda t: t.tensor([1]).half(),
    lambda t: t.tensor([300]).byte(),
    lambda t: t.tensor([1]).int(),
    lambda t: t.tensor([1]).float(),
    lambda t: t.tensor([1.0]).to(t.int32),
    lambda t: t.tensor([1.0]).to("cpu", t.float64),
    lambda t: t.tensor([1]).to(t.ones(1)),
    lambda t: t.tensor([1]).to(dtype=t.float16),
    lambda t: t.arange(t.tensor(3)),
    lambda t: t.zeros(t.tensor(2), 3),
    lambda t: t.tensor(range(3)),
]


@pytest.mark.parametrize("index", range(len(MADE)))
def test_values_and_dtypes(index: int) -> None:
    found, expected = MADE[index](minigrad), MADE[index](torch)
    assert_same_dtype(found, expected)
    if expected.numel():
        assert_close(found, expected, 1e-6)


RANDOM: list[Any] = [
    lambda t: t.rand(5),
    lambda t: t.rand(2, 3),
    lambda t: t.rand((7,), dtype=t.float64),
    lambda t: t.randint(10, (20,)),
    lambda t: t.randint(-3, 4, (5, 5)),
    lambda t: t.randint(low=2, high=9, size=(4,)),
    lambda t: t.randperm(10),
    lambda t: t.randperm(1),
    lambda t: t.rand_like(t.zeros(2, 2)),
    lambda t: t.zeros(4).uniform_(-2, 3),
    lambda t: t.bernoulli(t.full((10,), 0.3)),
    lambda t: t.zeros(9).bernoulli_(0.7),
    lambda t: t.multinomial(t.tensor([0.1, 0.5, 0.4]), 1),
    lambda t: t.multinomial(t.tensor([[0.1, 0.5, 0.4], [3.0, 1.0, 0.0]]), 1),
    lambda t: t.multinomial(t.ones(5), 3),
    lambda t: t.randint(0, 2, (6,), dtype=t.int32),
    lambda t: t.rand(0),
]
NORMAL: list[Any] = [
    lambda t: t.randn(16),
    lambda t: t.randn(5),
    lambda t: t.randn(3, 7),
    lambda t: t.randn(100),
    lambda t: t.randn(17),
    lambda t: t.randn((4, 4), dtype=t.float64),
    lambda t: t.randn(3, dtype=t.float64),
    lambda t: t.zeros(20).normal_(1, 2),
    lambda t: t.randn_like(t.zeros(2, 9)),
    lambda t: t.normal(0.0, 1.0, (4, 5)),
    lambda t: t.cat([t.randn(3), t.randn(2), t.randn(20)]),
]


@pytest.mark.parametrize("seed", [0, 1, 1234, 2**31, 2**32 + 5])
@pytest.mark.parametrize("index", range(len(RANDOM)))
def test_the_same_seed_gives_torch_numbers(index: int, seed: int) -> None:
    minigrad.manual_seed(seed)
    torch.manual_seed(seed)
    for _ in range(2):  # and the stream goes on alike
        found, expected = RANDOM[index](minigrad), RANDOM[index](torch)
        assert_same_dtype(found, expected)
        np.testing.assert_array_equal(host(found), host(expected))


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("index", range(len(NORMAL)))
def test_the_same_seed_gives_torch_normal_numbers(index: int, seed: int) -> None:
    minigrad.manual_seed(seed)
    torch.manual_seed(seed)
    for _ in range(2):
        found, expected = NORMAL[index](minigrad), NORMAL[index](torch)
        assert_same_dtype(found, expected)
        np.testing.assert_allclose(host(found), host(expected), atol=1e-6)


def test_mixed_draws_stay_together() -> None:
    minigrad.manual_seed(3)
    torch.manual_seed(3)
    for program in (
        lambda t: t.randn(3),
        lambda t: t.rand(2),
        lambda t: t.randn(2),
        lambda t: t.randperm(5),
        lambda t: t.randn(40),
        lambda t: t.randint(0, 9, (3,)),
        lambda t: t.randn(1, dtype=t.float64),
    ):
        np.testing.assert_allclose(host(program(minigrad)), host(program(torch)), atol=1e-6)


def test_generators() -> None:
    g, h = minigrad.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    assert host(minigrad.rand(3, generator=g)).tolist() == host(torch.rand(3, generator=h)).tolist()
    minigrad.manual_seed(0)
    before = minigrad.rand(1).item()
    minigrad.manual_seed(0)
    minigrad.rand(3, generator=g)
    assert minigrad.rand(1).item() == before, "another generator draws from a stream of its own"


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
    """Training data lie in memory-mapped files; slices of them become tensors."""
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
    with pytest.raises(ValueError, match="equal lengths"):
        minigrad.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match="not numbers"):
        minigrad.tensor("text")
    with pytest.raises(TypeError, match="are not supported; convert to one of"):
        minigrad.from_numpy(np.ones(2, np.longdouble))
    with pytest.raises(TypeError, match=r"expected np\.ndarray \(got list\)"):
        minigrad.from_numpy([1, 2])
    with pytest.raises(RuntimeError, match=r"negative dimension: \[2, -1\]"):
        minigrad.zeros(2, -1)
    with pytest.raises(TypeError, match="a shape is made of ints"):
        minigrad.zeros(2.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        minigrad.zeros(2, colour="red")
    with pytest.raises(TypeError, match="'float99' is not a dtype"):
        minigrad.zeros(2, dtype="float99")
    with pytest.raises(RuntimeError, match="'gpu' is not a device"):
        minigrad.zeros(2, device="gpu")
    with pytest.raises(RuntimeError, match="arange"):
        minigrad.arange(0, 5, -1)
    with pytest.raises(RuntimeError, match="less than 'to'"):
        minigrad.randint(3, 3, (2,))
    for weights in ([-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(RuntimeError, match="weights must be"):
            minigrad.multinomial(minigrad.tensor(weights), 1)
    with pytest.raises(RuntimeError, match="cannot draw 3 samples"):
        minigrad.multinomial(minigrad.ones(2), 3)
    with pytest.raises(RuntimeError, match=r"categories cannot exceed 2\^24"):
        minigrad.multinomial(minigrad.zeros(1).expand(2**24 + 1), 1)
    if not minigrad.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"(?i)cupy|cuda"):
            minigrad.zeros(2, device="cuda")


def test_multinomial_draws_by_the_weights() -> None:
    weights = minigrad.tensor([1.0, 0.0, 3.0])
    drawn = host(minigrad.multinomial(weights, 4000, replacement=True))
    assert 1 not in drawn
    assert abs((drawn == 2).mean() - 0.75) < 0.03


def test_default_dtype() -> None:
    minigrad.set_default_dtype(minigrad.float64)
    try:
        for made in (
            minigrad.zeros(1),
            minigrad.tensor(1.5),
            minigrad.rand(1),
            minigrad.tensor([1, 2]) / 2,
            minigrad.arange(0, 1, 0.5),
        ):
            assert made.dtype is minigrad.float64
    finally:
        minigrad.set_default_dtype(minigrad.float32)
    with pytest.raises(TypeError, match="floating-point"):
        minigrad.set_default_dtype(minigrad.int64)


@pytest.mark.parametrize("shapes", [[(1,)], [(1,), ()], [(1, 1), (1,)]], ids=str)
def test_lists_of_tensors_of_one_element(shapes: list[tuple[int, ...]]) -> None:
    """They count as numbers: of ``[t, t, t]`` comes a vector."""
    found, expected = (t.tensor([t.full(shape, 2.0) for shape in shapes] * 3) for t in (minigrad, torch))
    assert found.shape == tuple(expected.shape) == (3 * len(shapes),)
    assert found.tolist() == expected.tolist()


def test_unset_elements_with_steps() -> None:
    for t in (minigrad, torch):
        x = t.empty_permuted((2, 3, 4), (1, 2, 0), dtype=t.float64)
        assert (tuple(x.shape), x.stride(), x.dtype) == ((2, 3, 4), (1, 8, 2), t.float64)
        y = x.new_empty_strided((2, 3), (1, 2))
        assert (tuple(y.shape), y.stride(), y.dtype) == ((2, 3), (1, 2), t.float64)
    with pytest.raises(RuntimeError, match="must name each of 2 axes once"):
        minigrad.empty_permuted((2, 3), (0, 0))


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (3, 1, 0, 4), ()], ids=str)
def test_steps_of_an_empty_tensor(shape: tuple[int, ...]) -> None:
    found, expected = (t.zeros(shape).stride() for t in (minigrad, torch))
    assert found == expected


@pytest.mark.parametrize(("start", "end"), [(4.3, -3), (4.3, 50), (0, 1.2), (2, 1.2), (-3, 7)])
@pytest.mark.parametrize("steps", [0, 1, 4, 50])
def test_integers_at_equal_distances(start: float, end: float, steps: int) -> None:
    """The ends lose their fractions first."""
    for name in ("linspace", "logspace"):
        for base in ({},) if name == "linspace" else ({}, {"base": 3.0}):
            found, expected = (
                getattr(t, name)(start, end if name == "linspace" else min(end, 7), steps, dtype=t.int64, **base)
                for t in (minigrad, torch)
            )
            assert found.tolist() == expected.tolist(), name


def test_integers_at_equal_distances_without_end() -> None:
    for t in (minigrad, torch):
        with pytest.raises(RuntimeError, match="without overflow"):
            t.linspace(0, float("inf"), 3, dtype=t.int64)


def test_the_signature_shows_the_keywords_of_all_creating_functions() -> None:
    signature = inspect.signature(minigrad.full)
    keywords = ["dtype", "layout", "device", "pin_memory", "requires_grad"]
    assert list(signature.parameters) == ["size", "fill_value", *keywords]
    assert inspect.signature(minigrad.zeros_like).parameters["device"].kind is inspect.Parameter.KEYWORD_ONLY


HUGE = 1 << 50
BEYOND: list[Any] = [
    lambda t: t.zeros(HUGE),
    lambda t: t.empty(HUGE),
    lambda t: t.full((HUGE,), 1.0),
    lambda t: t.arange(HUGE),
    lambda t: t.linspace(0, 1, HUGE),
    lambda t: t.logspace(0, 1, HUGE),
    lambda t: t.eye(1 << 25),
    lambda t: t.tril_indices(1 << 25, 1 << 25),
    lambda t: t.triu_indices(1 << 25, 1 << 25),
    lambda t: t.rand(HUGE),
    lambda t: t.randn(HUGE),
    lambda t: t.randint(0, 5, (HUGE,)),
    lambda t: t.randperm(HUGE),
    lambda t: t.combinations(t.arange(1 << 20), 3),
    lambda t: t.ones(1).repeat(HUGE),
    lambda t: t.ones(1).expand(HUGE) + 1,
    lambda t: t.hann_window(HUGE),
]


@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="on 32 bits NumPy refuses such lengths before it asks for memory")
@pytest.mark.parametrize("make", BEYOND, ids=range(len(BEYOND)))
def test_more_than_there_is_memory_for(make: Any) -> None:
    with pytest.raises(MemoryError, match="Unable to allocate"):
        make(minigrad)
