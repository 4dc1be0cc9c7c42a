"""``torch.special``: mathematical functions, most of them torch functions under other names."""

from types import FunctionType
from typing import TYPE_CHECKING

from ..functions import pointwise, reduction
from .functions import special as functions
from .functions.special import *  # noqa: F403

erf, erfc, erfinv, exp2, expm1 = pointwise.erf, pointwise.erfc, pointwise.erfinv, pointwise.exp2, pointwise.expm1
expit, log1p, logit, round = pointwise.sigmoid, pointwise.log1p, pointwise.logit, pointwise.round
xlogy, softmax, log_softmax, logsumexp = pointwise.xlogy, pointwise.softmax, pointwise.log_softmax, reduction.logsumexp
psi, gammaln, multigammaln = functions.digamma, functions.lgamma, functions.mvlgamma
gammainc, gammaincc = functions.igamma, functions.igammac

if not TYPE_CHECKING:  # type checkers see the names above
    __all__ = [name for name, value in globals().items() if isinstance(value, FunctionType) and name[0] != "_"]
