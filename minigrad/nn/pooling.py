"""Pooling as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..tensor import Tensor
from . import functional as F
from .functional._spatial import Each, tuple_of
from .layer import FunctionLayer

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"]
__all__ += ["AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "MaxPool1d"]
__all__ += ["MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d"]


class _PoolNd(FunctionLayer, fields=True):
    """A pool over windows.

    Args:
        kernel_size, stride: a number, or one an axis; stride None is ``kernel_size``.
    """

    kernel_size: Each
    stride: Each | None = None

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPoolNd(_PoolNd, fields=True):
    """The largest element of each window: (N, C, *lengths) or (C, *lengths) -> (N, C, *P) or (C, *P).

    Args:
        kernel_size, stride, padding, dilation: a number, or one an axis; stride None is ``kernel_size``.
        return_indices: return (values, indices), where an index counts the elements of a channel.
        ceil_mode: whether the last window may reach beyond the end.
    """

    padding: Each = 0
    dilation: Each = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The largest element of each window of one axis. Args: see ``_MaxPoolNd``."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The largest element of each window of two axes. Args: see ``_MaxPoolNd``."""


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d):
    """The largest element of each window of three axes. Args: see ``_MaxPoolNd``."""


class _MaxUnpoolNd(_PoolNd, fields=True):
    """Zeros, and each element where a max pool took it from. Args: those of the max pool."""

    padding: Each = 0
    _axes: ClassVar[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self._fields:
            setattr(self, name, tuple_of(getattr(self, name), self._axes))

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d):
    """The inverse of ``MaxPool1d(return_indices=True)``."""

    _axes = 1


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d):
    """The inverse of ``MaxPool2d(return_indices=True)``."""

    _axes = 2


class _AvgPoolNd(_PoolNd, fields=True):
    padding: Each = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d):
    """The mean of each window: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Args:
        kernel_size, stride, padding: numbers; stride None is ``kernel_size``.
        ceil_mode: whether the last window may reach beyond the end.
        count_include_pad: whether the mean counts the padding.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self._shown:
            setattr(self, name, tuple_of(getattr(self, name), 1))


class AvgPool2d(_AvgPoolNd, function=F.avg_pool2d):
    """The mean of each window of two axes. Args: as of ``AvgPool1d``, and

    divisor_override: divides each sum, instead of the number of elements.
    """

    divisor_override: int | None = None


class AvgPool3d(AvgPool2d, function=F.avg_pool3d):
    """The mean of each window of three axes. Args: as of ``AvgPool2d``."""


class _LPPoolNd(FunctionLayer, fields=True):
    """(Σ xᵖ)^(1/p) of each window. Args: ``norm_type``, which is p, and those of ``MaxPool1d``."""

    norm_type: float
    kernel_size: Each
    stride: Each | None = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, function=F.lp_pool1d):
    """(Σ xᵖ)^(1/p) of each window of one axis."""


class LPPool2d(_LPPoolNd, function=F.lp_pool2d):
    """(Σ xᵖ)^(1/p) of each window of two axes."""


class _AdaptiveAvgPoolNd(FunctionLayer, fields=True):
    """The mean of each of ``output_size`` bins; None keeps the length of an axis."""

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool1d):
    """The mean of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool2d):
    """The mean of each of ``output_size`` bins of two axes."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool3d):
    """The mean of each of ``output_size`` bins of three axes."""


class _AdaptiveMaxPoolNd(FunctionLayer, fields=True):
    """The largest element of each of ``output_size`` bins; with ``return_indices``, (values, indices)."""

    output_size: Any
    return_indices: bool = False
    _shown = ("output_size",)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d):
    """The largest element of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d):
    """The largest element of each of ``output_size`` bins of two axes."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d):
    """The largest element of each of ``output_size`` bins of three axes."""
