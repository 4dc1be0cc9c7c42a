"""Layers that the core does without: the rarer losses and pools. ``nn.functional`` says more of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...autograd.tracebacks import warn
from ...nn.functional import nll_loss
from ...nn.functional._checks import Flag
from ...nn.functional._spatial import Each, tuple_of
from ...nn.layer import FunctionLayer
from ...nn.loss import NLLLoss, PairwiseDistance, _Loss, _UsualLoss, _UsualWeightedLoss, _WeightedLoss
from ...nn.pooling import _PoolNd
from ...tensor import Tensor
from . import functional as F

__all__ = ["CTCLoss", "CosineEmbeddingLoss", "FractionalMaxPool2d", "FractionalMaxPool3d", "HingeEmbeddingLoss"]
__all__ += ["LPPool1d", "LPPool2d", "LPPool3d", "MarginRankingLoss", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]
__all__ += ["MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss2d", "SoftMarginLoss"]
__all__ += ["TripletMarginLoss", "TripletMarginWithDistanceLoss"]


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


# Pools ------------------------------------------------------------------------------------------------------


class _MaxUnpoolNd(_PoolNd):
    """Zeros, and each element where a max pool took it from. Args: those of the max pool."""

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return super().forward(input, indices, output_size=output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d, axes=1): ...


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d, axes=2): ...


class MaxUnpool3d(_MaxUnpoolNd, function=F.max_unpool3d, axes=3): ...


class _FractionalMaxPoolNd(FunctionLayer, fields=True):
    """The largest element of windows at random places. See ``functional.fractional_max_pool2d``.
    Raises ValueError: neither ``output_size`` nor ``output_ratio``, or both, or a ratio outside (0, 1)."""

    kernel_size: Each
    output_size: Each | None = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None
    _axes: ClassVar[int]
    _shown: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        n, name = self._axes, type(self).__name__
        if (self.output_size is None) == (self.output_ratio is None):
            if self.output_size is None:
                raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = tuple_of(self.kernel_size, n)
        if min(self.kernel_size) < 1:
            raise ValueError(f"kernel_size must be greater than 0, but got {self.kernel_size}")
        if self.output_size is not None:
            self.output_size = tuple_of(self.output_size, n)
        else:
            self.output_ratio = tuple_of(self.output_ratio, n)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {self.output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd, function=F.fractional_max_pool2d, axes=2): ...


class FractionalMaxPool3d(_FractionalMaxPoolNd, function=F.fractional_max_pool3d, axes=3): ...


class _LPPoolNd(FunctionLayer, fields=True):
    """(Σ xᵖ)^(1/p) of each window. Args: ``norm_type``, which is p, and those of ``MaxPool1d``."""

    norm_type: float
    kernel_size: Each
    stride: Each | None = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, function=F.lp_pool1d): ...


class LPPool2d(_LPPoolNd, function=F.lp_pool2d): ...


class LPPool3d(_LPPoolNd, function=F.lp_pool3d): ...
