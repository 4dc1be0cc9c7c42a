"""Rules where a formula has 0/0, 0·∞ or ∞−∞: each gives the limit, in all orders. ``tests/peers/extremes.py`` searches
for more such cases."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

import minigrad
from minigrad.autograd import grad, gradcheck, gradgradcheck
from minigrad.compat.ops.registry import REGISTRY
from minigrad.nn import functional as F
from tests.support.cases import cases, raises
from tests.support.parity import gradients, host, ours
from tests.support.plain_checks import without_kernel

INF, NAN = math.inf, math.nan


def derivatives(program: Callable[..., Any], *values: Any, device: str, order: int = 1) -> list[Any]:
    """The gradients of the sum of a program's result; for order 2, the gradients of their sum."""
    xs = [ours(np.array(v, np.float64), True, device) for v in values]
    out = program(*xs)
    for _ in range(order):
        if not out.requires_grad:
            return [np.zeros(x.shape) for x in xs]
        gradient = gradients([out], xs, [minigrad.ones_like(out)], create_graph=True)
        out = sum((f.sum() for f in gradient[1:]), gradient[0].sum())
    return [host(f) for f in gradient]


# Determinants ----------------------------------------------------------------------------------------------

NEARLY = [[1, 2, 0, 1], [0, 1, 1, 2], [1, 3, 1, 3], [2, 0, 1, 1]]  # singular, but elimination has rounding errors
SINGULAR = [
    [[1, 2], [2, 4]],
    [[0, 0], [0, 0]],
    [[1, 0], [0, 0]],
    [[0]],
    [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    [[1, 1, 1], [1, 1, 1], [1, 1, 1]],
    [[2, 0, 0], [0, 2, 0], [0, 0, 0]],
    [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
]


def exact_det(rows: list[list[int]]) -> int:
    """By minors."""
    if not rows:
        return 1
    return sum((-1) ** j * rows[0][j] * exact_det([r[:j] + r[j + 1 :] for r in rows[1:]]) for j in range(len(rows)))


def cofactors(rows: list[list[int]]) -> Any:
    """The derivative of the determinant with respect to each element."""
    n = len(rows)
    minor: Callable[..., Any] = lambda i, j: [r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i]
    return np.array([[(-1) ** (i + j) * exact_det(minor(i, j)) for j in range(n)] for i in range(n)], float)


@cases("rows", [*SINGULAR, NEARLY])
def test_det_of_a_singular_matrix(rows: list[list[int]], device: str) -> None:
    regular = (np.array(rows) + 3 * np.eye(len(rows))).astype(int).tolist()
    (actual,) = derivatives(minigrad.linalg.det, [rows, regular], device=device)
    np.testing.assert_allclose(actual, [cofactors(rows), cofactors(regular)], atol=1e-12)
    x = ours(np.array([rows, regular], float), True, device)
    assert gradcheck(minigrad.linalg.det, [x]) and gradgradcheck(minigrad.linalg.det, [x])


@cases("program", [lambda x: minigrad.slogdet(x)[1], minigrad.logdet])
def test_the_logarithm_of_a_determinant_of_0_has_no_gradient(program: Any, device: str) -> None:
    raises(minigrad.linalg.LinAlgError, "Singular", lambda: derivatives(program, SINGULAR[0], device=device))


def test_a_singular_complex_matrix(device: str) -> None:
    x = np.array([[1, 2j], [2j, -4]])  # the second row is 2i times the first
    z = minigrad.tensor(x, requires_grad=True, device=device)
    (actual,) = gradients([minigrad.linalg.det(z)], [z], [minigrad.tensor(1 + 0j, device=device)])
    np.testing.assert_allclose(host(actual), np.array([[-4, -2j], [-2j, 1]]).conj(), atol=1e-12)
    assert gradgradcheck(lambda z: minigrad.view_as_real(minigrad.linalg.det(z)), [z])


# Products --------------------------------------------------------------------------------------------------

FACTORS = [
    [1e200, 1e200, 0.0],
    [0.0, 1e200, 1e200, 1e200],
    [1e200, 0.0, 1e200, 3.0],
    [1e200, 0.0, 1e200, 0.0, 1e200],
    [1e200, 1e200, 1e200],
    [0.0, 0.0, 0.0],
    [5e-324, 2.0, 3.0],
    [1e-200, 1e-200, 5.0],
    [1.0, 0.0, 1e308, 1e308, 2.0],
]


def exact(values: list[float], ends: range, order: int) -> list[float]:
    """The derivatives with respect to each factor of the sum of the products of the first n, for n in ``ends``; for
    order 2, the derivatives of their sum."""
    n = len(values)
    total = [Fraction(0)] * n
    for end, left_out in ((e, c) for e in ends for c in combinations(range(e), order)):
        rest = math.prod((Fraction(values[k]) for k in range(end) if k not in left_out), start=Fraction(1))
        for i in left_out:
            total[i] += rest
    return [_float(t) for t in total]


def _float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return INF if x > 0 else -INF


@cases("order", [1, 2])
@cases("values", FACTORS)
def test_products_with_a_zero_whose_other_factors_overflow(values: list[float], order: int, device: str) -> None:
    n = len(values)
    (actual,) = derivatives(minigrad.prod, values, device=device, order=order)
    expected = exact(values, range(n, n + 1), order)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    (actual,) = derivatives(lambda x: x.prod(1), [values, values], device=device, order=order)
    np.testing.assert_allclose(actual, [expected] * 2, rtol=1e-12)
    index = minigrad.zeros(n, dtype=minigrad.int64, device=device)
    one = minigrad.ones(1, dtype=minigrad.float64, device=device)
    (actual,) = derivatives(lambda x: one.scatter_reduce(0, index, x, "prod"), values, device=device, order=order)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    (actual,) = derivatives(lambda x: x.cumprod(0), values, device=device, order=order)
    np.testing.assert_allclose(actual, exact(values, range(1, n + 1), order), rtol=1e-12)


# Points: each has a program, its arguments, and the gradients from order 1 on --------------------------------

Point = tuple[Callable[..., Any], list[Any], list[Any]]
_SPECIAL = minigrad.special
POINTS: dict[str, Point] = {
    **{
        f"atan2{at}": (minigrad.atan2, list(at), [grad])
        for at, grad in {
            **{at: [0.0, 0.0] for at in product([0.0, -0.0], repeat=2)},
            (1e-200, 1e-200): [5e199, -5e199],
            (1e200, -1e200): [-5e-201, -5e-201],
            (1e-310, 1.0): [1.0, -1e-310],
            (5e-324, 0.0): [0.0, -INF],
            (INF, 1.0): [0.0, 0.0],
            (1.0, -INF): [0.0, 0.0],
            (INF, INF): [0.0, 0.0],
        }.items()
    },
    "hypot(0, 0)": (minigrad.hypot, [0.0, 0.0], [[0.0, 0.0]]),
    "hypot(3e-320, 4e-320)": (minigrad.hypot, [3e-320, 4e-320], [[0.6, 0.8]]),
    "hypot(inf, 1)": (minigrad.hypot, [INF, 1.0], [[1.0, 0.0]]),
    "hypot(-inf, inf)": (minigrad.hypot, [-INF, INF], [[-math.sqrt(0.5), math.sqrt(0.5)]]),
    **{
        f"{name}{at}": (getattr(minigrad, name), list(at), [grad, [0.0, 0.0]])
        for name in ("logaddexp", "logaddexp2")
        for at, grad in {
            (INF, 1.0): [1.0, 0.0],
            (-INF, 1.0): [0.0, 1.0],
            (2.0, INF): [0.0, 1.0],
            (INF, -INF): [1.0, 0.0],
            (INF, INF): [0.5, 0.5],
            (-INF, -INF): [0.5, 0.5],
            (1e200, 1e200): [0.5, 0.5],
            (-1e308, -1e308): [0.5, 0.5],
        }.items()
    },
    **{
        f"polygamma({n}, {x})": (lambda x, n=n: minigrad.polygamma(n, x), [x], [[derivative]])
        for n, x, derivative in [
            (1, INF, -0.0),
            (2, INF, 0.0),
            (1, 0.0, -INF),
            (1, 1e200, -0.0),
            (1, 1e100, -1e-200),
            (1, -0.5, -0.8287966442343199),
            (1, -1000.25, 124.02510572269784),
            (1, 1e-20, -2e60),
            (1, -1e-20, 2e60),
        ]
    },
    "digamma(inf)": (minigrad.digamma, [INF], [[0.0], [-0.0], [0.0]]),
    "digamma(1e200)": (minigrad.digamma, [1e200], [[1e-200], [-0.0]]),
    "digamma(-2)": (minigrad.digamma, [-2.0], [[INF]]),
    "lgamma(inf)": (minigrad.lgamma, [INF], [[INF], [0.0], [0.0]]),
    "log_ndtr(40)": (_SPECIAL.log_ndtr, [40.0], [[0.0], [-0.0]]),
    "log_ndtr(1e200)": (_SPECIAL.log_ndtr, [1e200], [[0.0], [-0.0]]),
    "log_ndtr(-1e200)": (_SPECIAL.log_ndtr, [-1e200], [[1e200]]),
    "acosh(1)": (minigrad.acosh, [1.0], [[INF], [-INF]]),
    "acosh(1e200)": (minigrad.acosh, [1e200], [[1e-200]]),
    "inf ** 0": (lambda x: x**0, [INF], [[0.0], [0.0]]),
    "remainder(7, 0.5)": (minigrad.remainder, [7.0, 0.5], [[1.0, -14.0], [0.0, 0.0]]),
    "fmod(inf, 2)": (minigrad.fmod, [INF, 2.0], [[1.0, -INF], [0.0, 0.0]]),
    "fmod(1, inf)": (minigrad.fmod, [1.0, INF], [[1.0, 0.0], [0.0, 0.0]]),
}


_SQUARE_NEAR_0 = [[0.0, 0.5, 1.0, -1.0]], [[1.0, 1.0, 0.0, 0.0]]  # an infinite difference has a gradient
POINTS |= {
    "prod(inf, 2, 3)": (minigrad.prod, [[INF, 2, 3]], [[[6, INF, INF]]]),
    "cumprod(inf, 2, 3)": (lambda x: x.cumprod(0), [[INF, 2, 3]], [[[9, INF, INF]]]),
    "ndtri": (_SPECIAL.ndtri, [[0.0, 1.0, 0.5]], [[[INF, INF, math.sqrt(2 * math.pi)]]]),
    "logit": (minigrad.logit, [[0.0, 1.0, 0.5]], [[[INF, INF, 4.0]], [[-INF, INF, 0.0]]]),
    "logit elsewhere": (minigrad.logit, [[2.0, -1.0, 1e9, INF, -INF, -0.0]], [[[NAN] * 5 + [-INF]]]),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy(x, x.detach(), reduction="sum"),
        [[0.0, 1.0]],
        [[[0.0, 0.0]]] * 2,
    ),
    **{
        name: (
            lambda x, f=loss: f(x, minigrad.zeros_like(x), reduction="sum"),
            [[0.0, 0.5, INF, -INF]],
            [*_SQUARE_NEAR_0],
        )
        for name, loss in (("huber_loss", F.huber_loss), ("smooth_l1_loss", F.smooth_l1_loss))
    },
    "asin": (minigrad.asin, [[1.0, -1.0, 1e-200]], [[[INF, INF, 1.0]], [[INF, -INF, 1e-200]]]),
    "acos": (minigrad.acos, [[1.0, -1.0, 1e-200]], [[[-INF, -INF, -1.0]], [[-INF, INF, -1e-200]]]),
    "atanh": (minigrad.atanh, [[1.0, -1.0, 1e-200]], [[[INF, INF, 1.0]], [[INF, -INF, 2e-200]]]),
    "tanh": (minigrad.tanh, [[INF, -INF, 1e-200]], [[[0.0, 0.0, 1.0]], [[0.0, 0.0, -2e-200]]]),
    # The infinite one gets the whole gradient, which is NaN; the others get 0.
    "logsumexp": (lambda x: minigrad.logsumexp(x, 0), [[INF, 1.0, -INF]], [[[NAN, 0.0, 0.0]]]),
    "logsumexp over two": (lambda x: minigrad.logsumexp(x, (0, 1)), [[[INF, 1.0, -INF]]], [[[[NAN, 0.0, 0.0]]]]),
}


@cases("name", POINTS)
def test_gradients_at_a_point(name: str, device: str) -> None:
    program, at, expected = POINTS[name]
    for order, right in enumerate(expected, 1):
        actual = derivatives(program, *at, device=device, order=order)
        np.testing.assert_allclose(actual, right, rtol=1e-12, err_msg=f"order {order}")


@cases(
    "program, x, expected",
    [
        (minigrad.lgamma, 5e-324, 744.4400719213812),
        (minigrad.lgamma, -1e308, INF),
        (_SPECIAL.i0e, 1e308, 3.9894228040143268e-155),
        (minigrad.i0, -1e308, INF),
        (minigrad.i0, 712.0, 2.4684110577627524e307),
        (_SPECIAL.i1e, -1e308, -3.9894228040143268e-155),
        (lambda x: minigrad.polygamma(2, x), -1e308, -INF),
        (lambda x: minigrad.polygamma(1, x), -1000.25, 19.738209551699785),
        (lambda x: minigrad.polygamma(1, x), 1e308, 1e-308),
    ],
)
def test_values(program: Any, x: float, expected: float, device: str) -> None:
    np.testing.assert_allclose(host(program(ours(np.array(x), device=device))), expected, rtol=1e-14)


def test_powers_whose_exponent_is_0(device: str) -> None:
    """The gradient of the base is 0, and does not depend on the exponent as 0 · ∞ would."""
    base, _ = derivatives(lambda a, b: a**b, [INF, -2.0, 3.0], [0.0, 0.0, 0.0], device=device, order=2)
    np.testing.assert_allclose(base, [0.0, -0.5, 1 / 3])


def test_running_sums_of_exponentials_with_infinite_terms(device: str) -> None:
    rows = [[1, INF, 2], [-INF, 1, 1], [-INF, -INF, -INF]]
    program: Callable[..., Any] = lambda x: x.logcumsumexp(1)
    (actual,) = derivatives(program, rows, device=device)
    np.testing.assert_allclose(actual, np.array([[1.0, 2, 0], [0, 1.5, 0.5], [0, 0, 0]]), atol=1e-15)
    (actual,) = derivatives(program, rows, device=device, order=2)
    np.testing.assert_allclose(actual, np.zeros((3, 3)), atol=1e-15)


@cases("p", [0.5, 1.5, 2, 3, -1])
def test_norms_of_zeros_and_of_numbers_that_overflow(p: float, device: str) -> None:
    program: Callable[..., Any] = lambda x: minigrad.linalg.vector_norm(x, p, 1)
    for order in (1, 2):
        (actual,) = derivatives(program, [[0.0, 0.0]], device=device, order=order)
        np.testing.assert_array_equal(actual, [[0.0, 0.0]])
    (actual,) = derivatives(lambda x: program(x)[:1], [[3e-70, 4e-70], [1.0, 2.0]], device=device)
    (expected,) = derivatives(program, [[3.0, 4.0]], device=device)
    np.testing.assert_allclose(actual, [*expected, [0, 0]])
    for order in (1, 2):
        (actual,) = derivatives(minigrad.linalg.vector_norm, [1e200, 1e200], device=device, order=order)
        np.testing.assert_array_equal(actual, [0.0, 0.0])  # its value is infinite, as in PyTorch


def test_quantiles_at_the_ends(device: str) -> None:
    tiny, least = (ours(np.array(x), True, device) for x in (1e-200, 5e-324))
    np.testing.assert_allclose(host(_SPECIAL.ndtri(tiny)), -30.205594179579643, rtol=1e-13)
    np.testing.assert_allclose(host(_SPECIAL.ndtri(least)), -38.46740561714434, rtol=1e-13)


def test_the_target_gradient_of_binary_cross_entropy_at_the_ends(device: str) -> None:
    """The logarithm of 0 is clamped to -100, so its derivative is 0; at 1 the derivative of the logarithm is 1."""
    x, target = (ours(np.array(v), True, device) for v in ([0.0, 1.0, 0.5], [0.0, 1.0, 0.5]))
    loss = minigrad.nn.functional.binary_cross_entropy(x, target, reduction="sum")
    (derivative,) = minigrad.autograd.grad(loss, target, create_graph=True)
    np.testing.assert_array_equal(host(derivative), [100.0, -100.0, 0.0])
    np.testing.assert_array_equal(host(minigrad.autograd.grad(derivative.sum(), x)[0]), [-1.0, -1.0, -4.0])


# Infinite gradients ----------------------------------------------------------------------------------------

# Softmax has y (g − Σ g y), its logarithm g − eʸ Σ g: if one g is infinite, NaN there and infinite at the others.
SHARES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (minigrad.softmax, lambda g, y: y * (g - (g * y).sum(1, keepdims=True))),
    "softmin": (lambda x, dim: F.softmin(-x, dim), lambda g, y: y * (g - (g * y).sum(1, keepdims=True))),
    "masked.softmax": (minigrad.masked.softmax, lambda g, y: y * (g - (g * y).sum(1, keepdims=True))),
    "log_softmax": (minigrad.log_softmax, lambda g, y: g - np.exp(y) * g.sum(1, keepdims=True)),
}
LOGITS = [[0, 1, 2, -1], [0, 200, 0, 1], [50, 0, 0, 0], [-INF, 1, 2, 0], [0, -INF, 30, -INF]]


