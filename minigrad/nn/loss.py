"""Losses as modules. ``nn.functional`` documents their arguments, shapes and errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .distance import PairwiseDistance
from .functional._reduction import Flag, reduction_of
from .layer import FunctionLayer, layer
from .linear import Linear

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "CTCLoss", "GaussianNLLLoss"]
__all__ += ["HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MarginRankingLoss"]
__all__ += ["MSELoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d"]
__all__ += ["PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class _Loss(FunctionLayer):
    """A loss of an input and a target, reduced as ``reduction`` says."""

    _shown = ()
    size_average: Flag = None
    reduce: Flag = None

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        self.size_average, self.reduce, self.reduction = size_average, reduce, reduction
        _Loss.__post_init__(self)

    def __post_init__(self) -> None:
        if self.size_average is not None or self.reduce is not None:
            self.reduction = reduction_of(self.size_average, self.reduce, "mean")
            self.size_average = self.reduce = None

    def _forward_two(self, input: Tensor, target: Tensor) -> Tensor:
        return self._call(input, target)

    forward: Callable[..., Any] = _forward_two


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, which is a buffer."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


@layer()
class _UsualLoss(_Loss):
    """The fields that most losses begin with."""

    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


@layer()
class _UsualWeightedLoss(_WeightedLoss):
    """The fields that most losses with weights begin with."""

    weight: Tensor | None = None
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


@layer(F.cross_entropy)
class CrossEntropyLoss(_WeightedLoss):
    """-ln softmax(input) at the target class. See ``functional.cross_entropy``."""

    weight: Tensor | None = None
    size_average: Flag = None
    ignore_index: int = -100
    reduce: Flag = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class LinearCrossEntropyLoss(_WeightedLoss):
    """CrossEntropyLoss of a linear layer that it holds. See ``functional.linear_cross_entropy``.

    Args:
        in_features: D. num_classes: C. out_features: (d1, ...), for targets (N, d1, ...).
        bias, device, dtype: of the linear layer.
        options: ignored.

    Attributes:
        linear: Linear(D, C d1 ...).
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        width = num_classes * math.prod(out_features)
        self.linear = Linear(in_features, width, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weight, bias = self.linear.weight, self.linear.bias
        shape = (self.num_classes, *self.out_features)
        names = ("weight", "reduction", "ignore_index", "label_smoothing")
        return F.linear_cross_entropy(
            input,
            weight.reshape(*shape, -1),  # (C d1 ..., D) -> (C, d1, ..., D)
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            **{name: getattr(self, name) for name in names},
        )

    def extra_repr(self) -> str:
        names = ("num_classes", "out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        values = {**self.__dict__, "bias": self.linear.bias is not None}
        shown = [f"{name}={values[name]}" for name in names]
        return ", ".join([f"in_features={self.linear.in_features}", *shown])


@layer(F.nll_loss)
class NLLLoss(_WeightedLoss):
    """-input at the target class, input being log-probabilities. See ``functional.nll_loss``."""

    weight: Tensor | None = None
    size_average: Flag = None
    ignore_index: int = -100
    reduce: Flag = None
    reduction: str = "mean"


@layer(F.nll_loss)
class NLLLoss2d(NLLLoss):
    """NLLLoss under its old name for images."""

    def __post_init__(self) -> None:
        warnings.warn("NLLLoss2d is deprecated: NLLLoss does the same.", FutureWarning, stacklevel=3)
        super().__post_init__()


@layer(F.mse_loss)
class MSELoss(_UsualLoss):
    """(input - target)²."""


@layer(F.l1_loss)
class L1Loss(_UsualLoss):
    """|input - target|."""


@layer(F.smooth_l1_loss)
class SmoothL1Loss(_UsualLoss):
    """d² / 2β where d = |input - target| < β, else d - β / 2."""

    beta: float = 1.0


@layer(F.huber_loss)
class HuberLoss(_Loss):
    """d² / 2 where d = |input - target| < δ, else δ (d - δ / 2)."""

    reduction: str = "mean"
    delta: float = 1.0


@layer(F.binary_cross_entropy)
class BCELoss(_UsualWeightedLoss):
    """-(t ln x + (1 - t) ln(1 - x)). See ``functional.binary_cross_entropy``."""


@layer(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_UsualWeightedLoss):
    """BCELoss of σ(input). See ``functional.binary_cross_entropy_with_logits``."""

    pos_weight: Tensor | None = None


@layer(F.kl_div)
class KLDivLoss(_UsualLoss):
    """t (ln t - input); reduction "batchmean" is the divergence. See ``functional.kl_div``."""

    log_target: bool = False


@layer(F.poisson_nll_loss)
class PoissonNLLLoss(_Loss):
    """λ - t ln λ, where ln λ is the input. See ``functional.poisson_nll_loss``."""

    log_input: bool = True
    full: bool = False
    size_average: Flag = None
    eps: float = 1e-8
    reduce: Flag = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._call(log_input, target)


@layer(F.gaussian_nll_loss, kw_only=True)
class GaussianNLLLoss(_Loss):
    """(ln v + (input - target)² / v) / 2. See ``functional.gaussian_nll_loss``."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return self._call(input, target, var)


@layer(F.ctc_loss)
class CTCLoss(_Loss):
    """-ln of the probability that frames spell a target (Graves et al. 2006). See ``functional.ctc_loss``."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return self._call(log_probs, targets, input_lengths, target_lengths)


@layer()
class _RankingLoss(_Loss):
    """A loss of two inputs, and a target that says which should be the larger, or whether they are alike."""

    margin: float = 0.0
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._call(input1, input2, target)


@layer(F.margin_ranking_loss)
class MarginRankingLoss(_RankingLoss):
    """max(0, -t (x₁ - x₂) + margin)."""


@layer(F.cosine_embedding_loss)
class CosineEmbeddingLoss(_RankingLoss):
    """1 - cos(x₁, x₂) where the target is 1, max(0, cos(x₁, x₂) - margin) where it is -1."""


@layer(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_Loss):
    """x where the target is 1, max(0, margin - x) where it is -1."""

    margin: float = 1.0
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


@layer(F.soft_margin_loss)
class SoftMarginLoss(_UsualLoss):
    """ln(1 + exp(-t x))."""


@layer(F.multi_margin_loss)
class MultiMarginLoss(_WeightedLoss):
    """Σᵢ wₜ max(0, margin - xₜ + xᵢ)ᵖ / C. See ``functional.multi_margin_loss``.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or the weight is not a vector.
    """

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
            axes = self.weight.dim()
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {axes}D instead")


@layer(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_UsualLoss):
    """Σₜ Σᵢ max(0, 1 - xₜ + xᵢ) / C. See ``functional.multilabel_margin_loss``."""


@layer(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_UsualWeightedLoss):
    """The mean over the classes of -(t ln σ(x) + (1 - t) ln σ(-x))."""


class _TripletLoss(_Loss):
    """A loss of an anchor, a positive and a negative; the margin must be positive."""

    margin: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin <= 0:
            name = type(self).__name__
            raise ValueError(f"{name}: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._call(anchor, positive, negative)


@layer(F.triplet_margin_loss)
class TripletMarginLoss(_TripletLoss):
    """max(0, ‖a - p‖ - ‖a - n‖ + margin). See ``functional.triplet_margin_loss``.

    Raises:
        ValueError: the margin is not positive.
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


@layer(F.triplet_margin_with_distance_loss, kw_only=True)
class TripletMarginWithDistanceLoss(_TripletLoss):
    """TripletMarginLoss with any distance, by default ``PairwiseDistance()``.

    Raises:
        ValueError: the margin is not positive.
    """

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()
