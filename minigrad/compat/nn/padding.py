"""Padding as layers: each class says how many axes it pads, and how."""

from __future__ import annotations

from typing import ClassVar

from ...nn import functional as F
from ...nn.functional._checks import Each, tuple_of
from ...nn.layer import FunctionLayer
from ...tensor import Tensor

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d"]
__all__ += ["ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d"]
__all__ += ["ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _PadNd(FunctionLayer, fields=True):
    """Elements around the last axes. ``padding``: a number, or (before, after) of the last axis, the one before, ..."""

    padding: Each
    _axes: ClassVar[int]
    _mode: ClassVar[str]
    _unnamed = 1

    def __post_init__(self) -> None:
        self.padding = tuple_of(self.padding, 2 * self._axes)

    def forward(self, input: Tensor) -> Tensor:
        n = self._axes
        if self._mode == "circular" and input.ndim not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.ndim}D input)")
        return F.pad(input, tuple_of(self.padding, 2 * n), self._mode, getattr(self, "value", None))


class _ConstantPadNd(_PadNd, fields=True, mode="constant"):
    value: float
    _unnamed = 0


class ConstantPad1d(_ConstantPadNd, axes=1):
    """``value`` before and after the last axis."""


class ConstantPad2d(_ConstantPadNd, axes=2):
    """``value`` before and after the last two axes."""


class ConstantPad3d(_ConstantPadNd, axes=3):
    """``value`` before and after the last three axes."""


class _ZeroPadNd(_ConstantPadNd):
    _shown, _unnamed = ("padding",), 1

    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """0 before and after the last axis."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """0 before and after the last two axes."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """0 before and after the last three axes."""


class ReflectionPad1d(_PadNd, axes=1, mode="reflect"):
    """The mirror image, without the edge itself, before and after the last axis."""


class ReflectionPad2d(_PadNd, axes=2, mode="reflect"):
    """The mirror image before and after the last two axes."""


class ReflectionPad3d(_PadNd, axes=3, mode="reflect"):
    """The mirror image before and after the last three axes."""


class ReplicationPad1d(_PadNd, axes=1, mode="replicate"):
    """The edge, repeated, before and after the last axis."""


class ReplicationPad2d(_PadNd, axes=2, mode="replicate"):
    """The edge, repeated, before and after the last two axes."""


class ReplicationPad3d(_PadNd, axes=3, mode="replicate"):
    """The edge, repeated, before and after the last three axes."""


class CircularPad1d(_PadNd, axes=1, mode="circular"):
    """The other end before and after the last axis."""


class CircularPad2d(_PadNd, axes=2, mode="circular"):
    """The other end before and after the last two axes."""


class CircularPad3d(_PadNd, axes=3, mode="circular"):
    """The other end before and after the last three axes."""
