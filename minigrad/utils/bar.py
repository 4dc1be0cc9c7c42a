"""Progress bars for long operations: on stderr, or below a notebook's cell. All of minigrad's bars are defined here.

They are tqdm bars, of the right kind for the terminal or notebook (``tqdm.auto``). Without tqdm there are no
bars.
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
    """A context with a bar that has ``update``; if the bar is hidden or tqdm is missing, ``update`` does nothing.
    ``delay`` is in seconds; ``unit`` directly follows the numbers (" pairs")."""
    tqdm = library() if shown else None
    if tqdm is None:
        return nullcontext(SimpleNamespace(update=lambda n=1: None))
    return tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=delay)


def watched(items: Sequence[Item], name: str) -> Iterable[Item]:
    """Iterate over items, with a bar after two seconds, if there is a terminal and tqdm is installed."""
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
    """tqdm's class for this terminal or notebook; None if it is missing."""
    with suppress(ImportError):
        import tqdm  # each time: it may be installed while a notebook runs

        return _chosen(tqdm)
    return None


@cache
def _chosen(_: Any) -> Any:
    """``tqdm.auto.tqdm``, without its warning about text bars in a notebook that lacks ipywidgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this, not a script or a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
