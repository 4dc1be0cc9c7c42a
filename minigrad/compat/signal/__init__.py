"""``torch.signal``: windows for frames of a signal."""

from . import windows

__all__ = ["windows"]
