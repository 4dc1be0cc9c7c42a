"""Inverses, determinants, linear systems and decompositions of matrices in the last two axes.

They are computed on the CPU by NumPy's LAPACK. Routines that NumPy lacks (triangular systems, LU) are implemented
here, vectorised over the matrices of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar

import numpy as np

from ...backend import holds, xp
from ...backend.dtype import Array
from ...backend.registry import of
from ...ops.complex import IN_PLACE_OF, complex as as_pair, conj, imag as imaginary_part, real as real_part
from ...ops.indexing import getitem, put_back
from ...ops.joining import concatenate
from ...ops.linear import matmul
from ...ops.op import bare, op
from ...ops.reduction import sum as sum_over
from ...ops.shape import diagonal, diagonal_scatter, transpose, tril, triu, unsqueeze

Function = TypeVar("Function", bound=Callable[..., Any])


class LinAlgError(RuntimeError):
    """An error from LAPACK: a matrix is singular or not positive definite, or the algorithm did not converge."""


def on_host(function: Any, *arrays: Array) -> Any:
    """Call a NumPy function with arrays of any backend, computing float16 in float32.

    Integer results keep their dtype. Float results get the dtype of the arrays, or its real or complex counterpart (for
    integer arrays, they keep their own). LAPACK errors are raised as LinAlgError.
    """
    backend = of(arrays[0])
    get = _stand_in if backend.device_type == "meta" else backend.to_numpy
    host = [get(a) for a in arrays]
    kind = np.result_type(*(a for a in host if a.dtype.kind in "fc")) if host[0].dtype.kind in "fc" else host[0].dtype
    try:
        results = function(*(a.astype(np.float32) if a.dtype == np.float16 else a for a in host))
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg: {error}") from error
    device, moved = backend.device_of(arrays[0]), []
    for part in map(np.asarray, results if isinstance(results, tuple) else (results,)):
        if part.dtype.kind in "fc" and kind.kind in "fc":
            real = np.finfo(kind).dtype
            part = part.astype(np.result_type(real, np.complex64) if part.dtype.kind == "c" else real, copy=False)
        moved.append(backend.asarray(part, device))
    return tuple(moved) if isinstance(results, tuple) else moved[0]


def on_cpu(function: Function) -> Function:
    """Make a NumPy function accept arrays of any backend as its first arguments (of type Array); see ``on_host``."""
    arrays = list(function.__annotations__.values())[:-1].count("Array")

    @wraps(function)
    def on_any(*args: Any) -> Any:
        return on_host(lambda *host: function(*host, *args[arrays:]), *args[:arrays])

    return on_any  # type: ignore[return-value]


def _stand_in(x: Array) -> Array:
    """A matrix that every algorithm accepts, to replace an empty one."""
    return np.broadcast_to(np.eye(*x.shape[-2:], dtype=x.dtype) if x.ndim > 1 else np.ones((), x.dtype), x.shape)


# Helpers for the rules ------------------------------------------------------------------------------------


def adjoint(x: Array) -> Array:
    """xᴴ, transposed and, if complex, conjugated."""
    return conjugate(transpose(x, -1, -2))


def conjugate(x: Array) -> Array:
    """The complex conjugate. Real numbers are unchanged."""
    return conj(x) if bare(x).dtype.kind == "c" else x


def _diag(x: Array) -> Array:
    return diagonal_scatter(x, (*x.shape, x.shape[-1]), 0, -2, -1)


def _off_diagonal(x: Array) -> Array:
    return x - _diag(diagonal(x, 0, -2, -1))


def _over(x: Array, divisor: Array) -> Array:
    """x / divisor, with 0 / 0 = 0: elements without a gradient stay 0, even if two eigenvalues are equal."""
    return x / (divisor + (bare(divisor) == 0) * (bare(x) == 0))


def one_matrix(x: Array) -> Array:
    """Add two trailing axes to an array with one number per matrix."""
    return unsqueeze(unsqueeze(x, -1), -1)


# Inverses, linear systems ---------------------------------------------------------------------------------


@op("dx = −yᴴ g yᴴ", x=lambda g, out: -matmul(adjoint(out), matmul(g, adjoint(out))))
def inverse(x: Array) -> Array:
    """x⁻¹ of square matrices"""
    return on_host(np.linalg.inv, x)


@op(
    "da = −a⁻ᴴ g yᴴ; db = a⁻ᴴ g",
    a=lambda g, a, out: -matmul(solve(adjoint(a), g), adjoint(out)),
    b=lambda g, a: solve(adjoint(a), g),
    promote="same",
)
def solve(a: Array, b: Array) -> Array:
    """x in a x = b, for square a (..., N, N) and b (..., N, K)"""
    return on_host(np.linalg.solve, a, b)


@op(
    "da = −(db yᴴ in the triangle); db = a⁻ᴴ g",
    a=lambda g, a, out, upper, unit: (
        -_triangle(matmul(solve_triangular(adjoint(a), g, not upper, unit), adjoint(out)), upper, unit)
    ),
    b=lambda g, a, upper, unit: solve_triangular(adjoint(a), g, not upper, unit),
    promote="same",
)
@on_cpu
def solve_triangular(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """x in a x = b for the upper or lower triangle of a (..., N, N), with ones on its diagonal if ``unit``"""
    if upper:  # when reversed, it is a lower triangle
        return _substituted(a[..., ::-1, ::-1], b[..., ::-1, :], unit)[..., ::-1, :]
    return _substituted(a, b, unit)


@op(
    "da = −(k + kᴴ) a, k = db yᴴ; db = the solution for g",
    a=lambda g, a, out: -matmul(_and_adjoint(matmul(cholesky_solve(a, g), adjoint(out))), a),
    b=lambda g, a: cholesky_solve(a, g),
    promote="same",
)
def cholesky_solve(a: Array, b: Array) -> Array:
    """x in a aᴴ x = b for the lower triangle of a (..., N, N), with the gradient of the whole a, as in PyTorch"""
    return solve_triangular(adjoint(a), solve_triangular(a, b, False, False), True, False)


def _and_adjoint(x: Array) -> Array:
    return x + adjoint(x)


def _substituted(a: Array, b: Array, unit: bool) -> Array:
    """x in a x = b for the lower triangle of a, by substituting the solution of the first half into the second."""
    n = a.shape[-1]
    if n < 2:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:]
        return np.broadcast_to(b, shape) if unit or not n else b / a
    k = n // 2
    first = _substituted(a[..., :k, :k], b[..., :k, :], unit)
    second = _substituted(a[..., k:, k:], b[..., k:, :] - a[..., k:, :k] @ first, unit)
    return np.concatenate([first, second], -2)


def _triangle(x: Array, upper: bool, strict: bool) -> Array:
    return triu(x, 1 if strict else 0) if upper else tril(x, -1 if strict else 0)


@op(
    "dx = −yᴴ g yᴴ + (1 − x y) gᴴ y yᴴ + yᴴ y gᴴ (1 − y x), g as xᴴ's (Golub and Pereyra 1973)",
    x=lambda g, x, out: _pinv_grad(g, x, out),
)
@on_cpu
def pinv(x: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The pseudo-inverse: singular values up to max(atol, rtol · the largest) count as 0"""
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        s, u = np.linalg.eigh(x)
        v = u
    else:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        v = np.swapaxes(vh, -1, -2).conj()
    keep = significant(s, atol, rtol)
    inverses = np.divide(1, s, where=keep, out=np.zeros_like(s))
    return (v * inverses[..., None, :]) @ np.swapaxes(u, -1, -2).conj()


