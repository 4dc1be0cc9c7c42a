"""Layers that rearrange, resample or pool elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..tensor import Tensor
from . import functional as F
from .functional._checks import Each, tuple_of
from .layer import FunctionLayer

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"]
__all__ += ["AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "ChannelShuffle", "Flatten", "Fold"]
__all__ += ["MaxPool1d", "MaxPool2d", "MaxPool3d", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold", "Upsample"]
__all__ += ["UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Flatten(FunctionLayer, function=Tensor.flatten):
    start_dim: int = 1
    end_dim: int = -1


class Unflatten(FunctionLayer, fields=True):
    """Split axis ``dim`` into axes of lengths ``unflattened_size``. Raises TypeError for non-integers."""

    dim: int
    unflattened_size: Sequence[int]

    def __post_init__(self) -> None:
        if isinstance(self.dim, str):
            raise TypeError("Unflatten: minigrad's tensors have no named axes: pass the index of the axis")
        sizes = self.unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
        for i, length in enumerate(sizes):
            if not isinstance(length, int):
                kind = type(length).__name__
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {i}")

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, tuple(self.unflattened_size))


class Unfold(FunctionLayer, function=F.unfold):
    kernel_size: Each
    dilation: Each = 1
    padding: Each = 0
    stride: Each = 1


class Fold(FunctionLayer, function=F.fold):
    output_size: Each
    kernel_size: Each
    dilation: Each = 1
    padding: Each = 0
    stride: Each = 1


class Upsample(FunctionLayer, function=F.interpolate):
    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def __post_init__(self) -> None:
        self.name = type(self).__name__
        if isinstance(self.scale_factor, tuple):
            self.scale_factor = tuple(map(float, self.scale_factor))
        else:
            self.scale_factor = float(self.scale_factor) if self.scale_factor else None

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` over two axes in "nearest" mode."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear ``Upsample`` over two axes with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(FunctionLayer, function=F.pixel_shuffle):
    upscale_factor: int


class PixelUnshuffle(FunctionLayer, function=F.pixel_unshuffle):
    downscale_factor: int


class ChannelShuffle(FunctionLayer, function=F.channel_shuffle):
    groups: int


class _PoolNd(FunctionLayer, fields=True):
    kernel_size: Each
    stride: Each | None = None
    padding: Each = 0
    _axes: ClassVar[int] = 0  # for pooling layers whose attributes are tuples of this length
    _repr_fields: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

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
    _repr_fields = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d): ...


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d): ...


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d): ...


class _AvgPoolNd(_PoolNd, fields=True):
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d, axes=1): ...


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
    _repr_fields = ("output_size",)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d): ...


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d): ...


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d): ...
