"""PyTorch's ways in: ``as_torch`` and ``python -m minigrad.compat``, other spellings, no-ops and refusals.

``names.py`` is the one table of names and paths that are another spelling of something; ``finder.py`` makes
the paths importable; ``advice.py`` says what to use instead of what is absent.
"""

from __future__ import annotations

from .alias import as_torch

__all__ = ["as_torch"]