def significant(s: Array, atol: Any, rtol: Any) -> Array:
    """The singular values or eigenvalues (..., K) above max(atol, rtol · the largest), as bools."""
    sizes = np.abs(s)
    largest = sizes.max(-1, initial=0)
    return sizes > np.maximum(atol, rtol * largest)[..., None]


def _pinv_grad(g: Array, x: Array, out: Array) -> Array:
    if x.shape[-2] > x.shape[-1]:  # the adjoint's products involve smaller matrices
        return adjoint(_pinv_grad(adjoint(g), adjoint(x), adjoint(out)))
    gh, back = adjoint(g), adjoint(out)
    k = matmul(gh, out)
    pushed = matmul(k, back)
    inside = matmul(matmul(back, out), gh - matmul(k, x))
    return pushed - adjoint(matmul(out, k)) - matmul(matmul(x, out), pushed) + inside


# Determinants. The gradient uses the adjugate, which also exists for a singular matrix ----------------------


@op("dx = g adj(x)ᴴ", x=lambda g, x: one_matrix(g) * adjoint(adjugate(x)))
def det(x: Array) -> Array:
    """|x| of square matrices"""
    return on_host(np.linalg.det, x)


@op(
    "dx = conj(|x|) (tr(g x⁻¹ᴴ) x⁻ᴴ − x⁻ᴴ g x⁻ᴴ), for a singular x from the adjugates of its minors",
    x=lambda g, x: _adjugate_grad(g, x),
)
@on_cpu
def adjugate(x: Array) -> Array:
    """|x| x⁻¹ of square matrices, including singular ones: yⱼᵢ is (−1)ⁱ⁺ʲ |x without row i and column j|"""
    with np.errstate(all="ignore"):
        size = np.linalg.det(x)[..., None, None]
        regular = np.where(size == 0, np.eye(x.shape[-1], dtype=x.dtype), x)
        out = size * np.linalg.inv(regular)  # both from one LU, so errors near a singular matrix cancel
    singular = ((size[..., 0, 0] == 0) | ~np.isfinite(out).all((-2, -1))) & np.isfinite(x).all((-2, -1))
    if singular.any():  # |x| x⁻¹ = |u| |vᴴ| v diag(Π sⱼ over j ≠ i) uᴴ of x = u diag(s) vᴴ
        u, s, vh = np.linalg.svd(x[singular])
        others = np.where(np.eye(s.shape[-1], dtype=bool), 1, s[..., None, :]).prod(-1)
        others = (others * (np.linalg.det(u) * np.linalg.det(vh))[..., None])[..., None, :]
        out[singular] = (np.swapaxes(vh, -1, -2).conj() * others) @ np.swapaxes(u, -1, -2).conj()
    return out


