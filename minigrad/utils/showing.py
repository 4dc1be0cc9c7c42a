"""Redirects a program's views to an editor, or to a page that runs Python, instead of the notebook or browser.

This module does not import anything, so such a page can register before the drawing modules are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shower = Callable[[Any], object]

_showers: list[Shower] = []


def shown_by(to: Shower | None) -> None:
    """Pass every view to a function instead of showing it. None restores the notebook or browser."""
    _showers[:] = [] if to is None else [to]


def shower() -> Shower | None:
    """The function that receives views, or None if they go to the notebook or browser."""
    return _showers[0] if _showers else None
