"""Special functions: values at the edges, float32 results, and gradients where PyTorch's have few correct digits."""

import math
import re
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch

EDGES = np.array([0.0, -1.0, -2.0, 1.0, 2.0, 1e-10, -0.5, 1e10, 170.5, -7.25, math.inf, math.nan])
UNARY = [
    *("lgamma", "digamma", "special.i0", "special.i0e", "special.i1", "special.i1e", "special.entr", "special.ndtr"),
    *("special.gammaln", "special.psi", "special.erfcx", "special.log_ndtr"),
]


def named(library: Any, path: str) -> Any:
    for part in path.split("."):
        library = getattr(library, part)
    return library


@cases("name", UNARY)
def test_values_at_the_edges(name: str, device: str) -> None:
    edges = EDGES[np.abs(EDGES) < 1e9] if ".i" in name else EDGES
    result = named(minigrad, name)(ours(edges, device=device))
    expected = named(torch, name)(theirs(edges))
    np.testing.assert_allclose(result.numpy(force=True), expected.numpy(), rtol=1e-10, atol=1e-14)


@cases("name", UNARY)
def test_float32_is_kept(name: str, device: str) -> None:
    x = np.linspace(0.1, 9, 7, dtype=np.float32)
    result = named(minigrad, name)(ours(x, device=device))
    assert result.dtype is minigrad.float32
    assert_close(result, named(torch, name)(theirs(x)), rtol=1e-5)
    assert named(minigrad, name)(minigrad.zeros(0, 2)).shape == (0, 2)


@cases("x", [0.05, 0.7, 3.0, -0.5, -1.3, -4.6])
def test_gradients_by_finite_differences(x: float) -> None:
    for function in (minigrad.lgamma, minigrad.digamma, lambda t: minigrad.polygamma(1, t)):
        inputs = minigrad.tensor([x, x + 0.1], dtype=minigrad.float64, requires_grad=True)
        assert gradcheck(function, [inputs], eps=1e-5, rtol=1e-3)
        assert gradgradcheck(function, [inputs], eps=1e-5, rtol=1e-3)


def test_the_derivative_of_digamma_at_1() -> None:
    result = minigrad.polygamma(1, minigrad.tensor([1.0, 0.5], dtype=minigrad.float64))
    assert_close(result, np.array([math.pi**2 / 6, math.pi**2 / 2]), rtol=1e-14)


@cases("name", ["special.i1", "special.i1e"])
def test_derivatives_at_the_smallest_numbers(name: str, device: str) -> None:
    """Half of them may be 0 on the device; the derivative is still 1/2."""
    least = np.finfo(np.float32).smallest_normal
    x = ours(np.array([least, -least, 3 * least, 0, 1e-30], np.float32), True, device)
    named(minigrad, name)(x).sum().backward()
    assert x.grad.tolist() == [0.5] * 5


@cases("n", [0, 1, 2, 4])
def test_polygamma(n: int, device: str) -> None:
    x = np.array([0.3, 1.0, 7.5, 40.0, -0.3, -2.5])
    agree(lambda t, x: (t.polygamma(n, x.detach()), x.detach().polygamma(n)), x, near=1e-8, device=device)
    with pytest.raises(RuntimeError, match="negative n"):
        minigrad.polygamma(-1, ours(x))


@cases("name", ["entr", "ndtr", "ndtri", "log_ndtr", "erfcx"])
def test_gradients_of_composed_functions(name: str, device: str) -> None:
    agree(lambda t, x: getattr(t.special, name)(x), np.array([0.1, 0.5, 0.9]), device=device)


def test_mvlgamma() -> None:
    agree(lambda t, x: (t.mvlgamma(x, 3), t.special.multigammaln(x, p=2)), np.array([2.5, 7.0]))


def test_in_place() -> None:
    for change in (lambda x: x.lgamma_(), lambda x: x.digamma_(), lambda x: x.i0_(), lambda x: x.polygamma_(2)):
        agree(lambda t, x, change: change(x.detach()), np.array([1.5, 2.0]), change)
    agree(lambda t, x: x.detach().mvlgamma_(3), np.array([1.5, 2.0]))


@cases("name", ["xlogy", "special.xlogy", "special.xlog1py"])
def test_products_with_logarithms_at_the_edges(name: str, device: str) -> None:
    def program(t: Any, x: Any, y: Any) -> Any:
        out, a, b = named(t, name)(x, y), x.detach(), y.detach()
        derivatives = t.autograd.grad(out.sum(), (x, y))
        return out.detach(), *derivatives, *(named(t, name)(*args) for args in ((2.0, b), (a, 3), (0, b)))

    a = np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, -1.0, math.nan, 0.0])
    b = np.array([2.0, 0.0, -1.0, -3.0, 0.5, 3.0, math.inf, 1.0, math.nan])
    agree(program, a, b, near=1e-12, device=device)


def test_tails_of_the_normal_distribution() -> None:
    x = minigrad.tensor([-1e10, -300.0, -40.0, -5.0, -0.9, 9.0], dtype=minigrad.float64)
    logs = [-5e19, -45006.622732118663, -804.60844201375379, -15.064998393988726, -1.6924928065613382]
    assert_close(minigrad.special.log_ndtr(x), np.array([*logs, -1.1285884059538407e-19]), rtol=1e-14)
    scaled = [5.641895835477563e-11, 0.0018806214973780645, 0.014100335983377814]
    assert_close(minigrad.special.erfcx(-x[:3]), np.array(scaled), rtol=1e-14)
    assert minigrad.special.erfcx(minigrad.tensor(-30.0)) == math.inf


