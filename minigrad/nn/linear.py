"""Linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from . import functional as F
from . import init
from .layer import Layer, UniformLayer
from .parameter import Parameter

__all__ = ["Bilinear", "Linear"]


class Linear(UniformLayer):
    """x Wᵀ + b: (..., in_features) -> (..., out_features). ``bias``: whether there is a b.

    Attributes:
        weight: (out_features, in_features), initially uniform in ±1/√in_features.
        bias: (out_features), likewise, or None.

    >>> nn.Linear(3, 2)(mg.zeros(5, 3)).shape
    minigrad.Size([5, 2])
    """

    _shown = ("in_features", "out_features", "bias")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias_shape = (out_features,) if bias else None
        self._add_parameters(device, dtype, weight=(out_features, in_features), bias=bias_shape)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, by the name it has inside PyTorch's MultiheadAttention."""


class Bilinear(Layer):
    """x₁ᵀ Wₖ x₂ + bₖ: (..., in1_features), (..., in2_features) -> (..., out_features). Its weight is (out_features,
    in1_features, in2_features), its bias (out_features), or None. Both are initially uniform in ±1/√in1_features."""

    _shown = ("in1_features", "in2_features", "out_features", "bias")
    weight: Parameter

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shapes = {"weight": (out_features, in1_features, in2_features), "bias": (out_features,) if bias else None}
        self._add_parameters(device, dtype, **shapes)

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)
