"""``torch.export``, which is absent: its functions say so when they are called."""

from __future__ import annotations

from .refused import Refused

__all__ = ["export", "load", "save"]

_ADVICE = "nothing records a program; save the state dict with minigrad.save"
export, save, load = (Refused(f"torch.export.{name}", _ADVICE) for name in ("export", "save", "load"))
