"""Classification losses: cross-entropy and negative log-likelihood.

Inputs have shape (C), (N, C) or (N, C, d1, ...), where C is the axis of the classes. Targets have the same shape
without C. Internally, inputs are reshaped to (N d1 ..., C), with one row per target.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.graph import as_one
from ...backend import check_indices, dtype as dt, xp
from ...backend.dtype import kind_of
from ...functions.arguments import rounded_once
from ...ops import loss as ops
from ...tensor import Tensor, apply, wrap
from ._checks import integers, reduced, reduction_of, same_dtype
from .linear import linear

__all__ = ["cross_entropy", "linear_cross_entropy", "nll_loss"]

Weight = Tensor | None  # (C), a factor for each class


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Weight = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-ln softmax(input) at the target class.

    Args:
        input: logits, (C), (N, C) or (N, C, d1, ...).
        target: class indices (integers, in the input's shape without C) or probabilities (in the input's shape).
        weight: (C), a factor for each class.
        ignore_index: a target class to ignore; not supported for probabilities.
        reduction: "none", "sum" or "mean". The mean divides by the sum of the targets' weights (NaN if none).
        label_smoothing: ε; the target becomes (1 - ε) onehot + ε / C (Szegedy et al. 2016).

    Raises ValueError if the number of targets is wrong or the reduction is unknown; RuntimeError if shapes or dtypes
    do not match or ε is outside [0, 1]; and IndexError if a class is outside 0 .. C - 1 (checked on the CPU).

    >>> F.cross_entropy(mg.tensor([[0.0, 0.0]]), mg.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None or reduction not in ("none", "sum", "mean"):
        reduction = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.array.dtype.kind not in "iu" and kind_of(target.array) == "f":
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    rows, flat, classes = _rows("cross_entropy", input, target, weight, ignore_index)
    losses: Tensor = apply(ops.cross_entropy, (rows, flat, weight, ignore_index, float(label_smoothing)))
    return _reduced(losses, reduction, target, classes, weight, ignore_index)


@rounded_once
def _soft_cross_entropy(input: Tensor, target: Tensor, weight: Weight, reduction: str, smoothing: float) -> Tensor:
    """Cross-entropy with a probability for each class as the target; the mean is over the rows."""
    if input.array.shape != target.array.shape:
        if input.array.ndim == target.array.ndim > 1 and input.array.shape[0] != target.array.shape[0]:
            sizes = f"({input.array.shape[0]}) to match target batch_size ({target.array.shape[0]})"
            raise ValueError(f"cross_entropy: expected input batch_size {sizes}")
        expected = f"of probabilities must have the shape of the input, {tuple(input.shape)}, not {tuple(target.shape)}"
        other = f"a target of class indices must have an integer dtype, not {target.dtype}"
        raise RuntimeError(f"cross_entropy: a target {expected}; {other}")
    same_dtype("cross_entropy", input, target=target, weight=weight)
    classes_at = 0 if input.ndim == 1 else 1
    classes = input.array.shape[classes_at]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    scores = target * input.log_softmax(classes_at)
    if weight is not None:
        scores = scores * weight.reshape(classes, *(1,) * (input.ndim - classes_at - 1))  # (C, 1, ...)
    losses = -scores.sum(classes_at)
    return losses.sum() / max(losses.numel(), 1) if reduction == "mean" else reduced(losses, reduction)


@rounded_once
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Weight = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input at the target class, where input contains log-probabilities. See ``cross_entropy`` for the arguments."""
    reduction = reduction_of(size_average, reduce, reduction)
    rows, flat, classes = _rows("nll_loss", input, target, weight, ignore_index)
    losses = -rows.gather(1, classes.unsqueeze(1)).squeeze(1)
    if weight is not None:
        losses = losses * weight[classes]
    losses = losses.masked_fill(flat == ignore_index, 0.0)
    return _reduced(losses, reduction, target, classes, weight, ignore_index)


def _rows(name: str, input: Tensor, target: Tensor, weight: Weight, ignore_index: int) -> tuple[Tensor, Tensor, Tensor]:
    """Check the shapes, and return rows (N, C), targets (N), and targets with 0 in place of ``ignore_index``."""
    shape, expected = input.array.shape, input.array.shape[:1] + input.array.shape[2:]
    if weight is not None or len(shape) < 2 or target.array.shape != expected or target.array.dtype.kind not in "iu":
        _check_operands(name, input, target, weight)
    classes = shape[1] if len(shape) > 1 else shape[0]
    if len(shape) != 2:
        last = input.movedim(1, -1) if len(shape) > 1 else input
        input, target = last.reshape(-1, classes), target.reshape(-1)  # (N, d1, ..., C) -> (N d1 ..., C)
    return input, target, _without_ignored(name, target, ignore_index, classes)


