"""Weight normalisation and spectral normalisation as parametrizations (see ``parametrize``)."""

from __future__ import annotations

from typing import Any, TypeVar

from ....autograd.tracebacks import border_functions
from ....nn.functional.normalization import normalize
from ....nn.module import Module
from ....tensor import Tensor
from .parametrize import register_parametrization
from .weight_norm import check_iterations, default_dim, new_vectors, norm_except_dim, normed, weighted

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weighted(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norms and the direction of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Compute a parameter as g v / ‖v‖ (Salimans and Kingma 2016): g is ``parametrizations.name.original0``, v
    ``original1``. Arguments as of ``nn.utils.weight_norm``."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Accept the state dicts of ``nn.utils.weight_norm``, too."""
        for i, letter in enumerate("gv"):
            old = f"{prefix}{name}_{letter}"
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(renamed)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}] but got {dim})")
        check_iterations(n_power_iterations)
        self.dim, self.eps, self.n_power_iterations = dim % ndim, eps, n_power_iterations
        if ndim > 1:
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
    """Divide a parameter by its largest singular value (Miyato et al. 2018), estimated anew in training.
    Arguments as of ``nn.utils.spectral_norm``."""
    dim = default_dim(module) if dim is None else dim
    parametrization = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)


border_functions(globals())
