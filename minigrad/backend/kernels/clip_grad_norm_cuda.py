"""The joint norm of many arrays, and all of them scaled, without waiting for the GPU: see clip_grad_norm.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..many_cuda import Many
from ..registry import xp
from ._launch import BLOCK, NULL, launch


def norm(many: Many) -> Array:
    """√ of the sum of all squares, without axes, in the widest dtype."""
    like = max((row[0] for row in many.rows), key=lambda x: x.itemsize)
    sums, total = xp(like).empty(many.parts, "float64"), xp(like).empty((), like.dtype)
    many.each("clip_grad_norm", "squares", sums)
    launch(total, "clip_grad_norm", "root", (1,), (BLOCK,), (sums, total, many.parts))
    return total


def clip(many: Many, most: float, total: Array) -> None:
    """Scale all, whose norm is ``total``, to a norm of at most ``most``, in place."""
    many.each("clip_grad_norm", "scale", *_single_or_double(total), 1, most)


def scale(many: Many, factor: float | Array) -> None:
    """All times a factor, a number or an array without axes on the GPU, in place."""
    by, number = ((NULL, NULL), factor) if isinstance(factor, float) else (_single_or_double(factor), 1.0)
    many.each("clip_grad_norm", "scale", *by, 0, number)


def _single_or_double(x: Array) -> tuple[Any, Any]:
    """A number on the GPU for a kernel that takes it as float32 or float64."""
    return (x, NULL) if x.dtype == "float32" else (NULL, x.astype("float64", copy=False))
