"""Dropout as layers."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional._checks import probability
from .layer import FunctionLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(FunctionLayer, fields=True):
    p: float = 0.5
    inplace: bool = False
    _usual = {}

    def __post_init__(self) -> None:
        probability("dropout", self.p)


class Dropout(_DropoutNd, function=F.dropout):
    """In training, zero each element with probability ``p`` and scale the others by 1 / (1 - p) (Srivastava et al.
    2014). Raises ValueError: ``p`` is not a probability.

    >>> _ = mg.manual_seed(0)
    >>> sorted(set(nn.Dropout(0.5)(mg.ones(100)).tolist()))
    [0.0, 2.0]
    """


class Dropout1d(_DropoutNd, function=F.dropout1d): ...


class Dropout2d(_DropoutNd, function=F.dropout2d): ...


class Dropout3d(_DropoutNd, function=F.dropout3d): ...


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1 through SELU (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels: (N, C, ...)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
