"""Size: the shape of a tensor."""

from __future__ import annotations

from typing import Any, SupportsIndex, overload

import numpy as np

from . import dtype as dt


class Size(tuple[int, ...]):
    """A tensor's shape, a tuple of ints with a repr like PyTorch's: ``minigrad.Size([2, 3])``."""

    def numel(self) -> int:
        """The number of elements in a tensor of this shape."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return dt.shown(f"Size({list(self)})")

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...

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
