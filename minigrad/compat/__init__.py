"""PyTorch's ways in: ``as_torch`` and ``python -m minigrad.compat``, other spellings, no-ops and refusals.

It stands on top of the package, as the layer that ``extension.py`` asks for what is missing there. ``names.py`` is
the one table of names and paths that are another spelling of something; ``advice.py`` says what to use instead of what
is absent.
"""

from __future__ import annotations

from .advice import missing
from .alias import as_torch
from .names import find, has_module, load, others

__all__ = ["as_torch"]
