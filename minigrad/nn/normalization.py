"""Layers that normalise over the last axes, or over groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .layer import FunctionLayer
from .module import Module
from .parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class Affine(Module):
    """A norm with a weight, initially 1, and a bias, initially 0; either may be None."""

    def _add_affine(self, shape: int | Sequence[int], device: Any, dtype: Any, **wanted: bool) -> None:
        for name, is_wanted in wanted.items():
            new = Parameter(empty(shape, device=device, dtype=dtype)) if is_wanted else None
            self.register_parameter(name, new)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


class LayerNorm(Affine):
    """(x - mean) / √(variance + eps) · weight + bias over the last axes (Ba et al. 2016).

    Args:
        normalized_shape: the length of the last axis, or the lengths of several last axes.
        eps: added to the variance.
        elementwise_affine: whether there is a weight. bias: whether there is a bias, too.
        device, dtype: of the parameters.

    Attributes:
        weight: ``normalized_shape``, initially 1, or None. bias: the same shape, initially 0, or None.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        has_bias = elementwise_affine and bias
        self._add_affine(self.normalized_shape, device, dtype, weight=elementwise_affine, bias=has_bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Affine):
    """x / √(mean of x² + eps) · weight over the last axes (Zhang and Sennrich 2019).

    Args: as of ``LayerNorm``; ``eps`` None stands for the dtype's machine epsilon.

    Attributes:
        weight: ``normalized_shape``, initially 1, or None.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_affine(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Affine):
    """(x - mean) / √(variance + eps) · weight + bias over each group of channels (Wu and He 2018).

    (N, C, ...) -> the same. Args and attributes: as of ``LayerNorm``, but weight and bias: (C).
        num_groups: the number of groups. num_channels: C. affine: whether there is a weight.

    Raises:
        ValueError: ``num_groups`` does not divide C.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine(num_channels, device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


class LocalResponseNorm(FunctionLayer, function=F.local_response_norm):
    """x / (k + alpha · mean of x² over ``size`` neighbouring channels)ᵝ (Krizhevsky et al. 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
