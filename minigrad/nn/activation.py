"""Activations and dropout as layers."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F, init as fillers
from .functional._checks import probability
from .layer import FunctionLayer, Layer
from .module import Module
from .parameter import Parameter

__all__ = ["AlphaDropout", "CELU", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "FeatureAlphaDropout"]
__all__ += ["GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid"]
__all__ += ["LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "Sigmoid", "SiLU", "Softmax", "Softmax2d"]
__all__ += ["Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"]


class _InPlace(FunctionLayer, fields=True):
    inplace: bool = False


class _AlongAxis(FunctionLayer, fields=True):
    dim: int | None = None


class ReLU(_InPlace, function=F.relu): ...


class SiLU(_InPlace, function=F.silu): ...


class GELU(FunctionLayer, function=F.gelu):
    approximate: str = "none"


class Mish(_InPlace, function=F.mish): ...


class SELU(_InPlace, function=F.selu): ...


class Hardsigmoid(_InPlace, function=F.hardsigmoid, repr_fields=()): ...


class Hardswish(_InPlace, function=F.hardswish, repr_fields=()): ...


class Hardtanh(FunctionLayer, function=F.hardtanh):
    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def __post_init__(self) -> None:
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh, repr_fields=("inplace",)):
    """x clamped to [0, 6] (Krizhevsky 2010)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Threshold(FunctionLayer, function=F.threshold):
    threshold: float
    value: float
    inplace: bool = False


class _Shrink(FunctionLayer, fields=True):
    lambd: float = 0.5
    _unnamed = 1


class Hardshrink(_Shrink, function=F.hardshrink): ...


class Softshrink(_Shrink, function=F.softshrink): ...


class Tanhshrink(FunctionLayer, function=F.tanhshrink): ...


class Softsign(FunctionLayer, function=F.softsign): ...


class PReLU(Layer):
    """x for x > 0, else weight · x (He et al. 2015). ``num_parameters``: 1 for a single slope, or C for one slope per
    channel of an input (N, C, ...). ``init``: the initial value of ``weight``, which has shape (num_parameters)."""

    _repr_fields = ("num_parameters",)
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self._add_parameters(device, dtype, weight=(num_parameters,))

    def reset_parameters(self) -> None:
        fillers.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class RReLU(FunctionLayer, function=F.rrelu):
    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


class Tanh(FunctionLayer, function=F.tanh): ...


class Sigmoid(FunctionLayer, function=F.sigmoid): ...


class LogSigmoid(FunctionLayer, function=F.logsigmoid): ...


class Softplus(FunctionLayer, function=F.softplus):
    beta: float = 1.0
    threshold: float = 20.0


class ELU(FunctionLayer, function=F.elu):
    alpha: float = 1.0
    inplace: bool = False


class CELU(FunctionLayer, function=F.celu):
    alpha: float = 1.0
    inplace: bool = False


class LeakyReLU(FunctionLayer, function=F.leaky_relu):
    negative_slope: float = 0.01
    inplace: bool = False


class GLU(FunctionLayer, function=F.glu):
    dim: int = -1


class Softmax(_AlongAxis, function=F.softmax): ...


class LogSoftmax(_AlongAxis, function=F.log_softmax): ...


class Softmin(_AlongAxis, function=F.softmin): ...


class Softmax2d(Module):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W). Raises ValueError for other shapes."""

    def forward(self, input: Tensor) -> Tensor:
        if input.array.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.array.ndim}D instead")
        return F.softmax(input, -3)


class _DropoutNd(FunctionLayer, fields=True):
    p: float = 0.5
    inplace: bool = False
    _usual = {}

    def __post_init__(self) -> None:
        probability("dropout", self.p)


class Dropout(_DropoutNd, function=F.dropout):
    """In training, zero each element with probability ``p`` and scale the others by 1 / (1 - p) (Srivastava et al.
    2014). Raises ValueError if ``p`` is outside [0, 1].

    >>> _ = mg.manual_seed(0)
    >>> sorted(set(nn.Dropout(0.5)(mg.ones(100)).tolist()))
    [0.0, 2.0]
    """


class Dropout1d(_DropoutNd, function=F.dropout1d): ...


class Dropout2d(_DropoutNd, function=F.dropout2d): ...


class Dropout3d(_DropoutNd, function=F.dropout3d): ...


class AlphaDropout(_DropoutNd):
    """Dropout that preserves the zero mean and unit variance of SELU activations (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` that drops whole channels of an input (N, C, ...)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