@cases("kernel", [True, False])
@cases("dtype", [np.float64, np.float32])
@cases("across", [False, True])
@cases("name", SHARES)
def test_an_infinite_gradient_of_softmax(name: str, across: bool, dtype: Any, kernel: bool, device: str) -> None:
    """At one element, at two, at all; along rows and columns, for few rows without a kernel, for many with one."""
    program, derivative = SHARES[name]
    beside = [np.where(np.eye(4) == 1, v, other) for v, other in product((INF, -INF, NAN), (0.0, 1.0))]
    arriving = np.concatenate([*beside, [[INF, -INF, 0, 0], [INF, INF, 1, 1], [INF] * 4]])
    rows = np.repeat(np.array(LOGITS, dtype), len(arriving), 0)
    g = np.tile(arriving.astype(dtype), (len(LOGITS), 1))
    if kernel:
        rows, g = np.tile(rows, (40, 1)), np.tile(g, (40, 1))
    op = REGISTRY["log_softmax" if name == "log_softmax" else "softmax"]
    with nullcontext() if kernel else without_kernel(op):
        x = ours(rows.T.copy() if across else rows, True, device)
        y = program(x, 0 if across else 1)
        (actual,) = grad(y, x, ours(g.T.copy() if across else g, device=device), create_graph=not kernel)
    turned: Callable[[Any], Any] = np.transpose if across else np.asarray
    with np.errstate(invalid="ignore"):
        expected = derivative(g, turned(host(y)))
    np.testing.assert_allclose(turned(host(actual)), expected, 1e-4, 1e-6)


