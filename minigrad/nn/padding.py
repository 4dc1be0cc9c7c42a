"""Padding as layers: each class only says of how many axes, and how."""

from __future__ import annotations

from typing import ClassVar

from ..tensor import Tensor
from . import functional as F
from .functional._spatial import Each, tuple_of
from .module import Module


class _PadNd(Module):
    """Elements before and after the last axes.

    Args:
        padding: a number, or (before, after) of the last axis, then of the last but one, and so on.
    """

    _axes: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Each) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self._axes)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """Padding with ``value``."""

    def __init__(self, padding: Each, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """``value`` before and after the last axis."""

    _axes = 1


class ConstantPad2d(_ConstantPadNd):
    """``value`` before and after the last two axes."""

    _axes = 2


class ConstantPad3d(_ConstantPadNd):
    """``value`` before and after the last three axes."""

    _axes = 3


class ZeroPad1d(ConstantPad1d):
    """0 before and after the last axis."""

    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """0 before and after the last two axes."""

    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """0 before and after the last three axes."""

    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    """Padding with the mirror image, the edge not twice."""

    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    """Padding with the edge."""

    _mode = "replicate"


class _CircularPadNd(_PadNd):
    """Padding with what stands at the other end."""

    _mode = "circular"


class ReflectionPad1d(_ReflectionPadNd):
    """The mirror image before and after the last axis."""

    _axes = 1


class ReflectionPad2d(_ReflectionPadNd):
    """The mirror image before and after the last two axes."""

    _axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The mirror image before and after the last three axes."""

    _axes = 3


class ReplicationPad1d(_ReplicationPadNd):
    """The edge again before and after the last axis."""

    _axes = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The edge again before and after the last two axes."""

    _axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The edge again before and after the last three axes."""

    _axes = 3


class CircularPad1d(_CircularPadNd):
    """The other end before and after the last axis."""

    _axes = 1


class CircularPad2d(_CircularPadNd):
    """The other end before and after the last two axes."""

    _axes = 2


class CircularPad3d(_CircularPadNd):
    """The other end before and after the last three axes."""

    _axes = 3
