"""Orthogonal polynomials of ``torch.special``, by their recurrences (DLMF 18.9.1): the degree may differ from element
to element. PyTorch's have no gradients; these have that of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...backend import dtype as dt
from ...functions.arguments import raw
from ...functions.define import named, spelled
from ...functions.names import broadcast_tensors, isfinite, tensor, trunc, where
from ...tensor import Tensor

__all__ = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w"]
__all__ += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
__all__ += ["shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v"]
__all__ += ["shifted_chebyshev_polynomial_w"]


class Polynomial(Protocol):
    """A family of polynomials of one argument."""

    def __call__(self, input: Any, n: Any) -> Tensor: ...


First = Callable[[Tensor], Tensor]
Next = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def _polynomial(name: str, doc: str, first: First, following: Next, shifted: bool = False) -> Polynomial:
    """The function of a family, from its polynomial of degree 1 and that of degree k + 1 by k, x and those of degree
    k and k - 1; of 2x - 1 in place of x if ``shifted``."""

    def polynomial(input: Any, n: Any) -> Tensor:
        x, degree = _operands(input, n)
        x = 2 * x - 1 if shifted else x
        counted = degree.where(isfinite(degree), -1.0)
        before = where(counted >= 0, 1.0, x * 0)
        now = where(counted >= 1, first(x), where(counted >= 0, 1.0, 0.0).to(x.dtype))
        for k in range(1, int(counted.max()) if counted.numel() else 0):
            higher = counted > k  # the others stay as they are, so that nothing overflows beyond their degree
            before, now = where(higher, now, before), where(higher, following(k, x, now, before), now)
        return now

    return spelled(named(polynomial, name, f"{doc} of degree ``n``, elementwise; 0 where n is negative."))


def _operands(input: Any, n: Any) -> tuple[Tensor, Tensor]:
    """Argument and degree, one of which may be a number, as floats of one dtype and shape; degrees are whole.
    Raises TypeError: two numbers."""
    like = input if isinstance(input, Tensor) else n
    if not isinstance(like, Tensor):
        raise TypeError("expected a Tensor for the argument or for the degree n, not two numbers")
    kind = dt.result_type(raw(input), raw(n))
    kind = kind if kind.is_floating_point else dt.get_default_dtype()
    x, degree = (v.to(kind) if isinstance(v, Tensor) else tensor(v, dtype=kind, device=like.device) for v in (input, n))
    x, degree = broadcast_tensors(x, trunc(degree.detach()))
    return x, degree


def _chebyshev(letter: str, kind: str, first: First) -> tuple[Polynomial, Polynomial]:
    """Chebyshev's polynomials of a kind, and those at 2x - 1."""
    following: Next = lambda k, x, now, before: 2 * x * now - before
    name = f"chebyshev_polynomial_{letter}"
    plain = _polynomial(name, f"Chebyshev's polynomial of the {kind} kind", first, following)
    return plain, _polynomial(f"shifted_{name}", f"``{name}`` at 2x - 1", first, following, shifted=True)


chebyshev_polynomial_t, shifted_chebyshev_polynomial_t = _chebyshev("t", "first", lambda x: x)
chebyshev_polynomial_u, shifted_chebyshev_polynomial_u = _chebyshev("u", "second", lambda x: 2 * x)
chebyshev_polynomial_v, shifted_chebyshev_polynomial_v = _chebyshev("v", "third", lambda x: 2 * x - 1)
chebyshev_polynomial_w, shifted_chebyshev_polynomial_w = _chebyshev("w", "fourth", lambda x: 2 * x + 1)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h",
    "Hermite's polynomial as in physics",
    lambda x: 2 * x,
    lambda k, x, now, before: 2 * x * now - 2 * k * before,
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he",
    "Hermite's polynomial as in probability",
    lambda x: x,
    lambda k, x, now, before: x * now - k * before,
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    "Laguerre's polynomial",
    lambda x: 1 - x,
    lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    "Legendre's polynomial",
    lambda x: x,
    lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
)
