"""Cross-entropy from logits, from the input of the last linear layer, or from probabilities."""

from __future__ import annotations

import math
from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .elementwise import log, logsigmoid, maximum, sigmoid, where
from .indexing import gather
from .linear import linear, matmul
from .op import Arguments, bare, op
from .reduction import sum as sum_over
from .shape import broadcast_to, reshape, transpose, unsqueeze
from .softmax import log_softmax, softmax


@op("dx = g (softmax(x) Σ q w − q w)", logits=lambda g, arguments: _logit_grad(unsqueeze(g, 1), *arguments))
def cross_entropy(
    logits: Array, target: Array, weight: Array = None, ignore_index: int = -100, label_smoothing: float = 0.0
) -> Array:
    """-Σ qᵥ wᵥ ln softmax(logits)ᵥ for each row; q is one-hot at the target, smoothed to (1 - ε) onehot + ε/V

    logits (N, V), target (N,) integers, weight (V,) -> (N,); rows whose target is ``ignore_index`` are 0. Label
    smoothing follows Szegedy et al. 2016; class weights are applied as in PyTorch."""
    log_p = log_softmax(logits, -1)
    ignored = target == ignore_index
    index = xp(target).where(ignored, 0, target)
    classes = logits.shape[-1]
    loss = reshape(gather(log_p, 1, index.reshape(-1, 1)), target.shape) * -1.0
    if weight is not None:
        loss = loss * weight[index]
    if label_smoothing:
        spread = sum_over(log_p if weight is None else log_p * weight, 1, False) * (-label_smoothing / classes)
        loss = loss * (1 - label_smoothing) + spread
    return where(ignored, 0.0, loss)


def _logit_grad(
    g: Array, logits: Array, target: Array, weight: Array, ignore_index: int, label_smoothing: float
) -> Array:
    """g (p Σ q w − q w), where p = softmax(logits), or 0 in ignored rows (g is NaN after a mean over no rows). g is (N,
    1) or a number. p - 1 at a target t is computed as −Σ pᵥ over v ≠ t, which is precise even if p rounds to 1."""
    target, weight = bare(target), bare(weight)
    m, (rows, classes), dtype = xp(target), logits.shape, bare(logits).dtype
    counts = target != ignore_index
    g = where(counts[:, None], g, 0.0)
    index = m.where(counts, target, 0)
    hit = m.zeros((rows, classes), bool)
    hit[m.arange(rows), index] = True
    p = softmax(logits, -1)
    others = where(hit, 0.0, p)
    factor = m.full((rows, 1), 1 - label_smoothing, dtype) * (1 if weight is None else weight[index][:, None])
    grad = (others - where(hit, sum_over(others, 1, True), 0.0)) * factor
    if label_smoothing:
        w = m.ones(classes, dtype) if weight is None else weight
        grad = grad + (p * w.sum() - w) * (label_smoothing / classes)
    return g * where(counts[:, None], grad, 0.0)


@op("dx = g / n", losses=lambda g, shape, count: broadcast_to(g / count, shape))
def average(losses: Array, count: Any) -> Array:
    """Σ losses / n, where n is the number of losses that are not ignored, or the sum of their weights"""
    return losses.sum() / count


@op(
    "dx = dz W, dz = g (softmax(z) − q) / N; dW = dzᵀ x; db = Σ dz",
    x=lambda g, weight, arguments: matmul(arguments.once(_head_grad, g), weight),
    weight=lambda g, x, arguments: matmul(transpose(arguments.once(_head_grad, g), 0, 1), x),
    bias=lambda g, arguments: arguments.once(_head_grad, g),
)
def linear_cross_entropy(
    x: Array,
    weight: Array,
    bias: Array,
    target: Array,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:
    """The mean or sum of cross_entropy(x Wᵀ + b, target) over the rows that are not ignored

    x (N, D), weight (V, D), bias (V,) or None, target (N,). The kernel works in chunks of rows, so the full logits (N,
    V) are never in memory. The mean over no rows is NaN."""
    total = sum_over(cross_entropy(linear(x, weight, bias), target, None, ignore_index, label_smoothing), None, False)
    return total if reduction == "sum" else total / (count_targets(target, ignore_index) or float("nan"))


def count_targets(target: Array, ignore_index: int) -> int:
    """The number of rows that are not ignored."""
    return int((bare(target) != ignore_index).sum())


def _head_grad(g: Array, arguments: Arguments) -> Array:
    """dz, the gradient for the logits z = x Wᵀ + b, (N, V)."""
    x, weight, bias, target, ignore_index, label_smoothing, reduction = arguments
    rows = 1 if reduction == "sum" else max(1, count_targets(target, ignore_index))
    return _logit_grad(g / rows, linear(x, weight, bias), target, None, ignore_index, label_smoothing)


@op(
    "dx = g (x − t) / (x (1 − x)); dt = g (ln(1 − x) − ln x)",
    x=lambda g, x, target: g * _over_variance(x, target),
    target=lambda g, x: g * (_bounded_log(1 - x) - _bounded_log(x)),
)
def binary_cross_entropy(x: Array, target: Array) -> Array:
    """-(t ln x + (1 - t) ln(1 - x)), with logarithms clamped to at least -100 (also in the gradient, as in PyTorch)"""
    m = xp(x)
    yes, no = m.maximum(m.log(x), -100), m.maximum(m.log1p(-x), -100)
    return (target - 1) * no - target * yes


def _bounded_log(x: Array) -> Array:
    """ln x, clamped to at least -100. Where it is clamped, the derivative is 0, even at x = 0."""
    low = x < math.exp(-100)
    return where(low, -100.0, log(where(low, 1.0, x)))


def _over_variance(x: Array, target: Array) -> Array:
    """(x - t) / max(x (1 - x), 1e-12). If x = t is 0 or 1, the result and its derivatives are 0."""
    difference, variance = x - target, x * (1 - x)
    return where((variance <= 1e-12) & (difference == 0), 0.0, difference) / maximum(variance, 1e-12)


# One rule, not two terms with a rule each, since for an infinite g a term whose factor is 0 would be NaN.
@op(
    "dx = g (no σ(x) − yes σ(−x)); dyes = −g ln σ(x); dno = −g ln σ(−x)",
    x=lambda g, x, yes, no: g * (no * sigmoid(x) - yes * sigmoid(-x)),
    yes=lambda g, x: -g * logsigmoid(x),
    no=lambda g, x: -g * logsigmoid(-x),
    promote="float",
)
def binary_cross_entropy_with_logits(x: Array, yes: Array, no: Array) -> Array:
    """-(yes ln σ(x) + no ln σ(-x))"""
    m = xp(x)
    common = m.log1p(m.exp(-m.absolute(x)))
    return yes * (common - m.minimum(x, 0)) + no * (common + m.maximum(x, 0))
