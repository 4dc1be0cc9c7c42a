"""LKJCholesky: matrices of correlations, as their Cholesky factors (Lewandowski, Kurowicka and Joe 2009)."""

from __future__ import annotations

import math
from typing import Any

from ...backend import dtype as dt
from ...functions.creation import arange
from ...functions.random import randn
from ...functions.shaping import cat
from ...tensor import Size, Tensor
from ..functions.special import mvlgamma
from . import constraints
from .distribution import Distribution
from .gamma import Beta
from .utils import Value, broadcast_all
from .utils import size as size_of


class LKJCholesky(Distribution):
    """The lower triangle L of which L Lᵀ is a matrix of correlations C, with a density in proportion to det Cᵅ⁻¹.

    Args:
        dim: the size of the matrices. concentration: α; 1 for all matrices alike, more for nearer to the identity.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        steps = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = cat([steps.new_zeros(1), steps])
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        larger = super().expand(batch_shape, _instance)
        larger._beta = self._beta.expand((*size_of(batch_shape), self.dim))
        return larger

    def _sample(self, sample_shape: Size) -> Tensor:  # the onion method, section 3.2
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0
        w = y.sqrt() * direction
        return w + (1 - (w**2).sum(-1)).clamp(min=dt.finfo(w.dtype).tiny).sqrt().diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        order = self.dim - arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + order
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        constant = 0.5 * m * math.log(math.pi) + mvlgamma(alpha - 0.5, m) - alpha.lgamma() * m
        return (powers * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1) - constant
