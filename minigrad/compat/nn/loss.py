"""Margin losses, and other losses outside the core. ``nn.functional`` documents their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...nn import functional as core
from ...nn.functional._checks import Flag
from ...nn.linear import Linear
from ...nn.loss import PairwiseDistance, _Loss, _UsualLoss, _UsualWeightedLoss, _WeightedLoss
from ...tensor import Tensor
from . import functional as F

__all__ = ["CTCLoss", "CosineEmbeddingLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "LinearCrossEntropyLoss"]
__all__ += ["MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss"]
__all__ += ["PoissonNLLLoss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class _MarginLoss(_Loss, fields=True):
    margin: float = 0.0
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


class CTCLoss(_Loss, function=F.ctc_loss):
    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


class MarginRankingLoss(_MarginLoss, function=F.margin_ranking_loss): ...


class CosineEmbeddingLoss(_MarginLoss, function=F.cosine_embedding_loss): ...


class HingeEmbeddingLoss(_MarginLoss, function=F.hinge_embedding_loss):
    margin: float = 1.0


class SoftMarginLoss(_UsualLoss, function=F.soft_margin_loss): ...


class MultiMarginLoss(_WeightedLoss, function=F.multi_margin_loss):
    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D")


class MultiLabelMarginLoss(_UsualLoss, function=F.multilabel_margin_loss): ...


class MultiLabelSoftMarginLoss(_UsualWeightedLoss, function=F.multilabel_soft_margin_loss): ...


class _TripletLoss(_Loss):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin <= 0:
            raise ValueError(f"{self._get_name()}: expected margin to be greater than 0, got {self.margin} instead")


class TripletMarginLoss(_TripletLoss, function=F.triplet_margin_loss):
    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(_TripletLoss, function=F.triplet_margin_with_distance_loss, kw_only=True):
    """TripletMarginLoss with any distance function, by default ``PairwiseDistance()``. Raises ValueError if the margin
    is not positive."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()


class _LinearLoss(_WeightedLoss, fields=True):
    """The fields of the linear cross-entropy loss that may be passed as positional arguments."""

    in_features: int
    num_classes: int


class LinearCrossEntropyLoss(_LinearLoss, fields=True, kw_only=True):
    """CrossEntropyLoss with its own linear layer. See ``functional.linear_cross_entropy``.

    Args:
        in_features: D. num_classes: C. out_features: (d1, ...), for targets (N, d1, ...).
        bias, device, dtype: arguments of the linear layer.
        options: ignored.

    Raises RuntimeError if the shape of weight is not (C,), or label_smoothing is outside [0, 1].

    Attributes:
        linear: Linear(D, C d1 ...).
    """

    out_features: tuple[int, ...] = ()
    bias: bool = False
    device: Any = None
    dtype: Any = None
    reduction: str = "mean"
    weight: Tensor | None = None
    ignore_index: int | None = None
    label_smoothing: float = 0.0
    options: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight is not None and tuple(self.weight.shape) != (self.num_classes,):
            raise RuntimeError(f"expected weight shape to be {(self.num_classes,)}, got {tuple(self.weight.shape)}")
        if not 0 <= self.label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {self.label_smoothing}")
        width = self.num_classes * math.prod(self.out_features)
        self.linear = Linear(self.in_features, width, bias=self.bias, device=self.device, dtype=self.dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weight, bias = self.linear.weight, self.linear.bias
        shape = (self.num_classes, *self.out_features)
        return core.linear_cross_entropy(
            input,
            weight.reshape(*shape, -1),  # (C d1 ..., D) -> (C, d1, ..., D)
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            **{name: getattr(self, name) for name in ("weight", "reduction", "ignore_index", "label_smoothing")},
        )

    def extra_repr(self) -> str:
        hidden = ("device", "dtype", "weight")
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._fields if name not in hidden)


class PoissonNLLLoss(_Loss, function=core.poisson_nll_loss):
    """λ - t ln λ, where ln λ is the input. See ``functional.poisson_nll_loss``."""

    log_input: bool = True
    full: bool = False
    size_average: Flag = None
    eps: float = 1e-8
    reduce: Flag = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return super().forward(log_input, target)


class GaussianNLLLoss(_Loss, function=core.gaussian_nll_loss, kw_only=True):
    """(ln v + (input - target)² / v) / 2. See ``functional.gaussian_nll_loss``."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
