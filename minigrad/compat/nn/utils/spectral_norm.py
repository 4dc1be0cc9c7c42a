"""Spectral normalisation by a hook: a weight divided by its largest singular value before each forward."""

from __future__ import annotations

from typing import TypeVar

from ....autograd import no_grad
from ....autograd.tracebacks import border_functions
from ....nn.functional.normalization import normalize
from ....nn.module import Module
from ....nn.parameter import Parameter
from ....tensor import Tensor
from .weight_norm import WeightHook

M = TypeVar("M", bound=Module)


@no_grad()
def new_vectors(weight: Tensor, dim: int, eps: float) -> tuple[Tensor, Tensor]:
    """Random vectors of length 1: u for the axis ``dim`` of a weight, and v for all others."""
    matrix = weight.movedim(dim, 0).flatten(1)
    u, v = (normalize(matrix.new_zeros(length).normal_(0, 1), dim=0, eps=eps) for length in matrix.shape)
    return u, v


def normed(weight: Tensor, dim: int, u: Tensor, v: Tensor, times: int, eps: float, u_first: bool) -> Tensor:
    """The weight W over uᵀ W v (Miyato et al. 2018), W as a matrix (length of axis ``dim``, all others), after
    ``times`` steps that bring u and v, in place, nearer to the first singular vectors (power iteration)."""
    matrix = weight.movedim(dim, 0).flatten(1)
    steps = [(u, matrix, v), (v, matrix.t(), u)]
    with no_grad():
        for target, map, source in (steps if u_first else steps[::-1]) * times:
            target.copy_(normalize(map.mv(source), dim=0, eps=eps))
    return weight / u.clone().dot(matrix.mv(v.clone()))  # u and v may change afterwards


def default_dim(module: Module) -> int:
    """The axis of the outputs in a module's weight."""
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0


def check_iterations(n_power_iterations: int) -> None:
    """Raises ValueError if there are none."""
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")


class SpectralNorm(WeightHook):
    """The hook: it computes the weight from ``name_orig`` and the vectors ``name_u`` and ``name_v``."""

    kind, suffixes = "spectral_norm", ("_orig", "_u", "_v")

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        check_iterations(n_power_iterations)
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def compute_weight(self, module: Module, training: bool = False) -> Tensor:
        """The current weight; in training, after a better estimate of the singular vectors."""
        weight, u, v = self._parts(module)
        return normed(weight, self.dim, u, v, self.n_power_iterations if training else 0, self.eps, u_first=False)

    def split(self, module: Module, weight: Parameter) -> None:
        u, v = new_vectors(weight, self.dim, self.eps)
        module.register_parameter(f"{self.name}_orig", weight)
        setattr(module, self.name, weight.data)
        module.register_buffer(f"{self.name}_u", u)
        module.register_buffer(f"{self.name}_v", v)


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value, estimated anew at each forward in training.

    Args:
        module: whose parameter. name: of the parameter.
        n_power_iterations: steps of the estimate. eps: the least norm to divide by.
        dim: the axis of the outputs; None for the usual one.

    Raises:
        RuntimeError: the parameter has been replaced before.
    """
    SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps).attach(module)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the normalised weight an ordinary parameter. Raises ValueError if it is not normalised."""
    SpectralNorm.detach(module, name)
    return module


border_functions(globals())
