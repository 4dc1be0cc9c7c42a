"""A linear map: what it takes, and its products on all cores."""

from __future__ import annotations

from math import prod

from ..dtype import Array
from ..in_parts import InParts
from ..products import column_sums, matmul
from . import Gradients, Needs, wanted

takes_parts = True  # ``backward`` takes a gradient ``InParts``


def check(x: Array, weight: Array) -> None:
    """Refuse what does not fit.

    Raises:
        RuntimeError: the input's last axis is not as long as the weight's.
    """
    if x.shape[-1:] != weight.shape[1:]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: the input's last axis is "
            f"{x.shape[-1] if x.ndim else 'missing, both arguments need to be at least 1D'} "
            f"(shape {tuple(x.shape)}), the weight {tuple(weight.shape)} wants {weight.shape[-1]}"
        )


def forward(needs: Needs, x: Array, weight: Array, bias: Array | None) -> tuple[Array, None]:
    if x.shape[-1:] != weight.shape[1:]:
        check(x, weight)
    out = matmul(as_rows(x), weight.T, bias)
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def as_rows(x: Array) -> Array:
    """x as a matrix of its last axis."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def backward(needs: Needs, saved: None, g: Array | InParts, x: Array, weight: Array, bias: Array | None) -> Gradients:
    rows = as_rows(x)
    made = None
    if isinstance(g, InParts):
        made = g.products(weight, rows, needs[2]) if needs[0] and needs[1] else None
        g = g if made is not None else g.array()
    if made is not None:
        return wanted(needs, made[0].reshape(x.shape), *made[1:])
    slopes = as_rows(g)
    dx = matmul(slopes, weight).reshape(x.shape) if needs[0] else None
    return dx, matmul(slopes.T, rows) if needs[1] else None, column_sums(slopes) if needs[2] else None
