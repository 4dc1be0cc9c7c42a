"""Infinite and NaN gradients into every function that has masked places: a gradient that is 0 in PyTorch is 0 here.

A rule of the form g · mask gives NaN where an infinite g meets a 0. ``tests/ops/test_masks.py`` looks at the ops, here
are the functions made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import Program, numbers, results, tensor
from tests.support.cases import cases
from tests.support.parity import host, torch

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's
Case = tuple[Any, ...]  # a program, and its arguments
R = numbers
HUGE = (np.inf, -np.inf, np.nan)
MOST = 6  # places of a result that are tried

KINKS = np.array([-6.0, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 6, 30])
OTHERS = np.array([-3.0, -5, -2, 1, -0.5, 3, 0, 1, 4, -3, 6, 0])
WILD = np.array([np.inf, -np.inf, np.nan, 0, -1, 2])
PLANE = R(1, 2, 6, 6, seed=1)


def f(name: str, *args: Any, **kwargs: Any) -> Program:
    """A function of ``nn.functional`` with arguments behind its tensors."""
    return lambda t, *xs: getattr(t.nn.functional, name)(*xs, *args, **kwargs)


def m(name: str, *args: Any, **kwargs: Any) -> Program:
    """A method."""
    return lambda t, x, *xs: getattr(x, name)(*xs, *args, **kwargs)


OF_ONE: dict[str, Program] = {
    **{
        name: f(name)
        for name in (
            *("relu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "softshrink", "tanhshrink"),
            *("leaky_relu", "elu", "celu", "selu", "gelu", "silu", "mish", "softplus", "softsign", "logsigmoid"),
        )
    },
    **{name: m(name) for name in ("relu", "sign", "sgn", "floor", "ceil", "round", "trunc", "fix", "frac", "abs")},
    "relu in place": lambda t, x: (x * 1).relu_(),
    "F.relu in place": lambda t, x: t.nn.functional.relu(x * 1, inplace=True),
    "hardtanh in place": lambda t, x: t.nn.functional.hardtanh(x * 1, inplace=True),
    "hardtanh of other bounds": f("hardtanh", -3.0, 0.5),
    "threshold": f("threshold", 0.5, -7.0),
    "leaky_relu of slope 0": f("leaky_relu", 0.0),
    "rrelu": f("rrelu"),
    "round to decimals": m("round", decimals=1),
    "clamp": m("clamp", -1, 2),
    "clamp min": m("clamp", min=0),
    "clamp max": m("clamp", max=0.5),
    "clamp out of order": m("clamp", 2, -1),
    "clip": m("clip", -1, 2),
    "clamp in place": lambda t, x: (x * 1).clamp_(-1, 2),
    "clamp_min": m("clamp_min", 0),
    "clamp_max": m("clamp_max", 0),
    "nan_to_num": m("nan_to_num"),
    "masked_fill": lambda t, x: x.masked_fill(x.detach() > 0, 1.0),
    "masked_fill in place": lambda t, x: (x * 1).masked_fill_(x.detach() > 0, float("-inf")),
    "masked_select": lambda t, x: x[x.detach() > 0],
    "where and a number": lambda t, x: t.where(x.detach() > 0, x, 0.0),
    "softmax of masked": lambda t, x: x.masked_fill(x.detach() > 0, float("-inf")).softmax(0),
    "log_softmax of masked": lambda t, x: x.masked_fill(x.detach() > 0, float("-inf")).log_softmax(0),
    "heaviside": lambda t, x: x + t.heaviside(x.detach(), x.detach()),
    "remainder": lambda t, x: x % 2,
    "fmod": m("fmod", 2),
    "floor_divide": lambda t, x: x + x.detach() // 2,
    "div floor": lambda t, x: t.div(x, 2.0, rounding_mode="floor"),
    "div trunc": lambda t, x: t.div(x, 2.0, rounding_mode="trunc"),
    "copysign": m("copysign", -1.0),
    "power 0": lambda t, x: x**0,
    "0 to a power": lambda t, x: t.pow(0.0, x),
    "xlogy": lambda t, x: t.xlogy(t.zeros_like(x), x) + x,
    "max": m("max"),
    "min": m("min"),
    "amax": m("amax", 0),
    "amin": m("amin", 0),
    "aminmax": lambda t, x: tuple(x.aminmax()),
    "median": m("median"),
    "nanmedian": m("nanmedian"),
    "quantile": m("quantile", 0.3),
    "nanquantile": m("nanquantile", 0.3),
    "mode": lambda t, x: x.mode().values,
    "kthvalue": lambda t, x: x.kthvalue(3).values,
    "cummax": lambda t, x: x.cummax(0).values,
    "cummin": lambda t, x: x.cummin(0).values,
    "nansum": m("nansum"),
    "nanmean": m("nanmean"),
    "tril": lambda t, x: x.reshape(3, 4).tril(),
    "triu": lambda t, x: x.reshape(3, 4).triu(),
    "diag": lambda t, x: x.diag(),
    "pad": f("pad", (2, -3), value=1.0),
    "reflected": lambda t, x: t.nn.functional.pad(x[None], (2, 1), mode="reflect"),
    "narrow": m("narrow", 0, 2, 3),
    "sum of a part": lambda t, x: x[2:7:2].sum(),
    "take": lambda t, x: x.take(t.tensor([1, 1, 5])),
    "index_fill": lambda t, x: x.index_fill(0, t.tensor([1, 5]), 2.0),
    "assignment": lambda t, x: assigned(x),
    "unfold": m("unfold", 0, 3, 4),
    "gradient": lambda t, x: t.gradient(x)[0],
    "diff": m("diff"),
    "norm": lambda t, x: t.linalg.vector_norm(x * 0),
    "norm 1": lambda t, x: t.linalg.vector_norm(x, 1),
    "norm inf": lambda t, x: t.linalg.vector_norm(x, float("inf")),
    "norm -inf": lambda t, x: t.linalg.vector_norm(x, float("-inf")),
    "normalize": lambda t, x: t.nn.functional.normalize(x * 0, dim=0),
    "std of equal": lambda t, x: (x * 0).std(),
    "renorm": lambda t, x: x.reshape(3, 4).renorm(2, 0, 3.0),
    "masked.sum": lambda t, x: t.masked.sum(x, 0, mask=x.detach() > 0) if t is minigrad else x[x.detach() > 0].sum(),
}


def assigned(x: Any) -> Any:
    out = x * 1
    out[2:5] = 0.0
    return out


OF_TWO: dict[str, Program] = {
    **{
        name: lambda t, a, b, name=name: getattr(t, name)(a, b)
        for name in ("maximum", "minimum", "fmax", "fmin", "max", "min", "copysign", "dist")
    },
    "where": lambda t, a, b: t.where(a.detach() > b.detach(), a, b),
    "clamp to tensors": lambda t, a, b: a.clamp(b, b + 1),
    "clamp_min to a tensor": lambda t, a, b: a.clamp_min(b),
    "clamp_max to a tensor": lambda t, a, b: a.clamp_max(b),
    "masked_scatter": lambda t, a, b: a.masked_scatter(a.detach() > 0, b),
    "index_put": lambda t, a, b: a.index_put((t.tensor([1, 3]),), b[:2]),
    "index_copy": lambda t, a, b: a.index_copy(0, t.tensor([1, 3]), b[:2]),
    "scatter": lambda t, a, b: a.scatter(0, t.tensor([1, 3, 0]), b[:3]),
    **{
        f"scatter_reduce {how}": lambda t, a, b, how=how: a.scatter_reduce(0, t.tensor([1, 3, 0, 1]), b[:4], how)
        for how in ("sum", "mean", "amax", "amin")
    },
    "select_scatter": lambda t, a, b: a.select_scatter(b[0], 0, 2),
    "slice_scatter": lambda t, a, b: a.slice_scatter(b[:3], 0, 2, 5),
    "prelu": lambda t, a, b: t.nn.functional.prelu(a, b[3:4]),
    **{name: f(name, reduction="none") for name in ("l1_loss", "smooth_l1_loss", "huber_loss")},
    "margin_ranking_loss": lambda t, a, b: t.nn.functional.margin_ranking_loss(
        a, b, t.ones_like(a), 1.0, reduction="none"
    ),
    "hinge_embedding_loss": lambda t, a, b: t.nn.functional.hinge_embedding_loss(
        a + 0 * b, t.where(b.detach() > 0, 1.0, -1.0), 2.0, reduction="none"
    ),
    "kl_div": lambda t, a, b: t.nn.functional.kl_div(a, b.detach().clamp(min=0), reduction="none"),
    "gaussian_nll_loss": lambda t, a, b: t.nn.functional.gaussian_nll_loss(
        a, t.zeros_like(a), b.abs(), reduction="none"
    ),
    "poisson_nll_loss": lambda t, a, b: t.nn.functional.poisson_nll_loss(
        a, b.detach().abs(), full=True, reduction="none"
    ),
    "pairwise_distance": lambda t, a, b: t.nn.functional.pairwise_distance(a.reshape(3, 4), b.reshape(3, 4), eps=0.0),
    "pairwise_distance of equal": lambda t, a, b: t.nn.functional.pairwise_distance(a, a * 1 + 0 * b, eps=0.0),
    "pairwise_distance 1": lambda t, a, b: t.nn.functional.pairwise_distance(a.reshape(3, 4), b.reshape(3, 4), 1.0),
    **{
        f"cdist {p}": lambda t, a, b, p=p: t.cdist(a.reshape(3, 4), t.cat([a.reshape(3, 4)[:1], b.reshape(3, 4)]), p)
        for p in (0.0, 1.0, 1.5, 2.0, 3.0, float("inf"))
    },
    "pdist": lambda t, a, b: t.nn.functional.pdist(t.stack([a, b, a * 1])),
    "cosine_similarity": lambda t, a, b: t.nn.functional.cosine_similarity(a.reshape(3, 4), b.reshape(3, 4) * 0),
}
FURTHER: dict[str, Case] = {
    **{f"max_pool2d {k}": (f("max_pool2d", *k), PLANE) for k in ((2,), (3, 2), (3, 2, 1))},
    "max_pool1d": (f("max_pool1d", 3, 2, 1), PLANE[0]),
    "max_pool3d": (f("max_pool3d", 2), PLANE[None]),
    "adaptive_max_pool2d": (f("adaptive_max_pool2d", 2), PLANE),
    "adaptive_avg_pool2d": (f("adaptive_avg_pool2d", 2), PLANE),
    "avg_pool2d": (f("avg_pool2d", 3, 2, 1, count_include_pad=False), PLANE),
    "lp_pool2d": (f("lp_pool2d", 2, 2), np.maximum(PLANE, 0)),
    "max_unpool2d": (
        lambda t, x: t.nn.functional.max_unpool2d(*t.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
        PLANE,
    ),
    "interpolate": (f("interpolate", scale_factor=2, mode="nearest"), PLANE),
    "bilinear": (f("interpolate", size=(4, 7), mode="bilinear"), PLANE),
    "pixel_shuffle": (f("pixel_shuffle", 2), R(1, 4, 2, 3)),
    "fold": (f("fold", (4, 5), (2, 2)), R(1, 4, 12)),
    "F.unfold": (f("unfold", 2, padding=1, stride=3), PLANE),
    "constant margin": (f("pad", (1, 2, -1, 0), value=3.0), PLANE),
    **{
        f"grid_sample {mode} {margin}": (
            f("grid_sample", mode, margin, False),
            PLANE,
            np.array([[[[-2.0, 0], [0.5, 0.3], [1.2, -1.4], [0, 0]]]]),
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for margin in ("zeros", "border", "reflection")
    },
    "embedding": (lambda t, w: t.nn.functional.embedding(t.tensor([0, 2, 2, 1]), w, padding_idx=2), R(4, 3)),
    **{
        f"embedding_bag {how}": (
            lambda t, w, how=how: t.nn.functional.embedding_bag(
                t.tensor([[0, 2, 2], [1, 3, 2]]), w, mode=how, padding_idx=2
            ),
            R(4, 3),
        )
        for how in ("sum", "mean", "max")
    },
    "cross_entropy": (lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([1, -100, 2]), reduction="none"), R(3, 4)),
    "cross_entropy weighted": (
        lambda t, x, w: t.nn.functional.cross_entropy(
            x, t.tensor([1, -100, 2]), w.detach(), label_smoothing=0.1, reduction="none"
        ),
        R(3, 4),
        R(4, low=0.5),
    ),
    "cross_entropy to 0": (lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([1, 0, 2]), ignore_index=0), R(3, 4)),
    "nll_loss": (lambda t, x: t.nn.functional.nll_loss(x, t.tensor([1, -100, 2]), reduction="none"), R(3, 4)),
    "nll_loss of planes": (
        lambda t, x: t.nn.functional.nll_loss(x, t.tensor([[[1, 0], [-100, 1]]]), reduction="none"),
        R(1, 2, 2, 2),
    ),
    "binary_cross_entropy": (
        f("binary_cross_entropy", reduction="none"),
        np.array([0.0, 1, 0.3]),
        np.array([0.0, 1, 0]),
    ),
    "multi_margin_loss": (
        lambda t, x: t.nn.functional.multi_margin_loss(x, t.tensor([1, 0, 2]), reduction="none"),
        R(3, 4),
    ),
    "multilabel_margin_loss": (
        lambda t, x: t.nn.functional.multilabel_margin_loss(x, t.tensor([[1, -1, 0, 0]] * 3), reduction="none"),
        R(3, 4),
    ),
    "triplet_margin_loss": (f("triplet_margin_loss", reduction="none"), R(3, 4), R(3, 4, seed=1), 9 * R(3, 4, seed=2)),
    "cosine_embedding_loss": (
        lambda t, a, b: t.nn.functional.cosine_embedding_loss(a, b, t.tensor([1, -1, -1]), reduction="none"),
        R(3, 4),
        R(3, 4, seed=1),
    ),
    "ctc_loss": (
        lambda t, x: t.nn.functional.ctc_loss(
            x.log_softmax(-1),
            t.tensor([[1, 2, 0], [1, 1, 1]]),
            t.tensor([4, 3]),
            t.tensor([2, 3]),
            reduction="none",
            zero_infinity=True,
        ),
        R(4, 2, 3),
    ),
    "topk": (lambda t, x: x.topk(2).values, R(3, 5)),
    "sort": (lambda t, x: x.sort().values, R(3, 5)),
    "gather": (lambda t, x: x.gather(1, t.tensor([[1, 1], [0, 2], [4, 4]])), R(3, 5)),
    "block_diag": (lambda t, a, b: t.block_diag(a, b), R(2, 2), R(1, 3)),
    "lstm of packed": (lambda t, x: packed(t, t.nn.LSTM, x), R(3, 2, 2)),
    "masked attention": (lambda t, x: masked_attention(t, x), R(1, 2, 3, 4)),
    "max with a NaN": (m("max"), WILD),
    "min with a NaN": (m("min"), WILD),
    "maximum with NaN": (lambda t, a, b: t.maximum(a, b), WILD, WILD[::-1].copy()),
    "scatter_reduce mean of infinite": (
        lambda t, a, b: a.scatter_reduce(0, t.tensor([1, 3, 0]), b, "mean"),
        WILD,
        R(3),
    ),
    **{f"{name} of infinite": (f(name), WILD) for name in ("relu", "elu", "selu", "hardswish")},
    "real": (lambda t, x: t.view_as_complex(x).real, R(3, 2)),
    "imag": (lambda t, x: t.view_as_complex(x).imag, R(3, 2)),
    "complex": (lambda t, a, b: t.view_as_real(t.complex(a, b)), WILD, WILD[::-1].copy()),
    "phase at 0": (lambda t, x: t.view_as_real(t.view_as_complex(x).sgn()), np.array([[0.0, 0], [1, 2]])),
}


def packed(t: Any, kind: Any, x: Any) -> Any:
    t.manual_seed(0)
    rnn = kind(2, 2).double()
    for parameter in rnn.parameters():
        parameter.data = t.full_like(parameter, 0.3)
    out, _ = rnn(t.nn.utils.rnn.pack_padded_sequence(x, t.tensor([3, 1])))
    return t.nn.utils.rnn.pad_packed_sequence(out)[0]


def masked_attention(t: Any, x: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


CASES: dict[str, Case] = {
    **{name: (program, KINKS) for name, program in OF_ONE.items()},
    **{name: (program, KINKS, OTHERS) for name, program in OF_TWO.items()},
    **FURTHER,
}


# Infinite parts of a sum in another order: where PyTorch's is infinite, ours may be NaN.
ADDED = ("grid_sample bilinear *", "softmax of masked")


def arriving(shape: tuple[int, ...]) -> Iterator[Any]:
    """Gradients that are infinite or NaN everywhere, or at one place and 0 elsewhere."""
    count = int(np.prod(shape))
    some = range(count) if count <= MOST else np.random.default_rng(0).choice(count, MOST, replace=False)
    for value in HUGE:
        yield np.full(shape, value)
        for place in some:
            g = np.zeros(shape)
            g.reshape(-1)[place] = value
            yield g


def slopes(t: Any, output: Any, leaves: list[Any], g: Any, again: bool = False) -> list[Any]:
    found = t.autograd.grad(output, leaves, t.from_numpy(g), retain_graph=True, create_graph=again, allow_unused=True)
    return [np.zeros(tuple(x.shape)) if s is None else host(s.detach()) for s, x in zip(found, leaves, strict=True)]


@cases("name", CASES)
def test_as_pytorch(name: str) -> None:
    """Wherever PyTorch's gradient is a number or infinite, ours is the same; also as one that can be differentiated."""
    program, *values = CASES[name]
    outputs, leaves = {}, {}
    for t in (torch, minigrad):
        made = [tensor(t, v) for v in values]
        leaves[t] = [x for x in made if isinstance(x, t.Tensor) and x.requires_grad]
        outputs[t] = list(results(program(t, *made)))
    for ours, theirs in zip(outputs[minigrad], outputs[torch], strict=True):
        if not theirs.requires_grad:
            continue
        for g in arriving(tuple(theirs.shape)):
            expected = slopes(torch, theirs, leaves[torch], g)
            for again in (False, True):
                for a, e in zip(slopes(minigrad, ours, leaves[minigrad], g, again), expected, strict=True):
                    known = np.isfinite(e) if any(fnmatchcase(name, pattern) for pattern in ADDED) else ~np.isnan(e)
                    np.testing.assert_allclose(
                        a[known], e[known], rtol=1e-7, atol=1e-9, err_msg=f"{g}: {a}, PyTorch's {e}"
                    )


