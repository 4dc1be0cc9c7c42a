"""Activations as layers."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..functions.creation import full
from ..tensor import Tensor
from . import functional as F
from . import init as fillers
from .layer import FunctionLayer, layer
from .module import Module
from .parameter import Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU"]
__all__ += ["LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "Sigmoid", "SiLU"]
__all__ += ["Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink"]
__all__ += ["Threshold"]


@layer(F.relu)
class ReLU(FunctionLayer):
    """max(x, 0)."""

    inplace: bool = False


@layer(F.silu)
class SiLU(FunctionLayer):
    """x σ(x) (Elfwing et al. 2017)."""

    inplace: bool = False


@layer(F.gelu)
class GELU(FunctionLayer):
    """x Φ(x) (Hendrycks and Gimpel 2016), exact ("none") or by its "tanh" formula."""

    approximate: str = "none"


@layer(F.mish)
class Mish(FunctionLayer):
    """x tanh ln(1 + eˣ) (Misra 2019)."""

    inplace: bool = False


@layer(F.selu)
class SELU(FunctionLayer):
    """1.0507 · (x for x > 0, else 1.6733 (eˣ - 1)) (Klambauer et al. 2017)."""

    inplace: bool = False


@layer(F.hardsigmoid)
class Hardsigmoid(FunctionLayer):
    """x / 6 + 1 / 2 clamped to [0, 1] (Courbariaux et al. 2015)."""

    inplace: bool = False
    _shown = ()


@layer(F.hardswish)
class Hardswish(FunctionLayer):
    """x hardsigmoid(x) (Howard et al. 2019)."""

    inplace: bool = False
    _shown = ()


@layer(F.hardtanh)
class Hardtanh(FunctionLayer):
    """x clamped to [min_val, max_val].

    Raises:
        AssertionError: max_val is not above min_val.
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: float | None = None
    max_value: float | None = None
    _shown: ClassVar[tuple[str, ...]] = ("min_val", "max_val", "inplace")

    def __post_init__(self) -> None:
        for name, old_name in (("min_val", "min_value"), ("max_val", "max_value")):
            value = self.__dict__.pop(old_name)
            if value is not None:
                text = f"keyword argument `{old_name}` is deprecated: use `{name}`"
                warnings.warn(text, FutureWarning, stacklevel=3)
                setattr(self, name, value)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """x clamped to [0, 6] (Krizhevsky 2010)."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


@layer(F.threshold)
class Threshold(FunctionLayer):
    """x above the threshold, else ``value``."""

    threshold: float
    value: float
    inplace: bool = False


@layer()
class _Shrink(FunctionLayer):
    lambd: float = 0.5

    def extra_repr(self) -> str:
        return f"{self.lambd}"


@layer(F.hardshrink)
class Hardshrink(_Shrink):
    """0 where |x| <= λ, else x."""


@layer(F.softshrink)
class Softshrink(_Shrink):
    """0 where |x| <= λ, else x - λ sign x."""


@layer(F.tanhshrink)
class Tanhshrink(FunctionLayer):
    """x - tanh x."""


@layer(F.softsign)
class Softsign(FunctionLayer):
    """x / (1 + |x|)."""


class PReLU(Module):
    """x for x > 0, else weight · x (He et al. 2015).

    Args:
        num_parameters: 1, or the length C of axis 1: (N, C, ...).
        init: the initial slopes.

    Attributes:
        weight: (num_parameters).
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the slopes to ``init``."""
        fillers.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


@layer(F.rrelu)
class RReLU(FunctionLayer):
    """x for x > 0, else r · x; r is uniform in [lower, upper) in training, else their mean (Xu et al. 2015)."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


@layer(F.tanh)
class Tanh(FunctionLayer):
    """tanh x."""


@layer(F.sigmoid)
class Sigmoid(FunctionLayer):
    """1 / (1 + e⁻ˣ)."""


@layer(F.logsigmoid)
class LogSigmoid(FunctionLayer):
    """ln σ(x)."""


@layer(F.softplus)
class Softplus(FunctionLayer):
    """ln(1 + eᵝˣ) / β; x itself where βx is above the threshold."""

    beta: float = 1.0
    threshold: float = 20.0


@layer(F.elu)
class ELU(FunctionLayer):
    """x for x > 0, else α (eˣ - 1) (Clevert et al. 2015)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.celu)
class CELU(FunctionLayer):
    """x for x > 0, else α (exp(x / α) - 1) (Barron 2017)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.leaky_relu)
class LeakyReLU(FunctionLayer):
    """x for x > 0, else negative_slope · x."""

    negative_slope: float = 0.01
    inplace: bool = False


@layer(F.glu)
class GLU(FunctionLayer):
    """a σ(b), a and b being the halves of an axis (Dauphin et al. 2016)."""

    dim: int = -1


@layer(F.softmax)
class Softmax(FunctionLayer):
    """eˣ / Σ eˣ along ``dim``."""

    dim: int | None = None


@layer(F.log_softmax)
class LogSoftmax(FunctionLayer):
    """ln softmax along ``dim``."""

    dim: int | None = None


@layer(F.softmin)
class Softmin(FunctionLayer):
    """softmax of -x along ``dim``."""

    dim: int | None = None


class Softmax2d(Module):
    """softmax over the channels: (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: the input has another number of axes.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.array.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.array.ndim}D instead")
        return F.softmax(input, -3)