# Numbers whose squares overflow or underflow, and NaN ---------------------------------------------------------

SPREADS: dict[str, Callable[..., Any]] = {
    "std": lambda x: x.std(),
    "std(dim)": lambda x: x.reshape(1, 3).std(1, keepdim=True),
    "population": lambda x: x.std(unbiased=False),
    "std_mean": lambda x: minigrad.std_mean(x)[0],
    "two axes": lambda x: x.reshape(3, 1).std((0, 1)),
    "beside others": lambda x: minigrad.stack([x, minigrad.ones_like(x)], 1).std(0)[0],
}


@cases("name", SPREADS)
@cases(
    "dtype, sizes",
    [(np.float32, [1e-36, 1e-23, 1e19, 4e37]), (np.float64, [1e-307, 1e-200, 1e200]), (np.complex64, [1e-23, 1e19])],
)
def test_deviations_of_numbers_whose_squares_overflow(name: str, dtype: Any, sizes: list[float], device: str) -> None:
    for size in sizes:
        values = [np.array([1.0, 2.0, 4.0]) * s for s in (1.0, size)]
        one, x = (ours(v.astype(dtype), True, device) for v in values)
        expected, actual = SPREADS[name](one), SPREADS[name](x)
        np.testing.assert_allclose(host(actual) / size, host(expected), rtol=1e-5)
        (right,), (derivative,) = grad(expected.sum(), one), grad(actual.sum(), x)
        np.testing.assert_allclose(host(derivative), host(right), rtol=1e-4)


