"""Beta: a probability, the first of Dirichlet's two."""

from __future__ import annotations

from ..functions.shaping import stack
from ..tensor import Size, Tensor
from . import constraints
from .dirichlet import Dirichlet
from .gamma import FromGamma
from .utils import Value, broadcast_all, formula


class Beta(FromGamma):
    """Numbers from 0 to 1 with the density x^(concentration1 - 1) · (1 - x)^(concentration0 - 1) / B.

    About draws see FromGamma.

    Args:
        concentration1, concentration0: tensors or numbers.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = formula(lambda d: d._dirichlet.concentration[..., 0], doc="The exponent of x, plus 1.")
    concentration0 = formula(lambda d: d._dirichlet.concentration[..., 1], doc="The exponent of 1 - x, plus 1.")
    mean = formula(lambda d: d.concentration1 / (d.concentration1 + d.concentration0))
    mode = formula(lambda d: d._dirichlet.mode[..., 0])
    variance = formula(lambda d: d._dirichlet.variance[..., 0])

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._dirichlet.sample(sample_shape)[..., 0]

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._dirichlet.log_prob(stack((value, 1 - value), -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    def _kl(self, q: Beta) -> Tensor:
        return self._dirichlet._kl(q._dirichlet)
