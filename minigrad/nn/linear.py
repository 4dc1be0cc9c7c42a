"""Linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Bilinear", "Linear"]


class Linear(Module):
    """x Wᵀ + b: (..., in_features) -> (..., out_features).

    Args:
        in_features, out_features: lengths of the input's and output's last axis.
        bias: whether there is a b.
        device, dtype: of the parameters.

    Attributes:
        weight: (out_features, in_features), initially uniform in ±1/√in_features.
        bias: (out_features), likewise, or None.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, by the name it has inside PyTorch's MultiheadAttention."""


class Bilinear(Module):
    """x₁ᵀ Wₖ x₂ + bₖ: (..., in1_features), (..., in2_features) -> (..., out_features).

    Attributes:
        weight: (out_features, in1_features, in2_features), initially uniform in ±1/√in1_features.
        bias: (out_features), likewise, or None.
    """

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
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        names = ("in1_features", "in2_features", "out_features")
        return ", ".join([f"{name}={getattr(self, name)}" for name in names] + [f"bias={self.bias is not None}"])