def test_a_variance_overflows_only_where_its_value_does(device: str) -> None:
    x = ours(np.array([1e19, 2e19, 4e19] * 3, np.float32), device=device)
    np.testing.assert_allclose(host(x.var()), 1.75e38, rtol=1e-6)
    assert host((2 * x).var()) == INF


DIFFERENCES: dict[str, Callable[..., Any]] = {
    "huber_loss": lambda x, y: F.huber_loss(x, y, "sum", 0.5),
    "smooth_l1_loss": lambda x, y: F.smooth_l1_loss(x, y, reduction="sum", beta=0.5),
    "mse_loss": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "cdist": lambda x, y: minigrad.cdist(x[None], y[None], 1.0),
    "pdist": lambda x, y: minigrad.pdist(minigrad.stack([x, y]), 1.0),
}


@cases("name", DIFFERENCES)
def test_the_gradient_of_a_difference_that_is_nan(name: str, device: str) -> None:
    """It is NaN there, and finite elsewhere."""
    for at in ([0.0, NAN, 3.0, 0.0], [0.0, 0.0, 3.0, NAN]):
        for values in ((at, [0.0] * 4), ([0.0] * 4, at)):
            for derivative in derivatives(DIFFERENCES[name], *values, device=device):
                np.testing.assert_array_equal(np.isnan(derivative), np.isnan(at))


