"""Padding with a constant, or with elements of the axis itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...functions.creation import as_tensor
from ...ops import joining as joining_ops
from ...tensor import Tensor, apply
from ._checks import check_not_empty

__all__ = ["pad"]

_MODES = ("constant", "reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements before and after axes; negative numbers remove elements.

    Args:
        pad: (before, after) of the last axis, then of the last but one, and so on.
        mode: "constant", "reflect" (mirrored without the edge), "replicate" (the edge repeated) or "circular"
            (from the other end). The last three do not pad the first axis (unbatched) or the first two. What negative
            numbers remove is still there to be mirrored or repeated, but not to come round.
        value: the constant, 0 if None.

    Raises RuntimeError: the number of widths is odd or too large, or an axis is too short; NotImplementedError: the
    mode is unknown, or does not pad these axes.

    >>> F.pad(mg.tensor([[1, 2]]), (1, 0, 0, 1)).tolist()
    [[0, 1, 2], [0, 0, 0]]
    """
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}: expected one of {', '.join(_MODES)}")
    ndim = input.array.ndim
    if len(pad) % 2 or len(pad) // 2 > ndim:
        expected = f"expected a (before, after) pair for at most {ndim} axes"
        raise RuntimeError(f"pad: {expected}, but got {len(pad)} numbers: {list(pad)}")
    pairs = [(0, 0)] * (ndim - len(pad) // 2)
    pairs += [(int(pad[i]), int(pad[i + 1])) for i in range(len(pad) - 2, -1, -2)]
    if mode != "constant":
        if value:
            raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
        return _pad_with_itself(input, pairs, len(pad) // 2, mode)
    input = _cropped(input, pairs)
    widths = tuple((max(before, 0), max(after, 0)) for before, after in pairs)
    if not any(b or a for b, a in widths):
        return input.clone()
    return apply(joining_ops.pad, (input, widths, 0.0 if value is None else value))


def _cropped(input: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    for axis, ((before, after), n) in enumerate(zip(pairs, input.array.shape, strict=True)):
        if n + before + after < 0 or n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad: ({before}, {after}) takes more away than axis {axis} of length {n} has")
        if min(before, after) < 0:
            start = max(-before, 0)
            input = input.narrow(axis, start, n - start - max(-after, 0))
    return input


def _pad_with_itself(input: Tensor, pairs: list[tuple[int, int]], padded: int, mode: str) -> Tensor:
    ndim = input.array.ndim
    if ndim not in (padded + 1, padded + 2) or not 1 <= padded <= 3:
        possible = "the last 1 axis of 2 or 3, the last 2 of 3 or 4, or the last 3 of 4 or 5"
        raise NotImplementedError(f"pad: mode {mode!r} pads {possible}; given {padded} pairs for {ndim} axes")
    lengths = input.array.shape
    left = [n + sum(pair) for n, pair in zip(lengths, pairs, strict=True)][ndim - padded :]
    if mode != "circular" and (min(left) < 0 or max(left) < 1):
        raise RuntimeError(f"pad: mode {mode!r} leaves nothing of shape {list(lengths)} after a padding of {pairs}")
    if mode != "circular":
        check_not_empty("pad", input, padded)
    source = input = _cropped(input, pairs) if mode == "circular" else input
    for axis in range(ndim - padded, ndim):
        before, after = pairs[axis]
        most = {"reflect": lengths[axis] - 1, "circular": lengths[axis]}.get(mode, max(before, after))
        n = source.array.shape[axis]
        if before > most or after > most:
            limit = f"should be {'less than' if mode == 'reflect' else 'at most'} the corresponding input dimension"
            raise RuntimeError(f"pad: Padding size {limit}, but got {(before, after)} at dimension {axis} of {n}")
        if mode == "circular":
            before, after = max(before, 0), max(after, 0)
        if before or after:
            places = np.arange(-before, n + after)
            mirrored, repeated = n - 1 - abs(n - 1 - abs(places)), places.clip(0, n - 1)
            indices = {"circular": places % n, "reflect": mirrored, "replicate": repeated}[mode]
            input = input.index_select(axis, as_tensor(indices, device=input.device))
    return input.clone() if input is source else input
