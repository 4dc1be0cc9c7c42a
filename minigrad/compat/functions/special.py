"""Special functions under PyTorch's names, and orthogonal polynomials computed by their recurrences (DLMF 18.9.1). The
degree may differ between elements. Unlike in PyTorch, polynomials have a gradient with respect to their argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ...autograd.mode import state
from ...backend import dtype as dt
from ...functions.arguments import raw
from ...functions.define import Unary, binary, function, method, named, spelled, unary
from ...functions.names import broadcast_tensors, isfinite, tensor, trunc, where
from ...functions.pointwise import level
from ...tensor import Tensor, apply
from ..ops import special as s

# Functions that have the same names in ``torch.special``
__all__ = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t"]
__all__ += ["chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erfcx"]
__all__ += ["hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e", "laguerre_polynomial_l"]
__all__ += ["legendre_polynomial_p", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0"]
__all__ += ["modified_bessel_k1", "ndtr", "ndtri", "polygamma", "scaled_modified_bessel_k0"]
__all__ += ["scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u"]
__all__ += ["shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "spherical_bessel_j0"]
__all__ += ["xlog1py", "zeta"]

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


# Functions without a gradient, as in PyTorch


def _without_gradient(name: str, doc: str, kind: str, *order: int) -> Unary:
    """Create a function without a gradient from an approximation in ``ops/approximations.py``."""

    def function(input: Tensor) -> Tensor:
        if state.grad and input.requires_grad:
            raise NotImplementedError(f"the derivative of {name} is not implemented: use input.detach()")
        return apply(s.bessel_function, (input, kind, order))

    about = f"{doc}, elementwise.\n\n    Raises NotImplementedError if the input requires a gradient."
    return spelled(named(function, name, about))


def _of_orders(name: str, doc: str, kind: str) -> tuple[Unary, Unary]:
    zeroth, first = (_without_gradient(f"{name}{n}", f"{doc} of order {n}", kind, n) for n in (0, 1))
    return zeroth, first


airy_ai = _without_gradient("airy_ai", "The Airy function Ai", "airy")
spherical_bessel_j0 = _without_gradient("spherical_bessel_j0", "sin(x) / x, which is 1 at 0", "spherical", 0)
bessel_j0, bessel_j1 = _of_orders("bessel_j", "The Bessel function of the first kind", "first_kind")
bessel_y0, bessel_y1 = _of_orders("bessel_y", "The Bessel function of the second kind", "second_kind")
modified_bessel_k0, modified_bessel_k1 = _of_orders(
    "modified_bessel_k", "The modified Bessel function of the second kind", "third_kind"
)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _of_orders(
    "scaled_modified_bessel_k", "eˣ times the modified Bessel function of the second kind", "scaled_third_kind"
)


class Polynomial(Protocol):
    """The type of polynomials of degree n, applied elementwise."""

    def __call__(self, input: Any, n: Any) -> Tensor: ...


Next = Callable[[int, Tensor, Tensor, Any], Tensor]


def _polynomial(name: str, doc: str, following: Next, earlier: float = 0.0, shifted: bool = False) -> Polynomial:
    """Create the function for a family of polynomials. ``following`` computes degree k + 1 from k, x, and degrees k and
    k - 1. ``earlier`` is the value for degree -1. ``shifted`` replaces x with 2x - 1."""

    def polynomial(input: Any, n: Any) -> Tensor:
        like = input if isinstance(input, Tensor) else n
        if not isinstance(like, Tensor):
            raise TypeError("expected a Tensor for the argument or for the degree n, not two numbers")
        kind = dt.result_type(raw(input), raw(n))
        kind = kind if kind.is_floating_point else dt.get_default_dtype()
        floats = (
            v.to(kind) if isinstance(v, Tensor) else tensor(v, dtype=kind, device=like.device) for v in (input, n)
        )
        x, degree = broadcast_tensors(*floats)
        x, degree = 2 * x - 1 if shifted else x, trunc(degree.detach())
        degree = degree.where(isfinite(degree), -1.0)
        before: Any = earlier
        now = level(where(degree >= 0, 1.0, 0.0).to(kind), x)
        for k in range(int(degree.max()) if degree.numel() else 0):
            higher = degree > k  # elements of lower degree stay unchanged, and do not overflow
            before, now = where(higher, now, before), where(higher, following(k, x, now, before), now)
        return now

    return spelled(named(polynomial, name, f"{doc} of degree ``n``, elementwise; 0 where n is negative."))


def _twice(k: int, x: Tensor, now: Tensor, before: Any) -> Tensor:
    return 2 * x * now - before


def _chebyshev(letter: str, kind: str, following: Next, earlier: float) -> tuple[Polynomial, Polynomial]:
    """The Chebyshev polynomials of one kind, and the shifted ones, which are evaluated at 2x - 1."""
    name = f"chebyshev_polynomial_{letter}"
    plain = _polynomial(name, f"The Chebyshev polynomial of the {kind} kind", following, earlier)
    return plain, _polynomial(f"shifted_{name}", f"``{name}`` at 2x - 1", following, earlier, shifted=True)


chebyshev_polynomial_t, shifted_chebyshev_polynomial_t = _chebyshev(
    "t", "first", lambda k, x, now, before: _twice(k, x, now, before) if k else x, 0.0
)
chebyshev_polynomial_u, shifted_chebyshev_polynomial_u = _chebyshev("u", "second", _twice, 0.0)
chebyshev_polynomial_v, shifted_chebyshev_polynomial_v = _chebyshev("v", "third", _twice, 1.0)
chebyshev_polynomial_w, shifted_chebyshev_polynomial_w = _chebyshev("w", "fourth", _twice, -1.0)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "The physicists' Hermite polynomial", lambda k, x, now, before: 2 * x * now - 2 * k * before
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "The probabilists' Hermite polynomial", lambda k, x, now, before: x * now - k * before
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    "The Laguerre polynomial",
    lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    "The Legendre polynomial",
    lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
)
