"""Reverse-mode differentiation: the tape (``tape``), the backward pass over it (``walk``), modes and checks."""

from typing import TYPE_CHECKING

from . import graph
from .gradients import grad
from .mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .tracebacks import border_functions as _border_functions
from .walk import backward

if TYPE_CHECKING:  # imported on first use
    from ..compat import function, functional
    from ..compat.anomaly import detect_anomaly, set_detect_anomaly
    from ..compat.function import Function
    from ..utils.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["Function", "GradcheckError", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad"]
__all__ += ["gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad"]
__all__ += ["set_detect_anomaly", "set_grad_enabled"]

_border_functions(globals())
