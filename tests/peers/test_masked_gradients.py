"""Infinite and NaN gradients into every function with masked elements: a gradient that is 0 in PyTorch is 0 here.

A rule of the form g · mask yields NaN where an infinite g meets a 0. ``tests/ops/test_masks.py`` tests the ops; this
file tests the functions made of them.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import numbers as R, results, tensor
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import host, torch

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's
HUGE = (np.inf, -np.inf, np.nan)
MOST = 6  # positions of a result to try

KINKS = np.array([-6.0, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 6, 30])
WILD = np.array([np.inf, -np.inf, np.nan, 0, -1, 2])
PLANE = R(1, 2, 6, 6, seed=1)
OPERANDS = {
    "x": KINKS,
    "y": np.array([-3.0, -5, -2, 1, -0.5, 3, 0, 1, 4, -3, 6, 0]),
    "wild": WILD,
    "dliw": WILD[::-1].copy(),
    "plane": PLANE,
    "points": np.array([[[[-2.0, 0], [0.5, 0.3], [1.2, -1.4], [0, 0]]]]),
    "rows": R(3, 4),
    "others": R(3, 4, seed=1),
    "far": 9 * R(3, 4, seed=2),
    "weights": R(4, low=0.5),
    "words": R(4, 3),
    "wide": R(3, 5),
    "steps": R(4, 2, 3),
    "complex": np.array([[0.0, 0], [1, 2]]),
    "images": R(1, 4, 2, 3),
    "columns": R(1, 4, 12),
    "small": R(2, 2),
    "flat": R(1, 3),
    "classes": R(1, 2, 2, 2),
    "sure": np.array([0.0, 1, 0.3]),
    "right": np.array([0.0, 1, 0]),
    "sequences": R(3, 2, 2),
    "heads": R(1, 2, 3, 4),
}
ACTIVATIONS = "relu relu6 hardtanh hardsigmoid hardswish hardshrink softshrink tanhshrink leaky_relu elu celu selu gelu"
ACTIVATIONS += " silu mish softplus softsign logsigmoid"
OF_ONE = """
x.sign() ; x.sgn() ; x.floor() ; x.ceil() ; x.round() ; x.trunc() ; x.fix() ; x.frac() ; x.abs() ; x.relu()
(x * 1).relu_() ; F.relu(x * 1, inplace=True) ; F.hardtanh(x * 1, inplace=True) ; F.hardtanh(x, -3.0, 0.5)
F.threshold(x, 0.5, -7.0) ; F.leaky_relu(x, 0.0) ; F.rrelu(x) ; x.round(decimals=1) ; x.clamp(-1, 2) ; x.clamp(min=0)
x.clamp(max=0.5) ; x.clamp(2, -1) ; x.clip(-1, 2) ; (x * 1).clamp_(-1, 2) ; x.clamp_min(0) ; x.clamp_max(0)
x.nan_to_num() ; x.masked_fill(x.detach() > 0, 1.0) ; (x * 1).masked_fill_(x.detach() > 0, -math.inf)
x[x.detach() > 0] ; t.where(x.detach() > 0, x, 0.0) ; x.masked_fill(x.detach() > 0, -math.inf).softmax(0)
x.masked_fill(x.detach() > 0, -math.inf).log_softmax(0) ; x + t.heaviside(x.detach(), x.detach()) ; x % 2 ; x.fmod(2)
x + x.detach() // 2 ; t.div(x, 2.0, rounding_mode="floor") ; t.div(x, 2.0, rounding_mode="trunc") ; x.copysign(-1.0)
x**0 ; t.pow(0.0, x) ; t.xlogy(t.zeros_like(x), x) + x ; x.max() ; x.min() ; x.amax(0) ; x.amin(0) ; tuple(x.aminmax())
x.median() ; x.nanmedian() ; x.quantile(0.3) ; x.nanquantile(0.3) ; x.mode().values ; x.kthvalue(3).values
x.cummax(0).values ; x.cummin(0).values ; x.nansum() ; x.nanmean() ; x.reshape(3, 4).tril() ; x.reshape(3, 4).triu()
x.diag() ; F.pad(x, (2, -3), value=1.0) ; F.pad(x[None], (2, 1), mode="reflect") ; x.narrow(0, 2, 3) ; x[2:7:2].sum()
x.take(i([1, 1, 5])) ; x.index_fill(0, i([1, 5]), 2.0) ; assigned(x) ; x.unfold(0, 3, 4) ; t.gradient(x)[0] ; x.diff()
t.linalg.vector_norm(x * 0) ; t.linalg.vector_norm(x, 1) ; t.linalg.vector_norm(x, math.inf)
t.linalg.vector_norm(x, -math.inf) ; F.normalize(x * 0, dim=0) ; (x * 0).std() ; x.reshape(3, 4).renorm(2, 0, 3.0)
masked_sum(t, x)
"""
OF_TWO = """
t.copysign(x, y) ; t.dist(x, y) ; t.where(x.detach() > y.detach(), x, y) ; x.clamp(y, y + 1) ; x.clamp_min(y)
x.clamp_max(y) ; x.masked_scatter(x.detach() > 0, y) ; x.index_put((i([1, 3]),), y[:2])
x.index_copy(0, i([1, 3]), y[:2]) ; x.scatter(0, i([1, 3, 0]), y[:3]) ; x.select_scatter(y[0], 0, 2)
x.slice_scatter(y[:3], 0, 2, 5) ; F.prelu(x, y[3:4])
F.margin_ranking_loss(x, y, t.ones_like(x), 1.0, reduction="none")
F.hinge_embedding_loss(x + 0 * y, t.where(y.detach() > 0, 1.0, -1.0), 2.0, reduction="none")
F.kl_div(x, y.detach().clamp(min=0), reduction="none")
F.gaussian_nll_loss(x, t.zeros_like(x), y.abs(), reduction="none")
F.poisson_nll_loss(x, y.detach().abs(), full=True, reduction="none")
F.pairwise_distance(x.reshape(3, 4), y.reshape(3, 4), eps=0.0) ; F.pairwise_distance(x, x * 1 + 0 * y, eps=0.0)
F.pairwise_distance(x.reshape(3, 4), y.reshape(3, 4), 1.0) ; F.pdist(t.stack([x, y, x * 1]))
F.cosine_similarity(x.reshape(3, 4), y.reshape(3, 4) * 0)
"""
FURTHER = """
F.max_pool2d(plane, 2) ; F.max_pool2d(plane, 3, 2) ; F.max_pool2d(plane, 3, 2, 1) ; F.max_pool1d(plane[0], 3, 2, 1)
F.max_pool3d(plane[None], 2) ; F.adaptive_max_pool2d(plane, 2) ; F.adaptive_avg_pool2d(plane, 2)
F.avg_pool2d(plane, 3, 2, 1, count_include_pad=False) ; F.lp_pool2d(plane.clamp(min=0), 2, 2)
F.max_unpool2d(*F.max_pool2d(plane, 2, return_indices=True), 2) ; F.interpolate(plane, scale_factor=2, mode="nearest")
F.interpolate(plane, size=(4, 7), mode="bilinear") ; F.pixel_shuffle(images, 2) ; F.fold(columns, (4, 5), (2, 2))
F.unfold(plane, 2, padding=1, stride=3) ; F.pad(plane, (1, 2, -1, 0), value=3.0)
F.embedding(i([0, 2, 2, 1]), words, padding_idx=2)
F.cross_entropy(rows, i([1, -100, 2]), reduction="none") ; F.cross_entropy(rows, i([1, 0, 2]), ignore_index=0)
F.cross_entropy(rows, i([1, -100, 2]), weights.detach(), label_smoothing=0.1, reduction="none")
F.nll_loss(rows, i([1, -100, 2]), reduction="none") ; F.nll_loss(classes, i([[[1, 0], [-100, 1]]]), reduction="none")
F.binary_cross_entropy(sure, right, reduction="none") ; F.multi_margin_loss(rows, i([1, 0, 2]), reduction="none")
F.multilabel_margin_loss(rows, i([[1, -1, 0, 0]] * 3), reduction="none")
F.triplet_margin_loss(rows, others, far, reduction="none")
F.cosine_embedding_loss(rows, others, i([1, -1, -1]), reduction="none")
F.ctc_loss(steps.log_softmax(-1), i([[1, 2, 0], [1, 1, 1]]), i([4, 3]), i([2, 3]), reduction="none", zero_infinity=True)
wide.topk(2).values ; wide.sort().values ; wide.gather(1, i([[1, 1], [0, 2], [4, 4]])) ; t.block_diag(small, flat)
packed(t, sequences) ; F.scaled_dot_product_attention(heads, heads, heads, is_causal=True) ; wild.max() ; wild.min()
t.maximum(wild, dliw) ; wild.scatter_reduce(0, i([1, 3, 0]), weights[:3], "mean") ; F.relu(wild) ; F.elu(wild)
F.selu(wild) ; F.hardswish(wild) ; t.view_as_complex(complex).real ; t.view_as_complex(complex).imag
t.view_as_real(t.complex(wild, dliw)) ; t.view_as_real(t.view_as_complex(complex).sgn())
"""
GRIDS = [(mode, margin) for mode in ("bilinear", "nearest", "bicubic") for margin in ("zeros", "border", "reflection")]
CASES = [
    *split(OF_ONE + OF_TWO + FURTHER),
    *(f"F.{name}(x)" for name in ACTIVATIONS.split()),
    *(f"t.{name}(x, y)" for name in ("maximum", "minimum", "fmax", "fmin", "max", "min")),
    *(f"x.scatter_reduce(0, i([1, 3, 0, 1]), y[:4], '{how}')" for how in ("sum", "mean", "amax", "amin")),
    *(f"F.{name}(x, y, reduction='none')" for name in ("l1_loss", "smooth_l1_loss", "huber_loss")),
    *(f"t.cdist(x.reshape(3, 4), t.cat([x[None, :4], y.reshape(3, 4)]), {p})" for p in (0.0, 1.0, 1.5, 2.0, 3.0)),
    "t.cdist(x.reshape(3, 4), t.cat([x[None, :4], y.reshape(3, 4)]), math.inf)",
    *(f"F.grid_sample(plane, points, '{mode}', '{margin}', False)" for mode, margin in GRIDS),
    *(
        f"F.embedding_bag(i([[0, 2, 2], [1, 3, 2]]), words, mode='{how}', padding_idx=2)"
        for how in ("sum", "mean", "max")
    ),
]


def assigned(x: Any) -> Any:
    out = x * 1
    out[2:5] = 0.0
    return out


def masked_sum(t: Any, x: Any) -> Any:
    is_kept = x.detach() > 0
    return t.masked.sum(x, 0, mask=is_kept) if t is minigrad else x[is_kept].sum()


def packed(t: Any, x: Any) -> Any:
    rnn = t.nn.LSTM(2, 2).double()
    for parameter in rnn.parameters():
        parameter.data = t.full_like(parameter, 0.3)
    out, _ = rnn(t.nn.utils.rnn.pack_padded_sequence(x, t.tensor([3, 1])))
    return t.nn.utils.rnn.pad_packed_sequence(out)[0]


# Infinite parts of a sum in another order: where PyTorch's is infinite, ours may be NaN.
ADDED = ("*grid_sample*bilinear*", "x.masked_fill*.softmax(0)")


def arriving(shape: tuple[int, ...]) -> Iterator[Any]:
    """Gradients that are infinite or NaN everywhere, or at one position and 0 elsewhere."""
    count = int(np.prod(shape))
    some = range(count) if count <= MOST else np.random.default_rng(0).choice(count, MOST, replace=False)
    for value in HUGE:
        yield np.full(shape, value)
        for place in some:
            g = np.zeros(shape)
            g.reshape(-1)[place] = value
            yield g


def derivatives(t: Any, output: Any, leaves: list[Any], g: Any, again: bool = False) -> list[Any]:
    grads = t.autograd.grad(output, leaves, t.from_numpy(g), retain_graph=True, create_graph=again, allow_unused=True)
    return [np.zeros(tuple(x.shape)) if s is None else host(s.detach()) for s, x in zip(grads, leaves, strict=True)]


def computed(t: Any, expression: str) -> tuple[list[Any], list[Any]]:
    """The results of an expression that have gradients, and the leaves in the expression."""
    words = re.findall(r"\w+", expression)
    leaves = {name: tensor(t, value) for name, value in OPERANDS.items() if name in words}
    helpers = {"assigned": assigned, "masked_sum": masked_sum, "packed": packed}
    value = evaluate(expression, t=t, F=t.nn.functional, i=t.tensor, **helpers, **leaves)
    return [result for result in results(value) if result.requires_grad], list(leaves.values())


@cases("expression", CASES)
def test_as_pytorch(expression: str) -> None:
    """Wherever PyTorch's gradient is finite or infinite, ours is the same, even when it is itself differentiable."""
    (expected, their_leaves), (outputs, leaves) = (computed(t, expression) for t in (torch, minigrad))
    is_added = any(fnmatchcase(expression, pattern) for pattern in ADDED)
    for ours, theirs in zip(outputs, expected, strict=True):
        for g in arriving(tuple(theirs.shape)):
            grads = derivatives(torch, theirs, their_leaves, g)
            for again in (False, True):
                for a, e in zip(derivatives(minigrad, ours, leaves, g, again), grads, strict=True):
                    mask = np.isfinite(e) if is_added else ~np.isnan(e)
                    text = f"{g}: {a}, PyTorch's {e}"
                    np.testing.assert_allclose(a[mask], e[mask], rtol=1e-7, atol=1e-9, err_msg=text)


