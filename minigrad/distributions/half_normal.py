"""HalfNormal: the sizes of normal numbers."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import full_like, zeros_like
from ..functions.pointwise import where
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .normal import Normal
from .utils import Value, formula


class HalfNormal(Distribution):
    """|x|, x normal with mean 0; ``base_dist`` is the distribution of x, and ``scale`` its standard deviation."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(0, scale, validate_args=False)
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)
        if self._validate_args:
            self._validate_parameter("scale")

    scale = formula(lambda d: d.base_dist.scale, doc="The standard deviation of x.")
    mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    mode = formula(lambda d: zeros_like(d.scale))
    variance = formula(lambda d: d.scale.pow(2) * (1 - 2 / math.pi))

    def _sample(self, sample_shape: Size) -> Tensor:
        return self.base_dist.sample(sample_shape).abs()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """|scale · ε|, ε from the standard normal distribution."""
        return self.base_dist.rsample(sample_shape).abs()

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.base_dist.log_prob(value) + math.log(2)
        return where((value >= 0).expand_as(inside), inside, full_like(inside.detach(), -math.inf))

    def _cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of the normal distribution - log 2."""
        return self.base_dist.entropy() - math.log(2)

    def _kl(self, q: HalfNormal) -> Tensor:
        return self.base_dist._kl(q.base_dist)
