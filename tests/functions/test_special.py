"""Special functions: their values at the edges, float32 kept, and gradients where PyTorch has few digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from tests.support.parity import assert_close, gradients, ours, theirs, torch

pytestmark = pytest.mark.parity
EDGES = np.array([0.0, -1.0, -2.0, 1.0, 2.0, 1e-10, -0.5, 1e10, 170.5, -7.25, math.inf, math.nan])
UNARY = [
    "lgamma",
    "digamma",
    "special.i0",
    "special.i0e",
    "special.i1",
    "special.i1e",
    "special.entr",
    "special.ndtr",
    "special.gammaln",
    "special.psi",
    "special.erfcx",
    "special.log_ndtr",
]


def named(library: Any, path: str) -> Any:
    for part in path.split("."):
        library = getattr(library, part)
    return library


@pytest.mark.parametrize("name", UNARY)
def test_values_at_the_edges(name: str, device: str) -> None:
    edges = EDGES[np.abs(EDGES) < 1e9] if ".i" in name else EDGES
    found = named(minigrad, name)(ours(edges, device=device))
    expected = named(torch, name)(theirs(edges))
    np.testing.assert_allclose(found.numpy(force=True), expected.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", UNARY)
def test_float32_is_kept(name: str, device: str) -> None:
    x = np.linspace(0.1, 9, 7, dtype=np.float32)
    found = named(minigrad, name)(ours(x, device=device))
    assert found.dtype is minigrad.float32
    assert_close(found, named(torch, name)(theirs(x)), rtol=1e-5)
    assert named(minigrad, name)(minigrad.zeros(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("x", [0.05, 0.7, 3.0, -0.5, -1.3, -4.6])
def test_gradients_by_finite_differences(x: float) -> None:
    for function in (minigrad.lgamma, minigrad.digamma, lambda t: minigrad.polygamma(1, t)):
        given = minigrad.tensor([x, x + 0.1], dtype=minigrad.float64, requires_grad=True)
        assert gradcheck(function, [given], eps=1e-5, rtol=1e-3)
        assert gradgradcheck(function, [given], eps=1e-5, rtol=1e-3)


def test_the_slope_of_digamma_at_1() -> None:
    found = minigrad.polygamma(1, minigrad.tensor([1.0, 0.5], dtype=minigrad.float64))
    assert_close(found, np.array([math.pi**2 / 6, math.pi**2 / 2]), rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_polygamma(n: int, device: str) -> None:
    x = np.array([0.3, 1.0, 7.5, 40.0, -0.3, -2.5])
    assert_close(minigrad.polygamma(n, ours(x, device=device)), torch.polygamma(n, theirs(x)), rtol=1e-8)
    assert_close(ours(x).polygamma(n), torch.polygamma(n, theirs(x)), rtol=1e-8)
    with pytest.raises(RuntimeError, match="negative n"):
        minigrad.polygamma(-1, ours(x))


@pytest.mark.parametrize("name", ["entr", "ndtr", "ndtri", "log_ndtr", "erfcx"])
def test_gradients_of_what_is_made_of_others(name: str, device: str) -> None:
    x = np.array([0.1, 0.5, 0.9])
    a, b = ours(x, True, device), theirs(x, True)
    found, expected = named(minigrad.special, name)(a), named(torch.special, name)(b)
    assert_close(found, expected)
    g = np.array([1.0, 2.0, 3.0])
    assert_close(gradients([found], [a], [ours(g, device=device)])[0], gradients([expected], [b], [theirs(g)])[0])


def test_mvlgamma() -> None:
    x = np.array([2.5, 7.0])
    assert_close(minigrad.mvlgamma(ours(x), 3), torch.mvlgamma(theirs(x), 3))
    assert_close(minigrad.special.multigammaln(ours(x), p=2), torch.special.multigammaln(theirs(x), p=2))


def test_in_place() -> None:
    for name in ("lgamma_", "digamma_", "i0_"):
        x = np.array([0.5, 2.0])
        assert_close(getattr(ours(x), name)(), getattr(theirs(x), name)())
    x = np.array([1.5, 2.0])
    assert_close(ours(x).polygamma_(2), theirs(x).polygamma_(2))
    assert_close(ours(x).mvlgamma_(3), theirs(x).mvlgamma_(3))


@pytest.mark.parametrize("name", ["xlogy", "special.xlogy", "special.xlog1py"])
def test_products_with_logarithms_at_the_edges(name: str, device: str) -> None:
    a = np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, -1.0, math.nan, 0.0])
    b = np.array([2.0, 0.0, -1.0, -3.0, 0.5, 3.0, math.inf, 1.0, math.nan])
    found, expected = [], []
    for library, make, into in ((minigrad, ours, found), (torch, theirs, expected)):
        on = {"device": device} if library is minigrad else {}
        x, y = make(a, True, **on), make(b, True, **on)
        out = named(library, name)(x, y)
        into += [out, *library.autograd.grad(out.sum(), (x, y))]
        into += [named(library, name)(2.0, y), named(library, name)(x, 3), named(library, name)(0, y)]
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(force=True), other.numpy(force=True), rtol=1e-12)


def test_tails_of_the_normal_distribution() -> None:
    x = minigrad.tensor([-1e10, -300.0, -40.0, -5.0, -0.9, 9.0], dtype=minigrad.float64)
    logs = [-5e19, -45006.622732118663, -804.60844201375379, -15.064998393988726, -1.6924928065613382]
    assert_close(minigrad.special.log_ndtr(x), np.array([*logs, -1.1285884059538407e-19]), rtol=1e-14)
    scaled = [5.641895835477563e-11, 0.0018806214973780645, 0.014100335983377814]
    assert_close(minigrad.special.erfcx(-x[:3]), np.array(scaled), rtol=1e-14)
    assert minigrad.special.erfcx(minigrad.tensor(-30.0)) == math.inf


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
@pytest.mark.parametrize("name", ["ndtr", "log_ndtr", "erfcx", "entr"])
def test_integers_become_floats(name: str, dtype: str) -> None:
    x = np.array([0, 1])
    found = named(minigrad.special, name)(ours(x).to(getattr(minigrad, dtype)))
    expected = named(torch.special, name)(theirs(x).to(getattr(torch, dtype)))
    assert found.dtype is minigrad.float32
    assert_close(found, expected, rtol=1e-6)


IGAMMA = [  # a, x, P(a, x), Q(a, x): mpmath's, with 40 digits
    (0.001, 0.5, 0.99943993334352925, 0.00056006665647074989),
    (0.3, 1e-08, 0.0044358793136453295, 0.99556412068635467),
    (0.5, 1.2, 0.87866474964151785, 0.12133525035848215),
    (2.5, 0.1, 0.00088613878881244261, 0.99911386121118756),
    (2.5, 3.6, 0.79381408029044412, 0.20618591970955588),
    (7.0, 30.0, 0.99999988268057998, 1.1731942002346961e-7),
    (19.0, 25.0, 0.90795914080114265, 0.092040859198857349),
    (30.0, 30.0, 0.52428301389368007, 0.47571698610631993),
    (40.0, 12.0, 1.5587113102364608e-10, 0.99999999984412887),
    (60.0, 150.0, 0.99999999999999998, 2.0761530190828101e-17),
    (200.0, 188.0, 0.1997749030965198, 0.8002250969034802),
    (5000.0, 5100.0, 0.92067111892238102, 0.079328881077618977),
]


def test_incomplete_gamma_functions(device: str) -> None:
    a, x, lower, upper = np.array(IGAMMA).T
    for function, expected in ((minigrad.igamma, lower), (minigrad.igammac, upper)):
        found = function(ours(a, device=device), ours(x, device=device))
        np.testing.assert_allclose(found.numpy(force=True), expected, rtol=1e-11)
    assert_close(ours(a).igamma_(ours(x)), lower, rtol=1e-13)
    single = minigrad.special.gammaincc(ours(a).float(), ours(x).float())
    assert single.dtype is minigrad.float32
    assert_close(single, upper.astype(np.float32), rtol=1e-5)
    assert minigrad.igamma(minigrad.zeros(0, 1), minigrad.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_at_the_edges(name: str) -> None:
    edges = np.array([-1.0, 0.0, 1e-300, 0.5, 3.0, 1e10, math.inf])
    a, x = np.meshgrid(edges, edges)
    found, expected = getattr(minigrad, name)(ours(a), ours(x)), getattr(torch, name)(theirs(a), theirs(x))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-10, atol=1e-300)


def test_a_gradient_that_is_not_there() -> None:
    a = minigrad.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="derivative for 'input' of igamma is not implemented"):
        minigrad.igamma(a, a.detach()).backward()
