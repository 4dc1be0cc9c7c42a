"""Determinants, whose gradients singular matrices have, too: by the adjugate, which needs no inverse."""

from __future__ import annotations

import numpy as np

from ...backend import holds, xp
from ...backend.dtype import Array
from ...ops.complex import IN_PLACE_OF, conj
from ...ops.complex import complex as as_pair
from ...ops.complex import imag as imaginary_part
from ...ops.indexing import getitem, put_back
from ...ops.linear import matmul
from ...ops.op import bare, op
from ...ops.reduction import sum as sum_over
from ...ops.shape import transpose
from .decompositions import adjoint, conjugate, inverse, on_cpu, on_host, one_matrix


@op("dx = g adj(x)ᴴ", x=lambda g, x: one_matrix(g) * adjoint(adjugate(x)))
def det(x: Array) -> Array:
    """|x| of square matrices"""
    return on_host(np.linalg.det, x)


@op(
    "dx = conj(|x|) (tr(g x⁻¹ᴴ) x⁻ᴴ − x⁻ᴴ g x⁻ᴴ), of a singular x by the adjugates of its minors",
    x=lambda g, x: _adjugate_slope(g, x),
)
@on_cpu
def adjugate(x: Array) -> Array:
    """|x| x⁻¹ of square matrices, singular ones too: yⱼᵢ is (−1)ⁱ⁺ʲ |x without row i and column j|"""
    with np.errstate(all="ignore"):
        size = np.linalg.det(x)[..., None, None]
        regular = np.where(size == 0, np.eye(x.shape[-1], dtype=x.dtype), x)
        out = size * np.linalg.inv(regular)  # from one LU, so their errors near a singular matrix cancel
    lost = ((size[..., 0, 0] == 0) | ~np.isfinite(out).all((-2, -1))) & np.isfinite(x).all((-2, -1))
    if lost.any():  # |x| x⁻¹ = |u| |vᴴ| v diag(Π sⱼ over j ≠ i) uᴴ of x = u diag(s) vᴴ
        u, s, vh = np.linalg.svd(x[lost])
        others = np.where(np.eye(s.shape[-1], dtype=bool), 1, s[..., None, :]).prod(-1)
        others = (others * (np.linalg.det(u) * np.linalg.det(vh))[..., None])[..., None, :]
        out[lost] = (np.swapaxes(vh, -1, -2).conj() * others) @ np.swapaxes(u, -1, -2).conj()
    return out


@on_cpu
def _are_ill(x: Array) -> Array:
    """Which matrices are singular, or so near it that half of the digits are lost."""
    condition = np.linalg.cond(x, 1) if x.size else np.ones(x.shape[:-2])
    return (condition > np.finfo(x.dtype).eps ** -0.5) | (np.linalg.det(x) == 0)


def _adjugate_slope(g: Array, x: Array) -> Array:
    """By the inverse, or in n² minors: these are right in all orders, however many of the singular values are 0."""
    if not holds(_are_ill(bare(x))):
        over = adjoint(inverse(x))
        trace = sum_over(g * transpose(over, -1, -2), (-2, -1), False)
        return one_matrix(conjugate(det(x))) * (one_matrix(trace) * over - matmul(over, matmul(g, over)))
    m, n, dtype = xp(bare(x)), x.shape[-1], bare(x).dtype
    row, kept = m.arange(n)[:, None], m.arange(n - 1)[None]
    kept = kept + (kept >= row)  # in line i all but i
    index = (..., kept[:, None, :, None], kept[None, :, None, :])
    weights = transpose(g, -1, -2) * (1 - 2 * ((row + row.T) % 2)).astype(dtype)
    return put_back(one_matrix(weights) * adjoint(adjugate(getitem(x, index))), x.shape, index)


@op("dx = (g₁ − i Im(conj(g₀) y₀)) x⁻ᴴ", x=lambda g, x, out: one_matrix(_log_slope(g, out)) * adjoint(inverse(x)))
def slogdet(x: Array) -> tuple[Array, Array]:
    """The sign of |x| (of complex numbers, |x| / abs |x|) and the logarithm of its size"""
    return on_host(lambda a: tuple(np.linalg.slogdet(a)), x)


def _log_slope(g: tuple[Array, Array], out: tuple[Array, Array]) -> Array:
    """The gradient of log |x|, whose imaginary part is the angle of the sign."""
    return g[1] if bare(g[0]).dtype.kind != "c" else as_pair(g[1], -imaginary_part(conj(g[0]) * out[0]))


IN_PLACE_OF.update({known: known for known in (det, slogdet, adjugate)})
