"""Independent: some axes of the batch as axes of one draw."""

from __future__ import annotations

from typing import Any, Self

from ...tensor import Tensor
from . import constraints
from .distribution import Distribution, kl_divergence
from .utils import formula
from .utils import size as size_of


class Independent(Distribution):
    """A distribution of which the last ``reinterpreted_batch_ndims`` batch axes belong to the event: probabilities are
    multiplied over them. Raises ValueError for more axes than the batch has.
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        axes = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:axes], (*batch[axes:], *base_distribution.event_shape), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        moved = self._event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*size_of(batch_shape), *moved))
        larger = self._get_checked_instance(Independent, _instance)
        Independent.__init__(larger, base, self.reinterpreted_batch_ndims, self._validate_args)
        return larger

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if base is not None and count else base

    mean = formula(lambda d: d.base_dist.mean)
    mode = formula(lambda d: d.base_dist.mode)
    variance = formula(lambda d: d.base_dist.variance)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._sum(self.base_dist.entropy())

    def _kl(self, q: Independent) -> Tensor:
        if self.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent distributions of different numbers of axes")
        return self._sum(kl_divergence(self.base_dist, q.base_dist))

    def _sum(self, value: Tensor) -> Tensor:
        dims = tuple(range(-self.reinterpreted_batch_ndims, 0))
        return value.sum(dims) if dims else value

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
