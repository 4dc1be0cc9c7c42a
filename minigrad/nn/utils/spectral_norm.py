"""Spectral normalisation by a hook: a weight divided by its largest singular value before each forward."""

from __future__ import annotations

from typing import Any, TypeVar

from ...autograd import no_grad
from ...tensor import Tensor
from ..functional.normalization import normalize
from ..module import Module
from ..parameter import Parameter

M = TypeVar("M", bound=Module)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as (length of axis ``dim``, all others)."""
    return weight.movedim(dim, 0).flatten(1)


@no_grad()
def new_vectors(matrix: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Random vectors u (rows) and v (columns) of length 1."""
    drawn = (matrix.new_zeros(length).normal_(0, 1) for length in matrix.shape)
    u, v = (normalize(d, dim=0, eps=eps) for d in drawn)
    return u, v


@no_grad()
def iterate(matrix: Tensor, u: Tensor, v: Tensor, times: int, eps: float, u_first: bool) -> None:
    """Bring u and v, in place, nearer to the first singular vectors (the power method)."""
    steps = [(u, matrix, v), (v, matrix.t(), u)]
    for target, map, source in (steps if u_first else steps[::-1]) * times:
        target.copy_(normalize(map.mv(source), dim=0, eps=eps))


def normed(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The weight over uᵀ W v (Miyato et al. 2018); u and v may change afterwards."""
    return weight / u.clone().dot(matrix.mv(v.clone()))


def default_dim(module: Module) -> int:
    """The axis of the outputs in a module's weight."""
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0


class SpectralNorm:
    """The hook: it computes the weight from ``name_orig`` and the vectors ``name_u`` and ``name_v``."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight of the moment."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            iterate(matrix, u, v, self.n_power_iterations, self.eps, u_first=False)
        return normed(weight, matrix, u, v)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def _found(module: Module, name: str) -> int | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook.function, SpectralNorm) and hook.function.name == name:
            return key
    return None


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value, estimated anew at each forward in training.

    Args:
        module: whose parameter. name: of the parameter.
        n_power_iterations: steps of the estimate. eps: added to no norm of 0.
        dim: the axis of the outputs; None for the usual one.

    Raises:
        RuntimeError: it has been done before.
    """
    if _found(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    weight = module._parameters.pop(name)
    if weight is None:
        raise ValueError(f"{module._get_name()} has no parameter {name!r} that has been made")
    u, v = new_vectors(as_matrix(weight, hook.dim), eps)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the normalised weight an ordinary parameter.

    Raises:
        ValueError: it is not normalised.
    """
    key = _found(module, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks.pop(key).function
    weight = hook.compute_weight(module, False).detach()
    for own in (name, f"{name}_orig", f"{name}_u", f"{name}_v"):
        delattr(module, own)
    module.register_parameter(name, Parameter(weight))
    return module
