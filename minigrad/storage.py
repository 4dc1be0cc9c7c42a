"""What belongs to a tensor and is no tensor: its shape, its memory, the handles of its hooks."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from .backend import of


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that prints as PyTorch's: ``torch.Size([2, 3])``."""

    def numel(self) -> int:
        """The number of elements of the shape."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return Size(part) if isinstance(key, slice) else part

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def address(array: Any) -> int:
    """The address of an array's first element."""
    data = getattr(array, "ctypes", None) or array.data
    return int(data.data if hasattr(data, "data") else data.ptr)


def owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "strides"):
        array = array.base
    return array


class Storage:
    """The memory behind a tensor and its views: its place and size."""

    def __init__(self, array: Any) -> None:
        self._owner, self.device = owner(array), of(array).device_of(array)

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return address(self._owner)

    def nbytes(self) -> int:
        """The number of its bytes."""
        return int(self._owner.nbytes)

    size = __len__ = nbytes


class RemovableHandle:
    """Puts a hook among ``hooks``, under a number that no other hook has had; ``remove()`` takes it away."""

    _keys = count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.key = hooks, next(self._keys)
        hooks[self.key] = hook

    def remove(self) -> None:
        self.hooks.pop(self.key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()
