"""Products that are made of others, powers of matrices, and distances, by PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.calls import apply
from ...functions.arguments import axis, rounded_once
from ...functions.define import function, method
from ...functions.names import arange, dot, einsum, eye, matmul, stack, where
from ...functions.pointwise import level
from ...tensor import Tensor
from ..ops import decompositions
from .equations import square


@method
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Σ conj(aᵢ) bᵢ of two vectors."""
    return dot(input.conj(), other)


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last axis of both."""
    if not input.array.ndim or not other.array.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@function
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    listed: Any = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)) else matrices
    product: Tensor = listed[0]
    for matrix in listed[1:]:
        product = matmul(product, matrix)
    return product


@function
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over the last ``dims`` axes of a and the first of b, or over the two lists of axes.

    >>> mg.tensordot(mg.ones(2, 3, 4), mg.ones(3, 4, 5), dims=2).shape
    minigrad.Size([2, 5])
    """
    if isinstance(dims, int):
        left, right = list(range(a.array.ndim - dims, a.array.ndim)), list(range(dims))
    else:
        sides = [[side] if isinstance(side, int) else side for side in dims]
        left, right = ([d % x.array.ndim for d in side] for x, side in zip((a, b), sides, strict=True))
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have the same length: {left} and {right}")
    for m, n in zip(left, right, strict=True):
        if 1 not in (a.array.shape[m], b.array.shape[n]) and a.array.shape[m] != b.array.shape[n]:
            lengths = (
                f"axis {m} of the first has length {a.array.shape[m]} and axis {n} of the second {b.array.shape[n]}"
            )
            raise RuntimeError(f"contracted dimensions need to match, but {lengths}")
    axes = [*range(a.array.ndim + b.array.ndim)]
    of_a, of_b = axes[: a.array.ndim], axes[a.array.ndim :]
    for m, n in zip(left, right, strict=True):
        of_b[n] = m
    return einsum(a, of_a, b, of_b, [n for n in axes if (n in of_a) != (n in of_b)])


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: each element of the input times the other tensor, as blocks."""
    n = max(input.array.ndim, other.array.ndim)
    a, b = ((1,) * (n - t.array.ndim) + tuple(t.array.shape) for t in (input, other))
    left = input.reshape([k for size in a for k in (size, 1)])
    right = other.reshape([k for size in b for k in (1, size)])
    return (left * right).reshape([p * q for p, q in zip(a, b, strict=True)])


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along an axis of length 3 (by default the first such axis); shapes broadcast.

    Raises RuntimeError: the axis has another length. IndexError: there is no such axis.

    >>> mg.cross(mg.tensor([1.0, 0, 0]), mg.tensor([0.0, 1, 0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.array.shape) if n == 3), -1)
    lengths = {t.array.shape[axis(dim, t.array.ndim)] if t.array.ndim else 0 for t in (input, other)}
    if lengths != {3}:
        raise RuntimeError(f"inputs dimension {dim} must have length 3: got {input.shape} and {other.shape}")
    (a, b, c), (d, e, f) = input.unbind(dim), other.unbind(dim)
    return stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)


@function
@rounded_once
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances between the rows of two batches: (..., P, M), (..., R, M) -> (..., P, R)."""
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, "cdist")


def _lengths(apart: Tensor, p: float, name: str) -> Tensor:
    """p-norms of differences along the last axis, also of none; of p = 0 how many are not 0, NaN if one is NaN."""
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")
    if p == 1:  # the slope at NaN is NaN, unlike that of a norm
        rest = apart.detach()
        return (apart * where(rest.isnan(), rest, rest.sign())).sum(-1)
    return apart.norm(p, -1) if p and apart.shape[-1] else apart.abs().ceil().clamp(max=1).sum(-1)


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix to a power, n >= 0; of a negative n the power of its inverse."""
    if n < 0:
        return matrix_power(apply(decompositions.inverse, (input,)), -n)
    out = eye(input.array.shape[-1], dtype=input.dtype, device=input.device).expand(input.array.shape)
    out = level(out, input) if n == 0 else out
    while n:
        out = matmul(out, input) if n & 1 else out
        input, n = (matmul(input, input) if n > 1 else input), n >> 1
    return out


@method
def matrix_exp(input: Tensor) -> Tensor:
    """eˣ of square matrices: Σ xⁿ / n!"""
    return apply(decompositions.matrix_exp, (square(input, "matrix_exp"),))


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector as columns, (len(x), N): the highest first, or the lowest if ``increasing``."""
    count = x.array.shape[0] if N is None else N
    powers = arange(count, device=x.device) if increasing else arange(count - 1, -1, -1, device=x.device)
    return x.unsqueeze(-1) ** powers


@function
@rounded_once
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between any two rows, (N, M) -> (N (N - 1) / 2)."""
    first, second = np.triu_indices(input.array.shape[0], 1)
    return _lengths(input[first] - input[second], p, "pdist")
