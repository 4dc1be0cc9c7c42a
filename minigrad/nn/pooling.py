"""Pooling as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from . import functional as F
from .functional._spatial import Each, tuple_of
from .layer import FunctionLayer

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"]
__all__ += ["AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d"]


class _PoolNd(FunctionLayer, fields=True):
    kernel_size: Each
    stride: Each | None = None
    padding: Each = 0
    _axes: ClassVar[int] = 0  # of pools that keep a tuple of so many numbers
    _shown: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size
        if self._axes:
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, tuple_of(getattr(self, name), self._axes))


class _MaxPoolNd(_PoolNd, fields=True):
    dilation: Each = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d): ...


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The largest element of each window of two axes. Args: see ``functional.max_pool2d``.

    >>> nn.MaxPool2d(2)(mg.zeros(1, 8, 32, 32)).shape
    minigrad.Size([1, 8, 16, 16])
    """


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d): ...


class _AvgPoolNd(_PoolNd, fields=True):
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d, axes=1):
    """The mean of each window: (N, C, L) or (C, L) -> (N, C, P) or (C, P). ``kernel_size``, ``stride``, ``padding``,
    ``ceil_mode``: as of ``MaxPool1d``. ``count_include_pad``: whether the mean counts the padding."""


class AvgPool2d(_AvgPoolNd, function=F.avg_pool2d):
    divisor_override: int | None = None


class AvgPool3d(AvgPool2d, function=F.avg_pool3d): ...


class _AdaptivePoolNd(FunctionLayer, fields=True):
    output_size: Any


class AdaptiveAvgPool1d(_AdaptivePoolNd, function=F.adaptive_avg_pool1d): ...


class AdaptiveAvgPool2d(_AdaptivePoolNd, function=F.adaptive_avg_pool2d): ...


class AdaptiveAvgPool3d(_AdaptivePoolNd, function=F.adaptive_avg_pool3d): ...


class _AdaptiveMaxPoolNd(_AdaptivePoolNd, fields=True):
    return_indices: bool = False
    _shown = ("output_size",)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d): ...


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d): ...


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d): ...
