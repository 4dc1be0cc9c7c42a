"""Cases in which minigrad once differed from PyTorch without an error: now each agrees, including its gradients."""

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import Program, agree, complexes as C, numbers as R, refuse
from tests.support.cases import cases
from tests.support.expressions import evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*(torch.qr|degrees of freedom)")  # PyTorch's
Row = tuple[Any, ...]  # an expression of t, F, x, y and z, and the arrays x, y and z


def I(*values: Any, dtype: Any = np.int64) -> Any:  # noqa: E743 (as R and C)
    """An array of integers."""
    return np.array(values, dtype)


def program(expression: str) -> Program:
    """An expression as a function of a library and of tensors named x, y and z."""
    return lambda t, *xs: evaluate(expression, t=t, F=t.nn.functional, **dict(zip("xyz", xs, strict=False)))


NONE = np.full(3, -100)  # targets that are all ignored
BOOLS = np.array([True, False])
ZERO_NAN = np.array([np.nan, -np.inf, -0.0, 2])

CORNERS: list[Row] = [
    ("t.meshgrid(x, y, indexing='ij') + t.meshgrid(x, y, indexing='xy')", R(3), R(2)),
    ("t.cartesian_prod(x, y)", R(3), R(2)),
    ("F.cross_entropy(x, y)", R(3, 5), NONE),
    ("F.cross_entropy(x, y, label_smoothing=0.1)", R(3, 5), NONE),
    ("F.cross_entropy(x, y, z.detach())", R(3, 5), NONE, R(5, low=1)),
    ("F.cross_entropy(x, y)", R(3, 5, 2), np.stack([NONE, NONE], 1)),
    ("t.svd(x)[1], [f.abs() for f in t.svd(x)]", R(4, 3)),
    ("[tuple(f.shape) for f in [*t.svd(x, some=False), *t.qr(x, some=False)]]", R(4, 3)),
    ("t.var_mean(x, True), t.var_mean(x, False)", R(4, 3)),
    ("t.cosine_similarity(x, y, dim=1)", R(4, 1, low=1), R(4, 3, low=1)),
    ("t.cosine_similarity(x, y, dim=0)", R(3), R(4, 3)),
    ("F.interpolate(x, size=(5, 4), mode='bilinear')", np.arange(0, 240, 20, np.uint8).reshape(1, 1, 3, 4)),
    ("x.resolve_conj(), x.conj().resolve_conj()", C(3)),
    ("t.linalg.vecdot(x, y)", C(2, 3), C(2, 3, seed=5)),
    ("t.float_power(x, 3)", C(3)),
    ("t.float_power(x, 2)", R(3, dtype=np.float32)),
    ("x.index_fill(0, t.tensor([1, 1, 0]), 2.0)", R(3, 2)),
    ("x.logcumsumexp(0)", np.array([0.0, 100])),
    ("(-5.5) ** x", np.array([2.0, 1.5, 0.0])),
    ("x ** y", np.array([0.0, 0, 0, 2]), np.array([0.0, 2, 1, 0])),
    ("x.detach().var(0, correction=5)", np.array([1.0, 2.0])),
    ("F.pad(x, (-1, 2, 1, -1))", R(3, 4)),
    ("t.atan2(x, y), t.copysign(x, y)", I(1, -2, 0), I(3, 0, -1)),
    ("t.special.ndtr(x)", I(1, -2, 0)),
    ("t.unravel_index(x, (2, 3))", I(1, 5, dtype=np.int32)),
    ("t.addbmm(x, y, y)", I([1, 2], [3, 4]), np.ones((3, 2, 2), np.int64)),
    ("t.square(x)", I(1, -3, dtype=np.int32)),
    ("t.square(x)", BOOLS),
    *[
        (f"x.{name}(0, dtype=t.{dtype})", I(3, 100, 2))
        for name in ("sum", "prod", "cumsum", "cumprod")
        for dtype in ("int32", "int8", "uint8")
    ],
    *[
        (f"x.{name}(0)", np.array(1.5))
        for name in [
            *("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sum", "prod", "mean", "amax", "max"),
            *("logsumexp", "softmax", "log_softmax", "median", "mode", "sort", "flip"),
        ]
    ],
    *[(f"t.linalg.vector_norm(x, {order})", np.array([0.0, 1, 2])) for order in (-1, -2, -0.5, "-math.inf")],
    ("t.tensor([t.tensor([1.0]), t.tensor([2.0])]), t.tensor([t.tensor(1.0), t.tensor(2.0), 3])",),
    # Found by hypothesis and in other projects' lists
    ("t.clamp(x, y, z)", np.array([1.0, 0, 3, 5, 2]), np.array([1.0, 1, 4, 1, 2]), np.array([1.0, 2, 3, 4, 2])),
    ("t.logaddexp2(x, y)", R(3), I(0, 1, -3)),
    ("t.heaviside(x.detach(), y.detach())", np.array([np.nan, -1, 0, 2]), R(4)),
    ("t.fmin(x, y)", I(1, dtype=np.uint8), np.array(-3)),
    ("x.split(0, 1), x.chunk(3, 1), x.chunk(2, 0), F.glu(x)", R(2, 0)),
    ("x.median()", np.array([], bool)),
    ("x & y, x | y, x ^ y, t.gcd(x, y), t.lcm(x, y)", I(3, 4, dtype=np.int32), np.array(6)),
    ("t.view_as_complex(x).std(0)", np.full((3, 2, 2), 0.1)),
    ("t.clamp(x, y)", R(3, dtype=np.float32), I(0, 1, -1)),
    ("t.tensordot(x, y, 1)", R(2, 0), R(0, 3)),
    ("t.tensordot(x, y, 2)", R(0, 2, 3), R(2, 3, 4)),
    ("t.sign(x), t.sgn(x), x.detach().clone().sign_()", ZERO_NAN),
    ("x.any(), x.all(0), x.any(0, True)", I([1, 0], dtype=np.uint8)),
    ("x.movedim(0, 0), x.movedim(-1, 0)", R()),
    ("x % 0, x // 0, t.fmod(x, 0)", np.zeros(0, np.int64)),
    ("t.cat([x, y])", np.zeros(0, np.int64), R(0)),
    ("x.logsumexp(1), x.logsumexp(0), x.logsumexp((0, 1))", R(2, 0)),
    ("t.logit(x)", I(0, 1, 2, dtype=np.uint8)),
    ("t.logit(x), x**True, x**False, x**2", BOOLS),
    ("t.addcmul(x, y, z), t.addcdiv(x, y, z), t.addcmul(z, y, x)", R(2, 2, dtype=np.float32), I(1, 2), R(low=1)),
]


