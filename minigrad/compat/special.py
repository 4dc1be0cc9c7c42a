"""``torch.special``: functions of mathematics, most of them torch's own under other names."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from ..functions import pointwise, reduction
from .functions import special as functions
from .functions.polynomials import chebyshev_polynomial_t as chebyshev_polynomial_t
from .functions.polynomials import chebyshev_polynomial_u as chebyshev_polynomial_u
from .functions.polynomials import chebyshev_polynomial_v as chebyshev_polynomial_v
from .functions.polynomials import chebyshev_polynomial_w as chebyshev_polynomial_w
from .functions.polynomials import hermite_polynomial_h as hermite_polynomial_h
from .functions.polynomials import hermite_polynomial_he as hermite_polynomial_he
from .functions.polynomials import laguerre_polynomial_l as laguerre_polynomial_l
from .functions.polynomials import legendre_polynomial_p as legendre_polynomial_p
from .functions.polynomials import shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t
from .functions.polynomials import shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u
from .functions.polynomials import shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v
from .functions.polynomials import shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w
from .functions.special import airy_ai as airy_ai
from .functions.special import bessel_j0 as bessel_j0
from .functions.special import bessel_j1 as bessel_j1
from .functions.special import bessel_y0 as bessel_y0
from .functions.special import bessel_y1 as bessel_y1
from .functions.special import entr as entr
from .functions.special import erfcx as erfcx
from .functions.special import i0e as i0e
from .functions.special import i1 as i1
from .functions.special import i1e as i1e
from .functions.special import log_ndtr as log_ndtr
from .functions.special import modified_bessel_i0 as modified_bessel_i0
from .functions.special import modified_bessel_i1 as modified_bessel_i1
from .functions.special import modified_bessel_k0 as modified_bessel_k0
from .functions.special import modified_bessel_k1 as modified_bessel_k1
from .functions.special import ndtr as ndtr
from .functions.special import ndtri as ndtri
from .functions.special import polygamma as polygamma
from .functions.special import scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from .functions.special import scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from .functions.special import spherical_bessel_j0 as spherical_bessel_j0
from .functions.special import xlog1py as xlog1py
from .functions.special import zeta as zeta

erf, erfc, erfinv, exp2, expm1 = pointwise.erf, pointwise.erfc, pointwise.erfinv, pointwise.exp2, pointwise.expm1
expit, log1p, logit, round = pointwise.sigmoid, pointwise.log1p, pointwise.logit, pointwise.round
sinc, xlogy, softmax, log_softmax = functions.sinc, pointwise.xlogy, pointwise.softmax, pointwise.log_softmax
digamma, i0, psi, gammaln = functions.digamma, functions.i0, functions.digamma, functions.lgamma
gammainc, gammaincc = functions.igamma, functions.igammac
multigammaln, logsumexp = functions.mvlgamma, reduction.logsumexp

if not TYPE_CHECKING:  # checkers see the names above
    __all__ = [name for name, value in globals().items() if isinstance(value, FunctionType) and name[0] != "_"]
