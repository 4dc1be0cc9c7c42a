"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LayerNorm(Module):
    """(x - mean) / √(variance + eps) · weight + bias over the last axes (Ba et al. 2016).

    Args:
        normalized_shape: the length of the last axis, or the lengths of several last ones.
        eps: under the root.
        elementwise_affine: whether there is a weight. bias: whether a weight has a bias with it.
        device, dtype: of the parameters.

    Attributes:
        weight: ``normalized_shape``, at first 1, or None. bias: likewise, at first 0.
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

        def new(wanted: bool) -> Parameter | None:
            return Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if wanted else None

        self.register_parameter("weight", new(elementwise_affine))
        self.register_parameter("bias", new(elementwise_affine and bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Module):
    """x / √(mean of x² + eps) · weight over the last axes (Zhang and Sennrich 2019).

    Args:
        normalized_shape: the length of the last axis, or the lengths of several last ones.
        eps: under the root; None takes the dtype's machine epsilon.
        elementwise_affine: whether there is a weight.
        device, dtype: of the weight.

    Attributes:
        weight: ``normalized_shape``, at first 1, or None.
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
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """(x - mean) / √(variance + eps) · weight + bias over each group of channels (Wu and He 2018).

    (N, C, ...) -> the same.

    Args:
        num_groups: into how many the channels are cut. num_channels: C.
        eps: under the root.
        affine: whether there is a weight. bias: whether a weight has a bias with it.
        device, dtype: of the parameters.

    Attributes:
        weight, bias: (C), at first 1 and 0, or None.

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

        def new(wanted: bool) -> Parameter | None:
            return Parameter(empty(num_channels, device=device, dtype=dtype)) if wanted else None

        self.register_parameter("weight", new(affine))
        self.register_parameter("bias", new(affine and bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """x / (k + alpha · mean of x² over ``size`` neighbouring channels)ᵝ (Krizhevsky et al. 2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
