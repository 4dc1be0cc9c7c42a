"""Weight normalisation by a hook: a weight computed from its norm and direction before each forward."""

from __future__ import annotations

import warnings
from typing import TypeVar

from ...functions.reduction import norm
from ...tensor import Tensor
from ..module import Module
from ..parameter import Parameter
from .weight_hook import WeightHook

M = TypeVar("M", bound=Module)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm over all axes but ``dim`` (the others get length 1), or over all if ``dim`` is -1."""
    if dim == -1:
        return norm(v, pow)
    return norm(v, pow, dim=tuple(i for i in range(v.ndim) if i != dim), keepdim=True)


def weighted(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / ‖v‖ (Salimans and Kingma 2016), with a norm for each index of an axis, or one if ``dim`` is -1."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm(WeightHook):
    """The hook: it computes the weight from ``name_g`` and ``name_v``."""

    kind, suffixes = "weight_norm", ("_g", "_v")

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module, training: bool = False) -> Tensor:
        """The current weight."""
        g, v = self._parts(module)
        return weighted(v, g, self.dim)

    def split(self, module: Module, weight: Parameter) -> None:
        """Register the norms and the direction."""
        module.register_parameter(f"{self.name}_g", Parameter(norm_except_dim(weight.detach(), 2, self.dim)))
        module.register_parameter(f"{self.name}_v", Parameter(weight.detach()))
        self(module, ())


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by two: ``name_g``, its norms, and ``name_v``, its direction.

    Args:
        module: whose parameter. name: of the parameter.
        dim: the axis whose indices have a norm each; None for a single norm.

    Raises:
        RuntimeError: the parameter has been replaced before.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm(name, dim).attach(module)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make one parameter of the two again. Raises ValueError if there are no two."""
    WeightNorm.detach(module, name)
    return module
