"""A progress bar on stderr for what takes longer than a moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

Item = TypeVar("Item")
DELAY = 2.0  # seconds before a bar appears


def bar(total: float, what: str, unit: str, shown: bool = True, delay: float = DELAY) -> Any:
    """A context with a bar that has ``update``; or with None, if it is not shown or tqdm is missing. ``delay`` is in
    seconds; ``unit`` follows the numbers as it is (" pairs")."""
    if shown:
        with suppress(ImportError):
            from tqdm import tqdm

            return tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=delay)
    return nullcontext()


def watched(items: Sequence[Item], name: str) -> Iterable[Item]:
    """The items, one by one, with a bar after two seconds, if stderr is a terminal and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=name, leave=False, delay=DELAY, disable=None)
    return bar
