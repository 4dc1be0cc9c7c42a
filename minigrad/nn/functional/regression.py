"""Elementwise losses for real-valued and probability targets."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...autograd import no_grad
from ...autograd.graph import as_one
from ...autograd.tracebacks import warn
from ...backend import dtype as dt, of
from ...functions import pointwise
from ...functions.arguments import rounded_once
from ...ops import loss as ops
from ...tensor import Tensor, apply
from ._checks import Flag, reduced, reduction_of, same_dtype

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div"]
__all__ += ["l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]

_SIZES = "Using a target size ({}) that is different to the input size ({})"


def _difference(name: str, input: Tensor, target: Tensor) -> Tensor:
    """input - target, with PyTorch's warning if either is broadcast."""
    if input.array.shape != target.array.shape:
        rest = "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        warn(f"{name}: {_SIZES.format(target.shape, input.shape)}. {rest}")
    common = dt.result_type(input.array, target.array)
    return input.to(common) - target.to(common)


def _of_difference(name: str, loss: Callable[[Tensor], Tensor], doc: str) -> Callable[..., Tensor]:
    def of_difference(
        input: Tensor,
        target: Tensor,
        size_average: Flag = None,
        reduce: Flag = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
    ) -> Tensor:
        """{}. With ``weight``, the mean is the weighted mean."""
        losses, reduction = loss(_difference(name, input, target)), reduction_of(size_average, reduce, reduction)
        if weight is None or reduction != "mean":
            return reduced(losses, reduction, weight=weight)
        return (losses * weight).sum() / weight.expand(losses.shape).sum()

    of_difference.__name__ = of_difference.__qualname__ = name
    of_difference.__doc__ = (of_difference.__doc__ or "").format(doc)
    return rounded_once(of_difference)


mse_loss = _of_difference("mse_loss", lambda d: d.square(), "(input - target)²")
l1_loss = _of_difference("l1_loss", lambda d: d.abs(), "|input - target|")


@rounded_once
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2β) where d < β, else d - β / 2, with d = |input - target| (Girshick 2015)."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    difference = _difference("smooth_l1_loss", input, target)
    return reduced(_square_near_0(difference, beta) / beta, reduction, size_average, reduce)


def _square_near_0(d: Tensor, end: float) -> Tensor:
    """d² / 2 where |d| < ``end``, else end (|d| - end / 2). Its gradient is finite for infinite d, and NaN for NaN."""
    size = d.abs()
    return pointwise.where(size >= end, (size - end * 0.5) * end, d * d.clamp(-end, end) * 0.5)


@rounded_once
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d² / 2 where d < δ, else δ (d - δ / 2), with d = |input - target| (Huber 1964)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    difference = _difference("huber_loss", input, target)
    return reduced(_square_near_0(difference, delta), reduction, weight=weight)


@rounded_once
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t ln x + (1 - t) ln(1 - x)) for an input x of probabilities. Each logarithm is clamped to at least -100. Raises
    ValueError if input and target differ in shape, and RuntimeError if they differ in dtype, or if the input is outside
    [0, 1] or NaN (checked on the CPU)."""
    _check_same_shape("binary_cross_entropy", input, target)
    same_dtype("binary_cross_entropy", input, target=target)
    array = input.array
    if of(array).device_type == "cpu" and array.size and not ((array >= 0) & (array <= 1)).all():
        problem = "all elements of input should be between 0 and 1, but they lie between"
        remedy = "apply sigmoid first, or use binary_cross_entropy_with_logits"
        raise RuntimeError(f"binary_cross_entropy: {problem} {array.min():g} and {array.max():g}: {remedy}")
    return reduced(apply(ops.binary_cross_entropy, (input, target)), reduction, size_average, reduce, weight)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy(sigmoid(input), target)`` in a numerically stable form. ``pos_weight``: a factor for the
    loss of positive targets. Raises ValueError if shapes differ, and RuntimeError for a non-floating-point target."""
    _check_same_shape("binary_cross_entropy_with_logits", input, target)
    if not target.is_floating_point():
        problem = f"result type {input.dtype} can't be cast to the target's dtype {target.dtype}: use target.float()"
        raise RuntimeError(f"binary_cross_entropy_with_logits: {problem}")
    yes = target if pos_weight is None else pos_weight * target
    losses = apply(ops.binary_cross_entropy_with_logits, (input, yes, 1 - target))
    loss = reduced(losses, reduction, size_average, reduce, weight)
    return as_one(loss, "BinaryCrossEntropyWithLogitsBackward0")


def _check_same_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.array.shape != target.array.shape:
        raise ValueError(f"{name}: {_SIZES.format(target.shape, input.shape)}: it must be the same as input size")


@rounded_once
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence t (ln t - input). ``input`` contains log-probabilities, and the target t contains
    probabilities, or log-probabilities if ``log_target``. "batchmean" divides the sum by the batch size."""
    batchmean = reduction == "batchmean"
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = pointwise.xlogy(target, target) - target * input
    total = losses.sum() if batchmean else reduced(losses, reduction, size_average, reduce)
    return total / input.array.shape[0] if batchmean and input.array.ndim else total


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-8,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of Poisson counts, λ - t ln λ. The input is ln λ, or λ if ``log_input`` is False,
    where ``eps`` keeps ln λ finite. ``full``: add Stirling's approximation of ln t! where t > 1."""
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        rest = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + rest.masked_fill(target <= 1, 0)
    return reduced(losses, reduction, size_average, reduce)


@rounded_once
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of a normal distribution: (ln v + (input - target)² / v) / 2, plus ln 2π / 2 if
    ``full``. ``var``: the variance v, a number or a tensor shaped like ``input``, except that one axis may have length
    1 or the last may be missing. It is clamped to at least ``eps``, which does not affect gradients. Raises
    ValueError if the variance is negative or has the wrong shape, or the reduction is unknown."""
    variance = input.new_full(input.shape, var) if isinstance(var, (int, float)) else var
    if bool((variance.array < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative entry/entries")
    shape, expected = variance.array.shape, input.array.shape
    if shape != expected and shape == expected[:-1]:
        variance = variance.unsqueeze(-1)
    elif len(shape) != len(expected) or [n for n, m in zip(shape, expected, strict=True) if n != m] not in ([], [1]):
        raise ValueError(f"gaussian_nll_loss: var is of incorrect size: {shape}, the input is {expected}")
    variance = variance.clone()
    with no_grad():
        variance.clamp_(min=eps)
    losses = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)
