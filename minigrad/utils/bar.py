"""A progress bar on stderr for what takes longer than a moment."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

DELAY = 2.0  # seconds before a bar appears


def bar(total: float, what: str, unit: str, shown: bool = True, delay: float = DELAY) -> Any:
    """A context with a bar that has ``update``; or with None, if it is not shown or tqdm is missing. ``delay`` is in
    seconds; ``unit`` follows the numbers as it is (" pairs")."""
    if shown:
        with suppress(ImportError):
            from tqdm import tqdm

            return tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=delay)
    return nullcontext()