# PyTorch has no second gradient of them, or no 0: of renorm, and of prelu's weight where its input is 0.
OF_FIRST_ORDER = (
    *("hardsigmoid", "cdist*", "pdist", "embedding_bag*", "multi*", "ctc_loss", "masked attention", "renorm", "prelu"),
    *("grid_sample nearest*", "*of infinite", "*NaN"),
)


@cases("name", [n for n in CASES if not any(fnmatchcase(n, p) for p in OF_FIRST_ORDER)])
def test_second_order(name: str) -> None:
    """Where the gradient of PyTorch's gradient is 0, ours is."""
    program, *values = CASES[name]
    firsts, leaves = {}, {}
    for t in (torch, minigrad):
        made = [tensor(t, v) for v in values]
        outputs = [o for o in results(program(t, *made)) if o.requires_grad]
        weights = [tensor(t, np.linspace(0.5, 1.5, o.numel()).reshape(tuple(o.shape))) for o in outputs]
        leaves[t] = [*(x for x in made if isinstance(x, t.Tensor) and x.requires_grad), *weights]
        inputs = leaves[t][: len(leaves[t]) - len(weights)]
        firsts[t] = t.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
    for ours, theirs in zip(firsts[minigrad], firsts[torch], strict=True):
        if theirs is None or not theirs.requires_grad:
            continue
        for value in HUGE:
            g = np.full(tuple(theirs.shape), value)
            pairs = zip(*(slopes(t, x, leaves[t], g) for t, x in ((minigrad, ours), (torch, theirs))), strict=True)
            for a, e in pairs:
                np.testing.assert_array_equal(a[e == 0], 0, err_msg=f"{value}: {a}, PyTorch's {e}")
