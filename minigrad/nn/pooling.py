"""Pooling as layers: each class only says over how many axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..tensor import Tensor
from . import functional as F
from .functional._spatial import Each, tuple_of
from .module import Module


class _MaxPoolNd(Module):
    """The largest element of each window: (N, C, *lengths) or (C, *lengths) -> (N, C, *P) or (C, *P).

    Args:
        kernel_size, stride, padding, dilation: a number, or one an axis; stride None is ``kernel_size``.
        return_indices: give (values, indices), where an index counts the elements of a channel.
        ceil_mode: whether a last window may hang over the end.
    """

    _function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        dilation: Each = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of one axis. Args: see ``_MaxPoolNd``."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of two axes. Args: see ``_MaxPoolNd``."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of three axes. Args: see ``_MaxPoolNd``."""

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    """Zeros with each element where a max pool found it. Args: those of the max pool."""

    _axes: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, self._axes)
        self.stride = tuple_of(kernel_size if stride is None else stride, self._axes)
        self.padding = tuple_of(padding, self._axes)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The way back from ``MaxPool1d(return_indices=True)``."""

    _axes, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """The way back from ``MaxPool2d(return_indices=True)``."""

    _axes, _function = 2, staticmethod(F.max_unpool2d)


class _AvgPoolNd(Module):
    """What the means of windows share."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Args:
        kernel_size, stride, padding: numbers; stride None is ``kernel_size``.
        ceil_mode: whether a last window may hang over the end.
        count_include_pad: whether the mean counts the padding.
    """

    def __init__(
        self,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, 1)
        self.stride = tuple_of(kernel_size if stride is None else stride, 1)
        self.padding = tuple_of(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of two axes. Args: as of ``AvgPool1d``, and

    divisor_override: what to divide each sum by in place of how many elements there are.
    """

    _function: ClassVar[Callable[..., Tensor]] = staticmethod(F.avg_pool2d)

    def __init__(
        self,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(AvgPool2d):
    """The mean of each window of three axes. Args: as of ``AvgPool2d``."""

    _function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    """(Σ xᵖ)^(1/p) of each window. Args: ``norm_type``, which is p, and those of ``MaxPool1d``."""

    _function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self, norm_type: float, kernel_size: Each, stride: Each | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride = norm_type, kernel_size, stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """(Σ xᵖ)^(1/p) of each window of one axis."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """(Σ xᵖ)^(1/p) of each window of two axes."""

    _function = staticmethod(F.lp_pool2d)


class _AdaptiveAvgPoolNd(Module):
    """The mean of each of ``output_size`` bins, which None leaves as many as there are elements."""

    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P)."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` bins of two axes."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` bins of three axes."""

    _function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(Module):
    """The largest element of each of ``output_size`` bins; with ``return_indices``, (values, indices)."""

    _function: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return self._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P)."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` bins of two axes."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` bins of three axes."""

    _function = staticmethod(F.adaptive_max_pool3d)
