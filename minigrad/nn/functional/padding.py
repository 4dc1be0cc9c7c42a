"""Padding with a constant."""

from __future__ import annotations

from collections.abc import Sequence

from ...autograd.tape import apply
from ...ops import shape as ops
from ...tensor import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements of a constant before and after axes; negative numbers take elements away.

    Args:
        pad: (before, after) of the last axis, then of the last but one, and so on.
        value: the constant, 0 if None.

    Raises:
        RuntimeError: an odd number of widths, more than there are axes, or an axis shorter than what is taken
            away.
        NotImplementedError: another mode than "constant".
    """
    if mode != "constant":
        raise NotImplementedError(f"pad: mode {mode!r} is not provided, only 'constant'")
    ndim = input.array.ndim
    if len(pad) % 2 or len(pad) // 2 > ndim:
        raise RuntimeError(
            f"pad: expected a (before, after) pair for at most {ndim} axes, but got {len(pad)} numbers: "
            f"{list(pad)}"
        )
    pairs = [(0, 0)] * (ndim - len(pad) // 2)
    pairs += [(int(pad[i]), int(pad[i + 1])) for i in range(len(pad) - 2, -1, -2)]
    for axis, ((before, after), n) in enumerate(zip(pairs, input.array.shape, strict=True)):
        if n + before + after < 0 or n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad: ({before}, {after}) takes more away than axis {axis} of length {n} has")
        if min(before, after) < 0:
            start = max(-before, 0)
            input = input.narrow(axis, start, n - start - max(-after, 0))
    widths = tuple((max(before, 0), max(after, 0)) for before, after in pairs)
    if not any(b or a for b, a in widths):
        return input.clone()
    return apply(ops.pad, (input, widths, 0.0 if value is None else value))
