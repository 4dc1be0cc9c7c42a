"""What HIPS autograd tests, of which PyTorch has a counterpart: results and gradients of two orders agree.

Of its lists, those that ``test_drawn.py`` and ``tests/ops`` do not have: statistics, matrices, Fourier transforms,
distributions, special functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.support.both import Program, agree, complexes, numbers
from tests.support.cases import cases

pytestmark = pytest.mark.filterwarnings("ignore:.*(degrees of freedom|even kernel)")  # PyTorch's
R, C = numbers, complexes

# Statistics -----------------------------------------------------------------------------------------------


@cases("name", ["max", "min", "amax", "amin", "mean", "sum", "prod", "var", "std", "logsumexp"])
def test_statistics(name: str) -> None:
    for shape, keepdim in product([(3,), (2, 3), (1, 3)], [False, True]):
        for dim in range(len(shape)):
            values = [R(*shape)] + [C(*shape)] * (name in ("mean", "sum", "prod", "var", "std", "logsumexp"))
            for x in values:
                agree(lambda t, x: getattr(x, name)(dim, keepdim=keepdim), x, orders=2)  # noqa: B023
    for shape in [(), (3,), (2, 3)]:
        if name not in ("logsumexp", "var", "std") or (shape and name != "logsumexp"):
            agree(lambda t, x: getattr(x, name)(), R(*shape), orders=2)


@cases("correction", [0, 1, 2])
@cases("dim", [None, 1, (0, 1)])
def test_corrections_of_variances(correction: int, dim: Any) -> None:
    for name, keepdim in product(("var", "std"), (False, True)):
        kwargs = {"dim": dim, "correction": correction, "keepdim": keepdim}
        agree(lambda t, x: getattr(t, name)(x, **kwargs), R(3, 4), orders=2)  # noqa: B023


# Linear algebra -------------------------------------------------------------------------------------------


def symmetric(x: Any) -> Any:
    """A symmetric (of complex numbers: Hermitian) matrix of any."""
    return x + x.mH


def positive(t: Any, x: Any) -> Any:
    """A positive definite matrix of any."""
    return x @ x.mH + 2 * t.eye(x.shape[-1], dtype=x.dtype)


def far(t: Any, x: Any) -> Any:
    """A matrix of any whose diagonal is far from 0."""
    return x + 6 * t.eye(x.shape[-1], dtype=x.dtype)


MATRICES: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "inv": (lambda t, x: t.linalg.inv(far(t, x)), [(4, 4), (2, 3, 3), (2, 2, 3, 3)]),
    "pinv": (lambda t, x: t.linalg.pinv(x), [(4, 3), (3, 4), (2, 4, 3)]),
    "det": (lambda t, x: t.linalg.det(x), [(4, 4), (3, 3, 3)]),
    "slogdet": (lambda t, x: t.linalg.slogdet(far(t, x))[1], [(4, 4), (3, 2, 2)]),
    "norm": (lambda t, x: t.linalg.norm(x), [(6,), (4, 3)]),
    "norms along an axis": (lambda t, x: [t.linalg.norm(x, dim=d) for d in range(3)], [(4, 3, 2)]),
    "norms of vectors": (lambda t, x: [t.linalg.norm(x, ord=p) for p in (1, 2, 3, 4)], [(6,)]),
    "Frobenius": (lambda t, x: t.linalg.norm(x, "fro", dim=(0, 1)), [(4, 3, 2)]),
    "nuclear": (lambda t, x: t.linalg.norm(x, "nuc", dim=(0, 1)), [(4, 3), (4, 3, 2)]),
    "eigvalsh": (lambda t, x: t.linalg.eigvalsh(symmetric(x)), [(4, 4), (2, 3, 3)]),
    "eigh": (lambda t, x: absolute(t.linalg.eigh(symmetric(x))), [(4, 4), (2, 3, 3)]),
    "eigh of the upper": (lambda t, x: absolute(t.linalg.eigh(symmetric(x), "U")), [(4, 4)]),
    "eigvals": (lambda t, x: t.linalg.eigvals(x).abs().sum(), [(4, 4), (2, 3, 3)]),
    "eig": (lambda t, x: t.linalg.eig(x)[1].abs().pow(4).sum(), [(4, 4)]),
    "cholesky": (lambda t, x: t.linalg.cholesky(positive(t, x)), [(4, 4), (3, 3, 3)]),
    "a sample by Cholesky": (lambda t, x: (t.linalg.cholesky(positive(t, x)) @ x[0]).norm(), [(4, 4)]),
    "svd": (lambda t, x: absolute(t.linalg.svd(x, full_matrices=False)), [(3, 5), (4, 4), (5, 3), (2, 5, 3)]),
    "svdvals": (lambda t, x: t.linalg.svdvals(x), [(5, 3), (2, 3, 4)]),
    "qr": (lambda t, x: absolute(t.linalg.qr(x)), [(4, 3), (3, 3)]),
    "matrix_power": (lambda t, x: (t.linalg.matrix_power(x, 3), t.linalg.matrix_power(far(t, x), -2)), [(3, 3)]),
    "matrix_exp": (lambda t, x: t.linalg.matrix_exp(x), [(3, 3), (2, 2, 2)]),
    "cond": (lambda t, x: t.linalg.cond(x), [(3, 3)]),
}


def absolute(parts: Any) -> list[Any]:
    """The absolute values of results whose signs (or phases) are not specified."""
    return [part.abs() for part in parts]


@cases("name", MATRICES)
def test_matrices(name: str) -> None:
    program, shapes = MATRICES[name]
    for shape in shapes:
        agree(program, R(*shape), orders=2, near=1e-7)
        agree(program, C(*shape), orders=2, near=1e-7)


SOLVED: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "solve": (lambda t, a, b: t.linalg.solve(far(t, a), b), [(4, 4), (4, 3)]),
    "solve for a vector": (lambda t, a, b: t.linalg.solve(far(t, a), b), [(4, 4), (4,)]),
    "solve for vectors": (lambda t, a, b: t.linalg.solve(far(t, a), b), [(3, 4, 4), (3, 4)]),
    "solve for matrices": (lambda t, a, b: t.linalg.solve(far(t, a), b), [(3, 4, 4), (3, 4, 2)]),
    "lstsq": (lambda t, a, b: t.linalg.lstsq(a, b)[0], [(5, 3), (5, 2)]),
    "solve_triangular": (lambda t, a, b: t.linalg.solve_triangular(far(t, a).triu(), b, upper=True), [(4, 4), (4, 2)]),
    "solve_triangular, lower": (
        lambda t, a, b: t.linalg.solve_triangular(far(t, a).tril(), b, upper=False, unitriangular=True),
        [(2, 4, 4), (2, 4, 3)],
    ),
    "cholesky_solve": (lambda t, a, b: t.cholesky_solve(b, t.linalg.cholesky(positive(t, a))), [(4, 4), (4, 2)]),
}


@cases("name", SOLVED)
def test_equations(name: str) -> None:
    program, shapes = SOLVED[name]
    for make in (R, C):
        agree(program, *(make(*shape, seed=n) for n, shape in enumerate(shapes)), orders=2, near=1e-7)


# Fourier transforms ---------------------------------------------------------------------------------------


def transforms() -> Iterator[Any]:
    """Names, arguments and the dtypes of inputs."""
    for name, kinds in (("fft", "rc"), ("ifft", "rc"), ("rfft", "r"), ("irfft", "c"), ("hfft", "c"), ("ihfft", "r")):
        for kwargs in ({}, {"norm": "ortho"}, {"norm": "forward"}, {"dim": 0}, {"n": 3}, {"n": 7, "dim": 0}):
            yield name, kwargs, kinds
        yield name, {"axis": 0}, kinds
    for name, kinds in (("fft", "rc"), ("ifft", "rc"), ("rfft", "r"), ("irfft", "c"), ("hfft", "c"), ("ihfft", "r")):
        for kwargs in ({}, {"norm": "ortho"}, {"s": (6, 3), "dim": (0, 2)}, {"dim": (0, 1)}):
            yield f"{name}2", kwargs, kinds
        for kwargs in ({}, {"s": (6, 3), "dim": (0, 2)}, {"dim": (0, 2)}, {"s": (3, 4)}):
            yield f"{name}n", kwargs, kinds


@cases("name, kwargs, kinds", list(transforms()))
def test_fourier_transforms(name: str, kwargs: Any, kinds: str) -> None:
    for kind in kinds:
        x = R(4, 5, 4) if kind == "r" else C(4, 5, 4)
        agree(lambda t, x: getattr(t.fft, name)(x, **kwargs), x, orders=2)


@cases("name", ["fftshift", "ifftshift"])
def test_shifts(name: str) -> None:
    for shape, dim in product([(4, 4), (5, 5)], [None, 1, (0, 1)]):
        agree(lambda t, x: getattr(t.fft, name)(x, dim), R(*shape), orders=2)  # noqa: B023


# Distributions and special functions ----------------------------------------------------------------------

X, A, B = R(4), R(4, low=1.1, high=4, seed=1), R(4, low=1.1, high=4, seed=2)
UNIT = R(4, low=0.05, high=0.95, seed=3)
PLACES: dict[str, tuple[Program, list[Any]]] = {
    "normal": (lambda d, x, m, s: [(n := d.Normal(m, s)).log_prob(x), n.cdf(x), n.entropy()], [X, A, B]),
    "normal, inverted": (lambda d, x, m, s: d.Normal(m, s).icdf(x), [UNIT, A, B]),
    "normal, broadcast": (lambda d, x, m, s: d.Normal(m, s).log_prob(x), [R(4, 3), R(1, 3), R(4, 1, low=1)]),
    "chi2": (lambda d, x, k: d.Chi2(k).log_prob(x), [A, B]),
    "beta": (lambda d, x, a, b: d.Beta(a, b).log_prob(x), [UNIT, A, B]),
    "gamma": (lambda d, x, a, b: d.Gamma(a, b).log_prob(x), [A, B, B + 1]),
    "gamma's distribution function": (lambda d, x, a: d.Gamma(a.detach(), 1 + 0 * a.detach()).cdf(x), [A, B]),
    "Poisson": (lambda d, x, a: d.Poisson(a).log_prob(x.detach().round().abs()), [X, A]),
    "Student's t": (lambda d, x, k, m, s: d.StudentT(k, m, s).log_prob(x), [X, A, UNIT, B]),
    "Dirichlet": (lambda d, x, a: d.Dirichlet(a).log_prob(x / x.sum()), [A, B]),
    "multivariate normal": (
        lambda d, x, m, c: d.MultivariateNormal(m, c @ c.mT + c.new_ones(4).diag()).log_prob(x),
        [R(5, 4), X, R(4, 4)],
    ),
    "its entropy": (
        lambda d, x, m, c: d.MultivariateNormal(m, c @ c.mT + c.new_ones(4).diag()).entropy() + 0 * x.sum(),
        [X, X, R(4, 4)],
    ),
}


@cases("name", PLACES)
def test_distributions(name: str) -> None:
    program, values = PLACES[name]
    agree(lambda t, *xs: program(t.distributions, *xs), *values, orders=1)


SPECIAL: dict[str, Program] = {
    "logsumexp": lambda t, x: [t.logsumexp(x, d, k) for d in (0, 1, (0, 1)) for k in (False, True)],
    "weighted logsumexp": lambda t, x: t.logsumexp(x + x.log(), 1),
    "beta": lambda t, x: (t.lgamma(x) + t.lgamma(x + 1) - t.lgamma(2 * x + 1)).exp(),
    "polygamma": lambda t, x: [t.polygamma(n, x) for n in (0, 1, 2)],
    "multigammaln": lambda t, x: [t.special.multigammaln(x + 2, n) for n in (1, 2, 3)],
    "i0e, i1e": lambda t, x: (t.special.i0e(x), t.special.i1e(x)),
    "ndtr, ndtri": lambda t, x: (t.special.ndtr(x), t.special.ndtri(x / 4), t.special.log_ndtr(-x)),
    "xlogy": lambda t, x: (t.xlogy(x, x), t.special.xlog1py(x, x), t.special.entr(x)),
    "erfcx": lambda t, x: t.special.erfcx(x),
}


@cases("name", SPECIAL)
def test_special_functions(name: str) -> None:
    agree(SPECIAL[name], R(3, 4, low=1.1, high=3), orders=2, near=1e-8)


@cases("name", ["gammainc", "gammaincc"])
def test_incomplete_gammas(name: str) -> None:
    agree(lambda t, a, x: getattr(t.special, name)(a.detach(), x), A, B, orders=2)


@cases("mode", ["valid", "same", 2])
def test_convolutions(mode: Any) -> None:
    for length, width in product((4, 5, 6), (2, 3, 4)):
        agree(lambda t, x, w: t.nn.functional.conv1d(x, w, padding=mode), R(1, 1, length), R(1, 1, width), orders=2)
    for shape, kernel in product([(4, 3), (6, 7)], [(2, 2), (3, 2), (4, 1)]):
        x, w = R(2, 3, *shape), R(4, 3, *kernel)
        agree(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=mode), x, w, orders=2)
