"""MixtureSameFamily: one of several distributions of a family, chosen at random."""

from __future__ import annotations

from typing import Any

from ...functions.pointwise import log_softmax
from ...tensor import Size, Tensor
from . import constraints
from .choices import Categorical
from .distribution import Distribution
from .utils import formula
from .utils import size as size_of


class MixtureSameFamily(Distribution):
    """Draws of one component, whose index is drawn first.

    Args:
        mixture_distribution: of the index, a Categorical. component_distribution: the components, along its last batch
            axis.

    Raises:
        ValueError: the two do not fit together.
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        shape, count = component_distribution.batch_shape, mixture_distribution.logits.shape[-1]
        if shape[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({shape[-1]})"
            )
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        larger = super().expand(batch_shape, _instance)
        count = self.component_distribution.batch_shape[-1]
        larger.component_distribution = self.component_distribution.expand((*size_of(batch_shape), count))
        return larger

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    mean = formula(lambda d: d._mean(d.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        components = self.component_distribution
        return self._mean(components.variance) + self._mean((components.mean - self._one_more(self.mean)).pow(2))

    def _one_more(self, x: Tensor) -> Tensor:
        """With an axis for the components."""
        return x.unsqueeze(-1 - len(self._event_shape))

    def _mean(self, values: Tensor) -> Tensor:
        """Over the components."""
        axes = len(self._event_shape)
        probs = self.mixture_distribution.probs
        return (probs.reshape(*probs.shape, *(1,) * axes) * values).sum(-1 - axes)

    def _sample(self, sample_shape: Size) -> Tensor:
        index = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        drawn, place = self.component_distribution.sample(sample_shape), index.dim()
        index = index.reshape(*index.shape, *(1,) * (drawn.dim() - place))
        return drawn.gather(place, index.expand(*index.shape[: place + 1], *self._event_shape)).squeeze(place)

    def _log_prob(self, value: Tensor) -> Tensor:
        chances = log_softmax(self.mixture_distribution.logits, -1)
        return (self.component_distribution.log_prob(self._one_more(value)) + chances).logsumexp(-1)

    def _cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._one_more(value)) * self.mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