@cases("row", CORNERS)
def test_results_and_gradients(row: Row) -> None:
    expression, *values = row
    agree(program(expression), *values, near=1e-6 if "addcdiv" in expression else None)


@cases("n", [3, 5, 7])
def test_equal_numbers_do_not_deviate(n: int) -> None:
    """The mean of three times 0.1 is not 0.1: PyTorch's deviation is 1.7e-17 there, and its gradient -0.4."""
    x = minigrad.full((n,), 0.1, dtype=minigrad.float64, requires_grad=True)
    deviation = x.std()
    deviation.backward()
    assert deviation.item() == 0
    assert x.grad is not None and not x.grad.any()


def test_copysign_has_a_second_gradient() -> None:
    agree(lambda t, a, b: t.copysign(a, b) ** 3, R(4), R(4, seed=1), orders=2)


NORMS = ["F.layer_norm(x, (6,))", "F.rms_norm(x, (6,))", "F.batch_norm(x, None, None, training=True)"]
NORMS += ["F.group_norm(x, 2)", "F.instance_norm(x[None])", "F.normalize(x)", "x.std(1)", "x.norm(dim=1)"]


@cases("expression", NORMS)
def test_float16_whose_squares_overflow(expression: str) -> None:
    large, norm = R(4, 6, seed=3, low=-2000, high=2000, dtype=np.float16), program(expression)
    agree(norm, large, near=2e-2, gradient=False)
    agree(lambda t, x: norm(t, x.to(t.float16)).double(), large.astype(np.float64), near=2e-2)


EXTREMES = "x.max() x.min() x.amax() x.amin() x.amax(()) x.amax((0,1)) x.amin(keepdim=True) x.amax(1) x.max(1).values"
EXTREMES += " x.min(0).values tuple(x.aminmax()) x.norm(np.inf) x.norm(-np.inf)"


@cases("expression", EXTREMES.split())
def test_extremes_of_nan(expression: str) -> None:
    """The elements that get the gradient if one, two or all are NaN, and if none is."""
    for values in ([[np.nan, 1], [np.nan, 2]], [[1, np.nan], [3, 3]], [[np.nan] * 2] * 2, [[3, 3], [1, 1]]):
        agree(program(expression), np.array(values, np.float64))


def test_running_statistics_of_an_empty_batch() -> None:
    def normalised(t: Any, x: Any) -> Any:
        layer = t.nn.BatchNorm1d(3).double()
        layer(t.ones(4, 3, dtype=t.float64) * 2)
        return layer(x), layer.running_mean, layer.running_var

    agree(normalised, np.zeros((0, 3, 2)))


REFUSED: list[Row] = [
    ("x.narrow(0, 1, -1)", R(3)),
    ("x.index_add(0, t.tensor([0, 1]), y)", R(3, 2), R(2, 1)),
    *[(f"x.{call}", R(3, 2)) for call in ("roll(1, 2)", "roll((1, 2), 0)", "flip(0, 0)", "rot90(1, (0, 0))")],
    *[(f"x.movedim((0, {axis}), {to})", R(3, 2)) for axis, to in ((1, (0,)), (0, (0, 1)))],
    ("x.max(1)", R()),
    ("t.rot90(x)", R(3)),
    ("x.diff(n=-1)", R(3)),
    ("x.unfold(0, 2, -1)", R(3)),
    ("F.embedding(t.tensor([0]), x)", R(3)),
    ("x.scatter(0, t.tensor([[0, 1]]), y)", R(3, 2), R(1, 2, dtype=np.float32)),
]


@cases("row", REFUSED)
def test_refused_by_both(row: Row) -> None:
    expression, *values = row
    refuse(program(expression), *values)
