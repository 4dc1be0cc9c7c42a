"""Losses that are 0 once one distance or score exceeds another by a margin, and the loss for connectionist temporal
classification (CTC, Graves et al. 2006).

In CTC, a path assigns a class or the blank to each frame. It spells a target if the target remains after merging equal
adjacent labels and removing blanks. The loss is the negative logarithm of the total probability of the paths that
spell the target. A path moves along blank, t₁, blank, t₂, ..., blank. In each frame, it stays, moves by one, or moves
by two over a blank between different labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....backend import check_indices, holds, of, xp
from ....functions import pointwise
from ....functions.arguments import raw, rounded_once
from ....nn.functional._checks import Flag, integers, reduced, reduction_of, same_dtype
from ....nn.functional.activation import logsigmoid
from ....nn.functional.linear import pairwise_distance
from ....tensor import Tensor, wrap

__all__ = ["cosine_embedding_loss", "ctc_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss"]
__all__ += ["multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss"]
__all__ += ["triplet_margin_with_distance_loss"]

Distance = Callable[[Tensor, Tensor], Tensor]


@rounded_once
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -t (x₁ - x₂) + margin), where t is 1 if x₁ should be larger, and -1 if x₂ should be larger. Raises
    RuntimeError if the numbers of axes differ."""
    if not input1.array.ndim == input2.array.ndim == target.array.ndim:
        sizes = f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        raise RuntimeError(f"margin_ranking_loss: All input tensors should have same dimension but got sizes: {sizes}")
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction, size_average, reduce)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """x where the target is 1, and max(0, margin - x) where it is -1. Usually, x is a distance."""
    apart = pointwise.where(target != 1, (margin - input).clamp_min(0), 0.0)
    return reduced(apart + pointwise.where(target != -1, input, 0.0), reduction, size_average, reduce)


@rounded_once
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x₁, x₂) where the target is 1, and max(0, cos(x₁, x₂) - margin) where it is -1.

    Args:
        input1, input2: (N, D) or (D). target: (N) or ().

    Raises RuntimeError if the numbers of axes do not match.
    """
    axes = target.array.ndim
    if axes > 1:
        raise RuntimeError("cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported")
    if input1.array.ndim != axes + 1 or input2.array.ndim != axes + 1:
        expected, sizes = f"{axes}D target tensor expects {axes + 1}D input tensors", (input1.shape, input2.shape)
        raise RuntimeError(f"cosine_embedding_loss: {expected}, but found inputs with sizes {sizes}")
    lengths = [(x * x).sum(-1) + 1e-12 for x in (input1, input2)]
    cosine = (input1 * input2).sum(-1) / (lengths[0] * lengths[1]).sqrt()
    near = pointwise.where(target == 1, 1 - cosine, 0.0)
    far = pointwise.where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduced(near + far, reduction, size_average, reduce)


@rounded_once
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """ln(1 + exp(-t x)), where t is 1 or -1. Unlike in PyTorch, this does not overflow below t x = -89."""
    return reduced(-logsigmoid(input * target), reduction, size_average, reduce)


@rounded_once
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """Σᵢ wₜ max(0, margin - xₜ + xᵢ)ᵖ / C over the classes i other than the target t.

    Args:
        input: scores, (N, C), (C), or () for one class. target: integer classes, (N) or ().
        p: 1 or 2. weight: a factor for each class, (C).

    Raises ValueError if ``p`` is not 1 or 2, and RuntimeError if shapes do not match, or a class is outside 0 .. C - 1.
    """
    input = input if input.array.ndim else input.reshape(1)
    shape = tuple(input.array.shape)
    if p not in (1, 2):
        raise ValueError("multi_margin_loss: only p == 1 and p == 2 supported")
    if len(shape) > 2 or not shape[-1]:
        raise RuntimeError(f"multi_margin_loss: Expected a non-empty input (N, C) or (C), but got {list(shape)}")
    rows = input if len(shape) == 2 else input.unsqueeze(0)  # (N, C)
    labels = target.reshape(target.numel(), 1)  # (N) -> (N, 1)
    if target.array.ndim > 1 or labels.array.shape[0] != rows.array.shape[0]:
        expected = f"should be 1-D with size equal to the number of input samples ({rows.array.shape[0]})"
        raise RuntimeError(f"multi_margin_loss: target tensor {expected}, but got {list(target.shape)}")
    _check_classes("multi_margin_loss", target, target.array, shape[-1])
    over = (rows - rows.gather(1, labels) + margin).relu()
    if p == 2:
        over = over * over
    if weight is not None:
        same_dtype("multi_margin_loss", input, weight=weight)
        if weight.array.shape != shape[-1:]:
            raise RuntimeError(f"multi_margin_loss: inconsistent weight size {[*weight.shape]}: use [{shape[-1]}]")
        over = over * weight[labels]
    losses = over.scatter(1, labels, 0.0).sum(1) / shape[-1]
    return reduced(losses.reshape(target.shape), reduction, size_average, reduce)


def _check_classes(name: str, target: Tensor, counted: Any, classes: int) -> None:
    integers(name, "a target", target)
    try:
        check_indices(counted, classes, f"{name}: target out of range")
    except IndexError as error:
        raise RuntimeError(str(error)) from None


@rounded_once
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """Σₜ Σᵢ max(0, 1 - xₜ + xᵢ) / C over a sample's targets t and all other classes i.

    Args:
        input: scores, (N, C), or (C).
        target: integer classes with the shape of ``input``; a sample's targets end before its first -1.

    Raises RuntimeError if the shapes differ, or a class is outside -1 .. C - 1.
    """
    shape, array = tuple(input.array.shape), target.array
    if len(shape) > 2 or 0 in shape[-1:] or tuple(array.shape) != shape:
        sizes = f"{list(array.shape)} for input of size: {list(shape)}. Expected a non-empty input (N, C) or (C)"
        raise RuntimeError(f"multilabel_margin_loss: inconsistent target size: {sizes}")
    classes, samples = shape[-1] if shape else 1, shape[0] if len(shape) == 2 else 1
    rows, labels = input.reshape(samples, classes), array.reshape(samples, classes)
    counts = xp(labels).cumprod(labels != -1, axis=1) > 0  # up to the first -1
    indices = pointwise.where(wrap(counts), target.reshape(samples, classes), 0)
    labels = indices.array
    _check_classes("multilabel_margin_loss", target, labels, classes)
    is_label = (labels[:, :, None] == xp(labels).arange(classes)) & counts[:, :, None]  # (N, targets, C)
    pairs = counts[:, :, None] & ~is_label.any(1, keepdims=True)
    over = 1 - rows.gather(1, indices).unsqueeze(2) + rows.unsqueeze(1)  # (N, targets, C)
    losses = pointwise.where(wrap(pairs), over.relu(), 0.0).sum((1, 2)) / classes
    return reduced(losses.reshape(shape[:-1]), reduction, size_average, reduce)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the last axis (the classes) of -(t ln σ(x) + (1 - t) ln σ(-x)), times the class weight."""
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = reduced(losses, "none", weight=weight).sum(-1) / input.array.shape[-1]
    return reduced(losses, reduction, size_average, reduce)


