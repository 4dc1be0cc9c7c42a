"""``torch.signal``: windows for signal frames."""

from . import windows

__all__ = ["windows"]
