"""LogNormal: numbers whose logarithms are normal."""

from __future__ import annotations

from typing import Any

from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .location_scale import LocationScale
from .normal import Normal
from .utils import Value, formula


class LogNormal(Distribution):
    """exp(x), x normal with the mean ``loc`` and the standard deviation ``scale``; ``base_dist`` is that of x."""

    arg_constraints = LocationScale.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(loc, scale, validate_args=validate_args)
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    loc = formula(lambda d: d.base_dist.loc, doc="The mean of the logarithm.")
    scale = formula(lambda d: d.base_dist.scale, doc="The standard deviation of the logarithm.")
    mean = formula(lambda d: (d.loc + d.scale.pow(2) / 2).exp())
    mode = formula(lambda d: (d.loc - d.scale.square()).exp())
    variance = formula(lambda d: d.scale.pow(2).expm1() * (2 * d.loc + d.scale.pow(2)).exp())

    def _sample(self, sample_shape: Size) -> Tensor:
        return self.base_dist.sample(sample_shape).exp()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """exp(loc + scale · ε), ε from the standard normal distribution."""
        return self.base_dist.rsample(sample_shape).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        logarithm = value.log()
        return self.base_dist.log_prob(logarithm) - logarithm

    def _cdf(self, value: Tensor) -> Tensor:
        return self.base_dist.cdf(value.log())

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf(value).exp()

    def entropy(self) -> Tensor:
        """That of the normal distribution + loc."""
        return self.base_dist.entropy() + self.loc

    def _kl(self, q: LogNormal) -> Tensor:
        return self.base_dist._kl(q.base_dist)
