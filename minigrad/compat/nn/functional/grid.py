"""Sampling at any places of a plane or a volume (Jaderberg et al. 2015), and the places of an affine map.

Places are normalised: -1 and 1 are the ends of an axis, the centres of its first and last element with
``align_corners``, else their outer edges. The last axis of a grid is (x, y) or (x, y, z), where x runs along the
input's last axis.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ....autograd.calls import apply
from ....autograd.tape import wrap
from ....autograd.tracebacks import warn
from ....backend import xp
from ....backend.dtype import bool_, kind_of
from ....functions.arguments import rounded_once
from ....functions.names import linspace, stack, where
from ....nn.functional._checks import same_dtype
from ....nn.functional.activation import hardtanh
from ....ops.elementwise import only
from ....tensor import Tensor

__all__ = ["affine_grid", "grid_sample"]

_PADDINGS = ("zeros", "border", "reflection")


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values at the places of a grid: (N, C, H, W) and (N, P, Q, 2) -> (N, C, P, Q), or (N, C, D, H, W) and
    (N, O, P, Q, 3) -> (N, C, O, P, Q).

    Args:
        mode: "bilinear" (also of volumes), "nearest", or "bicubic" (of planes, with a = -3/4).
        padding_mode: what is beyond the ends: "zeros", the last element ("border"), or the mirror image
            ("reflection").
        align_corners: see above; None stands for False, with PyTorch's warning.

    Raises ValueError: an unknown mode. RuntimeError: shapes or dtypes do not fit.
    """
    for name, value, known in (("mode", mode, tuple(_TAPS)), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in known:
            raise ValueError(f"nn.functional.grid_sample(): expected {name} to be one of {known}, but got: {value!r}")
    is_aligned = _aligned(align_corners)
    _check(input, grid, mode)
    lengths, (batch, channels) = input.array.shape[2:], input.array.shape[:2]
    places = grid.flatten(1, -2).unbind(2)[::-1]  # (N, P) for each axis, the first axis first
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
    """Of (N, K, P) and (N, L, P), each tap with each: (N, K L, P). The first may be a number."""
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
    """Places beyond the ends of an axis moved to where their values are."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0.0, length - 1.0) if is_aligned else (-0.5, float(length))
        distance = (at - low).abs()
        turns = (distance.detach() / span).floor() if span else distance.detach() * 0
        rest = distance - turns * span
        at = where(turns % 2 == 0, rest, span - rest) + low if span else at * 0
    return hardtanh(at, 0.0, length - 1.0)  # whose gradient is 0 at the ends, as PyTorch's is here


# The taps of an axis: of places (N, P), the elements next to them, whole numbers, and their weights, both (N, K, P).


def _nearest(at: Tensor) -> tuple[Any, Tensor]:
    """One, whose weight has a gradient of 0."""
    one = at.masked_fill(at.new_ones((), dtype=bool_), 1.0)  # differentiable again, as `level` is not
    return xp(at.array).rint(at.array)[:, None], one.unsqueeze(1)


def _linear(at: Tensor) -> tuple[Any, Tensor]:
    low = xp(at.array).floor(at.array)
    part = at - wrap(low)
    return xp(low).stack([low, low + 1], 1), stack([1 - part, part], 1)


def _cubic(at: Tensor) -> tuple[Any, Tensor]:
    """Four, by Keys' cubic (1981) with a = -3/4."""
    low, a = xp(at.array).floor(at.array)[:, None], -0.75
    steps = xp(low).arange(-1, 3, dtype=low.dtype)[:, None]
    d = (at.unsqueeze(1) - wrap(low) - wrap(steps)).abs()
    inner, outer = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return low + steps, where(wrap((steps >= 0) & (steps <= 1)), inner, outer)


_TAPS = {"bilinear": _linear, "nearest": _nearest, "bicubic": _cubic}


@rounded_once
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid of affine maps, for ``grid_sample``: each place p of the result is looked up at A p + b.

    Args:
        theta: (N, 2, 3) or (N, 3, 4), the matrices [A b].
        size: of the result, (N, C, H, W) or (N, C, D, H, W).

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises ValueError: shapes or dtypes do not fit. NotImplementedError: another number of axes.
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
