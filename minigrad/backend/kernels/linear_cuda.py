"""A linear map on a GPU: cuBLAS's products; 16 bits are added up in float32."""

from __future__ import annotations

from ..cublas import matmul
from ..dtype import Array
from . import Gradients, Needs
from .layer_norm_cuda import column_sums
from .linear import as_rows, check


def forward(needs: Needs, x: Array, weight: Array, bias: Array | None) -> tuple[Array, None]:
    check(x, weight)
    out = matmul(as_rows(x), weight.T)
    if bias is not None:
        out += bias
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def backward(needs: Needs, saved: None, g: Array, x: Array, weight: Array, bias: Array | None) -> Gradients:
    rows, slopes = as_rows(x), as_rows(g)
    return (
        matmul(slopes, weight).reshape(x.shape) if needs[0] else None,
        matmul(slopes.T, rows) if needs[1] else None,
        column_sums(slopes) if needs[2] else None,
    )