@on_cpu
def _are_ill(x: Array) -> Array:
    """Whether each matrix is singular, or so nearly singular that half of the digits are lost."""
    condition = np.linalg.cond(x, 1) if x.size else np.ones(x.shape[:-2])
    return (condition > np.finfo(x.dtype).eps ** -0.5) | (np.linalg.det(x) == 0)


def _adjugate_grad(g: Array, x: Array) -> Array:
    """The gradient, computed from the inverse, or from n² minors, exact even if several singular values are 0."""
    if not holds(_are_ill(bare(x))):
        over = adjoint(inverse(x))
        trace = sum_over(g * transpose(over, -1, -2), (-2, -1), False)
        return one_matrix(conjugate(det(x))) * (one_matrix(trace) * over - matmul(over, matmul(g, over)))
    m, n, dtype = xp(bare(x)), x.shape[-1], bare(x).dtype
    row, others = m.arange(n)[:, None], m.arange(n - 1)[None]
    others = others + (others >= row)  # all rows except i
    index = (..., others[:, None, :, None], others[None, :, None, :])
    weights = transpose(g, -1, -2) * (1 - 2 * ((row + row.T) % 2)).astype(dtype)
    return put_back(one_matrix(weights) * adjoint(adjugate(getitem(x, index))), x.shape, index)


@op("dx = (g₁ − i Im(conj(g₀) y₀)) x⁻ᴴ", x=lambda g, x, out: one_matrix(_log_grad(g, out)) * adjoint(inverse(x)))
def slogdet(x: Array) -> tuple[Array, Array]:
    """The sign of |x| (for complex numbers, |x| / abs |x|) and the logarithm of its absolute value"""
    return on_host(lambda a: tuple(np.linalg.slogdet(a)), x)


def _log_grad(g: tuple[Array, Array], out: tuple[Array, Array]) -> Array:
    """The gradient of log |x|, whose imaginary part is the angle of the sign."""
    return g[1] if bare(g[0]).dtype.kind != "c" else as_pair(g[1], -imaginary_part(conj(g[0]) * out[0]))


