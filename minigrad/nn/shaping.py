"""Layers that rearrange or resample elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .functional._spatial import Each
from .layer import FunctionLayer

__all__ = ["ChannelShuffle", "Flatten", "Fold", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold", "Upsample"]
__all__ += ["UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Flatten(FunctionLayer, function=Tensor.flatten):
    start_dim: int = 1
    end_dim: int = -1


class Unflatten(FunctionLayer, fields=True):
    """An axis ``dim`` as several, of ``unflattened_size``. Raises TypeError: a length, or ``dim``, is no int."""

    dim: int
    unflattened_size: Sequence[int]

    def __post_init__(self) -> None:
        if isinstance(self.dim, str):
            raise TypeError("Unflatten: tensors have no named axes here: give the number of the axis")
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
    """``Upsample`` of two axes by the nearest element."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of two axes, bilinear, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(FunctionLayer, function=F.pixel_shuffle):
    upscale_factor: int


class PixelUnshuffle(FunctionLayer, function=F.pixel_unshuffle):
    downscale_factor: int


class ChannelShuffle(FunctionLayer, function=F.channel_shuffle):
    groups: int
