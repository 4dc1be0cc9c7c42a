"""What tinygrad tests, of which PyTorch has a counterpart: results and gradients agree in float32.

The cases follow the list of its ``test_ops``: which function, in which shapes, with which arguments and extremes.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.both import Program, agree, numbers, refuse

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's
SHAPES = [(5, 7), ()]
EXTREMES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
F = "nn.functional."


def R(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> Any:
    """Numbers of float32."""
    return numbers(*shape, seed=seed, low=low, high=high, dtype=np.float32)


def found(t: Any, name: str) -> Any:
    """A function by its name with dots."""
    for part in name.split("."):
        t = getattr(t, part)
    return t


# Elementwise ----------------------------------------------------------------------------------------------

ONE = "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 floor frac isfinite isinf isnan log log10 log1p"
ONE += " log2 logical_not neg reciprocal relu round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc"
LAYERS = "celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus softsign"


@pytest.mark.parametrize("name", [*ONE.split(), *(F + name for name in LAYERS.split())])
def test_functions_of_one(name: str) -> None:
    call = lambda t, x: found(t, name)(x)
    for shape in SHAPES:
        agree(call, R(*shape, low=1.1 if name == "acosh" else -2))  # PyTorch has slopes where there is no value
    for low, high in ((300, 400), (-400, -300)):
        near = 1e-2 if name in ("sin", "cos", "tan") else None  # float32 has lost their fractions
        agree(call, R(3, 2, low=low, high=high), near=near, gradient=name not in ("acosh", "atanh", "acos", "asin"))
    if name != F + "gelu":  # of inf it is inf here, NaN in PyTorch's float32
        agree(call, EXTREMES, gradient=False)


OPTIONS: dict[str, Program] = {
    **{f"celu {a}": lambda t, x, a=a: t.nn.functional.celu(x, a) for a in (1, 2, 3, 4)},
    **{f"softplus {b}": lambda t, x, b=b: t.nn.functional.softplus(x, beta=b) for b in (3, 1 / 3)},
    "elu 0.1": lambda t, x: t.nn.functional.elu(x, alpha=0.1),
    "gelu tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "quick gelu": lambda t, x: x * (1.702 * x).sigmoid(),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.01),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x, -0.5, 1.5),
    "lerp": lambda t, x: t.lerp(x, x * 2 + 1, 0.3),
    "round": lambda t, x: t.round(x, decimals=1),
    **{
        f"clip {low} {high}": lambda t, x, low=low, high=high: x.clip(low, high)
        for low, high in ((-2.3, 1.2), (0, 0), (10, 100), (0, 0.1), (-0.3, -0.2), (3, 0), (None, 0), (0, None))
    },
    **{f"x ** {p}": lambda t, x, p=p: x**p for p in (0, 1, 2, 3, -2, 0.0, 2.0)},
    **{f"{b} ** x": lambda t, x, b=b: b**x for b in (0, 2, 0.7, 2.0)},
    **{f"|x| ** {p}": lambda t, x, p=p: x.abs() ** p for p in (0.5, -0.5, 1.7, -3)},
    "x + 2, 2 - x, x * 2, 2 / x": lambda t, x: (x + 2, 2 - x, x * 2, 2 / x, x / 2, x - 2),
    "comparisons": lambda t, x: (x == 0, x > 0, x > 0, x <= 1, x <= 1, x != 0),
    "logical": lambda t, x: ((x > 1) & (x < 2), (x > 0) | (x < -1), ~(x > 0), (x > 0) ^ (x < 1)),
    "where": lambda t, x: t.where(x > 0.5, x * 2, 0.0),
    "masked_fill": lambda t, x: x.masked_fill(x > 0.1, -float("inf")),
    "casts": lambda t, x: (x.double(), x.half(), x.int(), x.long(), x.bool(), x.to(t.uint8) if x.ndim == 9 else x),
    "detach": lambda t, x: x.detach() * x,
    "isclose": lambda t, x: (x.isclose(x + 1e-6), x.isclose(x + 1e-9, atol=0.0), x.isclose(x, equal_nan=True)),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str) -> None:
    for shape in [*SHAPES, (0, 3)]:
        agree(OPTIONS[name], R(*shape))


TWO = "add sub mul div pow maximum minimum copysign logaddexp eq ne lt le gt ge isclose atan2 fmod remainder hypot"


@pytest.mark.parametrize("name", TWO.split())
def test_functions_of_two(name: str) -> None:
    call = lambda t, x, y: getattr(t, name)(x, y)
    for one, other in [((5, 7), (5, 7)), ((5, 7), (5, 1)), ((5, 1), (1, 7)), ((), ()), ((5, 7), ()), ((0, 3), (1, 3))]:
        low = 0.3 if name in ("pow", "fmod", "remainder") else -2
        agree(call, R(*one, low=low), R(*other, seed=1, low=low))
    for x, y in product([-1.0, 0.0, 1.0, np.nan, np.inf], repeat=2):
        agree(call, np.array([x], np.float32), np.array([y], np.float32), gradient=False)
    if name in ("maximum", "minimum", "copysign"):
        for x, y in product([-1.0, 0.0, 1.0], repeat=2):
            agree(call, np.array([x], np.float32), np.array([y], np.float32))


INTEGERS = np.array([[1, -8, 1], [32, 1, 6]], np.int32)
WHOLE: dict[str, Program] = {
    "bits": lambda t, x: (x ^ x, x ^ 0x1337, 0x1337 ^ x, x & 0x1337, 0x1337 & x, x | 0x1337, 0x1337 | x, ~x),
    "shifts": lambda t, x: (x << 0, x << 2, x >> 2, x.bitwise_left_shift(2), x.__rshift__(1)),
    "division": lambda t, x: (x / 3, x // 3, x % 3, 7 // x, 7 % x, x / x, -x // 2),
    "rounding": lambda t, x: [t.div(x, d, rounding_mode=m) for d in (3, -3) for m in ("trunc", "floor", None)],
    "fmod": lambda t, x: (t.fmod(x, 3), t.remainder(x, -3), t.fmod(-x, 3)),
    "powers": lambda t, x: (x**2, x**0, x**3, 2.0**x, x**2.0),
    "sums": lambda t, x: (x.sum(), x.prod(0), x.cumsum(1), x.max(), x.min(1), x.float().mean()),
    "comparisons": lambda t, x: (x == 1, x > 1, t.maximum(x, -x), x.clip(0, 3), x.sign(), x.abs()),
    "promotion": lambda t, x: (x + 0.5, x * True, x.to(t.uint8) + x, x.to(t.int8) * x.to(t.int64), x + t.tensor(1.0)),
    "orders": lambda t, x: (x.sort(1)[0], x.argmax(), x.argmin(1), x.topk(2)[0], x.flip(0)),
    "reading": lambda t, x: (x[0], x[:, 1:], x[[1, 0]], x[x > 0], x.masked_select(x > 1)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_integers(name: str) -> None:
    agree(WHOLE[name], INTEGERS)


@pytest.mark.parametrize("numerator", [-7.0, 7.0, 5.5, -0.0, np.inf, np.nan])
@pytest.mark.parametrize("denominator", [2.0, -2.0, 0.0, np.inf])
def test_ways_to_divide(numerator: float, denominator: float) -> None:
    def divide(t: Any, x: Any, y: Any) -> Any:
        modes = [t.div(x, y, rounding_mode=m) for m in (None, "trunc", "floor")]
        return [*modes, x // y, x % y, t.fmod(x, y)]

    agree(divide, np.array([numerator], np.float32), np.array([denominator], np.float32), gradient=False)


# Reductions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "var", "std"])
def test_reductions(name: str) -> None:
    for shape in [(4, 3), (), (1,), (3, 4, 5, 6)]:
        if name not in ("var", "std") or len(shape) > 1:
            agree(lambda t, x: getattr(x, name)(), R(*shape))
    for dim, keepdim in product([0, 1, 3, -1], [False, True]):
        agree(lambda t, x: getattr(x, name)(dim, keepdim=keepdim), R(3, 4, 5, 2))  # noqa: B023
    if name in ("sum", "mean", "amax", "amin", "any", "all", "var", "std"):
        for dim in [(1, 3), (0, 2), (1, 2), (0, 1, 2, 3)]:
            agree(lambda t, x: getattr(x, name)(dim), R(3, 4, 5, 2))  # noqa: B023
    if name in ("sum", "mean", "prod", "any", "all"):
        for dim in (0, 1, 3):
            agree(lambda t, x: getattr(x, name)(dim), R(1, 0, 3, 0, 5))  # noqa: B023
    for values in ([0, -(2**31)], [-(2**31), 0]):
        if name not in ("mean", "var", "std"):
            agree(lambda t, x: getattr(x, name)(), np.array(values, np.int32))
    agree(lambda t, x: getattr(x.float(), name)(), np.array([True, False]))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "argmax", "max", "cumsum", "softmax"])
def test_axes_that_are_not_there(name: str) -> None:
    refuse(lambda t, x: getattr(x, name)(5), R(3, 4))
    refuse(lambda t, x: getattr(x, name)(1), R())


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax"])
def test_along_an_axis(name: str) -> None:
    for shape in [(), (10,), (20, 30), (3, 4, 5), (2, 0), (0, 3), (2, 3, 0)]:
        for dim in range(-max(len(shape), 1), max(len(shape), 1)):
            agree(lambda t, x: getattr(x, name)(dim), R(*shape))  # noqa: B023
    if "softmax" not in name:
        agree(lambda t, x: getattr(x, name)(0), np.array([0, 1, 2, -1, -2], np.float32), gradient=name != "cumprod")
    if name in ("logcumsumexp", "softmax", "log_softmax"):
        agree(lambda t, x: getattr(x, name)(0), np.array([0, 100, -1000, 1e3], np.float32))


@pytest.mark.parametrize("name", ["argmax", "argmin", "sort", "argsort", "topk", "logsumexp", "var_mean", "std_mean"])
def test_orders_and_pairs(name: str) -> None:
    arguments = {"topk": (2,), "logsumexp": (0,)}.get(name, ())
    agree(lambda t, x: getattr(t, name)(x, *arguments), R(10, 7))
    for dim in (0, 1, -1):
        agree(lambda t, x: getattr(t, name)(x, *({"topk": (2,)}.get(name, ())), dim), R(10, 7))  # noqa: B023
    if name in ("sort", "argsort", "topk"):
        agree(lambda t, x: getattr(t, name)(x, *arguments, descending=True) if name != "topk" else x, R(10, 7))
    if name in ("argmax", "argmin"):
        for values in ([2, 2], [1, 2, 2], [-(2**31), 5], [0, -(2**31)]):
            agree(lambda t, x: getattr(x, name)(), np.array(values, np.int32))


# Products -------------------------------------------------------------------------------------------------

MATMULS = [((65,), (65,)), ((65,), (65, 45)), ((45, 65), (65,)), ((8, 4, 65), (65,)), ((65,), (8, 65, 4))]
MATMULS += [((3,), (1, 3, 3, 5)), ((4, 3), (1, 3, 3, 5)), ((10, 4, 6), (6, 4)), ((3, 3, 4, 6), (3, 3, 6, 4))]
MATMULS += [((8, 8), (8, 0)), ((0, 8), (8, 8)), ((8, 0), (0, 8)), ((0, 0), (0, 0)), ((0,), (0, 8)), ((0,), (0,))]


@pytest.mark.parametrize("shapes", MATMULS, ids=str)
def test_matmul(shapes: Any) -> None:
    agree(lambda t, x, y: x.matmul(y), R(*shapes[0]), R(*shapes[1], seed=1))


MISFITS = [((4,), (1, 2)), ((2, 1), (4,)), ((1,), (4,)), ((2, 4), (1, 3)), ((), (3, 3))]


@pytest.mark.parametrize("shapes", MISFITS, ids=str)
def test_matmul_of_what_does_not_fit(shapes: Any) -> None:
    refuse(lambda t, x, y: x.matmul(y), R(*shapes[0]), R(*shapes[1]))


EINSUMS = {
    "ij->ji": [(4, 5)],
    "ij -> j i": [(4, 5)],
    "ij->j": [(4, 5)],
    "ij->": [(4, 5)],
    "ij": [(4, 5)],
    "ji": [(4, 5)],
    "ik,k->i": [(4, 5), (5,)],
    "ik,kj->ij": [(4, 5), (5, 3)],
    "ij,ij->ij": [(4, 5), (4, 5)],
    "i,j->ij": [(4,), (5,)],
    "bik,bkj->bij": [(2, 4, 5), (2, 5, 3)],
    "pqrs,tuqvr->pstuv": [(3, 5, 4, 2), (2, 3, 5, 2, 4)],
    "ik,jkl,il->ij": [(2, 3), (5, 3, 4), (2, 4)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)],
    "i...j,ji...->...": [(2, 4, 3), (3, 2, 4)],
    "ij...,ij...->ij": [(2, 3, 4), (2, 3, 4)],
    "ii->i": [(4, 4)],
    "ii->": [(4, 4)],
    "...ii->...i": [(3, 5, 5)],
    "...ii->...": [(3, 5, 5)],
    "i,i": [(5,), (5,)],
    "ab,cd,ef->acebdf": [(2, 3), (2, 2), (1, 3)],
}


@pytest.mark.parametrize("text", EINSUMS)
def test_einsum(text: str) -> None:
    agree(lambda t, *xs: t.einsum(text, *xs), *(R(*s, seed=n) for n, s in enumerate(EINSUMS[text])))
    agree(lambda t, *xs: t.einsum(text, list(xs)), *(R(*s, seed=n) for n, s in enumerate(EINSUMS[text])))


def test_einsum_of_what_does_not_fit() -> None:
    refuse(lambda t, x, y: t.einsum("...ik..., ...jk ->", x, y), R(2, 3, 4), R(2, 3, 4))
    refuse(lambda t, x, y: t.einsum("i...j,ji...->...", x, y), R(2, 3, 4), R(2, 3, 4))
    refuse(lambda t, x, y: t.einsum("pqrs,tuqvr->pstuv", x, y), R(3, 8, 10, 5), R(11, 5, 13, 16, 8))
    refuse(lambda t, x, y, z: t.einsum("ij,jk->ij", x, y, z), R(2, 3), R(3, 4), R(4, 2))
    refuse(lambda t, x: t.einsum("ij,jk->ij", x), R(4, 4))


# Convolutions and pools -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions(dims: int, transposed: bool) -> None:
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    size = (9, 8, 5)[:dims]
    cases: list[dict[str, Any]] = [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}, {"groups": 4}]
    cases += [{"stride": 2, "padding": 1, "dilation": 2}, {"stride": (2, 1, 2)[:dims], "padding": (1, 0, 1)[:dims]}]
    cases += [{"stride": 2, "output_padding": 1}] if transposed else [{"padding": "same"}, {"padding": "valid"}]
    for kwargs, kernel in product(cases, [(1, 1, 1), (3, 2, 3)]):
        groups = kwargs.get("groups", 1)
        weight = (4, 4 // groups, *kernel[:dims])
        call = lambda t, x, w, b: found(t, F + name)(x, w, b, **kwargs)  # noqa: B023
        agree(call, R(2, 4, *size), R(*weight, seed=1), R(4, seed=2), near=1e-3)
    agree(lambda t, x, w: found(t, F + name)(x, w), R(0, 4, *size), R(4, 4, *(2,) * dims))


@pytest.mark.parametrize("kernel", [(2, 2), (3, 3), (2, 3), (3, 2), (5, 1), 2])
def test_pools(kernel: Any) -> None:
    for kwargs in ({}, {"stride": 1}, {"stride": (2, 1)}, {"padding": 1}, {"ceil_mode": True, "stride": 2}):
        if kernel == (5, 1) and "padding" in kwargs:
            continue
        agree(lambda t, x: t.nn.functional.max_pool2d(x, kernel, **kwargs), R(2, 3, 9, 8))  # noqa: B023
        agree(lambda t, x: t.nn.functional.avg_pool2d(x, kernel, **kwargs), R(2, 3, 9, 8))  # noqa: B023
    agree(lambda t, x: t.nn.functional.max_pool2d(x, kernel, dilation=2, return_indices=True), R(2, 3, 11, 9))
    agree(lambda t, x: t.nn.functional.avg_pool2d(x, 2, padding=1, count_include_pad=False), R(2, 3, 9, 8))
    agree(lambda t, x: unpooled(t, x, kernel), R(2, 3, 12, 10))


def unpooled(t: Any, x: Any, kernel: Any) -> Any:
    """max_unpool2d of max_pool2d."""
    out, places = t.nn.functional.max_pool2d(x, kernel, return_indices=True)
    return t.nn.functional.max_unpool2d(out, places, kernel, output_size=x.shape)


POOLS: dict[str, tuple[Program, tuple[int, ...]]] = {
    "max_pool1d": (lambda t, x: t.nn.functional.max_pool1d(x, 3, 2), (2, 3, 9)),
    "max_pool3d": (lambda t, x: t.nn.functional.max_pool3d(x, 2), (1, 2, 4, 6, 5)),
    "avg_pool1d": (lambda t, x: t.nn.functional.avg_pool1d(x, 3, 2), (2, 3, 9)),
    "avg_pool3d": (lambda t, x: t.nn.functional.avg_pool3d(x, 2), (1, 2, 4, 6, 5)),
    "global": (lambda t, x: t.nn.functional.avg_pool2d(x, (5, 4)), (2, 3, 5, 4)),
    "adaptive": (lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (3, 2)), (2, 3, 5, 4)),
    "of zeros": (lambda t, x: t.nn.functional.max_pool2d(x * 0, 2), (1, 1, 4, 4)),
}


@pytest.mark.parametrize("name", POOLS)
def test_other_pools(name: str) -> None:
    program, shape = POOLS[name]
    agree(program, R(*shape))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"])
def test_interpolate(mode: str) -> None:
    dims = {"linear": [1], "bilinear": [2], "trilinear": [3], "bicubic": [2]}.get(mode, [1, 2, 3])
    for n in dims:
        for size, target in [((13, 10, 5), (9, 11, 3)), ((9, 11, 2), (13, 10, 6)), ((5, 2, 8), (5, 2, 8))]:
            for corners in [False, True] if mode.endswith(("linear", "cubic")) else [None]:
                agree(
                    lambda t, x: t.nn.functional.interpolate(x, target[:n], mode=mode, align_corners=corners),  # noqa: B023
                    R(1, 2, *size[:n]),
                )
        agree(lambda t, x: t.nn.functional.interpolate(x, scale_factor=1.7, mode=mode), R(1, 2, *(6, 5, 4)[:n]))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode: str) -> None:
    for amounts in ([1, 2], [1, 2, 0, 1], [-1, 2], [0, 0], [2, -1, -1, 1], [1, 1, 1, 1, 1, 1]):
        shape = (1, 2, 5, 4, 4) if len(amounts) == 6 else (1, 2, 5, 4) if len(amounts) == 4 else (2, 5, 4)
        agree(lambda t, x: t.nn.functional.pad(x, amounts, mode=mode), R(*shape))  # noqa: B023
    if mode == "constant":
        agree(lambda t, x: t.nn.functional.pad(x, (1, 2), value=-float("inf")), R(3, 3))
        agree(lambda t, x: t.nn.functional.pad(x, (1, 1, -2, 1), value=5), R(3, 3))


# Shapes ---------------------------------------------------------------------------------------------------

SHAPED: dict[str, tuple[Program, tuple[int, ...]]] = {
    "unfold": (lambda t, x: (x.unfold(0, 2, 1), x.unfold(0, 2, 2), x.unfold(0, 7, 3), x.unfold(-1, 1, 8)), (8,)),
    "unfold of many axes": (lambda t, x: (x.unfold(2, 2, 8), x.unfold(1, 0, 8), x.unfold(-1, 2, 2)), (3, 3, 3)),
    "view": (lambda t, x: (x.reshape(12, 2), x.view(2, -1), x.view(24, 1), x.reshape(-1)), (4, 6)),
    "transposed, then in another shape": (lambda t, x: x.transpose(0, 1).reshape(3, 8), (4, 6)),
    "flip": (lambda t, x: (x.flip(0), x.flip((0, 1)), x.flip((0, 1, -1)), x.flip(())), (4, 3, 2)),
    "expand": (lambda t, x: (x.expand(4, 3, 2), x.expand(5, 4, 3, -1), x.expand(-1, -1, 6)[:, :, :1]), (4, 3, 1)),
    "squeeze": (lambda t, x: (x.squeeze(), x.squeeze(1), x.squeeze((0, 1)), x.squeeze(-2)), (1, 3, 1, 2)),
    "unsqueeze": (lambda t, x: [x.unsqueeze(d) for d in range(-4, 4)], (4, 3, 2)),
    "flatten": (lambda t, x: [x.flatten(a, b) for a, b in ((0, -1), (1, 2), (0, 1), (2, -1), (1, 1))], (4, 3, 2, 1)),
    "unflatten": (lambda t, x: (x.unflatten(0, (2, 2)), x.unflatten(-1, (3, -1)), x.unflatten(1, (-1,))), (4, 3, 6)),
    "permute": (lambda t, x: (x.permute(3, 2, 1, 0), x.permute(-2, -1, 1, 0), x.transpose(1, -1)), (3, 4, 2, 1)),
    "repeat": (lambda t, x: (x.repeat(2, 4, 3), x.repeat(2, 1, 2, 4, 3), x.repeat(2, 0, 1)), (4, 6, 3)),
    "repeat of a number": (lambda t, x: (x.repeat(2, 4), x.expand(3, 2), x.reshape(1, 1), x.flatten()), ()),
    "repeat_interleave": (
        lambda t, x: [x.repeat_interleave(6), *(x.repeat_interleave(2, d) for d in (-2, -1, 0, 1))],
        (3, 3),
    ),
    "cat": (lambda t, x: [t.cat((x, x * 2, x), d) for d in range(-3, 3)], (4, 3, 2)),
    "cat of none": (lambda t, x: (t.cat((x, x), 0), t.cat((x, x), 1)), (4, 0, 3)),
    "stack": (lambda t, x: [t.stack((x, x * 2, x), d) for d in range(-4, 4)], (4, 3, 2)),
    "stack of numbers": (lambda t, x: (t.stack((x, x)), t.stack((x, 2 * x)).max(0)[0]), ()),
    "split": (lambda t, x: (x.split(4), x.split([1, 4, 5]), x.split(3), x.chunk(4), x.chunk(20)), (10,)),
    "roll": (
        lambda t, x: [x.roll(*a) for a in ((1,), (-7, 0), ((1, -2), (0, 1)), (100, 1), ((5, -5), (1, 1)))],
        (4, 5),
    ),
    "diag": (lambda t, x: (x.diag(), x[0].diag(), x.diagonal(), x.diagonal(-1), x.diagonal(7)), (5, 5)),
    "triangles": (lambda t, x: [(x.tril(n), x.triu(n)) for n in (-10, -1, 0, 1, 10)], (3, 4, 5)),
    "triangles of none": (lambda t, x: (x.tril(), x.triu(1)), (5, 0, 3)),
    "meshgrid": (lambda t, x: t.meshgrid(x[0], x[1], x[0, :2], indexing="ij"), (2, 3)),
    "meshgrid xy": (lambda t, x: t.meshgrid(x[0], x[1, 0], x[1], indexing="xy"), (2, 3)),
    "movedim": (lambda t, x: (x.movedim(0, -1), x.movedim((0, 1), (-1, -2))), (3, 4, 2)),
    "slices": (lambda t, x: (x[1:2], x[-3:-1, 1:], x[::2, ::3], x[3:1], x[..., -1], x[None, :, None]), (4, 5)),
    "slices of none": (lambda t, x: (x[:, 2:0], x[4:4], x[:0, :0], x[:, None, 1:1]), (4, 5)),
    "strides after slices": (
        lambda t, x: (x[::2].t()[1:].reshape(-1), x[:, 1::2].sum(0), x[1:, 1:] @ x[1:, 1:].T),
        (4, 5),
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_shapes(name: str) -> None:
    program, shape = SHAPED[name]
    agree(program, R(*shape))


WRONG: dict[str, tuple[Program, tuple[int, ...]]] = {
    "unfold beyond": (lambda t, x: x.unfold(0, 9, 3), (8,)),
    "unfold along no axis": (lambda t, x: x.unfold(1, 8, 3), (8,)),
    "unfold backwards": (lambda t, x: x.unfold(0, 1, -1), (8,)),
    "reshape": (lambda t, x: x.reshape(3, 5), (4, 6)),
    "two unknown lengths": (lambda t, x: x.reshape(-1, -1, 2), (4, 6)),
    "view of other strides": (lambda t, x: x.t().view(24), (4, 6)),
    "expand": (lambda t, x: x.expand(4, 6, 10), (4, 6, 3)),
    "expand to fewer axes": (lambda t, x: x.expand(4), (4, 6)),
    "permute": (lambda t, x: x.permute(0, 0), (4, 6)),
    "repeat": (lambda t, x: x.repeat(2), (4, 6)),
    "squeeze": (lambda t, x: x.squeeze(50), (4, 1)),
    "unsqueeze": (lambda t, x: x.unsqueeze(4), (4, 1)),
    "clip": (lambda t, x: x.clip(None, None), (4, 1)),
    "cat of numbers": (lambda t, x: t.cat((x, x)), ()),
    "stack along no axis": (lambda t, x: t.stack((x, x), 77), (4, 1)),
    "an index beyond": (lambda t, x: x[5], (4, 1)),
    "too many indices": (lambda t, x: x[0, 0, 0], (4, 1)),
    "a step of zero": (lambda t, x: x[::0], (4, 1)),
    "bits of floats": (lambda t, x: x.bitwise_xor(x), (4,)),
    "not of floats": (lambda t, x: x.bitwise_not(), (4,)),
    "a way to round": (lambda t, x: t.div(x, x, rounding_mode="typo"), (4,)),
    "a way to pad": (lambda t, x: t.nn.functional.pad(x, (1, 1), mode="typo"), (4, 4)),
    "padding too much": (lambda t, x: t.nn.functional.pad(x, (5, 5), mode="reflect"), (1, 4, 4)),
    "indexing of meshgrid": (lambda t, x: t.meshgrid(x, indexing="bad"), (4,)),
    "a kernel larger than the input": (lambda t, x: t.nn.functional.conv2d(x, t.zeros(1, 1, 5, 5)), (1, 1, 4, 4)),
    "groups": (lambda t, x: t.nn.functional.conv2d(x, t.zeros(4, 2, 1, 1), groups=3), (1, 4, 4, 4)),
    "one_hot": (lambda t, x: t.nn.functional.one_hot(x.long() - 3), (4,)),
    "gather": (lambda t, x: x.gather(0, t.tensor([1])), (4, 5)),
    "a mask of another shape": (lambda t, x: x[t.tensor([True, False])], (4, 5)),
    "indices that do not broadcast": (lambda t, x: x[t.tensor([0, 1]), t.tensor([0, 1, 2])], (4, 5)),
    "an index of floats": (lambda t, x: x[t.tensor(1.1)], (4, 5)),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused_by_both(name: str) -> None:
    program, shape = WRONG[name]
    refuse(program, R(*shape))


# Indices --------------------------------------------------------------------------------------------------

A, B = np.array([[[0]], [[-1]]]), np.array([[[0], [2], [1]]])  # (2, 1, 1) and (1, 3, 1)
D = np.array([[[1, 0, 3, -2]]])  # (1, 1, 4)
INDEXED: dict[str, Program] = {
    "all": lambda t, x, a, b, d: x[a, b, d],
    "two": lambda t, x, a, b, d: x[a, b],
    "two after a slice": lambda t, x, a, b, d: x[:, b, d],
    "two around a slice": lambda t, x, a, b, d: x[a, :, d],
    "after an ellipsis": lambda t, x, a, b, d: x[..., b, d],
    "with a number": lambda t, x, a, b, d: (x[1, b, d], x[a, 2, d], x[a, b, 3], x[a, 1, 2]),
    "a number after a slice": lambda t, x, a, b, d: x[:, 1, :, d[0, 0]],
    "with new axes": lambda t, x, a, b, d: (x[:, None, b, d], x[a, b, None], x[a, None, :, d], x[None, a, :, None, d]),
    "with slices": lambda t, x, a, b, d: (x[a, 1:4:2], x[:2, b, 1:3], x[::2, 1:, d]),
    "with lists": lambda t, x, a, b, d: (x[[0, 1], [2, 1]], x[[[0]], b], x[[1, 0, -1], :, [0]], x[(0, 1), 2:]),
    "of other numbers of axes": lambda t, x, a, b, d: (x[t.tensor([[0, 0], [1, 1]]), t.tensor(1)], x[t.tensor([1]), a]),
    "masks": lambda t, x, a, b, d: (x[x[..., 0, 0, 0] > 0], x[:, x[0, :, 0, 0] > 0], x[x > 0.5], x[x > 9]),
    "a mask and indices": lambda t, x, a, b, d: x[:, t.tensor([True, False, True]), [0, 3]],
    "a scalar mask": lambda t, x, a, b, d: (x[True], x[False], x[t.tensor(True)]),
    "an element many times": lambda t, x, a, b, d: x[[0, 0, 0, 1, 0]] * 2,
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices(name: str) -> None:
    agree(INDEXED[name], R(2, 3, 4, 5), A, B, D)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2])
def test_gather_and_scatter(dim: int) -> None:
    rng = np.random.default_rng(0)
    index = np.argsort(rng.random((3, 4, 5)), dim)[:2, :3, :2]  # no place twice
    x, source = R(3, 4, 5), R(2, 3, 2, seed=1)
    agree(lambda t, x, i: x.gather(dim, i), x, index)
    agree(lambda t, x, i, s: x.scatter(dim, i, s), x, index, source)
    agree(lambda t, x, i: x.scatter(dim, i, 3.0), x, index)
    again = index % 2
    agree(lambda t, x, i, s: x.scatter_add(dim, i, s), x, again, source)
    for reduce, kept in product(["sum", "prod", "mean", "amax", "amin"], [True, False]):
        agree(lambda t, x, i, s: x.scatter_reduce(dim, i, s, reduce, include_self=kept), x, again, source)  # noqa: B023
    agree(lambda t, x, i: x.index_select(dim, i), x, np.array([0, 2, 0]))
    for out in (x.copy(), np.full((3, 4, 5), -np.inf, np.float32)):
        agree(lambda t, x, i: x.gather(dim, i), out, index)


def written(t: Any, x: Any, index: Any, value: Any) -> Any:
    """A copy in which the value stands at the index."""
    copy = x * 1
    copy[index] = value
    return copy


WRITTEN: dict[str, Program] = {
    "a number": lambda t, x, v: written(t, x, (slice(1, 3), 0), 5),
    "an array": lambda t, x, v: written(t, x, slice(1, 3), v[:2]),
    "a broadcast one": lambda t, x, v: written(t, x, (slice(None), slice(1, 3)), v[:1, :1]),
    "with steps": lambda t, x, v: written(t, x, (slice(None, None, 2), slice(1, None, 2)), v[:2, :2]),
    "by a list": lambda t, x, v: written(t, x, [2, 0], v[:2]),
    "by a mask": lambda t, x, v: written(t, x, x > 0, 0.5),
    "with a new axis": lambda t, x, v: written(t, x, (None, 1), v[:1]),
    "index_put": lambda t, x, v: x.index_put((t.tensor([0, 0, 2]),), v[:3], accumulate=True),
    "masked_scatter": lambda t, x, v: x.masked_scatter(t.tensor([True, False, True, False]), v),
    "masked_select": lambda t, x, v: x.masked_select(v > 0),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writing(name: str) -> None:
    agree(WRITTEN[name], R(4, 4), R(4, 4, seed=1))


# Layers and losses ----------------------------------------------------------------------------------------

LABELS = np.array([[0, 2], [1, 4], [3, 3]])
LOSSES: dict[str, Program] = {
    "binary_cross_entropy": lambda f, x, y, r: f.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction=r),
    "with logits": lambda f, x, y, r: f.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction=r),
    "with weights": lambda f, x, y, r: f.binary_cross_entropy_with_logits(
        x, y.sigmoid(), pos_weight=y[0, 0].abs().detach(), reduction=r
    ),
    "mse": lambda f, x, y, r: f.mse_loss(x, y, reduction=r),
    "l1": lambda f, x, y, r: f.l1_loss(x, y, reduction=r),
    "smooth_l1": lambda f, x, y, r: f.smooth_l1_loss(x, y, reduction=r, beta=0.5),
    "huber": lambda f, x, y, r: f.huber_loss(x, y, reduction=r, delta=0.5),
    "kl_div": lambda f, x, y, r: f.kl_div(x.log_softmax(1), y.softmax(1), reduction=r),
    "cross_entropy of probabilities": lambda f, x, y, r: f.cross_entropy(x, y.softmax(1), reduction=r),
    "the same, smoothed": lambda f, x, y, r: f.cross_entropy(x, y.softmax(1), reduction=r, label_smoothing=0.3),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    agree(lambda t, x, y: LOSSES[name](t.nn.functional, x, y, reduction), R(3, 5, 2), R(3, 5, 2, seed=1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("ignored", [-100, 3])
def test_cross_entropy(reduction: str, smoothing: float, ignored: int) -> None:
    options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored}
    for weighted in (False, True):

        def loss(t: Any, x: Any, y: Any, w: Any) -> Any:
            weight = w.detach().abs() if weighted else None  # noqa: B023
            together = t.nn.functional.cross_entropy(x, y, weight, label_smoothing=smoothing, **options)
            return together, t.nn.functional.nll_loss(x.log_softmax(1), y, weight, **options)

        agree(loss, R(3, 5, 2), LABELS, R(5))


LAYERED: dict[str, tuple[Program, tuple[int, ...]]] = {
    "layer_norm": (lambda t, x: t.nn.functional.layer_norm(x, (4, 5)), (2, 3, 4, 5)),
    "group_norm": (lambda t, x: t.nn.functional.group_norm(x, 2), (2, 4, 3, 5)),
    "batch_norm": (lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), (2, 4, 3, 5)),
    "instance_norm": (lambda t, x: t.nn.functional.instance_norm(x), (2, 4, 3, 5)),
    "normalize": (lambda t, x: [t.nn.functional.normalize(x, p, d) for p in (1, 2, 3) for d in (0, 1)], (4, 5)),
    "normalize of zeros": (lambda t, x: t.nn.functional.normalize(x * 0), (4, 5)),
    "cosine_similarity": (lambda t, x: t.nn.functional.cosine_similarity(x[0], x[1]), (2, 4, 5)),
    "one_hot": (lambda t, x: t.nn.functional.one_hot(x.abs().long(), 6), (3, 4)),
    "embedding": (lambda t, x: t.nn.functional.embedding(t.tensor([[0, 3], [3, 1]]), x), (4, 5)),
    "linear": (lambda t, x: t.nn.functional.linear(x, x * 2, x[:, 0]), (4, 5)),
    "pixel_shuffle": (lambda t, x: t.nn.functional.pixel_shuffle(x, 2), (1, 8, 3, 2)),
    "attention": (lambda t, x: t.nn.functional.scaled_dot_product_attention(x[0], x[1], x[2]), (3, 2, 4, 8, 6)),
    "causal attention": (
        lambda t, x: t.nn.functional.scaled_dot_product_attention(x[0], x[1], x[2], is_causal=True),
        (3, 2, 4, 8, 6),
    ),
    "attention under a mask": (
        lambda t, x: t.nn.functional.scaled_dot_product_attention(
            x[0], x[1], x[2], attn_mask=(x[0, ..., :1] > -1).expand(2, 4, 8, 8)
        ),
        (3, 2, 4, 8, 6),
    ),
    "attention with a bias": (
        lambda t, x: t.nn.functional.scaled_dot_product_attention(x[0], x[1], x[2], attn_mask=x[1] @ x[2].mT),
        (3, 2, 4, 8, 6),
    ),
    "attention of grouped heads": (
        lambda t, x: t.nn.functional.scaled_dot_product_attention(x[0], x[1, :, :2], x[2, :, :2], enable_gqa=True),
        (3, 2, 4, 8, 6),
    ),
}


@pytest.mark.parametrize("name", LAYERED)
def test_functions_of_layers(name: str) -> None:
    program, shape = LAYERED[name]
    agree(program, R(*shape), near=1e-3)


# Creation -------------------------------------------------------------------------------------------------

MADE: list[Program] = [
    *(lambda t, a=a: t.arange(*a) for a in ((10,), (5, 10, 3), (10, 5, -3), (11, 5, -3), (5.5, 175.5, 2.5))),
    *(lambda t, a=a: t.arange(*a) for a in ((-30.2, -0.3, 0.75), (-50.3, -380.2, -2.25), (0,), (3, 3))),
    *(lambda t, a=a: t.linspace(*a) for a in ((5, 10, 3), (5, 10, 1), (5, 10, 0), (5.5, -5.5, 10), (-5, 5, 30))),
    *(lambda t, n=n: t.linspace(5, -5, n, dtype=t.int32) for n in (3, 20)),
    *(lambda t, a=a: t.eye(*a) for a in ((10,), (3, 5), (5, 3), (1,), (0,))),
    lambda t: (t.full((3, 4), 4), t.full((3, 4), 4.0), t.full((), True), t.full((2,), 4, dtype=t.int32)),
    lambda t: (t.zeros(3, 4), t.zeros([]), t.ones([3, 4]), t.ones([]), t.zeros(0, 3)),
    lambda t: (t.full_like(t.ones(2, 3), 4), t.zeros_like(t.ones(2, dtype=t.int32)), t.ones_like(t.ones(2).bool())),
    lambda t: (t.tril_indices(3, 4), t.triu_indices(4, 3, 1), t.logspace(0, 2, 5)),
]


@pytest.mark.parametrize("number", range(len(MADE)))
def test_creation(number: int) -> None:
    agree(MADE[number])


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn", "eye"])
def test_negative_lengths(name: str) -> None:
    refuse(lambda t: getattr(t, name)(-3, 2))


def test_what_cannot_be_created() -> None:
    refuse(lambda t: t.full((2, -3), 4))
    refuse(lambda t: t.linspace(1, 2, -1))
    refuse(lambda t: t.linspace(5, 10, 3, dtype=t.bool))