# Decompositions --------------------------------------------------------------------------------------------


@op(
    "dx = y⁻ᴴ Φ(yᴴ g) y⁻¹, Φ half the lower triangle, repeated above the diagonal",
    x=lambda g, out: _cholesky_grad(g, out),
)
def cholesky(x: Array) -> Array:
    """L in L Lᴴ = x, for positive definite x"""
    return on_host(np.linalg.cholesky, x)


def _cholesky_grad(g: Array, out: Array) -> Array:
    """L⁻ᴴ Φ(Lᴴ g) L⁻¹ (Murray 2016)."""
    lower = tril(matmul(adjoint(out), g), 0)
    symmetric = (lower + adjoint(tril(lower, -1))) * 0.5
    divided: Any = lambda x: solve_triangular(adjoint(out), x, True, False)
    return adjoint(divided(adjoint(divided(symmetric))))


@op(
    "dx = U (diag(gS) + (skew(Uᴴ gU) S + S skew(Vᴴ gV)) / (Sⱼ² − Sᵢ²)) Vᴴ "
    "+ (1 − U Uᴴ) gU S⁻¹ Vᴴ + U S⁻¹ gVᴴ (1 − V Vᴴ)",
    x=lambda g, out, shape: _svd_grad(g, out, shape),
)
def svd(x: Array, full: bool) -> tuple[Array, Array, Array]:
    """(U, S, Vᴴ) of x = U diag(S) Vᴴ; if ``full``, U and V are square, but their extra columns have no gradient"""
    return on_host(lambda a: tuple(np.linalg.svd(a, full)), x)


def _svd_grad(g: Any, out: Any, shape: tuple[int, ...]) -> Array:
    """The gradient (Townsend 2016). In complex matrices, as in PyTorch, the phases of U and V change together."""
    rows, columns = shape[-2:]
    k = min(rows, columns)
    (gu, gs, gvh), (u, s, vh) = g, out
    u, vh, gu, gvh = u[..., :k], vh[..., :k, :], gu[..., :k], gvh[..., :k, :]
    across, down = unsqueeze(s, -2), unsqueeze(s, -1)
    left, right = _skew(matmul(adjoint(u), gu)), _skew(matmul(vh, adjoint(gvh)))
    gaps = (across - down) * (across + down)
    inner = _over(_off_diagonal(left * across + down * right), gaps) + _diag(gs)
    if bare(u).dtype.kind == "c":
        inner = inner + _diag(_over(diagonal(left, 0, -2, -1), 2 * s))
    grad = matmul(matmul(u, inner), vh)
    if rows > k:
        scaled = _over(gu, across)
        grad = grad + matmul(scaled - matmul(u, matmul(adjoint(u), scaled)), vh)
    if columns > k:
        scaled = _over(gvh, down)
        grad = grad + matmul(u, scaled - matmul(matmul(scaled, adjoint(vh)), vh))
    return grad


def _skew(x: Array) -> Array:
    return x - adjoint(x)


@op("dx = V (diag(gλ) + skew(Vᴴ gV) / 2 (λⱼ − λᵢ)) Vᴴ", x=lambda g, out: _eigh_grad(g, out))
def eigh(x: Array, triangle: Literal["L", "U"]) -> tuple[Array, Array]:
    """(λ, V) of x = V diag(λ) Vᴴ, for symmetric x, read from one triangle, "L" or "U"; λ is in ascending order"""
    return on_host(lambda a: tuple(np.linalg.eigh(a, triangle)), x)


def _eigh_grad(g: Any, out: Any) -> Array:
    (gvalues, gvectors), (values, vectors) = g, out
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    turned = _skew(matmul(adjoint(vectors), gvectors)) * 0.5
    inner = _over(_off_diagonal(turned), gaps) + _diag(gvalues)
    return matmul(matmul(vectors, inner), adjoint(vectors))