@cases("dtype, tolerance", [(np.complex64, 3e-7), (np.complex128, 1e-15)])
def test_a_complex_log1p_keeps_its_digits(dtype: Any, tolerance: float, device: str) -> None:
    """Both parts by their series near 0; elsewhere NumPy's logarithm of 1 + x."""
    near = np.array([1e-6, -1e-6j, 1e-10 + 1e-10j, -3e-12 + 2e-7j, 0])
    far = np.array([1 + 1j, -3 + 0.5j, -1.5, 1e15 - 1e15j, 1e30j, -1 + 1e-3j, 0.5 - 2j])
    for x, right in ((near, near - near**2 / 2 + near**3 / 3 - near**4 / 4), (far, np.log(1 + far))):
        actual = host(minigrad.log1p(ours(x.astype(dtype), device=device)))
        for part in ("real", "imag"):
            np.testing.assert_allclose(getattr(actual, part), getattr(right, part), rtol=4 * tolerance, atol=1e-25)
    assert host(minigrad.log1p(ours(np.array([-1 + 0j], dtype), device=device))).real == -INF


@cases("name", ["abs", "sgn", "angle"])
@cases("dtype, sizes", [(np.complex64, [1e-23, 1e-37, 1e25]), (np.complex128, [1e-200, 1e200])])
def test_gradients_of_parts_of_tiny_and_large_complex_numbers(
    name: str, dtype: Any, sizes: list[float], device: str
) -> None:
    """The gradient of the modulus does not depend on the size; those of phase and angle are divided by the size."""
    z = np.array([3 + 4j, -1 + 2j, -2j, 1 + 0j, 0])

    def derivative(size: float) -> Any:
        x = ours((z * size).astype(dtype), True, device)
        out = getattr(minigrad, name)(x)
        (actual,) = grad((out.real + out.imag if out.is_complex() else out).sum(), x)
        return host(actual) * (1 if name == "abs" else size)

    for size in sizes:
        np.testing.assert_allclose(derivative(size), derivative(1.0), rtol=1e-5)


