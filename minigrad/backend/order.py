"""The order of an array's axes in memory, by PyTorch's rules. Random numbers are drawn in that order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}  # by the number of axes


def memory_order(array: Any) -> list[int]:
    """The axes from the outermost in memory to the innermost, as PyTorch sorts them: an axis with stride 0 stays in
    place, and of two axes with equal strides, the longer one is the outer one."""
    shape, strides = array.shape, array.strides
    order: list[int] = []
    for axis in reversed(range(len(shape))):  # the innermost first
        order.append(axis)
        place = len(order) - 1
        for other in reversed(range(place)):
            rival = order[other]
            if not strides[axis] or not strides[rival]:
                continue
            here, there = (strides[axis], shape[axis]), (strides[rival], shape[rival])
            if here > there:
                break
            if here < there:
                order[other], order[place], place = axis, rival, other
    return order[::-1]


def back(order: Sequence[int]) -> list[int]:
    """The permutation that undoes ``order``."""
    return sorted(range(len(order)), key=order.__getitem__)


def in_order(array: Any, order: Sequence[int]) -> Any:
    """A copy whose axes have this order in memory."""
    return array.transpose(order).copy().transpose(back(order))


def laid_as(array: Any, like: Any) -> Any:
    """A contiguous array in the shape of ``like``, with its elements moved to the memory order of ``like``."""
    order = memory_order(like)
    return array.reshape([like.shape[axis] for axis in order]).transpose(back(order))


def is_channels_last(array: Any) -> bool:
    """Whether an array has the memory layout (N, H, W, C) or (N, D, H, W, C)."""
    order = CHANNELS_LAST.get(array.ndim)
    return order is not None and bool(array.transpose(order).flags.c_contiguous)


def prefers_channels_last(array: Any) -> bool:
    """Whether PyTorch's kernels treat an array as channels_last. The strides decide, even for axes of length 1, so
    images with one channel may count as either."""
    least = 0
    for axis in CHANNELS_LAST.get(array.ndim, ())[::-1]:
        step, length = array.strides[axis], array.shape[axis]
        if step < least or not step * length or (axis == 0 and least == array.strides[1]):
            return False
        least = step * length
    return array.ndim in CHANNELS_LAST
