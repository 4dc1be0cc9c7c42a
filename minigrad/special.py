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

__all__ = [
    "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "round",
    "sinc", "softmax", "xlogy",
]  # fmt: skip
