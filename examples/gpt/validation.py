"""The loss of a text that the model has not learned from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

import minigrad as mg

from .text import windows
from .tokens import Ids

NONE = -100  # a target that does not count
Progress = Callable[[int], Any]
Score = Callable[..., float]


def pieces(tokens: int, window: int, stride: int) -> list[tuple[int, int, int]]:
    """Cut a text so that each token but the first is predicted once: (begin, first, end) of each window.

    Tokens begin .. end - 1 are read, and from ``first`` on the token after each counts. The windows move by ``stride``:
    a smaller one leaves each token more of the text before it.
    """
    result, first = [], 0
    while first < tokens - 1:
        end = min(first + (stride if first else window), tokens - 1)
        result.append((max(0, end - window), first, end))
        first = end
    return result


@mg.no_grad()
def score_windows(
    model: Any, ids: Ids, window: int, stride: int = 0, batch: int = 64, most: int = 0, progress: Progress | None = None
) -> float:
    """The mean cross-entropy of a text's tokens, in nats.

    Args:
        model: any whose ``loss(tokens, targets, ignore)`` is a mean.
        ids: (N,), at least two.
        window, stride: see ``pieces``; 0 is a stride of the whole window, so that windows do not overlap.
        batch: windows at a time.
        most: tokens to predict, about, if the text has more: windows at equal distances; 0 for all.
        progress: called with the number of tokens after each batch.
    """
    cuts = pieces(len(ids), window, stride or window)
    total = cuts[-1][2]
    if most and total > most:
        cuts = [cuts[i] for i in np.linspace(0, len(cuts) - 1, max(1, len(cuts) * most // total)).astype(int).tolist()]
    device = str(next(iter(model.parameters())).device)
    nats, count = 0.0, 0
    for rows in batches(cuts, batch):
        begins, firsts, ends = (np.array(column) for column in zip(*rows, strict=True))
        length = int(ends[0] - begins[0])
        tokens, targets = windows(ids, begins, length, device)
        before = np.arange(length) < (firsts - begins)[:, None]  # (B, T)
        if before.any():
            targets = targets.masked_fill(mg.from_numpy(before).to(device), NONE)
        counted = int((ends - firsts).sum())
        nats += float(model.loss(tokens, targets, NONE)) * counted
        count += counted
        if progress is not None:
            progress(counted)
    return nats / count


def batches(cuts: list[tuple[int, int, int]], size: int) -> Iterator[list[tuple[int, int, int]]]:
    """Windows of one length together, ``size`` of them at most."""
    for _, group in groupby(cuts, lambda cut: cut[2] - cut[0]):
        rows = list(group)
        yield from (rows[i : i + size] for i in range(0, len(rows), size))


def bits(nats: float, characters: int, tokens: int) -> float:
    """Bits per character of a text, from the loss per token in nats."""
    return nats / math.log(2) * tokens / characters