@op("dx = V⁻ᴴ (diag(gλ) + (Vᴴ gV − Vᴴ V diag(Re(Vᴴ gV))) / conj(λⱼ − λᵢ)) Vᴴ", x=lambda g, x, out: _eig_grad(g, x, out))
def eig(x: Array) -> tuple[Array, Array]:
    """(λ, V) of x V = V diag(λ), complex; the columns of V have length 1"""
    return on_host(lambda a: tuple(r.astype(np.result_type(a, np.complex64)) for r in np.linalg.eig(a)), x)


def _eig_grad(g: Any, x: Array, out: Any) -> Array:
    (gvalues, gvectors), (values, vectors) = g, out
    vh = adjoint(vectors)
    turned = matmul(vh, gvectors)
    sizes = real_part(diagonal(turned, 0, -2, -1))
    turned = turned - matmul(vh, vectors) * unsqueeze(sizes, -2)
    gaps = conj(unsqueeze(values, -2) - unsqueeze(values, -1))
    inner = _over(_off_diagonal(turned), gaps) + _diag(gvalues)
    grad = solve(vh, matmul(inner, vh))
    return grad if bare(x).dtype.kind == "c" else real_part(grad)


@op(
    "dx = (gQ + Q sym(triu(gR Rᴴ − Qᴴ gQ))) R⁻ᴴ, for wide x in the left square part, Q gR for the rest",
    x=lambda g, x, out, mode: _qr_grad(g, x, out, mode),
)
def qr(x: Array, mode: Any) -> tuple[Array, Array]:
    """(Q, R) of x = Q R, with upper triangular R; ``mode`` is "reduced", or "complete" for a square Q"""
    return on_host(lambda a: tuple(np.linalg.qr(a, mode)), x)


def _qr_grad(g: Any, x: Array, out: Any, mode: str) -> Array:
    """The gradient (Walter and Lehmann 2010). For wide x, the right part is Qᴴ x₂, so its gradient reaches Q too."""
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        raise RuntimeError("linalg.qr is not differentiable when mode='complete' and nrows > ncols; use mode='reduced'")
    (gq, gr), (q, r) = g, out
    if rows < columns:
        gq = gq + matmul(x[..., rows:], adjoint(gr[..., rows:]))
    square, gsquare = r[..., :rows], gr[..., :rows]
    upper = triu(matmul(gsquare, adjoint(square)) - matmul(adjoint(q), gq), 0)
    twice = _and_adjoint(upper)
    symmetric = twice - _diag(diagonal(twice, 0, -2, -1) * 0.5)
    gradient = adjoint(solve_triangular(square, adjoint(gq + matmul(q, symmetric)), True, False))
    return concatenate(-1, gradient, matmul(q, gr[..., rows:])) if rows < columns else gradient


