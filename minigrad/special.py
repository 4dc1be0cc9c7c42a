"""``torch.special``: functions of mathematics, nearly all of them another spelling of torch's own."""

from __future__ import annotations

from .functions.pointwise import erf as erf
from .functions.pointwise import erfc as erfc
from .functions.pointwise import erfinv as erfinv
from .functions.pointwise import exp2 as exp2
from .functions.pointwise import expm1 as expm1
from .functions.pointwise import log1p as log1p
from .functions.pointwise import log_softmax as log_softmax
from .functions.pointwise import logit as logit
from .functions.pointwise import round as round
from .functions.pointwise import sigmoid as expit
from .functions.pointwise import sinc as sinc
from .functions.pointwise import softmax as softmax
from .functions.pointwise import xlogy as xlogy
from .functions.reduction import logsumexp as logsumexp
from .functions.special import digamma as digamma
from .functions.special import digamma as psi
from .functions.special import entr as entr
from .functions.special import i0 as i0
from .functions.special import i0e as i0e
from .functions.special import i1 as i1
from .functions.special import i1e as i1e
from .functions.special import lgamma as gammaln
from .functions.special import mvlgamma as multigammaln
from .functions.special import ndtr as ndtr
from .functions.special import ndtri as ndtri
from .functions.special import polygamma as polygamma

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlogy",
]
