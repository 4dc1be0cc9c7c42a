"""Corners in which minigrad once differed from PyTorch without an error: each agrees now, with its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import Program, agree, complexes, numbers, refuse
from tests.support.cases import cases

pytestmark = pytest.mark.filterwarnings("ignore:.*(torch.qr|degrees of freedom)")  # PyTorch's
Case = tuple[Program, Any]  # a program, and its arguments
R, C = numbers, complexes


def integers(*values: Any) -> Any:
    """An array of int64."""
    return np.array(values, np.int64)


NONE = np.full(3, -100)  # targets that are all ignored
LARGE = numbers(4, 6, seed=3, low=-2000, high=2000, dtype=np.float16)

CORNERS: dict[str, Case] = {
    "meshgrid": (lambda t, a, b: t.meshgrid(a, b, indexing="ij"), (R(3), R(2))),
    "meshgrid xy": (lambda t, a, b: t.meshgrid(a, b, indexing="xy"), (R(3), R(2))),
    "cartesian_prod": (lambda t, a, b: t.cartesian_prod(a, b), (R(3), R(2))),
    "cross_entropy": (lambda t, x, y: t.nn.functional.cross_entropy(x, y), (R(3, 5), NONE)),
    "cross_entropy smoothed": (
        lambda t, x, y: t.nn.functional.cross_entropy(x, y, label_smoothing=0.1),
        (R(3, 5), NONE),
    ),
    "cross_entropy weighted": (
        lambda t, x, y, w: t.nn.functional.cross_entropy(x, y, w.detach()),
        (R(3, 5), NONE, R(5, low=1)),
    ),
    "cross_entropy of (N, C, L)": (
        lambda t, x, y: t.nn.functional.cross_entropy(x, y),
        (R(3, 5, 2), np.stack([NONE, NONE], 1)),
    ),
    "torch.svd": (lambda t, x: (t.svd(x)[1], [f.abs() for f in t.svd(x)]), (R(4, 3),)),
    "torch.svd, all": (lambda t, x: [tuple(f.shape) for f in t.svd(x, some=False)], (R(4, 3),)),
    "qr(some=)": (lambda t, x: [tuple(f.shape) for f in t.qr(x, some=False)], (R(4, 3),)),
    "var_mean(x, True)": (lambda t, x: t.var_mean(x, True), (R(4, 3),)),
    "var_mean(x, False)": (lambda t, x: t.var_mean(x, False), (R(4, 3),)),
    "cosine_similarity of a repeated axis": (
        lambda t, a, b: t.cosine_similarity(a, b, dim=1),
        (R(4, 1, low=1), R(4, 3, low=1)),
    ),
    "cosine_similarity of one axis and two": (lambda t, a, b: t.cosine_similarity(a, b, dim=0), (R(3), R(4, 3))),
    "interpolate of uint8": (
        lambda t, x: t.nn.functional.interpolate(x, size=(5, 4), mode="bilinear"),
        (np.arange(0, 240, 20, np.uint8).reshape(1, 1, 3, 4),),
    ),
    "resolve_conj": (lambda t, z: (z.resolve_conj(), z.conj().resolve_conj()), (C(3),)),
    "vecdot": (lambda t, a, b: t.linalg.vecdot(a, b), (C(2, 3), C(2, 3, seed=5))),
    "float_power": (lambda t, a: t.float_power(a, 3), (C(3),)),
    "float_power of float32": (lambda t, a: t.float_power(a, 2), (R(3, dtype=np.float32),)),
    "index_fill, an index twice": (lambda t, x: x.index_fill(0, t.tensor([1, 1, 0]), 2.0), (R(3, 2),)),
    "logcumsumexp": (lambda t, x: x.logcumsumexp(0), (np.array([0.0, 100]),)),
    "(-5.5)**x": (lambda t, x: (-5.5) ** x, (np.array([2.0, 1.5, 0.0]),)),
    "x**y at 0": (lambda t, x, y: x**y, (np.array([0.0, 0, 0, 2]), np.array([0.0, 2, 1, 0]))),
    "var with correction 5": (lambda t, x: x.detach().var(0, correction=5), (np.array([1.0, 2.0]),)),
    "pad": (lambda t, x: t.nn.functional.pad(x, (-1, 2, 1, -1)), (R(3, 4),)),
    "atan2": (lambda t, a, b: t.atan2(a, b), (integers(1, -2, 0), integers(3, 0, -1))),
    "copysign of integers": (lambda t, a, b: t.copysign(a, b), (integers(1, -2, 0), integers(-3, 0, -1))),
    "ndtr": (lambda t, x: t.special.ndtr(x), (integers(1, -2, 0),)),
    "unravel_index": (lambda t, x: t.unravel_index(x, (2, 3)), (np.array([1, 5], np.int32),)),
    "addbmm of integers": (
        lambda t, x, a, b: t.addbmm(x, a, b),
        (integers([1, 2], [3, 4]), np.ones((3, 2, 2), np.int64), np.ones((3, 2, 2), np.int64)),
    ),
    "square": (lambda t, x: t.square(x), (np.array([1, -3], np.int32),)),
    "square of bools": (lambda t, x: t.square(x), (np.array([True, False]),)),
    **{
        f"{name} of {dtype}": (lambda t, x, name=name, dtype=dtype: getattr(x, name)(0, dtype=getattr(t, dtype)), (x,))
        for x in [integers(3, 100, 2)]
        for name in ("sum", "prod", "cumsum", "cumprod")
        for dtype in ("int32", "int8", "uint8")
    },
    **{
        f"{name}(0) of a number": (lambda t, x, name=name: getattr(x, name)(0), (np.array(1.5),))
        for name in [
            *("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sum", "prod", "mean", "amax", "max"),
            *("logsumexp", "softmax", "log_softmax", "median", "mode", "sort", "flip"),
        ]
    },
    **{
        f"norm({order}) at 0": (lambda t, x, order=order: t.linalg.vector_norm(x, order), (np.array([0.0, 1, 2]),))
        for order in (-1, -2, -0.5, float("-inf"))
    },
    "a tensor of tensors of one element": (lambda t: t.tensor([t.tensor([1.0]), t.tensor([2.0])]), ()),
    "a tensor of numbers": (lambda t: t.tensor([t.tensor(1.0), t.tensor(2.0), 3]), ()),
}


@cases("name", CORNERS)
def test_results_and_gradients(name: str) -> None:
    program, values = CORNERS[name]
    agree(program, *values)


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


# What hypothesis and the lists of other projects found ----------------------------------------------------

FOUND: dict[str, Case] = {
    "clamp where bounds are equal": (
        lambda t, x, low, high: t.clamp(x, low, high),
        (np.array([1.0, 0, 3, 5, 2]), np.array([1.0, 1, 4, 1, 2]), np.array([1.0, 2, 3, 4, 2])),
    ),
    "logaddexp2 of floats and integers": (lambda t, x, y: t.logaddexp2(x, y), (R(3), integers(0, 1, -3))),
    "heaviside of NaN": (lambda t, x, y: t.heaviside(x.detach(), y.detach()), (np.array([np.nan, -1, 0, 2]), R(4))),
    "fmin of integers and a wider one": (lambda t, x, y: t.fmin(x, y), (np.array([1], np.uint8), np.array(-3))),
    "split of an empty axis into pieces of 0": (lambda t, x: x.split(0, 1), (R(2, 0),)),
    "median of no bools": (lambda t, x: x.median(), (np.array([], bool),)),
    "integers and one of a wider dtype": (
        lambda t, x, y: (x & y, x | y, x ^ y, t.gcd(x, y), t.lcm(x, y)),
        (np.array([3, 4], np.int32), np.array(6)),
    ),
    "std of equal complex numbers": (lambda t, x: t.view_as_complex(x).std(0), (np.full((3, 2, 2), 0.1),)),
    "clamp to tensors of integers": (lambda t, x, y: t.clamp(x, y), (R(3, dtype=np.float32), integers(0, 1, -1))),
    "tensordot along an empty axis": (lambda t, a, b: t.tensordot(a, b, 1), (R(2, 0), R(0, 3))),
    "tensordot beside an empty axis": (lambda t, a, b: t.tensordot(a, b, 2), (R(0, 2, 3), R(2, 3, 4))),
    "glu of none": (lambda t, x: t.nn.functional.glu(x), (R(2, 0),)),
    "sign of NaN": (
        lambda t, x: (t.sign(x), t.sgn(x), x.detach().clone().sign_()),
        (np.array([np.nan, -np.inf, -0.0, 2]),),
    ),
    "any and all of uint8": (lambda t, x: (x.any(), x.all(0), x.any(0, True)), (np.array([[1, 0]], np.uint8),)),
    "movedim of a number": (lambda t, x: (x.movedim(0, 0), x.movedim(-1, 0)), (R(),)),
    "none by zero": (lambda t, x: (x % 0, x // 0, t.fmod(x, 0)), (np.zeros(0, np.int64),)),
    "cat of none": (lambda t, x, y: t.cat([x, y]), (np.zeros(0, np.int64), R(0))),
    "logsumexp of none": (lambda t, x: (x.logsumexp(1), x.logsumexp(0), x.logsumexp((0, 1))), (R(2, 0),)),
    "chunks of none": (lambda t, x: (x.chunk(3, 1), x.chunk(2, 0)), (R(2, 0),)),
    "logit of integers": (lambda t, x: t.logit(x), (np.array([0, 1, 2], np.uint8),)),
    "logit of bools": (lambda t, x: t.logit(x), (np.array([True, False]),)),
    "products of three dtypes": (
        lambda t, x, y, z: (t.addcmul(x, y, z), t.addcdiv(x, y, z), t.addcmul(z, y, x)),
        (R(2, 2, dtype=np.float32), integers(1, 2), R(low=1)),
    ),
    "powers of bools": (lambda t, x: (x**True, x**False, x**2), (np.array([True, False]),)),
}


@cases("name", FOUND)
def test_what_was_found(name: str) -> None:
    program, values = FOUND[name]
    agree(program, *values, near=1e-6 if "dtypes" in name else None)


NORMS: dict[str, Program] = {
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (6,)),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, (6,)),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 2),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x[None]),
    "normalize": lambda t, x: t.nn.functional.normalize(x),
    "std": lambda t, x: x.std(1),
    "norm": lambda t, x: x.norm(dim=1),
}


@cases("name", NORMS)
def test_float16_whose_squares_overflow(name: str) -> None:
    agree(NORMS[name], LARGE, near=2e-2, gradient=False)
    agree(lambda t, x: NORMS[name](t, x.to(t.float16)).double(), LARGE.astype(np.float64), near=2e-2)


EXTREMES: dict[str, Program] = {
    "max": lambda t, x: x.max(),
    "min": lambda t, x: x.min(),
    "amax": lambda t, x: x.amax(),
    "amin": lambda t, x: x.amin(),
    "amax of no axes": lambda t, x: x.amax(()),
    "amax of both": lambda t, x: x.amax((0, 1)),
    "amin, kept": lambda t, x: x.amin(keepdim=True),
    "amax of rows": lambda t, x: x.amax(1),
    "max of rows": lambda t, x: x.max(1).values,
    "min of columns": lambda t, x: x.min(0).values,
    "aminmax": lambda t, x: tuple(x.aminmax()),
    "norm": lambda t, x: x.norm(np.inf),
    "least norm": lambda t, x: x.norm(-np.inf),
}


@cases("name", EXTREMES)
def test_extremes_of_nan(name: str) -> None:
    """Which elements have the gradient where one, two or all are NaN, and where none is."""
    for values in ([[np.nan, 1], [np.nan, 2]], [[1, np.nan], [3, 3]], [[np.nan] * 2] * 2, [[3, 3], [1, 1]]):
        agree(EXTREMES[name], np.array(values, np.float64))


def test_running_statistics_of_an_empty_batch() -> None:
    def program(t: Any, x: Any) -> Any:
        layer = t.nn.BatchNorm1d(3).double()
        layer(t.ones(4, 3, dtype=t.float64) * 2)
        return layer(x), layer.running_mean, layer.running_var

    agree(program, np.zeros((0, 3, 2)))


REFUSED: dict[str, Case] = {
    "narrow of a negative length": (lambda t, x: x.narrow(0, 1, -1), (R(3),)),
    "index_add of another shape": (lambda t, x, v: x.index_add(0, t.tensor([0, 1]), v), (R(3, 2), R(2, 1))),
    "roll along an axis that is not there": (lambda t, x: x.roll(1, 2), (R(3, 2),)),
    "roll by two along one": (lambda t, x: x.roll((1, 2), 0), (R(3, 2),)),
    "movedim of other lengths": (lambda t, x: x.movedim((0, 1), (0,)), (R(3, 2),)),
    "movedim of an axis twice": (lambda t, x: x.movedim((0, 0), (0, 1)), (R(3, 2),)),
    "flip of an axis twice": (lambda t, x: x.flip(0, 0), (R(3, 2),)),
    "the largest along no axis of a number": (lambda t, x: x.max(1), (R(),)),
    "rot90 in one axis": (lambda t, x: t.rot90(x, 1, (0, 0)), (R(3, 2),)),
    "rot90 of a vector": (lambda t, x: t.rot90(x), (R(3),)),
    "diff of a negative order": (lambda t, x: x.diff(n=-1), (R(3),)),
    "unfold by a negative step": (lambda t, x: x.unfold(0, 2, -1), (R(3),)),
    "embedding of no matrix": (lambda t, w: t.nn.functional.embedding(t.tensor([0]), w), (R(3),)),
    "scatter of another dtype": (
        lambda t, x, v: x.scatter(0, t.tensor([[0, 1]]), v),
        (R(3, 2), R(1, 2, dtype=np.float32)),
    ),
}


@cases("name", REFUSED)
def test_refused_by_both(name: str) -> None:
    program, values = REFUSED[name]
    refuse(program, *values)