@rounded_once
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, ‖a - p‖ - ‖a - n‖ + margin) along the last axis (Schroff et al. 2015).

    Args:
        p, eps: parameters of the distance; see ``pairwise_distance``.
        swap: replace ‖a - n‖ with the distance between positive and negative if this is smaller (Balntas et al. 2016).
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=partial(pairwise_distance, p=p, eps=eps),
        margin=margin,
        swap=swap,
        reduction=reduction_of(size_average, reduce, reduction),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Distance | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with any distance function, by default ``pairwise_distance``."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    axes = tuple(x.array.ndim for x in (anchor, positive, negative))
    if len(set(axes)) > 1:
        raise RuntimeError(f"anchor, positive and negative are expected to have the same number of dimensions: {axes}")
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pointwise.minimum(far, distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


@rounded_once
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative logarithm of the probability that the frames spell the target.

    Args:
        log_probs: log-probabilities of C classes in T frames, (T, N, C) or (T, C).
        targets: (N, S), which is ignored beyond each target length, or the concatenated targets, (sum of lengths).
        input_lengths, target_lengths: (N) integers, or ().
        blank: the class for "no label".
        reduction: "none", "mean" (after dividing each loss by its target length) or "sum".
        zero_infinity: replace infinite losses, caused by targets too long for their frames, with 0. Otherwise, their
            gradients are NaN within the input length.

    Raises RuntimeError if lengths or shapes do not match, or the blank is outside 0 .. C - 1, and IndexError if a
    target is outside 0 .. C - 1 (checked on the CPU).

    As in PyTorch, the gradient is with respect to logits whose log-softmax is ``log_probs``. It exceeds the gradient of
    the formula by exp(log_probs) times the gradient of the loss, a term that a preceding log-softmax removes.
    """
    reduction = reduction_of(None, None, reduction)
    batched = log_probs.array.ndim == 3
    if log_probs.array.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss: log_probs must be (T, N, C) or (T, C), not {tuple(log_probs.shape)}")
    frames = log_probs if batched else log_probs.unsqueeze(1)
    count, batch, classes = frames.array.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range 0 .. {classes - 1}, but it is {blank}")
    n_frames = _lengths("input_lengths", input_lengths, batch, frames.array)
    lengths = _lengths("target_lengths", target_lengths, batch, frames.array)
    if batch and int(n_frames.max()) > count:
        raise RuntimeError(f"ctc_loss: Expected input_lengths of at most {count}, but got value {int(n_frames.max())}")
    padded = _padded(_on_device(frames.array, targets), lengths, blank, batched)
    check_indices(padded, classes, "ctc_loss: targets")
    labels = xp(padded).full((batch, 2 * padded.shape[1] + 1), blank)  # a blank before and after every label
    labels[:, 1::2] = padded
    total = frames.clamp(max=80).exp().sum(-1, keepdim=True)  # 1 for log-probabilities
    as_log_softmax = frames - (total - total.detach())  # the same numbers with the gradient g - exp(x) Σ g
    losses = -_log_likelihood(as_log_softmax, labels, n_frames, lengths, blank)
    if zero_infinity:
        losses = losses.masked_fill(losses == float("inf"), 0.0)
    elif holds(impossible := losses.array == float("inf")):
        rows = frames[wrap((xp(n_frames).arange(count)[:, None] < n_frames) & impossible)]
        losses = losses + (rows.nan_to_num() * 0).sqrt().sum()  # 0, but its gradient is NaN
    if reduction == "mean":
        losses = losses / wrap(lengths.clip(1).astype(losses.array.dtype))
    return reduced(losses if batched else losses.squeeze(0), reduction)


def _lengths(name: str, value: Any, batch: int, like: Any) -> Any:
    """(N,) integers on an array's device, from a tensor or a sequence."""
    lengths = _on_device(like, value).reshape(-1)
    if lengths.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss: {name} must be integral")
    if lengths.shape != (batch,):
        raise RuntimeError(f"ctc_loss: {name} must be of size batch_size, {batch}, not {lengths.shape[0]}")
    return lengths.astype("int64")


def _on_device(like: Any, value: Any) -> Any:
    """An array on the device of ``like``. Targets and lengths are often on the CPU, and lengths are often tuples."""
    backend, array = of(like), raw(value)
    return backend.asarray(array if hasattr(array, "dtype") else np.asarray(array), backend.device_of(like))


def _padded(targets: Any, lengths: Any, blank: int, batched: bool) -> Any:
    """Convert targets, (N, S) or concatenated, to (N, S) with blanks beyond their lengths."""
    m, longest = xp(targets), int(lengths.max()) if lengths.size else 0
    if targets.ndim == 1 and batched:
        if targets.shape[0] != int(lengths.sum()):
            expected = f"Expected targets to have size {int(lengths.sum())}, the sum of target_lengths"
            raise RuntimeError(f"ctc_loss: {expected}, but got size {targets.shape[0]}")
        starts = m.cumsum(lengths) - lengths
        places = starts[:, None] + m.arange(longest)
        rows = targets[places.clip(0, max(targets.shape[0] - 1, 0))] if targets.size else places
    else:
        rows = targets.reshape(lengths.shape[0], -1) if targets.ndim == 1 else targets
        if rows.ndim != 2 or rows.shape[0] != lengths.shape[0] or rows.shape[1] < longest:
            expected = f"Expected targets of shape (N, S), N = {lengths.shape[0]} and S at least {longest}"
            raise RuntimeError(f"ctc_loss: {expected}, but got {tuple(targets.shape)}")
    return m.where(m.arange(rows.shape[1]) < lengths[:, None], rows, blank).astype("int64")


def _log_likelihood(frames: Tensor, labels: Any, n_frames: Any, lengths: Any, blank: int) -> Tensor:
    """The logarithm of the probability of all paths, (N,), computed by the forward recursion in log space."""
    m, (batch, width) = xp(labels), labels.shape
    is_barred = m.zeros((batch, 3, width), bool)  # True where a move by zero, one or two is not allowed
    is_barred[:, 1, :1] = is_barred[:, 2, :2] = True
    is_barred[:, 2, 2:] = (labels[:, 2:] == blank) | (labels[:, 2:] == labels[:, :-2])
    before, barred = wrap((m.arange(width) - m.arange(3)[:, None]).clip(0)), wrap(is_barred)
    start = m.full(labels.shape, float("-inf"), frames.array.dtype)
    start[:, 0] = 0
    alpha, shortest = wrap(start), int(n_frames.min()) if batch else 0
    scores = frames[:, wrap(m.arange(batch)[:, None]), wrap(labels)]  # (T, N, 2 S + 1)
    for t, score in enumerate(scores.unbind(0)):
        moved = alpha[:, before].masked_fill(barred, float("-inf")).logsumexp(1) + score
        alpha = moved if t < shortest else pointwise.where(wrap(n_frames[:, None] > t), moved, alpha)
    ends = m.stack([2 * lengths, (2 * lengths - 1).clip(0)], 1)  # the last blank, the last label
    last = pointwise.where(
        wrap((ends < width) & (m.arange(2) <= lengths[:, None])), alpha.gather(1, wrap(ends)), float("-inf")
    )
    return last.logsumexp(1)
