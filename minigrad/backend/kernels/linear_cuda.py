"""A linear map on a GPU: cuBLAS's products."""

from __future__ import annotations

from math import prod

from ..dtype import Array
from .linear import check


def forward(needs: tuple[bool, ...], x: Array, weight: Array, bias: Array | None) -> tuple[Array, None]:
    check(x, weight)
    out = x.reshape(prod(x.shape[:-1]), x.shape[-1]) @ weight.T
    if bias is not None:
        out += bias
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def backward(
    needs: tuple[bool, ...], saved: None, g: Array, x: Array, weight: Array, bias: Array | None
) -> tuple[Array | None, ...]:
    rows, slopes = (a.reshape(prod(a.shape[:-1]), a.shape[-1]) for a in (x, g))
    return (
        (slopes @ weight).reshape(x.shape) if needs[0] else None,
        slopes.T @ rows if needs[1] else None,
        slopes.sum(axis=0) if needs[2] else None,
    )
