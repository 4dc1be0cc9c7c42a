"""A linear map: its shape check and its products, on all cores or by cuBLAS, which sums 16-bit products in float32."""

from __future__ import annotations

from math import prod

from ..dtype import Array
from ..products import linear_gradients, matmul
from . import Gradients, Needs


def _misfit(x: Array, weight: Array) -> RuntimeError:
    return RuntimeError(
        f"linear: mat1 and mat2 shapes cannot be multiplied: the input's last axis is "
        f"{x.shape[-1] if x.ndim else 'missing, both arguments need to be at least 1D'} "
        f"(shape {tuple(x.shape)}), but the weight {tuple(weight.shape)} needs {weight.shape[-1]}"
    )


def forward(needs: Needs, x: Array, weight: Array, bias: Array | None) -> tuple[Array, None]:
    if x.shape[-1:] != weight.shape[1:]:
        raise _misfit(x, weight)
    out = matmul(as_rows(x), weight.T, bias)
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def as_rows(x: Array) -> Array:
    """x as a matrix, with all axes except the last as rows."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def backward(needs: Needs, saved: None, g: Array, x: Array, weight: Array, bias: Array | None) -> Gradients:
    dx, dweight, dbias = linear_gradients(needs, as_rows(g), as_rows(x), weight)
    return None if dx is None else dx.reshape(x.shape), dweight, dbias
