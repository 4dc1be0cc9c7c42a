"""The memory of saved tensors: which arrays share it, views of it, and the device that it is loaded to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..backend import for_device, of
from ..backend.device import Device
from ..backend.dtype import Array
from ..backend.registry import address
from .errors import short
from .source import Ndarray, check_shape

CPU = Device("cpu")


@dataclass(eq=False)
class Storage:
    """The memory of saved tensors, as ``map_location=lambda storage, location: ...`` sees it."""

    array: Any  # the elements in main memory, (n,)
    location: str  # the device that it was saved from: "cpu", "cuda:0"
    device: Device = CPU  # to load it to
    key: str = ""  # of its bytes, in a checkpoint of PyTorch's

    def cpu(self) -> Storage:
        """The storage, to be loaded to main memory."""
        return Storage(self.array, self.location)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        """The storage, to be loaded to a GPU."""
        return Storage(self.array, self.location, Device("cuda" if device is None else device))

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)


Placing = Callable[[Storage], Device]


def placing(map_location: Any = None) -> Placing:
    """Storage -> device.

    Args:
        map_location: a device for everything; a dict of locations {"cuda:0": "cpu"}; or a function of
            (storage, location) that returns a storage (``storage.cuda(1)``), a device, or None. Where it
            names no device, a tensor goes to the one that it was saved from if that exists, else to the CPU.
    """
    saved_from = cache(_device_or_cpu)

    def place(storage: Storage) -> Device:
        target = map_location
        if isinstance(target, Mapping):
            target = target.get(storage.location)
        elif callable(target):
            target = target(storage, storage.location)
            target = getattr(target, "device", target)
        return saved_from(storage.location) if target is None else Device(target)

    return place


def on_device(array: Array, device: Device) -> Array:
    """A NumPy array on a device; floats of 8 bits, which a GPU's library lacks, in float32."""
    return for_device(device).asarray(dt.widened(array) if dt.is_kept(array.dtype) else array, device)


def _device_or_cpu(location: str) -> Device:
    try:
        device = Device(location)
        for_device(device).asarray(np.empty(0, np.float32), device)
    except Exception:  # whatever a missing driver or an unknown kind of device raises
        return CPU
    return device


class Block:
    """The memory of arrays that overlap, from the first byte of any to the last.

    Attributes:
        kind: the NumPy dtype of its arrays; None where they differ. is_shared: whether there are several.
    """

    __slots__ = ("_first", "begin", "end", "is_shared", "kind")

    def __init__(self, first: Part) -> None:
        self._first, self.begin, self.end = first.array, first.begin, first.end
        self.kind: Any = first.array.dtype
        self.is_shared = False

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.end - self.begin

    def read(self) -> Ndarray:
        """The bytes in main memory, (n,) uint8; on the CPU a view."""
        first = self._first
        if not self.size:
            return np.empty(0, np.uint8)
        if first.nbytes == self.size and first.flags.c_contiguous:
            return of(first).to_numpy(first.reshape(-1).view(np.uint8))
        flat = first[(slice(0, 1),) * first.ndim].reshape(1).view(np.uint8)
        return of(flat).to_numpy(of(flat).xp.lib.stride_tricks.as_strided(flat, (self.size,), (1,)))


class Part:
    """An array in a block.

    Attributes:
        array: it, or a copy where its steps are negative or no multiples of an element. block: where it lies.
        offset, strides: the place of its first element, and the steps between elements, in elements.
    """

    __slots__ = ("array", "begin", "block", "end", "offset", "strides")
    block: Block

    def __init__(self, array: Array) -> None:
        item = array.dtype.itemsize
        if any(step < 0 or step % item for step in array.strides):
            array = array.copy()
        self.array = array
        self.strides = tuple([step // item for step in array.strides])
        if not array.size:  # NumPy keeps no steps of an empty array
            self.strides = tuple(math.prod(max(n, 1) for n in array.shape[i + 1 :]) for i in range(array.ndim))
        self.begin = self.end = self.offset = 0
        if array.size:
            steps = zip(array.shape, array.strides, strict=True)
            self.begin = address(array)
            self.end = self.begin + item + sum([(n - 1) * step for n, step in steps])

    @property
    def is_all(self) -> bool:
        """Whether its elements are the whole block, in order."""
        return self.array.nbytes == self.block.size and bool(self.array.flags.c_contiguous)


def blocks(parts: Sequence[Part]) -> None:
    """Find the blocks of arrays. An array that does not begin at a multiple of its element's size has its own."""
    device, block = "", None
    places = [(str(of(part.array).device_of(part.array)), part.begin, i) for i, part in enumerate(parts)]
    for place, begin, i in sorted(places):
        part = parts[i]
        kind = part.array.dtype
        if block is None or place != device or begin >= block.end or (begin - block.begin) % kind.itemsize:
            device, block = place, Block(part)
        else:
            block.is_shared, block.end = True, max(block.end, part.end)
            block.kind = kind if kind == block.kind else None
        part.block, part.offset = block, (begin - block.begin) // kind.itemsize


def view(memory: Array, offset: Any, size: Any, stride: Any, kind: Any = None) -> Array:
    """A view of dense memory.

    Args:
        offset, size, stride: its first element, shape and steps, in elements.
        kind: its NumPy dtype; by default that of the memory.

    Raises ValueError: it would reach beyond the memory.
    """
    check_shape(size, 16)
    if not isinstance(stride, (tuple, list)) or len(size) != len(stride):
        raise ValueError("a tensor whose strides are not as many as its axes")
    kind = memory.dtype if kind is None else kind
    count = memory.nbytes // kind.itemsize
    if not all(type(n) is int and n >= 0 for n in (offset, *stride)):
        raise ValueError("a tensor whose offset or strides are no natural numbers")
    flat = memory.reshape(-1).view(np.uint8)[: count * kind.itemsize].view(kind)
    offset = 0 if 0 in size else offset
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= count:
        raise ValueError(f"a tensor that ends at element {short(last)} of a storage of {count}")
    if list(stride) == [math.prod(size[i + 1 :]) for i in range(len(size))]:
        return flat[offset : offset + math.prod(size)].reshape(size)
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
