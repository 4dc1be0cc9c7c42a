"""Special functions of mathematics, by PyTorch's names."""

from __future__ import annotations

import math
from functools import partial

from ...autograd.calls import apply
from ...autograd.mode import state
from ...functions.define import Unary, binary, function, method, named, spelled, unary
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
    return sum((lgamma(input - 0.5 * j) for j in range(1, p)), lgamma(input)) + 0.25 * p * (p - 1) * math.log(math.pi)


# Of ``torch.special`` alone --------------------------------------------------------------------------------

_alone = partial(unary, free=False, method=False, in_place=False)
i0e, i1, i1e = _alone(s.i0e), _alone(s.i1), _alone(s.i1e)
entr, ndtr, log_ndtr, erfcx = _alone(s.entr), _alone(s.ndtr), _alone(s.log_ndtr), _alone(s.erfcx)
ndtri = _alone(s.ndtri)
modified_bessel_i0, modified_bessel_i1 = _alone(s.i0), _alone(s.i1)
zeta = binary(s.zeta, free=False, method=False, in_place=False)
xlog1py = binary(s.xlog1py, free=False, method=False, in_place=False)


# Without a gradient, which PyTorch has not either


def _without_gradient(name: str, doc: str, kind: str, *order: int) -> Unary:
    """A function of ``ops/approximations/bessel.py``."""

    def function(input: Tensor) -> Tensor:
        if state.grad and input.requires_grad:
            raise NotImplementedError(f"the derivative of {name} is not implemented: use input.detach()")
        return apply(s.bessel_function, (input, kind, order))

    about = f"{doc}, elementwise.\n\n    Raises NotImplementedError: the input needs a gradient."
    return spelled(named(function, name, about))


def _of_orders(name: str, doc: str, kind: str) -> tuple[Unary, Unary]:
    """The functions of order 0 and 1."""
    zeroth, first = (_without_gradient(f"{name}{n}", f"{doc} of order {n}", kind, n) for n in (0, 1))
    return zeroth, first


airy_ai = _without_gradient("airy_ai", "Airy's function Ai", "airy")
spherical_bessel_j0 = _without_gradient("spherical_bessel_j0", "sin(x) / x, 1 at 0", "spherical", 0)
bessel_j0, bessel_j1 = _of_orders("bessel_j", "Bessel's function of the first kind", "first_kind")
bessel_y0, bessel_y1 = _of_orders("bessel_y", "Bessel's function of the second kind", "second_kind")
modified_bessel_k0, modified_bessel_k1 = _of_orders(
    "modified_bessel_k", "The modified Bessel function of the second kind", "third_kind"
)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _of_orders(
    "scaled_modified_bessel_k", "eˣ times the modified Bessel function of the second kind", "scaled_third_kind"
)
