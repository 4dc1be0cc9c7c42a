"""Who shows a program's views: an editor, or a page in which Python runs, in place of the notebook or the browser.

It stands by itself, so that such a page can ask for the views before anything that draws is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shower = Callable[[Any], object]

_showers: list[Shower] = []


def shown_by(to: Shower | None) -> None:
    """Give every view that is to be shown to a function. None: to the notebook or the browser again."""
    _showers[:] = [] if to is None else [to]


def shower() -> Shower | None:
    """The function that gets views; None: they go to the notebook or the browser."""
    return _showers[0] if _showers else None
