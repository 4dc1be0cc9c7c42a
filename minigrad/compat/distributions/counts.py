"""How many of a number of trials succeed (Binomial), and how many do before a number of failures (NegativeBinomial)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.random import default_generator
from ...functions import random
from ...functions.creation import arange, tensor
from ...nn.functional import logsigmoid, softplus
from ...tensor import Size, Tensor
from . import constraints
from .choices import ProbsOrLogits, param_shape
from .gamma import Gamma
from .utils import Value, broadcast_all, formula


class _Trials(ProbsOrLogits):
    """What both share: ``total_count``, and the probability of a success or its log-odds."""

    param_shape = param_shape

    def __init__(
        self,
        total_count: Value = 1,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        parameter = logits if probs is None else probs
        if parameter is not None:
            count, parameter = broadcast_all(total_count, parameter)
            self.total_count = count.type_as(parameter)
        super().__init__(None if probs is None else parameter, None if logits is None else parameter, validate_args)


class Binomial(_Trials):
    """The successes in ``total_count`` trials. Draws have the right distribution; PyTorch's from a seed are others.

    Args:
        total_count: the number of trials, an int or a tensor. probs, logits: of a success.
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **ProbsOrLogits.arg_constraints}
    has_enumerate_support = True
    mean = formula(lambda d: d.total_count * d.probs)
    mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().minimum(d.total_count))
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        n, p = (value.detach().expand(shape).cpu().numpy() for value in (self.total_count, self.probs))
        drawn = np.random.default_rng(default_generator.random64()).binomial(n.astype(np.int64), p)
        return tensor(drawn, dtype=self._param.dtype, device=self._param.device)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _all_values(self) -> Tensor:
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return arange(most + 1, dtype=self._param.dtype, device=self._param.device)

    def _kl(self, q: Binomial) -> Tensor:
        p, n = self.probs, self.total_count
        return n * (p * (self.logits - q.logits) + logsigmoid(-self.logits) - logsigmoid(-q.logits))


class NegativeBinomial(_Trials):
    """The successes before ``total_count`` failures. Draws have the right distribution; PyTorch's are others.

    Args:
        total_count: the number of failures, not always a whole one. probs, logits: of a success.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    mean = formula(lambda d: d.total_count * d.logits.exp())
    mode = formula(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0))
    variance = formula(lambda d: d.mean / (-d.logits).sigmoid())

    def _sample(self, sample_shape: Size) -> Tensor:
        rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        return random.poisson(rates.sample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        return powers + ways.masked_fill(n + value == 0, 0)
