"""What tinygrad tests, of which PyTorch has a counterpart: results and gradients agree in float32.

The cases follow the list of its ``test_ops``, without those that ``test_drawn.py`` draws.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.both import Program, agree, numbers, refuse
from tests.support.cases import cases

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


@cases("name", OPTIONS)
def test_options(name: str) -> None:
    for shape in [*SHAPES, (0, 3)]:
        agree(OPTIONS[name], R(*shape))


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


@cases("name", WHOLE)
def test_integers(name: str) -> None:
    agree(WHOLE[name], INTEGERS)


@cases("numerator", [-7.0, 7.0, 5.5, -0.0, np.inf, np.nan])
@cases("denominator", [2.0, -2.0, 0.0, np.inf])
def test_ways_to_divide(numerator: float, denominator: float) -> None:
    def divide(t: Any, x: Any, y: Any) -> Any:
        modes = [t.div(x, y, rounding_mode=m) for m in (None, "trunc", "floor")]
        return [*modes, x // y, x % y, t.fmod(x, y)]

    agree(divide, np.array([numerator], np.float32), np.array([denominator], np.float32), gradient=False)


# Reductions -----------------------------------------------------------------------------------------------


@cases("name", ["sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "var", "std"])
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


@cases("name", ["sum", "prod", "mean", "amax", "argmax", "max", "cumsum", "softmax"])
def test_axes_that_are_not_there(name: str) -> None:
    refuse(lambda t, x: getattr(x, name)(5), R(3, 4))
    refuse(lambda t, x: getattr(x, name)(1), R())


@cases("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax"])
def test_along_an_axis(name: str) -> None:
    for shape in [(), (10,), (20, 30), (3, 4, 5), (2, 0), (0, 3), (2, 3, 0)]:
        for dim in range(-max(len(shape), 1), max(len(shape), 1)):
            agree(lambda t, x: getattr(x, name)(dim), R(*shape))  # noqa: B023
    if "softmax" not in name:
        agree(lambda t, x: getattr(x, name)(0), np.array([0, 1, 2, -1, -2], np.float32), gradient=name != "cumprod")
    if name in ("logcumsumexp", "softmax", "log_softmax"):
        agree(lambda t, x: getattr(x, name)(0), np.array([0, 100, -1000, 1e3], np.float32))


@cases("name", ["argmax", "argmin", "sort", "argsort", "topk", "logsumexp", "var_mean", "std_mean"])
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


# Convolutions and pools -----------------------------------------------------------------------------------


@cases("dims", [1, 2, 3])
@cases("transposed", [False, True])
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


@cases("kernel", [(2, 2), (3, 3), (2, 3), (3, 2), (5, 1), 2])
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


@cases("name", POOLS)
def test_other_pools(name: str) -> None:
    program, shape = POOLS[name]
    agree(program, R(*shape))


@cases("mode", ["nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"])
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


@cases("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode: str) -> None:
    for amounts in ([1, 2], [1, 2, 0, 1], [-1, 2], [0, 0], [2, -1, -1, 1], [1, 1, 1, 1, 1, 1]):
        shape = (1, 2, 5, 4, 4) if len(amounts) == 6 else (1, 2, 5, 4) if len(amounts) == 4 else (2, 5, 4)
        agree(lambda t, x: t.nn.functional.pad(x, amounts, mode=mode), R(*shape))  # noqa: B023
    if mode == "constant":
        agree(lambda t, x: t.nn.functional.pad(x, (1, 2), value=-float("inf")), R(3, 3))
        agree(lambda t, x: t.nn.functional.pad(x, (1, 1, -2, 1), value=5), R(3, 3))


# Shapes ---------------------------------------------------------------------------------------------------

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


@cases("name", WRONG)
def test_refused_by_both(name: str) -> None:
    program, shape = WRONG[name]
    refuse(program, R(*shape))


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


@cases("reduction", ["mean", "sum", "none"])
@cases("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    agree(lambda t, x, y: LOSSES[name](t.nn.functional, x, y, reduction), R(3, 5, 2), R(3, 5, 2, seed=1))


@cases("reduction", ["mean", "sum", "none"])
@cases("smoothing", [0.0, 0.3])
@cases("ignored", [-100, 3])
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


@cases("name", LAYERED)
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


@cases("number", range(len(MADE)))
def test_creation(number: int) -> None:
    agree(MADE[number])


@cases("name", ["zeros", "ones", "empty", "rand", "randn", "eye"])
def test_negative_lengths(name: str) -> None:
    refuse(lambda t: getattr(t, name)(-3, 2))


def test_what_cannot_be_created() -> None:
    refuse(lambda t: t.full((2, -3), 4))
    refuse(lambda t: t.linspace(1, 2, -1))
    refuse(lambda t: t.linspace(5, 10, 3, dtype=t.bool))
