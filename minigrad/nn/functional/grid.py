"""Sampling at any places of a plane or a volume (Jaderberg et al. 2015), and the places of an affine map.

Places are normalised: -1 and 1 are the ends of an axis, the centres of its first and last element with
``align_corners``, else their outer edges. The last axis of a grid is (x, y) or (x, y, z), where x runs along the
input's last axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from ...autograd.calls import apply
from ...backend.dtype import bool_, kind_of
from ...functions.arguments import rounded_once
from ...functions.creation import linspace
from ...functions.pointwise import where
from ...functions.shaping import stack
from ...ops.elementwise import only
from ...tensor import Tensor
from ...tracebacks import warn
from ._checks import same_dtype
from .activation import hardtanh

__all__ = ["affine_grid", "grid_sample"]

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
Tap = tuple[Tensor, Tensor]  # the place, a whole number, and its weight


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

    Raises:
        ValueError: an unknown mode. RuntimeError: shapes or dtypes do not fit.
    """
    for name, value, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in known:
            raise ValueError(f"nn.functional.grid_sample(): expected {name} to be one of {known}, but got: {value!r}")
    is_aligned = _aligned(align_corners)
    lengths = input.array.shape[2:]
    _check(input, grid, mode)
    places = grid.flatten(1, -2).unbind(2)[::-1]  # (N, P) for each axis, the first axis first
    taps = []
    for place, length in zip(places, lengths, strict=True):
        at = (place + 1) / 2 * (length - 1) if is_aligned else ((place + 1) * length - 1) / 2
        if mode == "bicubic":
            parts = _cubic_taps(at)
            taps.append([(_padded(whole, length, padding_mode, is_aligned), weight) for whole, weight in parts])
        else:
            at = _padded(at, length, padding_mode, is_aligned)
            taps.append(_linear_taps(at) if mode == "bilinear" else [(at.detach().round(), _one(at))])
    flat = input.reshape(*input.array.shape[:2], math.prod(lengths))  # (N, C, H W)
    total: Any = sum(_corner(flat, corner, lengths) for corner in product(*taps))
    return total.reshape(*input.array.shape[:2], *grid.array.shape[1:-1])


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


def _linear_taps(at: Tensor) -> list[Tap]:
    low = at.detach().floor()
    part = at - low
    return [(low, 1 - part), (low + 1, part)]


def _one(at: Tensor) -> Tensor:
    """The weight of the nearest, with a gradient of 0."""
    return at.masked_fill(at.new_ones((), dtype=bool_), 1.0)  # differentiable again, as `level` is not


def _cubic_taps(at: Tensor) -> list[Tap]:
    """Four neighbours by Keys' cubic (1981) with a = -3/4."""
    low, a = at.detach().floor(), -0.75
    taps: list[Tap] = []
    for step in range(-1, 3):
        d = (at - low - step).abs()
        if step in (0, 1):
            weight = ((a + 2) * d - (a + 3)) * d * d + 1
        else:
            weight = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        taps.append((low + step, weight))
    return taps


def _corner(flat: Tensor, corner: Sequence[Tap], lengths: Sequence[int]) -> Tensor:
    """The weighted values (N, C, P) at one tap of each axis; 0 beyond the ends."""
    cell: Any = 0
    is_inside: Any = True
    weight: Any = None
    for (place, part), length in zip(corner, lengths, strict=True):
        place = place.detach()
        is_inside = (place >= 0) & (place <= length - 1) & is_inside
        cell = cell * length + place.nan_to_num(0.0).clamp(0, length - 1).long()
        weight = part if weight is None else weight * part
    index = cell.unsqueeze(1).expand(-1, flat.array.shape[1], -1)  # (N, P) -> (N, C, P)
    values = apply(only, (flat.gather(2, index), is_inside.unsqueeze(1)))
    return values * where(is_inside, weight, 0.0).unsqueeze(1)


@rounded_once
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid of affine maps, for ``grid_sample``: each place p of the result is looked up at A p + b.

    Args:
        theta: (N, 2, 3) or (N, 3, 4), the matrices [A b].
        size: of the result, (N, C, H, W) or (N, C, D, H, W).

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: shapes or dtypes do not fit. NotImplementedError: another number of axes.
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
