"""Reverse-mode differentiation: the tape (``tape``), the walk back over it (``walk``), modes and checks."""

from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .mode import (
    detect_anomaly,
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from .walk import backward, grad

__all__ = [
    "GradcheckError", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck",
    "is_grad_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
