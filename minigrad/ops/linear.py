"""Matrix products."""

from __future__ import annotations

from math import prod

import numpy as np

from ..backend import narrow, products, xp
from ..backend.dtype import Array
from .elementwise import cast
from .op import op
from .reduction import sum as total, sum_to
from .shape import broadcast_to, reshape, transpose, unsqueeze

FLOAT32 = np.dtype(np.float32)


def _left(g: Array, a: Array, b: Array) -> Array:
    """g bᵀ, with a vector's missing axis added and removed again."""
    if len(b.shape) == 1:
        return unsqueeze(g, -1) * b
    if len(a.shape) == 1:
        return sum_to(matmul(b, unsqueeze(g, -1))[..., 0], a.shape)
    return matmul(g, transpose(b, -1, -2))


def _right(g: Array, a: Array, b: Array) -> Array:
    """aᵀ g, summed over the leading axes in a single product if b has no leading axes."""
    if len(a.shape) == 1:
        return a * g if len(b.shape) == 1 else unsqueeze(a, -1) * unsqueeze(g, -2)
    if len(b.shape) == 1:
        return matmul(transpose(_rows(a), 0, 1), reshape(g, (-1,)))
    if len(b.shape) == 2 and len(a.shape) > 2:
        return matmul(transpose(_rows(a), 0, 1), _rows(g))
    return matmul(transpose(a, -1, -2), g)


@op("da = g bᵀ; db = aᵀ g", a=_left, b=_right, promote="same", holomorphic=True)
def matmul(a: Array, b: Array) -> Array:
    """a b over the last two axes; leading axes broadcast; a vector a is a row, and a vector b is a column"""
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(f"matmul: both arguments need at least one axis, but have shapes {a.shape} and {b.shape}")
    inner, rows = a.shape[-1], b.shape[0 if b.ndim == 1 else -2]
    if inner != rows:
        lengths = ["x".join(map(str, x.shape)) for x in (a, b)]
        raise RuntimeError(
            f"matmul: mat1 and mat2 shapes cannot be multiplied ({lengths[0]} and {lengths[1]}): the last axis of "
            f"the first ({inner}) must equal the {'' if b.ndim == 1 else 'second-to-last '}axis of the second ({rows})"
        )
    if b.ndim == 2 and a.ndim > 2 and a.size:  # a single large product instead of many small ones
        return products.matmul(a.reshape(-1, inner), b).reshape(*a.shape[:-1], b.shape[1])
    return products.matmul(a, b)


@op(
    "dx = g W; dW = gᵀ x; db = Σ g",
    x=lambda g, weight: matmul(g, weight),
    weight=lambda g, x: matmul(transpose(_rows(g), 0, 1), _rows(x)),
    bias=lambda g: g,
    promote="same",
    holomorphic=True,
)
def linear(x: Array, weight: Array, bias: Array = None) -> Array:
    """x Wᵀ + b: x (..., in), W (out, in), b (out)"""
    out = matmul(x, transpose(weight, 0, 1))
    return out if bias is None else out + bias


@op(
    "dx = g W; db = Σ g",
    x=lambda g, weight, scale: matmul(g, cast(weight, FLOAT32) * unsqueeze(scale, -1)),
    bias=lambda g: g,
)
def narrow_linear(x: Array, weight: Array, scale: Array, bias: Array = None) -> Array:
    """x Wᵀ + b, where row j of W is weight[j] in int8 or bfloat16 times scale[j]"""
    if x.dtype.kind != "f" or x.shape[-1:] != weight.shape[1:]:
        raise RuntimeError(f"expected floating-point numbers (..., {weight.shape[1]}), not {x.dtype} {x.shape}")
    out = narrow.multiply(x.reshape(-1, x.shape[-1]), weight, scale).reshape(*x.shape[:-1], len(weight))
    return out if bias is None else out + bias


def _rows(x: Array) -> Array:
    return x if len(x.shape) == 2 else reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


@op(
    "da = the sum of g and b over the letters that a lacks; db = the sum of g and a over the letters that b lacks",
    a=lambda g, b, shape, subscripts: _einsum_grad(g, b, shape, subscripts[0], subscripts[1], subscripts[2]),
    b=lambda g, a, shape, subscripts: _einsum_grad(g, a, shape, subscripts[1], subscripts[0], subscripts[2]),
    promote="same",
    holomorphic=True,
)
def einsum_pair(a: Array, b: Array, subscripts: tuple[str, str, str]) -> Array:
    """The Einstein sum of a and b. ``subscripts``: the letters of a, b and the result, each at most once per operand"""
    left, right, result = subscripts  # letters in all three are batch axes, and letters only in a and b are summed over
    a, left = _sum_lonely(a, left, right + result)
    b, right = _sum_lonely(b, right, left + result)
    batch = [c for c in left if c in right and c in result]
    inner = [c for c in left if c in right and c not in result]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    size = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))

    def number(letters: list[str]) -> int:
        return int(np.prod([size[c] for c in letters], dtype=np.int64))

    shape = [size[c] for c in batch]
    a = a.transpose([left.index(c) for c in batch + rows + inner]).reshape(*shape, number(rows), number(inner))
    b = b.transpose([right.index(c) for c in batch + inner + columns]).reshape(*shape, number(inner), number(columns))
    letters = batch + rows + columns
    return products.matmul(a, b).reshape([size[c] for c in letters]).transpose([letters.index(c) for c in result])


def _sum_lonely(x: Array, letters: str, others: str) -> tuple[Array, str]:
    lonely = tuple(i for i, c in enumerate(letters) if c not in others)
    return (total(x, lonely), "".join(c for c in letters if c in others)) if lonely else (x, letters)


def _einsum_grad(g: Array, other: Array, shape: tuple[int, ...], mine: str, others: str, result: str) -> Array:
    """The einsum of g and the other operand. The result is repeated along axes whose letters only this operand has."""
    letters = "".join(c for c in mine if c in others or c in result)
    grad = einsum_pair(g, other, (result, others, letters))
    if letters == mine:
        return grad
    lengths = iter(grad.shape)
    full = tuple(next(lengths) if c in letters else 1 for c in mine)
    return broadcast_to(reshape(grad, full), shape)


@op("da = g b; db = gᵀ a", a=lambda g, b: matmul(g, b), b=lambda g, a: matmul(a, g), holomorphic=True)
def outer(a: Array, b: Array) -> Array:
    """aᵢ bⱼ of two vectors"""
    return xp(a).multiply(a[:, None], b[None, :])
