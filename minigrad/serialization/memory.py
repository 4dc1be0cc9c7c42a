"""Arrays in the same memory: which they are, the bytes that they share, and views of such bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..backend import of
from ..backend.device import Device
from ..backend.dtype import Array
from ..backend.registry import address
from .placing import on_device
from .source import Ndarray


class Block:
    """The memory of arrays that overlap, from the first byte of any to the last."""

    def __init__(self, first: Array, begin: int) -> None:
        self._first, self.begin, self.end = first, begin, begin
        self.kinds: set[Any] = set()  # NumPy dtypes of its arrays
        self.is_shared = False

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.end - self.begin

    def read(self) -> Ndarray:
        """The bytes in main memory, (n,) uint8; on the CPU a view."""
        if not self.size:
            return np.empty(0, np.uint8)
        first = self._first.reshape(1) if not self._first.ndim else self._first[(slice(0, 1),) * self._first.ndim]
        flat = first.reshape(1).view(np.uint8)
        return of(flat).to_numpy(of(flat).xp.lib.stride_tricks.as_strided(flat, (self.size,), (1,)))


class Part:
    """An array in a block.

    Attributes:
        array: it, or a copy where its steps are negative or no multiples of an element. block: where it lies.
        offset, strides: the place of its first element, and the steps between elements, in elements.
    """

    def __init__(self, array: Array) -> None:
        item = array.dtype.itemsize
        if any(step < 0 or step % item for step in array.strides):
            array = array.copy()
        self.array = array
        self.strides = tuple(step // item for step in array.strides)
        self.offset = 0
        self.begin = address(array) if array.size else 0
        steps = zip(array.shape, array.strides, strict=True)
        self.end = self.begin + (sum((n - 1) * step for n, step in steps) + item if array.size else 0)
        self.block = Block(array, self.begin)

    @property
    def is_all(self) -> bool:
        """Whether its elements are the whole block, in order."""
        dense = self.array.size * self.array.dtype.itemsize == self.block.size
        return dense and bool(self.array.flags.c_contiguous)


def blocks(parts: Sequence[Part]) -> None:
    """Find the blocks of arrays. An array that does not begin at a multiple of its element's size has its own."""
    device, block = "", Block(None, 0)
    for place, _, part in sorted(((str(_device(p.array)), p.begin, p) for p in parts), key=lambda entry: entry[:2]):
        item = part.array.dtype.itemsize
        if place != device or part.begin >= block.end or (part.begin - block.begin) % item:
            device, block = place, part.block
        block.is_shared = block is not part.block
        part.block, part.offset = block, (part.begin - block.begin) // item
        block.end = max(block.end, part.end)
        block.kinds.add(part.array.dtype)


def _device(array: Array) -> Device:
    return of(array).device_of(array)


def view(memory: Array, offset: Any, size: Any, stride: Any, kind: Any = None) -> Array:
    """A view of dense memory.

    Args:
        offset, size, stride: its first element, shape and steps, in elements.
        kind: its NumPy dtype; by default that of the memory.

    Raises:
        ValueError: it would reach beyond the memory.
    """
    kind = memory.dtype if kind is None else kind
    count = memory.nbytes // kind.itemsize
    if not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)) or len(size) != len(stride):
        raise ValueError("a tensor whose size or strides are no natural numbers")
    flat = memory.reshape(-1).view(np.uint8)[: count * kind.itemsize].view(kind)
    offset = 0 if 0 in size else offset
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and (last >= count or math.prod(size) >= 2**62):
        raise ValueError(f"a tensor that ends at element {last} of a storage of {count}")
    steps = tuple(step * kind.itemsize for step in stride)
    if isinstance(flat, np.ndarray):
        return np.ndarray(tuple(size), kind, flat, offset * kind.itemsize, steps)
    return of(flat).xp.lib.stride_tricks.as_strided(flat[offset:], tuple(size), steps)


def moved(arrays: Sequence[Ndarray], device: Device) -> list[Array]:
    """Arrays of main memory on a device, where those that share memory share it again."""
    parts = [Part(array) for array in arrays]
    blocks(parts)
    there: dict[Block, Array] = {}
    result = []
    for part in parts:
        kind = part.array.dtype
        if dt.is_kept(kind):
            result.append(on_device(part.array, device))
            continue
        if part.block not in there:
            there[part.block] = on_device(part.block.read(), device)
        result.append(view(there[part.block], part.offset, part.array.shape, part.strides, kind))
    return result
