"""Cross-entropy: from logits, from the input of the last linear layer, from a probability."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .elementwise import exp, log, maximum, where
from .indexing import gather, getitem
from .linear import linear
from .op import op
from .reduction import sum as sum_over
from .shape import reshape
from .softmax import log_softmax


@op(kernel="cross_entropy")
def cross_entropy(
    logits: Array, target: Array, weight: Array = None, ignore_index: int = -100, label_smoothing: float = 0.0
) -> Array:
    """-Σ qᵥ wᵥ ln softmax(logits)ᵥ for each row; q is 1 at the target, smoothed to (1 - ε) onehot + ε/V

    logits (N, V), target (N,) integers, weight (V,) -> (N,); rows whose target is ``ignore_index`` give 0
    (Szegedy et al. 2016 for the smoothing; class weights as PyTorch applies them).
    """
    log_p = log_softmax(logits, -1)
    target = getattr(target, "array", target)
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


cross_entropy.gradient(logits=None)


@op(kernel="linear_cross_entropy")
def linear_cross_entropy(
    x: Array,
    weight: Array,
    bias: Array,
    target: Array,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:
    """cross_entropy(x Wᵀ + b, target), its mean or sum over the rows that count

    x (N, D), weight (V, D), bias (V,) or None, target (N,). The kernel works in chunks of rows, so that the
    logits (N, V) are never whole in memory.
    """
    losses = cross_entropy(linear(x, weight, bias), target, None, ignore_index, label_smoothing)
    total = sum_over(losses, None, False)
    return total if reduction == "sum" else total / count_targets(target, ignore_index)


linear_cross_entropy.gradient(x=None, weight=None, bias=None)


def count_targets(target: Any, ignore_index: int) -> float:
    """How many targets count (NaN for none: the mean of nothing)."""
    count = int((getattr(target, "array", target) != ignore_index).sum())
    return float(count) if count else float("nan")


@op(kernel="linear_r_drop")
def linear_r_drop(x: Array, weight: Array, target: Array, alpha: float, label_smoothing: float = 0.0) -> Array:
    """mean of ½ (CE(P₁) + CE(P₂)) + α/4 (KL(P₁‖P₂) + KL(P₂‖P₁)), P = softmax(x Wᵀ) of two passes

    x (2N, D), the second pass's rows after the first's, weight (V, D), target (N,) (Liang et al. 2021,
    arXiv 2106.14448, equation 4, halved). The kernel works in chunks of rows, as ``linear_cross_entropy``'s.
    """
    target = getattr(target, "array", target)
    n, twice = len(target), xp(target).concatenate((target, target))
    logits = linear(x, weight, None)
    entropies = sum_over(cross_entropy(logits, twice, None, -100, label_smoothing), None, False)
    log_p, first, second = log_softmax(logits, -1), (slice(None, n),), (slice(n, None),)
    p = exp(log_p)
    # KL(P₁‖P₂) + KL(P₂‖P₁) = Σ (P₁ - P₂)(ln P₁ - ln P₂)
    apart = (getitem(p, first) - getitem(p, second)) * (getitem(log_p, first) - getitem(log_p, second))
    return (entropies * 0.5 + sum_over(apart, None, False) * (alpha / 4)) / (n or float("nan"))


linear_r_drop.gradient(x=None, weight=None)


@op
def binary_cross_entropy(x: Array, target: Array) -> Array:
    """-(t ln x + (1 - t) ln(1 - x)), each logarithm at least -100 (so are the gradient's, PyTorch's rule)"""
    m = xp(x)
    yes, no = m.maximum(m.log(x), -100), m.maximum(m.log1p(-x), -100)
    return (target - 1) * no - target * yes


binary_cross_entropy.gradient(
    x=lambda g, x, target: g * (x - target) / maximum(x * (1 - x), 1e-12),
    target=lambda g, x: g * (maximum(log(1 - x), -100.0) - maximum(log(x), -100.0)),
)
