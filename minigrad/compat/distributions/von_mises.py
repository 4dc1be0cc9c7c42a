"""VonMises: angles around a direction, as a normal distribution on the circle."""

from __future__ import annotations

import math
from typing import Any

from ...functions.creation import zeros
from ...functions.pointwise import where
from ...functions.random import rand
from ...tensor import Size, Tensor
from ..special import i0e, i1e
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula


class VonMises(Distribution):
    """Angles from -π to π with a density in proportion to exp(concentration · cos(x - loc))."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: 1 - i1e(d.concentration) / i0e(d.concentration))

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()

    def _sample(self, sample_shape: Size) -> Tensor:
        """By rejection (Best and Fisher 1979), in float64."""
        shape, k = self._extended_shape(sample_shape), self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        r = where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
        x = zeros(shape, dtype=k.dtype, device=k.device)
        done = x != 0
        while not bool(done.all()):
            u1, u2, u3 = rand((3, *shape), dtype=k.dtype, device=k.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = (c * (2 - c) - u2 > 0).logical_or((c / u2).log() + 1 - c >= 0)
            x = where(accepted, (u3 - 0.5).sign() * f.acos(), x)
            done = done.logical_or(accepted)
        return ((x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi).to(self.loc.dtype)
