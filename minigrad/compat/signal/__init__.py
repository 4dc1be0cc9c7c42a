"""``torch.signal``: windows for pieces of a signal."""

from . import windows

__all__ = ["windows"]
