"""Losses with a margin, and others that the core does without. ``nn.functional`` says more of their arguments."""

from __future__ import annotations

from collections.abc import Callable

from ...autograd.tracebacks import warn
from ...nn.functional import nll_loss
from ...nn.functional._checks import Flag
from ...nn.loss import NLLLoss, PairwiseDistance, _Loss, _UsualLoss, _UsualWeightedLoss, _WeightedLoss
from ...tensor import Tensor
from . import functional as F

__all__ = ["CTCLoss", "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss"]
__all__ += ["MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss2d", "SoftMarginLoss", "TripletMarginLoss"]
__all__ += ["TripletMarginWithDistanceLoss"]


class _MarginLoss(_Loss, fields=True):
    """The fields of losses with one margin."""

    margin: float = 0.0
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


class NLLLoss2d(NLLLoss, function=nll_loss):
    """NLLLoss under its old name for images."""

    def __post_init__(self) -> None:
        warn("NLLLoss2d is deprecated: NLLLoss does the same.", FutureWarning)
        super().__post_init__()


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
    """A loss whose margin must be positive."""

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
    """TripletMarginLoss with any distance, by default ``PairwiseDistance()``.
    Raises ValueError: the margin is not positive."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()
