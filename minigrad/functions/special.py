"""Special functions of mathematics by PyTorch's names, those that ``torch`` and Tensor have as well first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..autograd.calls import apply
from ..ops import special as s
from .arguments import spelled
from .pointwise import _unary, erfc, erfinv, isnan, log, where

if TYPE_CHECKING:
    from ..tensor import Tensor

lgamma, digamma, i0 = _unary(s.lgamma), _unary(s.digamma), _unary(s.i0)
i0e, i1, i1e = _unary(s.i0e), _unary(s.i1), _unary(s.i1e)


@spelled
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of ``digamma``.

    Raises:
        RuntimeError: n is negative.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    found: Tensor = apply(s.digamma, (input,)) if n == 0 else apply(s.polygamma, (input, int(n)))
    return found


@spelled
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - 0.5 * j)
    return total + 0.25 * p * (p - 1) * math.log(math.pi)


# Of ``torch.special`` alone --------------------------------------------------------------------------------


@spelled
def entr(input: Tensor) -> Tensor:
    """-x ln x, 0 at 0 and -inf below."""
    inside = where(input > 0, input, 1.0)
    outside = where(input == 0, 0.0, where(isnan(input), input, -math.inf))
    return where(input > 0, -inside * log(inside), outside)


@spelled
def ndtr(input: Tensor) -> Tensor:
    """The standard normal distribution's share below x."""
    return 0.5 * erfc(-input * math.sqrt(0.5))


@spelled
def ndtri(input: Tensor) -> Tensor:
    """The x below which the standard normal distribution has this share."""
    return math.sqrt(2) * erfinv(2 * input - 1)
