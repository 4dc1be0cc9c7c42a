"""Special functions under PyTorch's names."""

from __future__ import annotations

import math
from functools import partial

from ...functions.define import binary, function, method, unary
from ...tensor import Tensor, apply
from ..ops import special as s

# Functions that have the same names in ``torch.special``
__all__ = ["digamma", "entr", "erfcx", "i0", "i0e", "i1", "i1e", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1"]
__all__ += ["ndtr", "ndtri", "polygamma", "sinc", "xlog1py", "zeta"]

lgamma, digamma, i0 = unary(s.lgamma), unary(s.digamma), unary(s.i0)
igamma, igammac, sinc = binary(s.igamma), binary(s.igammac), unary(s.sinc)


@function
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of ``digamma``. Raises RuntimeError if n is negative."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return apply(s.digamma, (input,)) if n == 0 else apply(s.polygamma, (input, int(n)))


@method(in_place=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``. Raises RuntimeError if p is below 1."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return sum((lgamma(input - 0.5 * j) for j in range(1, p)), lgamma(input)) + 0.25 * p * (p - 1) * math.log(math.pi)


_alone = partial(unary, free=False, method=False, in_place=False)
i0e, i1, i1e = _alone(s.i0e), _alone(s.i1), _alone(s.i1e)
entr, ndtr, log_ndtr, erfcx = _alone(s.entr), _alone(s.ndtr), _alone(s.log_ndtr), _alone(s.erfcx)
ndtri = _alone(s.ndtri)
modified_bessel_i0, modified_bessel_i1 = _alone(s.i0), _alone(s.i1)
zeta = binary(s.zeta, free=False, method=False, in_place=False)
xlog1py = binary(s.xlog1py, free=False, method=False, in_place=False)
