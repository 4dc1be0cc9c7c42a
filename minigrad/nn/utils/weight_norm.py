"""Weight normalisation by a hook: a weight computed from its length and direction before each forward."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from ...functions.reduction import norm
from ...tensor import Tensor
from ..module import Module
from ..parameter import Parameter

M = TypeVar("M", bound=Module)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm over all axes but one, whose length stays (the others become 1); over all if ``dim`` is -1."""
    if dim == -1:
        return norm(v, pow)
    return norm(v, pow, dim=tuple(i for i in range(v.ndim) if i != dim), keepdim=True)


def weighted(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / ‖v‖ (Salimans and Kingma 2016), a norm for each index of an axis, or one if ``dim`` is -1."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook: it puts the weight together from ``name_g`` and ``name_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight of the moment."""
        g, v = (getattr(module, f"{self.name}_{letter}") for letter in "gv")
        return weighted(v, g, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _found(module: Module, name: str) -> int | None:
    """The number of the hook for a weight, if it has one."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook.function, WeightNorm) and hook.function.name == name:
            return key
    return None


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by two: ``name_g``, its norms, and ``name_v``, its direction.

    Args:
        module: whose parameter. name: of the parameter.
        dim: the axis whose indices have a norm each; None for one norm in all.

    Raises:
        RuntimeError: it has been done before.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if _found(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = module._parameters.pop(name)
    if weight is None:
        raise ValueError(f"{module._get_name()} has no parameter {name!r} that has been made")
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), 2, hook.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make one parameter of the two again.

    Raises:
        ValueError: there are no two.
    """
    key = _found(module, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    weight = module._forward_pre_hooks.pop(key).function.compute_weight(module)  # type: ignore[attr-defined]
    for own in (name, f"{name}_g", f"{name}_v"):
        delattr(module, own)
    setattr(module, name, Parameter(weight.detach()))
    return module
