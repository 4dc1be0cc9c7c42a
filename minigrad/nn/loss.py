"""Losses as modules: what they compute, their shapes and errors are told in ``functional``."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional._reduction import reduction_of
from .module import Module

Flag = bool | None


class _Loss(Module):
    """A loss and how its elements become one number."""

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        old_flags = size_average is not None or reduce is not None
        self.reduction = reduction_of(size_average, reduce, "mean") if old_flags else reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, a buffer."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean") -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """-ln softmax(input) at the target class. See ``functional.cross_entropy``."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
                 reduce: Flag = None, reduction: str = "mean", label_smoothing: float = 0.0
                 ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, ignore_index=self.ignore_index,
                               reduction=self.reduction, label_smoothing=self.label_smoothing)  # fmt: skip


class NLLLoss(_WeightedLoss):
    """-input at the target class, input being log-probabilities. See ``functional.nll_loss``."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
                 reduce: Flag = None, reduction: str = "mean") -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class MSELoss(_Loss):
    """(input - target)²."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """|input - target|."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d² / 2β where d = |input - target| < β, else d - β / 2."""

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
                 beta: float = 1.0) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d² / 2 where d = |input - target| < δ, else δ (d - δ / 2)."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(_WeightedLoss):
    """-(t ln x + (1 - t) ln(1 - x)). See ``functional.binary_cross_entropy``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """BCELoss of σ(input). See ``functional.binary_cross_entropy_with_logits``."""

    pos_weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction,
                                                  pos_weight=self.pos_weight)  # fmt: skip


class KLDivLoss(_Loss):
    """t (ln t - input); reduction "batchmean" is the divergence. See ``functional.kl_div``."""

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
                 log_target: bool = False) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