@op(
    "dx = P L⁻ᴴ (tril(Lᴴ gL − gU₂ U₂ᴴ, −1) + triu(gU Uᴴ − L₂ᴴ gL₂)) U⁻ᴴ, to its right P L⁻ᴴ gU₂, below P gL₂ U⁻ᴴ",
    x=lambda g, out: _lu_grad(g, out),
)
@on_cpu
def lu_factor(x: Array) -> tuple[Array, Array, Array]:
    """(L and U in one matrix, pivots, info) of x = P L U; pivots count from 1, as in LAPACK; info: U's first zero"""
    out = x.copy()  # Gaussian elimination with partial pivoting, column by column
    rows, columns = x.shape[-2:]
    k = min(rows, columns)
    pivots = np.empty((*x.shape[:-2], k), np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    for j in range(k):
        best = pivot_size(out[..., j:, j]).argmax(-1) + j
        pivots[..., j] = best + 1
        best_row = best[..., None, None]
        row = np.take_along_axis(out, best_row, -2)
        np.put_along_axis(out, best_row, out[..., j : j + 1, :].copy(), -2)
        out[..., j : j + 1, :] = row
        pivot = out[..., j, j]
        info[(pivot == 0) & (info == 0)] = j + 1
        out[..., j + 1 :, j] /= np.where(pivot == 0, 1, pivot)[..., None]
        out[..., j + 1 :, j + 1 :] -= out[..., j + 1 :, j, None] * out[..., None, j, j + 1 :]
    return out, pivots, info


def pivot_size(x: Array) -> Array:
    """The size that LAPACK compares: |a| + |b| for complex a + bi."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _lu_grad(g: Any, out: Any) -> Array:
    packed, gpacked = out[0], g[0]
    k = min(packed.shape[-2:])
    square, gsquare = packed[..., :k, :k], gpacked[..., :k, :k]
    below, gbelow = packed[..., k:, :k], gpacked[..., k:, :k]
    beside, gbeside = packed[..., :k, k:], gpacked[..., :k, k:]
    units = tril(square, -1) + xp(bare(square)).eye(k, dtype=bare(square).dtype)
    lower = tril(matmul(adjoint(units), tril(gsquare, -1)) - matmul(gbeside, adjoint(beside)), -1)
    upper = triu(matmul(triu(gsquare, 0), adjoint(triu(square, 0))) - matmul(adjoint(below), gbelow), 0)
    over: Any = lambda x: adjoint(solve_triangular(square, adjoint(x), True, False))
    under: Any = lambda x: solve_triangular(adjoint(square), x, True, True)
    gradient = concatenate(-2, under(over(lower + upper)), over(gbelow))
    gradient = gradient if not beside.shape[-1] else concatenate(-1, gradient, under(gbeside))
    return matmul(permutation(bare(out[1]), packed.shape[-2], bare(packed).dtype), gradient)


@on_cpu
def permutation(pivots: Array, rows: int, dtype: Any) -> Array:
    """P in x = P L U, for LAPACK's pivots: for each j in order, row j was swapped with row ``pivots[j] - 1``."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for j in range(pivots.shape[-1]):
        other = pivots[..., j, None].astype(np.int64) - 1
        moved = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., j : j + 1].copy(), -1)
        order[..., j : j + 1] = moved
    return (order[..., None, :] == np.arange(rows)[:, None]).astype(dtype)


# The exponential function ----------------------------------------------------------------------------------


_PADE = [math.comb(13, j) * math.factorial(26 - j) // math.factorial(13) for j in range(14)]
_REACH = 5.37  # the largest 1-norm for which this approximation is exact in float64


@op("dx = the upper right block of exp of [[xᴴ, g], [0, xᴴ]] (Mathias 1996)", x=lambda g, x: _exp_grad(g, adjoint(x)))
@on_cpu
def matrix_exp(x: Array) -> Array:
    """eˣ of square matrices: Σ xⁿ / n!"""
    # The Padé approximation of exp(2⁻ˢ x), squared s times (Higham 2005); at least in float64
    x = x.astype(np.result_type(x, np.float64))
    size = np.abs(x).sum(-2).max(-1, initial=0)
    with np.errstate(all="ignore"):
        steps = np.where(np.isfinite(size), np.ceil(np.log2(np.maximum(size / _REACH, 1))), 0).astype(int)
        x = x / np.exp2(steps)[..., None, None]
        one, square = np.eye(x.shape[-1]), x @ x
        powers = [one, square, square @ square]
        powers.append(powers[2] @ square)
        odd = powers[3] @ sum(_PADE[2 * i + 7] * powers[i] for i in range(1, 4))
        odd = x @ (odd + sum(_PADE[2 * i + 1] * powers[i] for i in range(4)))
        even = powers[3] @ sum(_PADE[2 * i + 6] * powers[i] for i in range(1, 4))
        even = even + sum(_PADE[2 * i] * powers[i] for i in range(4))
        out = np.linalg.solve(even - odd, even + odd)
        for step in range(int(steps.max(initial=0))):
            out = np.where((steps > step)[..., None, None], out @ out, out)
    return out


def _exp_grad(g: Array, xh: Array) -> Array:
    n = g.shape[-1]
    blocks = concatenate(-2, concatenate(-1, xh, g), concatenate(-1, g * 0, xh))
    return matrix_exp(blocks)[..., :n, n:]


_EQUATIONS = (det, slogdet, adjugate, inverse, solve, solve_triangular, cholesky_solve, pinv, matrix_exp)
_FACTORS = (cholesky, svd, eigh, eig, qr, lu_factor)
IN_PLACE_OF.update({each: each for each in _EQUATIONS + _FACTORS})
