"""Weight normalisation, spectral normalisation and orthogonal matrices as parametrizations (see ``parametrize``)."""

from __future__ import annotations

from typing import Any, TypeVar

from ....autograd import no_grad
from ....autograd.tracebacks import border_functions
from ....backend.dtype import finfo
from ....functions.arguments import axis
from ....functions.names import allclose, cat, eye, randn, zeros_like
from ....nn.functional.normalization import normalize
from ....nn.module import Module
from ....tensor import Tensor
from ...functions.products import geqrf
from ...linalg import householder_product, matrix_exp, solve
from .parametrize import register_parametrization
from .weight_norm import checked_dim, new_vectors, norm_except_dim, normed, weighted

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weighted(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Compute a parameter as g v / ‖v‖ (Salimans and Kingma 2016). g is ``parametrizations.name.original0``, and v is
    ``original1``. Args: see ``nn.utils.weight_norm``."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Accept state dicts from ``nn.utils.weight_norm`` as well."""
        for i, letter in enumerate("gv"):
            old = f"{prefix}{name}_{letter}"
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(renamed)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.dim, self.eps, self.n_power_iterations = axis(dim, weight.ndim), eps, n_power_iterations
        if weight.ndim > 1:
            u, v = new_vectors(weight, self.dim, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            normed(weight.detach(), self.dim, u, v, 15, eps, u_first=True)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        times = self.n_power_iterations if self.training else 0
        return normed(weight, self.dim, self._u, self._v, times, self.eps, u_first=True)


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value (Miyato et al. 2018), which is re-estimated in each training
    step. Args: see ``nn.utils.spectral_norm``."""
    dim = checked_dim(module, dim, n_power_iterations)
    parametrization = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)


MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Maps unconstrained numbers (..., n, k) to a matrix with orthonormal columns (rows if it is wide), so that an
    optimiser keeps it orthogonal (Lezcano-Casado 2019). ``base`` is a matrix by which the result is multiplied."""

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
        n, k = high.shape[-2:]
        if self.orthogonal_map == "householder":  # reflections along the columns below the diagonal, which holds signs
            below = high.tril(-1)
            scale = 2.0 / (1.0 + (below * below).sum(dim=-2))
            Q = householder_product(below, scale) * high.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:  # exp(A), or (I - A/2)⁻¹ (I + A/2), for the skew-symmetric matrix A with X in its lower triangle
            lower = cat([high.tril(), high.new_zeros((*high.shape[:-2], n, n - k))], dim=-1)
            A, one = lower - lower.mH, eye(n, dtype=X.dtype, device=X.device)
            Q = matrix_exp(A) if self.orthogonal_map == "matrix_exp" else solve(one - A / 2, one + A / 2)
            Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The unconstrained numbers for a matrix. If there is a ``base``, set it to the matrix, and return -I."""
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
        n, k = high.shape[-2:]
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
    """The orthogonal factor Q in A = Q R, where R has a positive diagonal."""
    X, scale = geqrf(A)
    return householder_product(X, scale) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Constrain a parameter to be an orthogonal matrix, or a batch of orthogonal matrices.

    Args:
        orthogonal_map: "matrix_exp" (default for square matrices), "cayley", or "householder" (default for others).
        use_trivialization: multiply by a fixed matrix so that any orthogonal matrix can be assigned.

    Raises ValueError if the parameter is missing or not a matrix, or the map is unknown.
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


border_functions(globals())
