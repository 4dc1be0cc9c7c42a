"""Reductions: axes in every form, dtypes of results, named tuples, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, assert_same_dtype, ours, theirs, torch

VALUES = np.random.default_rng(0).integers(-3, 4, (2, 3, 4))
NAMES = "sum mean var std prod amax amin argmax argmin any all cumsum cumprod logsumexp norm count_nonzero max min"
ONE_AXIS = {"prod", "argmax", "argmin", "cumsum", "cumprod", "max", "min"}


@cases("name", NAMES.split())
@cases("dim", [None, 0, -1, 2, (0, 2), [1], ()])
def test_values_over_axes(name: str, dim: Any, device: str) -> None:
    if dim is None and name in ("cumsum", "cumprod", "logsumexp"):
        return
    if isinstance(dim, (tuple, list)) and (name in ONE_AXIS or (dim == () and name in ("any", "all", "logsumexp"))):
        return
    x, y = ours(VALUES * 0.5, device=device), theirs(VALUES * 0.5)
    for keepdim in (False, True):
        keywords = {} if dim is None else {"dim": dim}
        if keepdim and name not in ("cumsum", "cumprod", "count_nonzero") and dim is not None:
            keywords["keepdim"] = True
        actual, expected = getattr(x, name)(**keywords), getattr(y, name)(**keywords)
        if isinstance(actual, tuple):
            assert_close(actual.indices, expected.indices)
            actual, expected = actual.values, expected.values
        assert_close(actual, expected)
        assert_same_dtype(actual, expected)


@cases("name", ["sum", "prod", "cumsum", "cumprod", "argmax", "amax", "max", "any", "all", "count_nonzero"])
@cases("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes_of_results(name: str, dtype: str, device: str) -> None:
    if (name, dtype) in {("argmax", "bool"), ("any", "uint8"), ("all", "uint8")}:
        return  # torch rejects the first, and keeps uint8 where others return bool
    args = (0,) if name.startswith("cum") else ()
    x = minigrad.tensor([1, 0, 1]).to(getattr(minigrad, dtype)).to(device)
    y = torch.tensor([1, 0, 1]).to(getattr(torch, dtype))
    actual, expected = getattr(x, name)(*args), getattr(y, name)(*args)
    assert_same_dtype(actual, expected)
    assert_close(actual, expected)


def test_dtype_argument() -> None:
    x, y = minigrad.tensor([1, 2, 3], dtype=minigrad.int32), torch.tensor([1, 2, 3], dtype=torch.int32)
    for name in ("sum", "mean", "prod"):
        assert_same_dtype(getattr(x, name)(dtype=minigrad.float64), getattr(y, name)(dtype=torch.float64))
    assert x.cumsum(0, dtype=minigrad.float32).dtype is minigrad.float32


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch's warning
def test_few_elements() -> None:
    for values in (np.ones(1), np.ones((2, 1))):
        with np.errstate(all="ignore"):
            agree(lambda t, x: (x.var(), x.std(-1), x.var(-1, correction=0)), values, gradient=False)
    assert np.isnan(minigrad.zeros(0).mean().item())
    assert (minigrad.zeros(0).sum().item(), minigrad.zeros(0).prod().item()) == (0, 1)


def test_the_first_of_equal_elements() -> None:
    x = minigrad.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    assert x.argmax(1).tolist() == x.max(1).indices.tolist() == [1, 0]
    assert x.argmin(0).tolist() == [0, 1, 1]


def test_float16_adds_up_in_float32() -> None:
    x = minigrad.ones(5000, dtype=minigrad.float16)
    assert x.sum().item() == 5000
    assert x.mean().item() == 1


@cases("name", ["std", "var", "norm", "norm of order 3"])
def test_float16_whose_squares_overflow(name: str, device: str) -> None:
    functions: dict[str, Callable[[Any], Any]] = {
        "std": lambda x: x.std(1),
        "var": lambda x: (x / 16).var(1),
        "norm": lambda x: x.norm(dim=1),
        "norm of order 3": lambda x: x.norm(3, dim=1),
    }
    values = (np.random.default_rng(0).standard_normal((4, 20)) * 2000).astype(np.float16)
    x, tx = ours(values, True, device), theirs(values, True)
    out, expected = functions[name](x), functions[name](tx.double())
    out.sum().backward()
    expected.sum().backward()
    assert out.dtype is minigrad.float16
    assert_close(out, expected, 1e-3)
    assert_close(x.grad, tx.grad, 3e-3)


def test_float32_sums_over_many_rows_are_close() -> None:
    values = np.random.default_rng(0).random((20_000, 8)).astype(np.float32)
    assert_close(ours(values).sum(0), values.astype(np.float64).sum(0), 1e-5)
    assert_close(ours(values).mean(), values.astype(np.float64).mean(), 1e-6)


def test_errors() -> None:
    x = minigrad.ones(2, 3)
    raises(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", lambda: x.sum(2))
    raises(RuntimeError, "twice", lambda: x.sum((0, -2)))
    raises(RuntimeError, r"mean\(\).*floating-point dtype, not minigrad\.int64", lambda: minigrad.tensor([1, 2]).mean())
    raises(TypeError, "a dimension must be an int, not str", lambda: x.sum("a"))
    for name in ("max", "argmax", "amin", "argmin"):
        with pytest.raises(IndexError, match="non-zero size"):
            getattr(minigrad.zeros(0, 3), name)(dim=0)
    assert minigrad.zeros(0, 3).argmax(1).shape == (0,)
    for name in ("var", "std"):
        with pytest.raises(RuntimeError, match="floating-point"):
            getattr(minigrad.tensor([1, 2]), name)(0)


@cases("p", [0.5, 1, 1.5, 2, 3])
def test_the_gradient_of_a_norm_where_there_are_zeros(p: float) -> None:
    agree(lambda t, x: t.norm(x, p, dim=1), np.array([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0]]))


# Corners ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@cases("name", ["var", "std"])
@cases("values", [[1.0, 2.0], [1.0, 1.0], [1.0]])
def test_correction_beyond_the_number_of_values(name: str, values: list[float]) -> None:
    for correction in (5, 2):  # with fewer values PyTorch's divisor is negative, but only in the gradient
        has_gradient = correction == len(values) == 2
        program = lambda t, x, c: getattr(x, name)(0, correction=c)
        agree(program, np.array(values), correction, gradient=has_gradient)


@cases("p", [-1, -0.5, -2, 0.5, 3])
@cases("values", [[0.0, 1.0, 2.0], [0.0, 0.0]])
def test_norms_at_zero(p: float, values: list[float]) -> None:
    agree(lambda t, x: x.norm(p), np.array(values))


@cases("name", ["sum", "prod", "cumsum", "cumprod"])
@cases("dtype", ["int32", "int8", "uint8", "float16", "float64"])
def test_dtype_of_sums_and_products(name: str, dtype: str) -> None:
    agree(lambda t, x: getattr(t, name)(x, 0, dtype=getattr(t, dtype)), np.array([[3, 100], [2, 100]]))


@cases("name", ["any", "all", "sum", "amax", "mean"])
def test_an_empty_tuple_of_axes(name: str) -> None:
    """``any`` and ``all`` reduce no axes; other reductions reduce all."""
    agree(lambda t, x: getattr(x.detach(), name)(dim=()), np.array([[0.0, 2.0], [1.0, 0.0]]))
