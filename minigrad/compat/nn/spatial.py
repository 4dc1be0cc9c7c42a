"""Padding and rarer kinds of pooling as layers. Each padding class defines a number of axes and a mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...nn.functional import pad
from ...nn.functional._checks import Each, tuple_of
from ...nn.layer import FunctionLayer
from ...nn.shaping import _PoolNd
from ...tensor import Tensor
from . import functional as F

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d"]
__all__ += ["ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d"]
__all__ += ["ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "FractionalMaxPool2d", "FractionalMaxPool3d"]
__all__ += ["LPPool1d", "LPPool2d", "LPPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _PadNd(FunctionLayer, fields=True):
    """Pads the last axes. ``padding`` is a number, or (before, after) for each axis, starting with the last."""

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
        return pad(input, tuple_of(self.padding, 2 * n), self._mode, getattr(self, "value", None))


class _ConstantPadNd(_PadNd, fields=True, mode="constant"):
    value: float
    _unnamed = 0


class ConstantPad1d(_ConstantPadNd, axes=1):
    """Pads the last axis with ``value``."""


class ConstantPad2d(_ConstantPadNd, axes=2):
    """Pads the last two axes with ``value``."""


class ConstantPad3d(_ConstantPadNd, axes=3):
    """Pads the last three axes with ``value``."""


class _ZeroPadNd(_ConstantPadNd):
    _repr_fields, _unnamed = ("padding",), 1

    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Pads the last axis with 0."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Pads the last two axes with 0."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Pads the last three axes with 0."""


class ReflectionPad1d(_PadNd, axes=1, mode="reflect"):
    """Pads the last axis with its mirror image, without repeating the edge element."""


class ReflectionPad2d(_PadNd, axes=2, mode="reflect"):
    """Pads the last two axes with their mirror images."""


class ReflectionPad3d(_PadNd, axes=3, mode="reflect"):
    """Pads the last three axes with their mirror images."""


class ReplicationPad1d(_PadNd, axes=1, mode="replicate"):
    """Pads the last axis by repeating the edge."""


class ReplicationPad2d(_PadNd, axes=2, mode="replicate"):
    """Pads the last two axes by repeating the edges."""


class ReplicationPad3d(_PadNd, axes=3, mode="replicate"):
    """Pads the last three axes by repeating the edges."""


class CircularPad1d(_PadNd, axes=1, mode="circular"):
    """Pads the last axis with elements from the other end."""


class CircularPad2d(_PadNd, axes=2, mode="circular"):
    """Pads the last two axes with elements from their other ends."""


class CircularPad3d(_PadNd, axes=3, mode="circular"):
    """Pads the last three axes with elements from their other ends."""


class _MaxUnpoolNd(_PoolNd):
    """Puts each element back where max pooling took it from, with zeros elsewhere. Args: see ``MaxPool1d``."""

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return super().forward(input, indices, output_size=output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d, axes=1): ...


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d, axes=2): ...


class MaxUnpool3d(_MaxUnpoolNd, function=F.max_unpool3d, axes=3): ...


class _FractionalMaxPoolNd(FunctionLayer, fields=True):
    """The maxima of randomly placed windows. See ``functional.fractional_max_pool2d``. Raises ValueError unless exactly
    one of ``output_size`` and ``output_ratio`` is given, or if a ratio is outside (0, 1)."""

    kernel_size: Each
    output_size: Each | None = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None
    _axes: ClassVar[int]
    _repr_fields: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        n, name = self._axes, type(self).__name__
        if (self.output_size is None) == (self.output_ratio is None):
            if self.output_size is None:
                raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = tuple_of(self.kernel_size, n)
        if min(self.kernel_size) < 1:
            raise ValueError(f"kernel_size must be greater than 0, but got {self.kernel_size}")
        if self.output_size is not None:
            self.output_size = tuple_of(self.output_size, n)
        else:
            self.output_ratio = tuple_of(self.output_ratio, n)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {self.output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd, function=F.fractional_max_pool2d, axes=2): ...


class FractionalMaxPool3d(_FractionalMaxPoolNd, function=F.fractional_max_pool3d, axes=3): ...


class _LPPoolNd(FunctionLayer, fields=True):
    """(Σ xᵖ)^(1/p) of each window, where p is ``norm_type``. For the other arguments, see ``MaxPool1d``."""

    norm_type: float
    kernel_size: Each
    stride: Each | None = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, function=F.lp_pool1d): ...


class LPPool2d(_LPPoolNd, function=F.lp_pool2d): ...


class LPPool3d(_LPPoolNd, function=F.lp_pool3d): ...
