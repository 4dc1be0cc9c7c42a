"""Padding, resampling axis by axis, and pixel shuffling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...autograd.tracebacks import warn
from ...backend.dtype import kind_of, uint8
from ...backend.order import is_channels_last
from ...backend.window import Taps
from ...functions.arguments import rounded_once
from ...functions.creation import as_tensor
from ...ops import joining as joining_ops
from ...ops.convolution import resample
from ...tensor import Tensor, apply
from ._checks import check_not_empty, laid_as, tuple_of
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["channel_shuffle", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "upsample"]
__all__ += ["upsample_bilinear", "upsample_nearest"]

_PADDINGS = ("constant", "reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad axes at both ends; negative widths remove elements.

    Args:
        pad: widths (before, after) for the last axis, then for the second to last, and so on.
        mode: "constant", "reflect" (mirrored without the edge), "replicate" (the edge repeated) or "circular" (wrapped
            around). The last three cannot pad the batch and channel axes. Elements removed by negative widths can
            still be mirrored or repeated, but do not wrap around.
        value: the constant, 0 if None.

    Raises RuntimeError if the number of widths is odd or too large, or if an axis is too short, and NotImplementedError
    if the mode is unknown or cannot pad these axes.

    >>> F.pad(mg.tensor([[1, 2]]), (1, 0, 0, 1))
    tensor([[0, 1, 2],
            [0, 0, 0]])
    """
    if mode not in _PADDINGS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}: expected one of {', '.join(_PADDINGS)}")
    ndim = input.array.ndim
    if len(pad) % 2 or len(pad) // 2 > ndim:
        raise RuntimeError(f"pad: expected pairs for at most {ndim} axes, but got {len(pad)} numbers: {list(pad)}")
    pairs = [(0, 0)] * (ndim - len(pad) // 2)
    pairs += [(int(pad[i]), int(pad[i + 1])) for i in range(len(pad) - 2, -1, -2)]
    if mode != "constant":
        if value:
            raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
        return _pad_with_itself(input, pairs, len(pad) // 2, mode)
    input = _cropped(input, pairs)
    widths = tuple((max(before, 0), max(after, 0)) for before, after in pairs)
    if not any(b or a for b, a in widths):
        return input.clone()
    return apply(joining_ops.pad, (input, widths, 0.0 if value is None else value))


def _cropped(input: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    for axis, ((before, after), n) in enumerate(zip(pairs, input.array.shape, strict=True)):
        if n + before + after < 0 or n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad: ({before}, {after}) removes more than the {n} elements of axis {axis}")
        if min(before, after) < 0:
            start = max(-before, 0)
            input = input.narrow(axis, start, n - start - max(-after, 0))
    return input


def _pad_with_itself(input: Tensor, pairs: list[tuple[int, int]], padded: int, mode: str) -> Tensor:
    ndim = input.array.ndim
    if ndim not in (padded + 1, padded + 2) or not 1 <= padded <= 3:
        possible = "the last of 2 or 3 axes, the last two of 3 or 4, or the last three of 4 or 5"
        raise NotImplementedError(f"pad: mode {mode!r} pads {possible}, but got {padded} pairs for {ndim} axes")
    lengths = input.array.shape
    left = [n + sum(pair) for n, pair in zip(lengths, pairs, strict=True)][ndim - padded :]
    if mode != "circular" and (min(left) < 0 or max(left) < 1):
        raise RuntimeError(f"pad: padding {pairs} with mode {mode!r} leaves a tensor without elements: {list(lengths)}")
    if mode != "circular":
        check_not_empty("pad", input, padded)
    source = input = _cropped(input, pairs) if mode == "circular" else input
    for axis in range(ndim - padded, ndim):
        before, after = pairs[axis]
        most = {"reflect": lengths[axis] - 1, "circular": lengths[axis]}.get(mode, max(before, after))
        n = source.array.shape[axis]
        if before > most or after > most:
            limit = f"should be {'less than' if mode == 'reflect' else 'at most'} the corresponding input dimension"
            raise RuntimeError(f"pad: Padding size {limit}, but got {(before, after)} at dimension {axis} of {n}")
        if mode == "circular":
            before, after = max(before, 0), max(after, 0)
        if before or after:
            places = np.arange(-before, n + after)
            mirrored, repeated = n - 1 - abs(n - 1 - abs(places)), places.clip(0, n - 1)
            indices = {"circular": places % n, "reflect": mirrored, "replicate": repeated}[mode]
            input = input.index_select(axis, as_tensor(indices, device=input.device))
    return input.clone() if input is source else input


_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}  # the number of axes of an input
_SMOOTH = (*_LINEAR, "bicubic")
_MODES = ("nearest", *_SMOOTH, "area", "nearest-exact")


@rounded_once
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial axes: (N, C, *lengths) -> (N, C, *size). The linear and cubic modes support no integer dtype
    except uint8, whose values are rounded after each axis, starting with the last.

    Args:
        size: the new lengths. Alternatively, pass ``scale_factor``: one ratio of new to old length, or one per axis.
        mode: "nearest", "nearest-exact", "linear" (one axis), "bilinear" (two), "trilinear" (three),
            "bicubic" (two), "area" (means of bins).
        align_corners: whether the first and last elements keep their positions (linear and cubic modes).
        recompute_scale_factor: derive the coordinates from the rounded new lengths instead of ``scale_factor``.
        antialias: when downsampling with "bilinear" or "bicubic", widen the kernel so that each new element averages
            all old elements that it covers.

    Raises ValueError unless exactly one of ``size`` and ``scale_factor`` is set, or for ``antialias`` in other modes;
    NotImplementedError if the mode does not support these axes; and TypeError or RuntimeError for an invalid size."""
    ndim = input.array.ndim
    if align_corners is not None and mode not in _SMOOTH:
        raise ValueError(f"align_corners option can only be set with the interpolating modes: {' | '.join(_SMOOTH)}")
    sizes, factors = _sizes(input.array.shape[2:], size, scale_factor)
    if recompute_scale_factor:
        if scale_factor is None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        factors = (None,) * len(sizes)
    if mode not in _MODES or ndim not in (3, 4, 5):
        supported = f"Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {' | '.join(_MODES)}"
        raise NotImplementedError(f"Input Error: {supported} (got {mode})")
    if (needed := _LINEAR.get(mode, 4 if mode == "bicubic" else ndim)) != ndim:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {needed}D input")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[ndim - 3](input, sizes)
    if not 0 < min(sizes) <= max(sizes) < 2**31:
        raise RuntimeError(f"Input and output sizes should be greater than 0, and below 2³¹, but got output {sizes}")
    out, rounded = input, mode in _SMOOTH and kind_of(input.array) not in "fc"
    if rounded:
        if input.dtype is not uint8:
            raise NotImplementedError(f"interpolate: mode {mode!r} is not implemented for {input.dtype}: use .float()")
        out = input.float()
    for axis, (new, factor) in reversed(list(enumerate(zip(sizes, factors, strict=True), 2))):
        length = input.array.shape[axis]
        is_plane = mode == "nearest" and ndim == 4
        if (mode in _LINEAR and new == length) or (is_plane and new in (length, 2 * length)):
            factor = None  # here, PyTorch derives the coordinates from the lengths
        if length != new or factor is not None or mode == "bicubic":
            how = f"antialiased {mode}" if antialias else mode
            out = apply(resample, (out, axis, _taps(how, length, new, factor, bool(align_corners))))
            out = out.round().clamp(0, 255) if rounded else out
    out = out.clone() if out is input else out.to(input.dtype)
    return out if is_channels_last(out.array) else out.contiguous()


def _sizes(lengths: tuple[int, ...], size: Any, scale_factor: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    argument = size if scale_factor is None else scale_factor
    values = tuple_of(argument, len(lengths))
    if len(values) != len(lengths):
        sizes = f"{list(lengths)} and {'output size' if scale_factor is None else 'scale_factor'} of {argument}"
        raise ValueError(f"Input and output must have the same number of spatial dimensions, but got {sizes}")
    if scale_factor is None:
        try:
            return tuple(map(index, values)), (None,) * len(lengths)
        except TypeError:
            raise TypeError(f"expected size to be one of int or a tuple of ints, but got {size}") from None
    return tuple(math.floor(n * float(f)) for n, f in zip(lengths, values, strict=True)), values


def _taps(mode: str, length: int, new: int, factor: float | None, align_corners: bool) -> Taps:
    """The old elements along an axis and their weights. Each new element is a weighted sum of old ones."""
    place = np.arange(new)
    if mode in ("nearest", "nearest-exact"):
        step = np.float32(length / new if factor is None else 1.0 / factor)
        shifted = (place + (0.5 if mode == "nearest-exact" else 0)).astype(np.float32)
        return Taps(np.minimum(np.floor(shifted * step), length - 1)[None], None, length)
    if mode.startswith("antialiased"):
        scale = (length - 1) / (new - 1 or 1) if align_corners else length / new if factor is None else 1.0 / factor
        scale, cubic = scale * (new > 1 or not align_corners), mode.endswith("cubic")
        wide = max(scale, 1.0)  # downsampling averages with a wider triangle or cubic
        reach, centre = (2 if cubic else 1) * wide, (place + 0.5) * scale
        first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
        last = np.minimum((centre + reach + 0.5).astype(np.int64), length) - 1
        indices = first[:, None] + np.arange(int((last - first).max(initial=0)) + 1)
        distance = (indices - centre[:, None] + 0.5) / wide
        weights = _cubic(distance, -0.5) if cubic else np.maximum(1 - np.abs(distance), 0)
        weights = np.where(indices <= last[:, None], weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
        return Taps(np.minimum(indices, length - 1).T, weights.T, length)
    if align_corners:
        at = place * ((length - 1) / (new - 1) if new > 1 else 0.0)
    else:
        at = (place + 0.5) * (length / new if factor is None else 1.0 / factor) - 0.5
    if mode == "bicubic":  # four elements
        low, steps = np.floor(at), np.arange(-1, 3)[:, None]
        return Taps(np.clip(low + steps, 0, length - 1), _cubic(at - low - steps, -0.75), length)
    at = np.maximum(at, 0.0)
    low = np.minimum(np.floor(at).astype(np.int64), length - 1)
    part = np.minimum(at - low, 1.0)
    return Taps([low, np.minimum(low + 1, length - 1)], np.stack([1 - part, part]), length)


def _cubic(distance: Any, a: float) -> Any:
    """Keys' cubic kernel (1981), 0 at distances of 2 or more."""
    d = np.minimum(np.abs(distance), 2)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    return np.where(d <= 1, near, a * (d**3 - 5 * d**2 + 8 * d - 4))


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """``interpolate`` under its old name."""
    return _renamed("upsample", interpolate(input, size, scale_factor, mode, align_corners))


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` in "nearest" mode under its old name."""
    return _renamed("upsample_nearest", interpolate(input, size, scale_factor))


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Bilinear ``interpolate`` with ``align_corners`` under its old name."""
    return _renamed("upsample_bilinear", interpolate(input, size, scale_factor, "bilinear", align_corners=True))


def _renamed(name: str, result: Tensor) -> Tensor:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
    return result


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels into pixels: (..., C r², H, W) -> (..., C, H r, W r) (Shi et al. 2016)."""
    (c, _, _), r = _plane("pixel_shuffle", input, upscale_factor), upscale_factor
    if c % (r * r):
        expected = "its input's 'channel' dimension to be divisible by the square of upscale_factor"
        raise RuntimeError(f"pixel_shuffle expects {expected}, but input.size(-3)={c} is not divisible by {r * r}")
    split = input.unflatten(-3, (c // (r * r), r, r)).movedim((-4, -3), (-3, -1))  # (..., C, H, r, W, r)
    return laid_as(input, split.flatten(-2).flatten(-3, -2))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange pixels into channels: (..., C, H r, W r) -> (..., C r², H, W)."""
    (_, h, w), r = _plane("pixel_unshuffle", input, downscale_factor), downscale_factor
    if h % r or w % r:
        expected = "height and width to be divisible by downscale_factor"
        raise RuntimeError(f"pixel_unshuffle expects {expected}, but {h} x {w} is not divisible by {r}")
    split = input.unflatten(-1, (w // r, r)).unflatten(-3, (h // r, r))  # (..., C, H, r, W, r)
    return laid_as(input, split.movedim((-3, -1), (-4, -3)).flatten(-5, -3))


def _plane(name: str, input: Tensor, factor: int) -> tuple[int, int, int]:
    if factor < 1:
        raise RuntimeError(f"{name} expects a positive factor, but got {factor}")
    if input.array.ndim < 3:
        raise RuntimeError(f"{name} expects an input of at least 3 dimensions, but got {input.array.ndim} dimension(s)")
    c, h, w = input.array.shape[-3:]
    return c, h, w


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of ``groups`` groups: (N, C, ...) -> the same shape (Zhang et al. 2018)."""
    c = input.array.shape[1]
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.unflatten(1, (groups, c // groups)).transpose(1, 2).flatten(1, 2)