# PyTorch has no second gradient for them, or no 0: for renorm, and for prelu's weight where its input is 0.
OF_FIRST_ORDER = "hardsigmoid cdist pdist embedding_bag F.multi ctc_loss attention renorm prelu 'nearest' wild"


@cases("expression", [case for case in CASES if not any(part in case for part in OF_FIRST_ORDER.split())])
def test_second_order(expression: str) -> None:
    """Where the gradient of PyTorch's gradient is 0, ours is 0."""
    firsts, leaves = {}, {}
    for t in (torch, minigrad):
        outputs, inputs = computed(t, expression)
        weights = [tensor(t, np.linspace(0.5, 1.5, o.numel()).reshape(tuple(o.shape))) for o in outputs]
        leaves[t] = [*inputs, *weights]
        firsts[t] = t.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
    for ours, theirs in zip(firsts[minigrad], firsts[torch], strict=True):
        if theirs is None or not theirs.requires_grad:
            continue
        for value in HUGE:
            g = np.full(tuple(theirs.shape), value)
            pairs = zip(*(derivatives(t, x, leaves[t], g) for t, x in ((minigrad, ours), (torch, theirs))), strict=True)
            for a, e in pairs:
                np.testing.assert_array_equal(a[e == 0], 0, err_msg=f"{value}: {a}, PyTorch's {e}")