NORMALISED: dict[str, Callable[..., Any]] = {
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "rms_norm": lambda x: F.rms_norm(x, (3,)),
    "group_norm": lambda x: F.group_norm(x.reshape(-1, 3, 1), 1).reshape(-1, 3),
    "instance_norm": lambda x: F.instance_norm(x[None])[0],
}


@cases("plain", [False, True])
@cases("name", NORMALISED)
@cases("dtype, sizes", [(np.float32, [1e20, 1e36]), (np.float64, [1e155, 1e200, 1e307])])
def test_norms_of_numbers_whose_squares_overflow(name: str, dtype: Any, sizes: list[float], plain: bool) -> None:
    """They equal the norms of scaled numbers, by kernels and by the ops' formulas, next to other rows."""
    kernel = {"instance_norm": "group_norm"}.get(name, name)
    rows, g = np.tile([[1.0, 2, 4], [-3, 1, 1]], (20, 1)), ours(np.array([1.0, 2, 0], dtype))
    with without_kernel(REGISTRY[kernel]) if plain else nullcontext():
        for size in sizes:
            x, one = (ours((rows * s).astype(dtype), True) for s in (size, 2.0**20))
            actual, right = (NORMALISED[name](minigrad.cat([v, v.detach() / v.detach()])) for v in (x, one))
            np.testing.assert_allclose(host(actual), host(right), rtol=1e-5)
            derivative, expected = grad((actual[:40] * g).sum(), x)[0], grad((right[:40] * g).sum(), one)[0]
            np.testing.assert_allclose(host(derivative) * size, host(expected) * 2.0**20, rtol=1e-4, atol=1e-6)


def test_batch_norm_of_large_numbers(device: str) -> None:
    """Its gradient equals that of scaled numbers, although the cube of its scale underflows."""
    x, one = (ours(np.array([[1.0], [2], [4]], np.float32) * np.float32(s), True, device) for s in (1e16, 1e3))
    g = ours(np.array([[1.0], [2], [0]], np.float32), device=device)
    actual, right = (grad((F.batch_norm(v, None, None, training=True) * g).sum(), v)[0] for v in (x, one))
    np.testing.assert_allclose(host(actual) * 1e16, host(right) * 1e3, rtol=1e-4)
