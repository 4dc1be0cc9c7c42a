"""What HIPS autograd tests, of which PyTorch has a counterpart: results and gradients of two orders agree.

The cases follow the list of its tests (``test_systematic``, ``test_numpy``, ``test_linalg``, ``test_fft``,
``test_scipy``, ``test_complex``, ``test_binary_ops``): what is differentiated, in which shapes, real or complex.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.support.both import Program, agree, complexes, numbers

pytestmark = pytest.mark.filterwarnings("ignore:.*(degrees of freedom|even kernel)")  # PyTorch's
R, C = numbers, complexes

# Elementwise ----------------------------------------------------------------------------------------------

ONE: dict[str, tuple[float, float]] = {  # the limits between which a function is smooth
    **dict.fromkeys(("sin", "cos", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "square", "neg"), (-2, 2)),
    **dict.fromkeys(("log", "log10", "log1p", "log2", "sqrt", "rsqrt", "reciprocal"), (0.2, 3)),
    "abs": (0.1, 4),
    "acosh": (1.1, 4),
    "asinh": (-0.9, 0.9),
    "atanh": (-0.9, 0.9),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atan": (-2, 2),
    "tan": (-1.1, 1.1),
    "sign": (0.1, 2),
    "sinc": (0.1, 2),
    "deg2rad": (-2, 2),
    "rad2deg": (-2, 2),
    "ceil": (0.1, 0.9),
    "floor": (0.1, 0.9),
    "angle": (0.1, 2),
    "nan_to_num": (-2, 2),
    "erf": (-3, 3),
    "erfc": (-3, 3),
    "erfinv": (-0.95, 0.95),
    "logit": (0.1, 0.9),
    "sigmoid": (-4, 5),
    "digamma": (0.3, 2),
    "lgamma": (0.3, 2),
    "i0": (0.2, 20),
    "special.i1": (0.2, 20),
    **{f"special.bessel_{kind}": (0.2, 20) for kind in ("j0", "j1", "y0", "y1")},
}
OF_COMPLEX = {"sin", "cos", "sinh", "cosh", "tanh", "exp", "expm1", "square", "neg", "log", "log10", "log1p", "log2"}
OF_COMPLEX |= {"sqrt", "rsqrt", "reciprocal", "abs", "acosh", "asinh", "atanh", "asin", "acos", "atan", "tan", "angle"}
FORWARD_ONLY = {f"special.bessel_{kind}" for kind in ("j0", "j1", "y0", "y1")}  # PyTorch has no gradients of them


def found(t: Any, name: str) -> Any:
    """A function by its name with dots."""
    for part in name.split("."):
        t = getattr(t, part)
    return t


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str) -> None:
    low, high = ONE[name]
    for shape in [(), (2,), (3, 2), (1, 2)]:
        x = R(*shape, low=low, high=high)
        near = 1e-6 if name in FORWARD_ONLY else None  # PyTorch's own are right to 5e-7
        agree(lambda t, x: found(t, name)(x), x, near=near, orders=2, gradient=name not in FORWARD_ONLY)
        if name in OF_COMPLEX:
            agree(lambda t, x: found(t, name)(x), x + 0.1j * R(*shape, low=0.2, high=2, seed=1), orders=2)


@pytest.mark.parametrize("name", ["real", "imag", "conj", "resolve_conj", "conj_physical", "view_as_real", "sgn"])
def test_parts_of_complex_numbers(name: str) -> None:
    for shape in [(), (2,), (3, 2)]:
        agree(lambda t, x: getattr(t, name)(x), C(*shape), orders=2)


TWO: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    **dict.fromkeys(("add", "sub", "mul", "logaddexp", "logaddexp2", "maximum", "minimum"), ((-2, 2), (-2, 2))),
    **dict.fromkeys(("fmax", "fmin", "hypot", "atan2"), ((-2, 2), (0.3, 2))),
    "div": ((-2, 2), (0.3, 2)),
    "true_divide": ((-2, 2), (-2, -0.3)),
    "pow": ((0.7, 2), (-2, 2)),
    "remainder": ((-0.9, 0.9), (0.7, 1.9)),
    "fmod": ((-0.9, 0.9), (-2, -1)),
    "copysign": ((0.3, 2), (0.3, 2)),
}


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    (low, high), (low2, high2) = TWO[name]
    for one, other in product([(), (2,), (3, 2), (1, 2)], repeat=2):
        x, y = R(*one, low=low, high=high), R(*other, low=low2, high=high2, seed=7)
        agree(lambda t, x, y: getattr(t, name)(x, y), x, y, orders=2)
        if name in ("add", "sub", "mul", "div", "pow"):
            z = x + 0.2j * R(*one, seed=1)
            agree(lambda t, x, y: getattr(t, name)(x, y), z, y, orders=2)
            agree(lambda t, x, y: getattr(t, name)(x, y), z, y + 0.1j, orders=2)


# Statistics -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "mean", "sum", "prod", "var", "std", "logsumexp"])
def test_statistics(name: str) -> None:
    for shape, keepdim in product([(3,), (2, 3), (1, 3)], [False, True]):
        for dim in range(len(shape)):
            values = [R(*shape)] + [C(*shape)] * (name in ("mean", "sum", "prod", "var", "std", "logsumexp"))
            for x in values:
                agree(lambda t, x: getattr(x, name)(dim, keepdim=keepdim), x, orders=2)  # noqa: B023
    for shape in [(), (3,), (2, 3)]:
        if name not in ("logsumexp", "var", "std") or (shape and name != "logsumexp"):
            agree(lambda t, x: getattr(x, name)(), R(*shape), orders=2)


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dim", [None, 1, (0, 1)])
def test_corrections_of_variances(correction: int, dim: Any) -> None:
    for name, keepdim in product(("var", "std"), (False, True)):
        kwargs = {"dim": dim, "correction": correction, "keepdim": keepdim}
        agree(lambda t, x: getattr(t, name)(x, **kwargs), R(3, 4), orders=2)  # noqa: B023


# Products -------------------------------------------------------------------------------------------------

EINSUMS: dict[str, list[tuple[int, ...]]] = {
    "ij->ji": [(3, 4)],
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ijk,lji->lki": [(3, 4, 4), (4, 4, 3)],
    "...jk,...lj->...lk": [(3, 4, 4), (3, 4, 4)],
    "...,...->...": [(3, 4, 4), (3, 4, 4)],
    "ijk,lji,lli->lki": [(3, 4, 4), (4, 4, 3), (4, 4, 3)],
    "i,i->": [(4,), (4,)],
    "ii->i": [(4, 4)],
    "ij,ij->": [(3, 2), (3, 2)],
}


@pytest.mark.parametrize("text", EINSUMS)
def test_einsum(text: str) -> None:
    shapes = EINSUMS[text]
    for make in (R, C):
        agree(lambda t, *xs: t.einsum(text, *xs), *(make(*s, seed=n) for n, s in enumerate(shapes)), orders=2)


@pytest.mark.parametrize("text", [text for text in EINSUMS if "." not in text])
def test_einsum_of_numbered_axes(text: str) -> None:
    *axes, result = ([ord(c) - ord("i") for c in part] for part in text.replace("->", ",").split(","))

    def program(t: Any, *xs: Any) -> Any:
        return t.einsum(*(part for pair in zip(xs, axes, strict=True) for part in pair), result)

    agree(program, *(R(*s, seed=n) for n, s in enumerate(EINSUMS[text])), orders=2)


PRODUCTS: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "matrix and vector": (lambda t, a, b: a @ b, [(2, 3), (3,)]),
    "vector and matrix": (lambda t, a, b: a @ b, [(3,), (3, 4)]),
    "vectors": (lambda t, a, b: t.dot(a, b), [(3,), (3,)]),
    "matrices": (lambda t, a, b: a @ b, [(2, 3), (3, 4)]),
    "batches": (lambda t, a, b: a @ b, [(5, 1, 2, 3), (2, 3, 4)]),
    "inner": (lambda t, a, b: t.inner(a, b), [(2, 3), (4, 3)]),
    "outer": (lambda t, a, b: t.outer(a, b), [(2,), (3,)]),
    "kron": (lambda t, a, b: t.kron(a, b), [(2, 3), (2, 2)]),
    "kron of vectors": (lambda t, a, b: t.kron(a, b), [(2,), (3,)]),
    "cross": (lambda t, a, b: t.linalg.cross(a, b), [(2, 3), (2, 3)]),
    "tensordot of one axis": (lambda t, a, b: t.tensordot(a, b, ([1], [0])), [(1, 3), (3, 4, 2)]),
    "tensordot of two": (lambda t, a, b: t.tensordot(a, b, ([0, 1], [1, 2])), [(2, 3), (1, 2, 3)]),
    "tensordot of two, turned": (lambda t, a, b: t.tensordot(a, b, ([1, 0], [2, 1])), [(2, 3, 4), (2, 2, 3, 4)]),
    "tensordot of a number of axes": (lambda t, a, b: t.tensordot(a, b, 2), [(4, 2, 2), (2, 2, 4)]),
    "tensordot of none": (lambda t, a, b: t.tensordot(a, b, 0), [(2,), (3,)]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    program, shapes = PRODUCTS[name]
    for make in (R, C):
        agree(program, *(make(*shape, seed=n) for n, shape in enumerate(shapes)), orders=2)


# Shapes and indices ---------------------------------------------------------------------------------------

SHAPED: dict[str, tuple[Program, tuple[int, ...]]] = {
    **{
        f"permute {axes}": (lambda t, x, axes=axes: x.permute(axes), (2, 3, 4))
        for axes in [(0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)]
    },
    **{
        f"{name} of {shape}": (lambda t, x, name=name: getattr(t, name)(x), shape)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
        for shape in [(), (1,), (4,), (2, 4), (2, 4, 5), (2, 4, 3, 5)]
    },
    **{f"trace {n}": (lambda t, x, n=n: x.diagonal(n).sum(-1), (4, 5)) for n in (-1, 0, 1)},
    "sort": (lambda t, x: t.sort(x)[0], (7,)),
    "msort": (lambda t, x: t.msort(x), (7, 2)),
    "topk": (lambda t, x: x.topk(3)[0], (7,)),
    "flipud": (lambda t, x: t.flipud(x), (3, 4)),
    "fliplr": (lambda t, x: t.fliplr(x), (3, 4)),
    "rot90": (lambda t, x: t.rot90(x), (3, 4)),
    "cumsum": (lambda t, x: (x.cumsum(0), x.cumsum(1), x.reshape(-1).cumsum(0)), (3, 4)),
    "cumprod": (lambda t, x: (x.cumprod(0), x.cumprod(1)), (3, 4)),
    "diff": (lambda t, x: (x.diff(), x.diff(n=2, dim=0), x.diff(n=5)), (4, 5)),
    "gradient": (lambda t, x: t.gradient(x), (3, 4)),
    "numbers": (lambda t, x: x[3, 0, 1], (5, 6, 4)),
    "slices": (lambda t, x: x[1:4:2, 2:4, :], (5, 6, 4)),
    "lists": (lambda t, x: x[[0, 1, 2], :, :], (5, 6, 4)),
    "a number, a slice and a list": (lambda t, x: x[3, 2:, [1, 3]], (5, 6, 4)),
    "an index twice": (lambda t, x: x[[0, 1, 0]], (3, 2)),
    "pairs, some twice": (lambda t, x: x[[0, 1, 0], [3, 2, 3]], (3, 4)),
    "slices of a slice": (lambda t, x: x[2:6][1:3], (7,)),
    "slices that overlap": (lambda t, x: x[:, 2:4] + x[:, 3:5], (5, 6, 4)),
    "an ellipsis and a new axis": (lambda t, x: x[..., None, 1:], (2, 3)),
    "a mask": (lambda t, x: x[t.tensor([True, False, True])], (3, 2)),
    "dot of slices": (lambda t, x: t.dot(x[:2], x[2:]), (4,)),
    "reshape": (lambda t, x: (x.reshape(20, 6), t.reshape(x, (4, 30)), x.ravel(), x.flatten()), (5, 6, 4)),
    "cat": (lambda t, x: (t.cat((x, x * 2)), t.cat((x, x, x), 1), t.concatenate((x, x), axis=-1)), (2, 3)),
    "stacks": (lambda t, x: (t.stack([x, 2 * x], 1), t.hstack([x, x]), t.vstack([x, x]), t.dstack([x, x])), (2, 3)),
    "column_stack": (lambda t, x: t.column_stack([x, x * 2]), (3, 2)),
    "splits": (lambda t, x: (t.split(x, 2), t.tensor_split(x, 3, 1), t.chunk(x, 3, 1)), (4, 5)),
    "split like NumPy": (lambda t, x: (t.hsplit(x, 2), t.vsplit(x, [1, 3]), t.dsplit(x, 2)), (4, 4, 4)),
    "diag": (lambda t, x: (t.diag(x), t.diag(x, 1), t.diag(x, -1), t.diag(x[0])), (4, 4)),
    "diag_embed": (lambda t, x: (t.diag_embed(x), t.diag_embed(x, 1, 0, 2)), (3, 4)),
    "diagonal": (lambda t, x: (x.diagonal(dim1=-1, dim2=-2), x.diagonal(1, 0, 2)), (3, 4, 4)),
    "roll": (lambda t, x: (t.roll(x, 2, 1), t.roll(x, 3), t.roll(x, (1, -1), (0, 1))), (4, 5)),
    "triangles": (lambda t, x: (x.triu(2), x.tril(2), x.triu(-1)), (5, 5)),
    "clip": (lambda t, x: (x.clip(0.1, 1.1), x.clamp(min=0), x.clamp(max=0)), (5, 5)),
    "squeeze": (lambda t, x: (x.squeeze(), x.squeeze(1), x.unsqueeze(2)), (5, 1, 4)),
    "repeat": (lambda t, x: (x.repeat_interleave(2, 1), x.repeat_interleave(1, 0), x.repeat_interleave(2)), (5, 3)),
    "tile": (lambda t, x: (t.tile(x, (2,)), t.tile(x, (2, 1, 3))), (2, 3)),
    "axes": (lambda t, x: (x.swapaxes(0, 2), t.moveaxis(x, 0, 2), t.movedim(x, (0, 1), (2, 0))), (2, 3, 4)),
    "expand": (lambda t, x: (t.broadcast_to(x, (4, 2, 3)), x[:, :1].expand(2, 5)), (2, 3)),
    "where": (lambda t, x: t.where(x > 0, x * 2, x.exp()), (4, 5)),
    "pad": (lambda t, x: [t.nn.functional.pad(x, (1, 2, 0, 1), mode=m) for m in ("constant",)], (3, 4)),
    "a table of numbers": (lambda t, x: t.stack([x, x * 1.0, x + 2.5]) * 2, ()),
}


@pytest.mark.parametrize("name", SHAPED)
def test_shapes_and_indices(name: str) -> None:
    program, shape = SHAPED[name]
    agree(program, R(*shape), orders=2)
    if name not in ("sort", "msort", "topk", "clip", "where", "gradient"):
        agree(program, C(*shape), orders=2)


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


@pytest.mark.parametrize("name", MATRICES)
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


@pytest.mark.parametrize("name", SOLVED)
def test_equations(name: str) -> None:
    program, shapes = SOLVED[name]
    for make in (R, C):
        agree(program, *(make(*shape, seed=n) for n, shape in enumerate(shapes)), orders=2, near=1e-7)


# Fourier transforms ---------------------------------------------------------------------------------------


def transforms() -> Iterator[Any]:
    """Names, arguments and the dtypes of inputs."""
    for name, kinds in (("fft", "rc"), ("ifft", "rc"), ("rfft", "r"), ("irfft", "c"), ("hfft", "c"), ("ihfft", "r")):
        for kwargs in ({}, {"norm": "ortho"}, {"norm": "forward"}, {"dim": 0}, {"n": 3}, {"n": 7, "dim": 0}):
            yield pytest.param(name, kwargs, kinds, id=f"{name} {kwargs}")
        yield pytest.param(name, {"axis": 0}, kinds, id=f"{name} axis")
    for name, kinds in (("fft", "rc"), ("ifft", "rc"), ("rfft", "r"), ("irfft", "c"), ("hfft", "c"), ("ihfft", "r")):
        for kwargs in ({}, {"norm": "ortho"}, {"s": (6, 3), "dim": (0, 2)}, {"dim": (0, 1)}):
            yield pytest.param(f"{name}2", kwargs, kinds, id=f"{name}2 {kwargs}")
        for kwargs in ({}, {"s": (6, 3), "dim": (0, 2)}, {"dim": (0, 2)}, {"s": (3, 4)}):
            yield pytest.param(f"{name}n", kwargs, kinds, id=f"{name}n {kwargs}")


@pytest.mark.parametrize(("name", "kwargs", "kinds"), list(transforms()))
def test_fourier_transforms(name: str, kwargs: Any, kinds: str) -> None:
    for kind in kinds:
        x = R(4, 5, 4) if kind == "r" else C(4, 5, 4)
        agree(lambda t, x: getattr(t.fft, name)(x, **kwargs), x, orders=2)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
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


@pytest.mark.parametrize("name", PLACES)
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


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name: str) -> None:
    agree(SPECIAL[name], R(3, 4, low=1.1, high=3), orders=2, near=1e-8)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gammas(name: str) -> None:
    agree(lambda t, a, x: getattr(t.special, name)(a.detach(), x), A, B, orders=2)


@pytest.mark.parametrize("mode", ["valid", "same", 2])
def test_convolutions(mode: Any) -> None:
    for length, width in product((4, 5, 6), (2, 3, 4)):
        agree(lambda t, x, w: t.nn.functional.conv1d(x, w, padding=mode), R(1, 1, length), R(1, 1, width), orders=2)
    for shape, kernel in product([(4, 3), (6, 7)], [(2, 2), (3, 2), (4, 1)]):
        x, w = R(2, 3, *shape), R(4, 3, *kernel)
        agree(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=mode), x, w, orders=2)
