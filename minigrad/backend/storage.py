"""The memory behind an array: its owner and address."""

from __future__ import annotations

from typing import Any

from . import of


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


def address(array: Any) -> int:
    """The address of an array's first element."""
    data = getattr(array, "ctypes", None) or array.data
    return int(data.data if hasattr(data, "data") else data.ptr)


def owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "strides"):
        array = array.base
    return array
