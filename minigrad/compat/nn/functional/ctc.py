"""The connectionist temporal classification loss (Graves et al. 2006).

A path assigns a class or the blank to each frame. It spells a target if merging equal neighbours and removing blanks
leaves the target. The loss is minus the logarithm of the probability of all paths that spell the target. A path moves
along blank, t₁, blank, t₂, ..., blank: in each frame it stays, moves by one, or moves by two over a blank between
different labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....autograd.tape import wrap
from ....backend import check_indices, holds, of, xp
from ....functions import pointwise
from ....functions.arguments import raw, rounded_once
from ....nn.functional._checks import reduced, reduction_of
from ....tensor import Tensor

__all__ = ["ctc_loss"]


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
    """-ln of the probability that the frames spell the target.

    Args:
        log_probs: log-probabilities of C classes in T frames, (T, N, C) or (T, C).
        targets: (N, S), ignored beyond a target's length, or concatenated, (sum of the lengths).
        input_lengths, target_lengths: (N) integers, or ().
        blank: the class that stands for no label.
        reduction: "none"; "mean", of each loss over its target's length; "sum".
        zero_infinity: replace infinite losses, of targets too long for their frames, by 0; without it their
            gradients are NaN in the frames that are used.

    Raises RuntimeError: lengths or shapes do not fit, or the blank is outside 0 .. C - 1; IndexError: a target is
    outside 0 .. C - 1 (checked on the CPU).

    The gradient is that with respect to logits of which ``log_probs`` is the log-softmax, as in PyTorch: larger than
    that of the formula by exp(log_probs) times the gradient of the loss, which a preceding log-softmax removes.
    """
    reduction = reduction_of(None, None, reduction)
    batched = log_probs.array.ndim == 3
    if log_probs.array.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss: log_probs must be (T, N, C) or (T, C), not {tuple(log_probs.shape)}")
    frames = log_probs if batched else log_probs.unsqueeze(1)
    count, batch, classes = frames.array.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range 0 .. {classes - 1}, but it is {blank}")
    used = _lengths("input_lengths", input_lengths, batch, frames.array)
    lengths = _lengths("target_lengths", target_lengths, batch, frames.array)
    if batch and int(used.max()) > count:
        raise RuntimeError(f"ctc_loss: Expected input_lengths of at most {count}, but got value {int(used.max())}")
    padded = _padded(_beside(frames.array, targets), lengths, blank, batched)
    check_indices(padded, classes, "ctc_loss: targets")
    labels = xp(padded).full((batch, 2 * padded.shape[1] + 1), blank)  # a blank before and after every label
    labels[:, 1::2] = padded
    total = frames.clamp(max=80).exp().sum(-1, keepdim=True)  # 1 if they are logarithms of probabilities
    as_log_softmax = frames - (total - total.detach())  # the same numbers, whose gradient is g - exp(x) Σ g
    losses = -_log_likelihood(as_log_softmax, labels, used, lengths, blank)
    if zero_infinity:
        losses = losses.masked_fill(losses == float("inf"), 0.0)
    elif holds(impossible := losses.array == float("inf")):
        rows = frames[wrap((xp(used).arange(count)[:, None] < used) & impossible)]
        losses = losses + (rows.nan_to_num() * 0).sqrt().sum()  # 0, whose slope is NaN
    if reduction == "mean":
        losses = losses / wrap(lengths.clip(1).astype(losses.array.dtype))
    return reduced(losses if batched else losses.squeeze(0), reduction)


def _lengths(name: str, value: Any, batch: int, like: Any) -> Any:
    """(N,) integers on the device of an array, from a tensor or a sequence."""
    lengths = _beside(like, value).reshape(-1)
    if lengths.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss: {name} must be integral")
    if lengths.shape != (batch,):
        raise RuntimeError(f"ctc_loss: {name} must be of size batch_size, {batch}, not {lengths.shape[0]}")
    return lengths.astype("int64")


def _beside(like: Any, value: Any) -> Any:
    """An array on the device of ``like``; targets and lengths are often on the CPU, and lengths often a tuple."""
    backend, array = of(like), raw(value)
    return backend.asarray(array if hasattr(array, "dtype") else np.asarray(array), backend.device_of(like))


def _padded(targets: Any, lengths: Any, blank: int, batched: bool) -> Any:
    """Targets (N, S) with blanks beyond their lengths, from rows or from their concatenation."""
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


def _log_likelihood(frames: Tensor, labels: Any, used: Any, lengths: Any, blank: int) -> Tensor:
    """(N,) ln of the probability of all paths, by the forward recursion in logarithms."""
    m, (batch, width) = xp(labels), labels.shape
    is_barred = m.zeros((batch, 3, width), bool)  # the ways into each place: by none, by one, by two
    is_barred[:, 1, :1] = is_barred[:, 2, :2] = True
    is_barred[:, 2, 2:] = (labels[:, 2:] == blank) | (labels[:, 2:] == labels[:, :-2])
    before, barred = wrap((m.arange(width) - m.arange(3)[:, None]).clip(0)), wrap(is_barred)
    start = m.full(labels.shape, float("-inf"), frames.array.dtype)
    start[:, 0] = 0
    alpha, shortest = wrap(start), int(used.min()) if batch else 0
    scores = frames[:, wrap(m.arange(batch)[:, None]), wrap(labels)]  # (T, N, 2 S + 1)
    for t, score in enumerate(scores.unbind(0)):
        moved = alpha[:, before].masked_fill(barred, float("-inf")).logsumexp(1) + score
        alpha = moved if t < shortest else pointwise.where(wrap(used[:, None] > t), moved, alpha)
    ends = m.stack([2 * lengths, (2 * lengths - 1).clip(0)], 1)  # the last blank, the last label
    last = pointwise.where(
        wrap((ends < width) & (m.arange(2) <= lengths[:, None])), alpha.gather(1, wrap(ends)), float("-inf")
    )
    return last.logsumexp(1)
