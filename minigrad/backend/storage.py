"""The memory behind an array: the array that owns it, and the bytes themselves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import dtype as dt, for_device, of
from .device import Device
from .registry import address


class UntypedStorage:
    """The memory behind a tensor and its views, as bytes. A slice shares its storage's memory.

    Args:
        data: the number of (uninitialized) bytes, or their values.
        device: the device of the memory.
    """

    filename: str | None = None  # for a mapped file

    def __init__(self, data: Any = 0, *, device: Any = "cpu") -> None:
        values = np.empty(data, np.uint8) if isinstance(data, int) else np.array(data, np.uint8)
        self._owner = for_device(Device(device)).asarray(values, Device(device))

    @classmethod
    def behind(cls, array: Any) -> UntypedStorage:
        """The storage behind an array."""
        storage = object.__new__(cls)
        storage._owner = owner(array)
        return storage

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, memory-mapped instead of read. If ``shared``, the file is extended to fit, and
        changes are written to it; otherwise, they stay in memory. Raises RuntimeError for a file that is too short, a
        pipe or a device, and OSError if it cannot be opened."""
        import mmap  # imported here, as few programs map files themselves

        name = os.fspath(filename)
        # opening a pipe may block forever
        if os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name)):
            raise RuntimeError(f"file <{name}> is a device or a pipe, which cannot be mapped")
        with open(name, "r+b" if shared else "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if shared and size < nbytes:
                file.truncate(nbytes)
            elif size < nbytes:
                raise RuntimeError(f"file <{name}> size <{size}> is smaller than the required mapping size <{nbytes}>")
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            memory: Any = mmap.mmap(file.fileno(), nbytes, access=access) if nbytes else bytearray()
        storage = cls.behind(np.frombuffer(memory, np.uint8))
        storage.filename = name
        return storage

    @property
    def array(self) -> Any:
        """The bytes as an array in the same memory, (n,) uint8."""
        return self._owner.ravel(order="K").view(np.uint8) if self.nbytes() else np.empty(0, np.uint8)

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return of(self._owner).device_of(self._owner)

    is_cuda = property(lambda self: self.device.type == "cuda")
    _cdata = property(lambda self: id(self._owner))

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._owner)

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._owner.nbytes)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """The size of an element in bytes: 1."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def is_shared(self) -> bool:
        """False, as other processes get copies."""
        return False

    is_pinned = is_shared

    def tolist(self) -> list[int]:
        """The bytes as integers."""
        return list(self.array.tolist())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return int(self.array[index])
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        part: Any = self.array[start:stop]
        if isinstance(part, np.ndarray):  # through a buffer, so that it owns its part instead of being a view
            part = np.frombuffer(part.data, np.uint8) if part.size else part.copy()
        return type(self).behind(part)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to ``value``."""
        self.array[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage."""
        self.array[...] = source.untyped().to(device=self.device).array
        return self

    def clone(self) -> UntypedStorage:
        """A copy of the storage."""
        return type(self).behind(self.array.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """A copy on another device, or the storage itself if it is already there."""
        place, here = Device(device), of(self._owner)
        if place == self.device:
            return self
        return type(self).behind(for_device(place).asarray(here.to_numpy(self.array), place))

    def cpu(self) -> UntypedStorage:
        """A copy in main memory, or the storage itself if it is already there."""
        return self.to(device="cpu")

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Return the storage itself. Raises NotImplementedError for another length, as tensors keep their memory."""
        if nbytes != self.nbytes():
            raise NotImplementedError("the memory of a tensor cannot be resized: create a new tensor")
        return self

    def shown(self, dtype: dt.DType, offset: int, size: Any, stride: Any) -> Any:
        """An array in this memory.

        Args:
            offset: the index of the first element.
            size: the shape, or None for all remaining elements.
            stride: strides in elements, or None if contiguous.

        Raises RuntimeError if the array would extend past the end.
        """
        count = self.nbytes() // dtype.itemsize
        shape = (count - offset,) if size is None else tuple(size)
        steps = tuple(stride) if stride else tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))
        reach = offset + 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        if offset < 0 or (0 not in shape and reach > count):
            raise RuntimeError(
                f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset} are out of bounds "
                f"for storage of size {self.nbytes()}"
            )
        memory, strides = self.array, tuple(step * dtype.itemsize for step in steps)
        if isinstance(memory, np.ndarray):
            return np.ndarray(shape, dtype.numpy, memory, offset * dtype.itemsize, strides)
        flat = memory[: count * dtype.itemsize].view(dtype.numpy)[offset:]
        return of(flat).xp.lib.stride_tricks.as_strided(flat, shape, strides)

    def __repr__(self) -> str:
        return f"[{dt.shown('storage.UntypedStorage')}(device={self.device}) of size {self.nbytes()}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._owner is other._owner

    def __hash__(self) -> int:
        return id(self._owner)


class TypedStorage:
    """A storage viewed as elements of a dtype, like PyTorch's legacy class.

    Args:
        wrap_storage: the bytes.
        dtype: the elements' dtype.
    """

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: Any) -> None:
        self._untyped_storage, self.dtype = wrap_storage, dt.as_dtype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name in ("array", "shown") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._untyped_storage, name)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def _elements(self) -> Any:
        return self._untyped_storage.shown(self.dtype, 0, None, None)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return list(self._elements().tolist())

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, index: int, value: Any) -> None:
        self._elements()[index] = value


def owner(array: Any) -> Any:
    """The array that owns a view's memory."""
    while hasattr(getattr(array, "base", None), "dtype"):
        array = array.base
    return array


def copied(array: Any, memo: dict[int, Any]) -> Any:
    """An array in a copy of its memory. Arrays that share memory share the copy, which ``memo`` stores."""
    whole, item = owner(array), array.dtype.itemsize
    if id(whole) not in memo:
        memo[id(whole)] = whole.copy(order="K")
    twin = memo[id(whole)]
    if whole is array:
        return twin
    distance = address(array) - address(whole)
    if twin.strides != whole.strides or distance % item or any(step < 0 or step % item for step in array.strides):
        return memo.setdefault(id(array), array.copy(order="K"))  # its offset is not a whole number of elements
    steps = [step // item for step in array.strides]
    return UntypedStorage.behind(twin).shown(dt.of(array), distance // item, array.shape, steps)
