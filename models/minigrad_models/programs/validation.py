"""Windows of a token sequence: batches of windows, and the loss on held-out sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor

Ids = np.ndarray[Any, np.dtype[Any]]
NONE = -100  # a target that the loss ignores
Progress = Callable[[int], Any]
Score = Callable[..., float]
Cut = tuple[int, int, int]


class Batch(NamedTuple):
    """Tokens (B, T), int64; the token after each (B, T), int64; and the number of targets that are not ignored."""

    tokens: Tensor
    targets: Tensor
    weight: int


def mean_loss(model: Any, batch: Batch) -> tuple[Tensor, float]:
    """The loss function for training: the mean cross-entropy of a batch, and its number of targets."""
    return model.loss(batch.tokens, batch.targets, NONE), float(batch.weight)


def moved(device: str, *tensors: Tensor) -> list[Tensor]:
    """Move CPU tensors of one dtype to a device, in a single copy."""
    if mg.device(device).type == "cpu":
        return list(tensors)
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise TypeError(f"tensors to move must share a dtype, but have {', '.join(str(t.dtype) for t in tensors)}")
    parts = mg.cat([tensor.flatten() for tensor in tensors]).to(device).split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def windows(ids: Ids, begins: Ids, length: int, device: str) -> Batch:
    """A batch of the windows of ``length`` tokens that begin at the positions ``begins`` (B,)."""
    rows = ids[begins[:, None] + np.arange(length + 1)].astype(np.int64)  # (B, T + 1)
    parts = (mg.from_numpy(np.ascontiguousarray(part)) for part in (rows[:, :-1], rows[:, 1:]))
    tokens, targets = moved(device, *parts)
    return Batch(tokens, targets, targets.numel())


def pieces(tokens: int, window: int, stride: int, cycle: int = 1) -> list[Cut]:
    """Split a text into windows (begin, first, end) that predict each token except the first once. The model reads
    tokens begin .. end - 1, and only targets from ``first`` on count. The windows move by ``stride``; with a smaller
    stride, each token sees more of the text before it. Windows begin at multiples of ``cycle`` if window and stride are
    multiples of it."""
    result, first = [], 0
    while first < tokens - 1:
        end = min(first + (stride if first else window), tokens - 1)
        begin = -(-max(0, end - window) // cycle) * cycle
        result.append((begin, first, end))
        first = end
    return result


def check_windows(window: int, stride: int | None, context: int | None, grid: int = 1) -> None:
    """Raise ValueError for invalid evaluation windows. For window and stride, see ``pieces``. The model sees at most
    ``context`` tokens (any number, if None), and windows begin at multiples of ``grid``."""
    if context is not None and window > context:
        raise ValueError(f"--window {window:,} is more than the {context:,} tokens that the model sees")
    if stride is not None and stride > window:
        raise ValueError(f"--stride {stride:,} is more than the window, {window:,}: it would skip tokens")
    for name, value in (("window", window), ("stride", stride or 0)):
        if value % grid:
            raise ValueError(f"--{name} {value} is not a multiple of {grid}, as this model requires")


@mg.no_grad()
def score_windows(
    model: Any,
    texts: Ids | Sequence[Ids],
    window: int,
    stride: int = 0,
    batch: int = 64,
    most: int = 0,
    progress: Progress | None = None,
    cycle: int = 1,
) -> float:
    """The mean cross-entropy, in nats, of all tokens but the first of a text (N,), or of each of several independent
    texts. The model's ``loss(tokens, targets, ignore)`` returns a mean. For window, stride and cycle, see ``pieces``. A
    stride of 0 is the whole window, so that windows do not overlap. The model evaluates ``batch`` windows at a time.
    ``most`` is the approximate number of tokens to predict, in evenly spaced windows; 0 means all. ``progress`` is
    called with the number of tokens after each batch."""
    texts = [texts] if isinstance(texts, np.ndarray) else texts
    cuts, begin = [], 0
    for text in texts:
        cuts += [(begin + a, begin + b, begin + c) for a, b, c in pieces(len(text), window, stride or window, cycle)]
        begin += len(text)
    total = sum(end - first for _, first, end in cuts)
    if most and total > most:
        cuts = [cuts[i] for i in np.linspace(0, len(cuts) - 1, max(1, len(cuts) * most // total)).astype(int).tolist()]
    cuts.sort(key=lambda cut: cut[0] - cut[2])  # groups windows of the same length
    ids, device = np.concatenate(list(texts)), str(next(iter(model.parameters())).device)
    nats, count = 0.0, 0
    groups = (list(group) for _, group in groupby(cuts, lambda cut: cut[2] - cut[0]))
    for rows in (group[i : i + batch] for group in groups for i in range(0, len(group), batch)):
        begins, firsts, ends = (np.array(column) for column in zip(*rows, strict=True))
        length = int(ends[0] - begins[0])
        tokens, targets, _ = windows(ids, begins, length, device)
        before = np.arange(length) < (firsts - begins)[:, None]  # (B, T)
        if before.any():
            targets = targets.masked_fill(mg.from_numpy(before).to(device), NONE)
        counted = int((ends - firsts).sum())
        nats += float(model.loss(tokens, targets, NONE)) * counted
        count += counted
        if progress is not None:
            progress(counted)
    return nats / count
