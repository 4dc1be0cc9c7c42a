"""Losses and distances as modules. ``nn.functional`` documents their arguments, shapes and errors."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional._checks import Flag, reduction_of
from .layer import FunctionLayer
from .module import Module

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CosineSimilarity", "CrossEntropyLoss", "HuberLoss", "KLDivLoss"]
__all__ += ["L1Loss", "MSELoss", "NLLLoss", "PairwiseDistance", "SmoothL1Loss"]


class CosineSimilarity(FunctionLayer, function=F.cosine_similarity):
    dim: int = 1
    eps: float = 1e-8
    _repr_fields = ()


class PairwiseDistance(Module):
    """‖x₁ - x₂ + eps‖ₚ along the last axis: (..., D), (..., D) -> (...)."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class _Loss(FunctionLayer):
    """A loss with a ``reduction``, which PyTorch's deprecated flags override."""

    _repr_fields = ()

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        vars(self).update(size_average=size_average, reduce=reduce, reduction=reduction)
        _Loss.__post_init__(self)

    def __post_init__(self) -> None:
        size_average, reduce = (getattr(self, name, None) for name in ("size_average", "reduce"))
        if size_average is not None or reduce is not None:
            reduction = reduction_of(size_average, reduce, "mean")
            vars(self).update(size_average=None, reduce=None, reduction=reduction)


class _WeightedLoss(_Loss):
    """A loss with a buffer of class weights."""

    def __init__(
        self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _UsualLoss(_Loss, fields=True):
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


class _UsualWeightedLoss(_WeightedLoss, fields=True):
    weight: Tensor | None = None
    size_average: Flag = None
    reduce: Flag = None
    reduction: str = "mean"


class _ClassLoss(_WeightedLoss, fields=True):
    weight: Tensor | None = None
    size_average: Flag = None
    ignore_index: int = -100
    reduce: Flag = None
    reduction: str = "mean"


class CrossEntropyLoss(_ClassLoss, function=F.cross_entropy):
    label_smoothing: float = 0.0


class NLLLoss(_ClassLoss, function=F.nll_loss): ...


class MSELoss(_UsualLoss, function=F.mse_loss): ...


class L1Loss(_UsualLoss, function=F.l1_loss): ...


class SmoothL1Loss(_UsualLoss, function=F.smooth_l1_loss):
    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    reduction: str = "mean"
    delta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


class BCELoss(_UsualWeightedLoss, function=F.binary_cross_entropy): ...


class BCEWithLogitsLoss(_UsualWeightedLoss, function=F.binary_cross_entropy_with_logits):
    pos_weight: Tensor | None = None


class KLDivLoss(_UsualLoss, function=F.kl_div):
    log_target: bool = False