@cases("dtype", ["int64", "int32", "bool"])
@cases("name", ["ndtr", "log_ndtr", "erfcx", "entr"])
def test_integers_become_floats(name: str, dtype: str) -> None:
    agree(lambda t, x: getattr(t.special, name)(x), np.array([0, 1]).astype(dtype), near=1e-6)


IGAMMA = [  # a, x, P(a, x), Q(a, x): from mpmath, with 40 digits
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
        result = function(ours(a, device=device), ours(x, device=device))
        np.testing.assert_allclose(result.numpy(force=True), expected, rtol=1e-11)
    assert_close(ours(a).igamma_(ours(x)), lower, rtol=1e-13)
    single = minigrad.special.gammaincc(ours(a).float(), ours(x).float())
    assert single.dtype is minigrad.float32
    assert_close(single, upper.astype(np.float32), rtol=1e-5)
    assert minigrad.igamma(minigrad.zeros(0, 1), minigrad.ones(3)).shape == (0, 3)


@cases("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_at_the_edges(name: str) -> None:
    edges = np.array([-1.0, 0.0, 1e-300, 0.5, 3.0, 1e10, math.inf])
    a, x = np.meshgrid(edges, edges)
    result, expected = getattr(minigrad, name)(ours(a), ours(x)), getattr(torch, name)(theirs(a), theirs(x))
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-10, atol=1e-300)


def test_a_missing_gradient() -> None:
    a = minigrad.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="derivative for 'input' of igamma is not implemented"):
        minigrad.igamma(a, a.detach()).backward()


POINTS = [1e-08, 0.3, 2.5, 7.0, 24.9, 25.1, 60.0, 1000.0]
# mpmath's values at POINTS, with 40 digits
_TEXT = """
i0e: 0.99999999000000007 0.75758062518254786 0.27004644161220274 0.15373774467288125 0.080359332611532214
    0.080035197254296236 0.051611549173609841 0.012617240455891257
i1e: 4.9999999500000004e-9 0.1123775606398388 0.20658464953126655 0.14228923470959867 0.078728794882103129
    0.078424315178368414 0.051179630189028718 0.012610930256928629
"""
VALUES = {name: [*map(float, text.split())] for name, text in re.findall(r"(\w+):([^:]*?)(?=\n\w|\n$)", _TEXT)}
ZETA = [  # x, q, ζ(x, q)
    (1.001, 2.5, 999.29708078404286),
    (2.0, 1.0, 1.6449340668482264),
    (2.5, 0.01, 100001.31377370735),
    (4.0, 10000.0, 3.3338333666666665e-13),
    (30.0, 3.0, 4.8578041896672468e-15),
    (3.0, -2.3, -34.356896264635151),
    (4.0, -7.75, 259.75698676526776),
    (3.0, -1000.5, 4.9900137350132198e-7),
]


@cases("name", VALUES)
def test_bessels_functions(name: str, device: str) -> None:
    function, expected = named(minigrad.special, name), np.array(VALUES[name])
    result = function(ours(np.array(POINTS), device=device))
    np.testing.assert_allclose(result.numpy(force=True), expected, rtol=1e-13, atol=1e-15 * (expected > 1e-9).all())
    single = function(ours(np.array(POINTS, np.float32), device=device))
    assert single.dtype is minigrad.float32
    np.testing.assert_allclose(single.numpy(force=True), expected, rtol=2e-4, atol=1e-6)
    assert function(minigrad.zeros(0, 2)).shape == (0, 2)
    assert function(minigrad.tensor(2)).dtype is minigrad.float32
    edges = minigrad.tensor([0.0, -1.5, math.inf, math.nan], dtype=minigrad.float64)
    near = named(torch.special, name)(theirs(edges.numpy())).numpy()
    np.testing.assert_allclose(function(edges).numpy(), near, rtol=1e-6)


def test_functions_that_scipy_has() -> None:
    for name in ("airy_ai", "bessel_y1", "scaled_modified_bessel_k0", "legendre_polynomial_p"):
        raises(NotImplementedError, "use scipy.special on", lambda name=name: getattr(minigrad.special, name)(1))


def test_hurwitzs_zeta_function(device: str) -> None:
    x, q, expected = np.array(ZETA).T
    result = minigrad.special.zeta(ours(x, device=device), ours(q, device=device))
    np.testing.assert_allclose(result.numpy(force=True), expected, rtol=1e-12)
    edges = np.meshgrid([0.5, 1, 2, 2.5, 60], [-3, -2.5, 0.0, 1.0, 1e-3, 1e10, math.nan])
    near = torch.special.zeta(*map(theirs, edges)).numpy()
    np.testing.assert_allclose(minigrad.special.zeta(*map(ours, edges)).numpy(), near, rtol=1e-10)
    assert_close(minigrad.special.zeta(2.0, ours(q)), torch.special.zeta(2.0, theirs(q)))
    assert_close(minigrad.special.zeta(ours(x), 3), torch.special.zeta(theirs(x), 3))
    inputs = ours(x, True)
    with pytest.raises(NotImplementedError, match="derivative for 'input' of zeta"):
        minigrad.special.zeta(inputs, 3).sum().backward()
