"""Progress bars for long operations, on stderr or below a notebook cell. All of minigrad's bars are created here.

They are tqdm bars for the terminal or notebook (``tqdm.auto``). Without tqdm, nothing is shown.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import cache
from types import SimpleNamespace
from typing import Any, TextIO, TypeVar

__all__ = ["DELAY", "bar", "in_notebook", "library", "say", "watched"]

Item = TypeVar("Item")
DELAY = 2.0  # seconds before a bar appears


def bar(total: float, what: str, unit: str, shown: bool = True, delay: float = DELAY) -> Any:
    """A context manager for a progress bar, whose ``update`` method does nothing if the bar is hidden or tqdm is
    missing. ``delay`` is in seconds. ``unit`` directly follows the numbers, so it may begin with a space (" pairs")."""
    tqdm = library() if shown else None
    if tqdm is None:
        return nullcontext(SimpleNamespace(update=lambda n=1: None))
    return tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=delay)


def watched(items: Sequence[Item], name: str) -> Iterable[Item]:
    """Iterate over items, showing a bar after two seconds if there is a terminal and tqdm is installed."""
    tqdm = library()
    if tqdm is None:
        return items
    result: Iterable[Item] = tqdm(items, desc=name, leave=False, delay=DELAY, disable=None)
    return result


def say(text: str, file: TextIO) -> None:
    """Print a line without breaking visible bars."""
    tqdm = library()
    if tqdm is None:
        print(text, file=file)
    else:
        tqdm.write(text, file=file)
    file.flush()


def library() -> Any:
    """tqdm's class for this terminal or notebook, or None if tqdm is missing."""
    with suppress(ImportError):
        import tqdm  # imported each time, as it may be installed while a notebook runs

        return _chosen(tqdm)
    return None


@cache
def _chosen(_: Any) -> Any:
    """``tqdm.auto.tqdm`` without the warning about text bars in notebooks that lack ipywidgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm


def in_notebook() -> bool:
    """Whether this runs in a notebook kernel, not in a script or terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
