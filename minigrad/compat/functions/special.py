"""Special functions of mathematics, by PyTorch's names."""

from __future__ import annotations

import math
from functools import partial

from ...autograd.calls import apply
from ...autograd.mode import state
from ...functions.define import binary, function, method, unary
from ...functions.spelling import spelled
from ...tensor import Tensor
from ..ops import special as s

# Those that ``torch.special`` has by these names
__all__ = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erfcx", "i0", "i0e", "i1"]
__all__ += ["i1e", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"]
__all__ += ["ndtr", "ndtri", "polygamma", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "sinc"]
__all__ += ["spherical_bessel_j0", "xlog1py", "zeta"]

lgamma, digamma, i0 = unary(s.lgamma), unary(s.digamma), unary(s.i0)
igamma, igammac, sinc = binary(s.igamma), binary(s.igammac), unary(s.sinc)


@function
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of ``digamma``. Raises RuntimeError: n is negative."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return apply(s.digamma, (input,)) if n == 0 else apply(s.polygamma, (input, int(n)))


@method(in_place=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``. Raises RuntimeError: p is below 1."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - 0.5 * j)
    return total + 0.25 * p * (p - 1) * math.log(math.pi)


# Of ``torch.special`` alone --------------------------------------------------------------------------------

_alone = partial(unary, free=False, method=False, in_place=False)
i0e, i1, i1e = _alone(s.i0e), _alone(s.i1), _alone(s.i1e)
entr, ndtr, log_ndtr, erfcx = _alone(s.entr), _alone(s.ndtr), _alone(s.log_ndtr), _alone(s.erfcx)
ndtri = _alone(s.ndtri)
bessel_j0, bessel_j1, bessel_y0, bessel_y1 = map(_alone, (s.bessel_j0, s.bessel_j1, s.bessel_y0, s.bessel_y1))
modified_bessel_i0, modified_bessel_i1 = _alone(s.i0), _alone(s.i1)
modified_bessel_k0, modified_bessel_k1 = _alone(s.modified_bessel_k0), _alone(s.modified_bessel_k1)
scaled_modified_bessel_k0 = _alone(s.scaled_modified_bessel_k0)
scaled_modified_bessel_k1 = _alone(s.scaled_modified_bessel_k1)
spherical_bessel_j0 = _alone(s.spherical_bessel_j0)
zeta = binary(s.zeta, free=False, method=False, in_place=False)
xlog1py = binary(s.xlog1py, free=False, method=False, in_place=False)


@spelled
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai, elementwise.
    Raises NotImplementedError: a gradient would be wanted, which PyTorch has not either."""
    if state.grad and input.requires_grad:
        raise NotImplementedError("the derivative of airy_ai is not implemented: use input.detach()")
    return apply(s.airy_ai, (input,))
