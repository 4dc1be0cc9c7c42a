"""Weights that are orthogonal matrices, under the name of ``torch.nn.utils.parametrizations.orthogonal``.

A matrix of free numbers is mapped to one with orthonormal columns (rows, if it is wider than high), so that an
optimiser never leaves these (Lezcano-Casado 2019, "Trivializations for Gradient-Based Optimization on Manifolds").
"""

from __future__ import annotations

from typing import Any, TypeVar

from ....autograd import no_grad
from ....backend.dtype import finfo
from ....functions.names import allclose, cat, eye, randn, zeros_like
from ....nn.module import Module
from ....tensor import Tensor
from ...functions.factors import geqrf
from ...linalg import householder_product, matrix_exp, solve
from .parametrize import register_parametrization

M = TypeVar("M", bound=Module)
MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Free numbers (..., n, k) -> an orthogonal matrix. ``base``: a matrix that the map's is multiplied to, or none."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        high = X.mT if is_wide else X
        Q = self._by_reflections(high) if self.orthogonal_map == "householder" else self._by_skew(high)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _by_skew(self, X: Tensor) -> Tensor:
        """exp(A), or (I - A/2)⁻¹ (I + A/2), of the skew-symmetric matrix A with X in its lower triangle."""
        n, k = X.size(-2), X.size(-1)
        lower = X.tril()
        if n != k:
            lower = cat([lower, lower.new_zeros((*X.shape[:-2], n, n - k))], dim=-1)
        A = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            return matrix_exp(A)[..., :k]
        one = eye(n, dtype=A.dtype, device=A.device)
        return solve(one - A / 2, one + A / 2)[..., :k]

    def _by_reflections(self, X: Tensor) -> Tensor:
        """The product of reflections along X's columns below the diagonal, on which the columns' signs are."""
        below = X.tril(-1)
        scale = 2.0 / (1.0 + (below * below).sum(dim=-2))
        return householder_product(below, scale) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The free numbers for a matrix; with a ``base`` that is the matrix, and the numbers are minus the identity."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got {Q.shape}.")
        is_wide = Q.size(-2) < Q.size(-1)
        high = Q.mT if is_wide else Q
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            A, scale = geqrf(high)
            A = A.clone()
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal.mul_(1 - 2 * (scale == 0).to(A.dtype))
            return A.mT if is_wide else A
        n, k = high.size(-2), high.size(-1)
        if n != k:
            others = randn((*high.shape[:-2], n, n - k), dtype=Q.dtype, device=Q.device)
            high = _nearest(cat([high, others], dim=-1))
        else:
            one = eye(k, dtype=Q.dtype, device=Q.device).expand((*Q.shape[:-2], k, k))
            is_orthogonal = bool(allclose(high.mH @ high, one, atol=10.0 * n * finfo(Q.dtype).eps))
            high = high.clone() if is_orthogonal else _nearest(high)
        self.base = high
        free = zeros_like(Q)
        free.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return free


def _nearest(A: Tensor) -> Tensor:
    """The orthogonal factor of A = QR, R with a positive diagonal."""
    X, scale = geqrf(A)
    return householder_product(X, scale) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Let a parameter be an orthogonal matrix, or a batch of them, from now on.

    Args:
        orthogonal_map: "matrix_exp" (of square matrices by default), "cayley", or "householder" (of others).
        use_trivialization: multiply to a fixed matrix, so that any orthogonal matrix can be assigned.

    Raises ValueError: there is no such parameter, it is no matrix, or the map is unknown.
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    usual = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    orthogonal_map = usual if orthogonal_map is None else orthogonal_map
    if orthogonal_map not in MAPS:
        raise ValueError(f"orthogonal_map has to be one of {MAPS}. Got: {orthogonal_map}")
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