def _check_operands(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise an error if the target or class weights do not match the input."""
    shape = tuple(input.array.shape)
    batched = len(shape) > 1
    expected = shape[:1] * batched + shape[2:]
    integers(name, "a target", target)
    if not shape or tuple(target.array.shape) != expected:
        same_rank, same_batch = target.array.ndim == len(expected), target.array.shape[:1] == expected[:1]
        kind = ValueError if len(shape) < 2 or (same_rank and not same_batch) else RuntimeError  # as in PyTorch
        problem = f"the target must have shape {expected}, not {tuple(target.array.shape)}"
        if target.array.shape == shape and batched:
            problem += ": use .argmax(1) for one-hot targets, or .float() for probabilities"
        rule = "Expected a target of the input batch_size" if same_rank else f"{len(expected)}D target tensor expected"
        raise kind(f"{name}: {rule}: input of shape {shape} has its classes in axis {int(batched)}, so {problem}")
    if weight is not None:
        same_dtype(name, input, weight=weight)
        if weight.array.shape != (classes := shape[1] if batched else shape[0],):
            problem = f"either for all {classes} classes or no classes, but got weight of shape {weight.shape}"
            raise RuntimeError(f"{name}: weight tensor should be defined {problem}")


def _without_ignored(name: str, flat: Tensor, ignore_index: int, classes: int) -> Tensor:
    """The targets with 0 in place of ``ignore_index``, after checking their range."""
    array = flat.array
    targets = xp(array).where(array == ignore_index, array.dtype.type(0), array)
    check_indices(targets, classes, f"{name}: target")
    return wrap(targets)


def _reduced(
    losses: Tensor, reduction: str, target: Tensor, classes: Tensor, weight: Weight, ignore_index: int
) -> Tensor:
    """Reduce losses (N d1 ...). The mean divides by the summed weights of the targets that are not ignored."""
    if reduction == "mean":
        is_kept = target.array.reshape(-1) != ignore_index
        count = (is_kept if weight is None else weight.array[classes.array] * is_kept).sum()
        if isinstance(count, np.generic):  # otherwise it stays on the device
            count = float(count) or math.nan
        else:
            kind = dt.promote_types(losses.dtype, dt.float32).numpy
            count = xp(count).where(count == 0, math.nan, count).astype(kind)
        total = apply(ops.average, (losses, count))
        if target.array.ndim < 2:
            return total
    else:
        total = losses.sum() if reduction == "sum" else losses.reshape(target.shape)  # (N d1 ...) -> (N, d1, ...)
    return as_one(total, "NllLossBackward0" if target.array.ndim < 2 else "NllLoss2DBackward0")


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Weight = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)`` in one call. If targets are class indices
    and ``weight`` is None, the mean and sum are computed in chunks, so the logits are never in memory all at once.

    Args:
        input: (N, D) or (D), or in the chunked case (..., D) with a target (...).
        linear_weight: (C, D), or (C, d1, ..., D) for a target (N, d1, ...). linear_bias: the weight's shape without D.
        target, weight, reduction, label_smoothing: as for ``cross_entropy``.
        ignore_index: a target to ignore; None means -100. options: ignored.

    Raises the same errors as ``cross_entropy``, and RuntimeError if ``ignore_index`` is set for probabilities."""
    reduction = reduction_of(None, None, reduction)
    shape, widths = tuple(input.array.shape), tuple(linear_weight.array.shape)
    if shape[-1:] != widths[-1:]:
        expected = "expected equal input and linear_weight last dimensions (in_features)"
        raise RuntimeError(f"linear_cross_entropy: {expected}, got shapes {shape} and {widths}")
    same_dtype("linear_cross_entropy", input, linear_weight=linear_weight, linear_bias=linear_bias)
    has_classes = kind_of(target.array) != "f"
    if not has_classes and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if has_classes and weight is None and reduction != "none" and len(widths) == 2:
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
        if tuple(target.array.shape) != shape[:-1]:
            shapes = f"input (..., D) of shape {shape} does not match target (...) of shape {tuple(target.array.shape)}"
            other_batch = target.array.ndim == len(shape) - 1 and target.array.shape[:1] != shape[:1]
            raise (ValueError if other_batch else RuntimeError)(f"linear_cross_entropy: {shapes}")  # as in PyTorch
        if linear_bias is not None and linear_bias.array.shape != widths[:1]:
            problem = f"linear_bias must have shape ({widths[0]},), not {tuple(linear_bias.shape)}"
            raise RuntimeError(f"linear_cross_entropy: {problem}")
        integers("linear_cross_entropy", "a target", target)
        _without_ignored("linear_cross_entropy", target.reshape(-1), ignored, widths[0])
        rows = input.reshape(-1, widths[1])  # (..., D) -> (N, D)
        operands = (rows, linear_weight, linear_bias, target.reshape(-1))
        return apply(ops.linear_cross_entropy, (*operands, ignored, float(label_smoothing), reduction))
    if len(shape) > 2:
        raise RuntimeError(f"linear_cross_entropy: expected input with dimensionality 1 or 2, got {len(shape)}")
    if len(shape) < 2 < len(widths):
        problem = f"linear_weight of shape {widths} requires batched input, (N, {shape[-1]})"
        raise RuntimeError(f"linear_cross_entropy: {problem}, got unbatched input of shape {shape}")
    flat_bias = linear_bias if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, widths[-1]), flat_bias)
    logits = logits.reshape(*shape[:-1], *widths[:-1])  # (N, C d1 ...) -> (N, C, d1, ...)
    return cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)
