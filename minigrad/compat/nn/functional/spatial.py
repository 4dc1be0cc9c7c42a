"""Sampling at arbitrary points of a plane or volume (Jaderberg et al. 2015), affine grids, and rarer kinds of pooling:
fractional max pooling, power-average pooling and max unpooling.

Coordinates are normalised: -1 and 1 are the ends of an axis. With ``align_corners``, these are the centres of its first
and last elements; otherwise, their outer edges. A grid's last axis is (x, y[, z]), with x along the input's last axis.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ....autograd.tracebacks import warn
from ....backend import xp
from ....backend.dtype import bool_, kind_of
from ....functions.arguments import rounded_once
from ....functions.names import linspace, stack, where
from ....functions.random import rand
from ....nn.functional._checks import Axes, Each, over, same_dtype, tuple_of
from ....nn.functional.activation import hardtanh
from ....nn.functional.pooling import Step, _avg_pool, _picked
from ....ops import convolution as ops
from ....ops.elementwise import only
from ....tensor import Tensor, apply, wrap

__all__ = ["affine_grid", "fractional_max_pool2d", "fractional_max_pool3d", "grid_sample", "lp_pool1d", "lp_pool2d"]
__all__ += ["lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d"]

_PADDINGS = ("zeros", "border", "reflection")


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input's values at the points of a grid. An input (N, C, H, W) and a grid (N, P, Q, 2) yield (N, C, P, Q); an
    input (N, C, D, H, W) and a grid (N, O, P, Q, 3) yield (N, C, O, P, Q).

    Args:
        mode: "bilinear" (also for volumes), "nearest", or "bicubic" (for planes, with a = -3/4).
        padding_mode: the values beyond the ends of an axis: "zeros", "border" (the last element) or "reflection" (the
            mirror image).
        align_corners: see the module's docstring. None means False, and causes PyTorch's warning.

    Raises ValueError if a mode is unknown, and RuntimeError if shapes or dtypes do not match.
    """
    for name, value, choices in (("mode", mode, tuple(_TAPS)), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in choices:
            raise ValueError(f"nn.functional.grid_sample(): expected {name} to be one of {choices}, but got: {value!r}")
    is_aligned = _aligned(align_corners)
    _check(input, grid, mode)
    lengths, (batch, channels) = input.array.shape[2:], input.array.shape[:2]
    places = grid.flatten(1, -2).unbind(2)[::-1]  # (N, P) for each axis, in order
    cell: Any = 0
    is_inside: Any = True
    weight: Any = 1  # (N, taps, P) from here on
    for place, length in zip(places, lengths, strict=True):
        at = (place + 1) / 2 * (length - 1) if is_aligned else ((place + 1) * length - 1) / 2
        if mode != "bicubic":
            at = _padded(at, length, padding_mode, is_aligned)
        whole, part = _TAPS[mode](at)
        if mode == "bicubic":
            whole = _padded(wrap(whole), length, padding_mode, is_aligned).array
        index = xp(whole).nan_to_num(whole).clip(0, length - 1).astype("int64")
        cell = _of_pairs(operator.add, cell * length, index)
        is_inside = _of_pairs(operator.and_, is_inside, (whole >= 0) & (whole <= length - 1))
        weight = _of_pairs(operator.mul, weight, part)
    flat = input.reshape(batch, channels, math.prod(lengths))
    every = xp(cell).broadcast_to(cell.reshape(batch, 1, cell[:1].size), (batch, channels, cell[:1].size))
    values = flat.gather(2, wrap(every)).reshape(batch, channels, *cell.shape[1:])
    values, weight = (apply(only, (x, wrap(mask))) for x, mask in ((values, is_inside[:, None]), (weight, is_inside)))
    return (values * weight.unsqueeze(1)).sum(2).reshape(batch, channels, *grid.array.shape[1:-1])


def _of_pairs(combine: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Combine each tap of ``a`` (N, K, P) with each of ``b`` (N, L, P) to (N, K L, P). ``a`` may be a number."""
    if isinstance(a, int):
        return combine(a, b)
    n, p = b.shape[0], b.shape[2]
    return combine(a[:, :, None], b[:, None]).reshape(n, a.shape[1] * b.shape[1], p)


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        text = "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0."
        warn(f"{text} Please specify align_corners.")
    return bool(align_corners)


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    shape, places, n = input.array.shape, grid.array.shape, input.array.ndim - 2
    same_dtype("grid_sample", input, grid=grid)
    for is_right, expected in (
        (shape[:1] == places[:1], "grid and input to have same batch size"),
        (places[-1:] == (n,), f"grid to have size {n} in last dimension"),
        (n in (2, 3) and len(places) == n + 2, "4D or 5D input and grid with same number of dimensions"),
        (0 not in shape[2:], "input to have non-empty spatial dimensions"),
        (mode != "bicubic" or n == 2, "a plane, as bicubic interpolation only supports 4D input"),
    ):
        if not is_right:
            raise RuntimeError(f"grid_sample: expected {expected}, but got {list(shape)} and {list(places)}")


def _padded(at: Tensor, length: int, padding_mode: str, is_aligned: bool) -> Tensor:
    """Move points beyond the ends of an axis to the positions from which they take their values."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0.0, length - 1.0) if is_aligned else (-0.5, float(length))
        distance = (at - low).abs()
        turns = (distance.detach() / span).floor() if span else distance.detach() * 0
        rest = distance - turns * span
        at = where(turns % 2 == 0, rest, span - rest) + low if span else at * 0
    return hardtanh(at, 0.0, length - 1.0)  # its gradient is 0 at the ends, as in PyTorch


# The taps of an axis for points (N, P): the indices of adjacent elements (as floats) and their weights, both (N, K, P).


def _nearest(at: Tensor) -> tuple[Any, Tensor]:
    """One tap, whose weight has a gradient of 0."""
    one = at.masked_fill(at.new_ones((), dtype=bool_), 1.0)  # differentiable twice, unlike `level`
    return xp(at.array).rint(at.array)[:, None], one.unsqueeze(1)


def _linear(at: Tensor) -> tuple[Any, Tensor]:
    low = xp(at.array).floor(at.array)
    part = at - wrap(low)
    return xp(low).stack([low, low + 1], 1), stack([1 - part, part], 1)


def _cubic(at: Tensor) -> tuple[Any, Tensor]:
    """Four taps, weighted by Keys' cubic kernel (1981) with a = -3/4."""
    low, a = xp(at.array).floor(at.array)[:, None], -0.75
    steps = xp(low).arange(-1, 3, dtype=low.dtype)[:, None]
    d = (at.unsqueeze(1) - wrap(low) - wrap(steps)).abs()
    inner, outer = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return low + steps, where(wrap((steps >= 0) & (steps <= 1)), inner, outer)


_TAPS = {"bilinear": _linear, "nearest": _nearest, "bicubic": _cubic}


@rounded_once
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """A grid for ``grid_sample`` that applies affine maps. Each point p of the result is sampled at A p + b.

    Args:
        theta: the matrices [A b], (N, 2, 3) or (N, 3, 4).
        size: the size of the result, (N, C, H, W) or (N, C, D, H, W).

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises ValueError if shapes or dtypes do not match, and NotImplementedError for an unsupported number of axes.
    """
    is_aligned = _aligned(align_corners)
    n, lengths = len(size) - 2, list(size[2:])
    if kind_of(theta.array) != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if n not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D maps. Got size {size}.")
    if theta.array.shape != (size[0], n, n + 1):
        expected = f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {list(size)}"
        raise ValueError(f"{expected}. Got {list(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    if is_aligned and 1 in lengths:
        warn("An axis of length 1 has no corners to align. See the documentation of affine_grid for details.")
    kinds: dict[str, Any] = {"dtype": theta.dtype, "device": theta.device}
    places = []
    for axis, length in enumerate(lengths):
        end = (1.0 if is_aligned else (length - 1) / length) if length > 1 else 0.0
        shape = (1,) * axis + (length,) + (1,) * (n - 1 - axis)
        places.append(linspace(-end, end, length, **kinds).reshape(shape).expand(lengths))
    base = stack([*reversed(places), places[0] * 0 + 1], -1).reshape(-1, n + 1)  # (H W, 3): x, y, 1
    return (base @ theta.transpose(1, 2)).reshape(size[0], *lengths, n)


def _max_unpool(
    axes: Axes,
    input: Tensor,
    indices: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put each element back where ``max_pool`` took it from, and zeros elsewhere. (N, C, *places) becomes (N, C,
    *lengths), and (C, *places) becomes (C, *lengths).

    Args:
        output_size: the input lengths of ``max_pool`` if they are not (places - 1) stride - 2 padding + kernel.
    """
    kernel, pads = axes.each("kernel_size", kernel_size), axes.each("padding", padding)
    steps = kernel if stride is None else axes.each("stride", stride)
    sizes = zip(input.array.shape[2:], steps, pads, kernel, strict=True)
    lengths = tuple((places - 1) * s - 2 * p + k for places, s, p, k in sizes)
    if output_size is not None:
        lengths = tuple(output_size)[-axes.n :]
    cells = indices if indices.array.ndim == axes.n + 2 else indices.unsqueeze(0)
    lead, shape = input.array.shape[:2], input.array.shape
    if cells.array.shape != shape:
        expected = f"expected indices of the input's shape {list(shape)}"
        raise RuntimeError(f"{axes.name}: {expected}, but got {list(cells.array.shape)}")
    zeros = input.new_zeros((*lead, prod(lengths)))
    return zeros.scatter(2, cells.reshape(*lead, -1), input.reshape(*lead, -1)).reshape(*lead, *lengths)


max_unpool1d, max_unpool2d, max_unpool3d = over(1, _max_unpool), over(2, _max_unpool), over(3, _max_unpool)


def _fractional_max_pool(
    axes: Axes,
    input: Tensor,
    kernel_size: Each,
    output_size: Each | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of randomly placed, overlapping windows (Graham 2014): ([N,] C, *lengths) -> ([N,] C, *places).

    Args:
        output_size: the number of windows along all axes, or along each. Alternatively, pass ``output_ratio``.
        return_indices: return (values, indices), with indices into the flattened channel.
        _random_samples: numbers in [0, 1), (N, C, axes), that determine the windows. If None, they are drawn.
    """
    lengths, n = input.array.shape[2:], axes.n
    if output_size is None and output_ratio is None:
        raise ValueError(f"{axes.name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if len(tuple_of(output_ratio, n)) != n:
            raise ValueError(f"{axes.name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(a * ratio) for a, ratio in zip(lengths, tuple_of(output_ratio, n), strict=True)]
    kernel, places = axes.each("kernel_size", kernel_size), axes.each("output_size", output_size)
    if any(k < 1 or p < 1 or p + k - 1 > a for k, p, a in zip(kernel, places, lengths, strict=True)):
        problem = f"{places} windows of {kernel} do not fit into an input of {tuple(lengths)}"
        raise RuntimeError(f"{axes.name}: {problem}; pool size and output size are too large, or not positive")
    if _random_samples is None:
        _random_samples = rand(*input.array.shape[:2], n, dtype=input.dtype, device=input.device)
    values: Any = _random_samples.array[: input.array.shape[0]]
    if values.shape != (*input.array.shape[:2], n):
        raise RuntimeError(f"{axes.name}: expected _random_samples of shape (N, C, {n}), but got {values.shape}")
    samples = values[..., ::-1] if n == 2 else values  # for a plane, the last axis comes first
    cells = ops.largest_cells_at(input.detach(), wrap(samples), kernel, places)
    return _picked(input, cells, return_indices)


fractional_max_pool2d, fractional_max_pool3d = over(2, _fractional_max_pool), over(3, _fractional_max_pool)


@rounded_once
def _lp_pool(
    axes: Axes, input: Tensor, norm_type: float, kernel_size: Each, stride: Step = None, ceil_mode: bool = False
) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window, where p is ``norm_type``. For the other arguments, see ``avg_pool2d``."""
    kernel = prod(axes.each("kernel_size", kernel_size))
    means = _avg_pool(axes, input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    means = apply(only, (means, means.detach() != 0))  # the gradient of the root is infinite at 0, but 0 in PyTorch
    return (means * kernel).pow(1.0 / norm_type)


lp_pool1d, lp_pool2d, lp_pool3d = over(1, _lp_pool), over(2, _lp_pool), over(3, _lp_pool)
