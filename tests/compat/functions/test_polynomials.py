"""Orthogonal polynomials, against PyTorch's."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from tests.support.cases import cases
from tests.support.parity import assert_close, ours, theirs, torch

NAMES = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]
X = np.array([0.3, -0.7, 1.0, -1.0, 1.5, -3.0, 0.0, 0.999])


@cases("name", NAMES)
def test_values(name: str, device: str) -> None:
    function, expected = getattr(minigrad.special, name), getattr(torch.special, name)
    n = np.array([-2.0, 0.0, 1.0, 2.9, 3.0, 6.0, 9.0, 17.0])[:, None]
    assert_close(function(ours(X, device=device), ours(n, device=device)), expected(theirs(X), theirs(n)), rtol=1e-12)
    assert_close(function(ours(X), 4), expected(theirs(X), 4))
    assert_close(function(0.3, ours(n)), expected(0.3, theirs(n)))
    single = function(ours(X).float(), ours(n).long())
    assert single.dtype is minigrad.float32
    assert_close(single, expected(theirs(X).float(), theirs(n).long()), rtol=1e-5)
    assert function(ours(n).int(), 2).dtype is minigrad.float32
    assert function(ours(X)[:0], 2).shape == (0,)
    assert function(ours(np.array(0.3)), 5).shape == ()


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str) -> None:
    n = minigrad.tensor([0, 1, 2, 3, 5, 8, -1, 4])
    x = ours(X, True)
    assert gradcheck(lambda x: getattr(minigrad.special, name)(x, n), [x], rtol=1e-3, atol=1e-4)
    assert gradgradcheck(lambda x: getattr(minigrad.special, name)(x, n), [x], rtol=1e-3, atol=1e-3)


def test_an_overflow_does_not_affect_other_gradients() -> None:
    x = minigrad.tensor([1e10, 1e10], dtype=minigrad.float64, requires_grad=True)
    out = minigrad.special.chebyshev_polynomial_t(x, minigrad.tensor([2, 60]))
    out.sum().backward()
    assert x.grad is not None
    assert float(out[1]) != float(out[1]) or abs(float(out[1])) == float("inf")
    assert float(x.grad[0]) == 4e10


def test_two_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="not two numbers"):
        minigrad.special.legendre_polynomial_p(0.5, 2)
