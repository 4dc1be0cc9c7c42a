"""Processes that ``multiprocessing`` starts afresh, by "spawn" or "forkserver": they, too, get minigrad for torch.

Such a process begins with Python alone, reads from a pipe how it has to prepare itself, and imports the program. What
it reads is a pickle, which can also call a function: here ``as_torch``, before the program is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..extension import PACKAGE

Prepared = Callable[[str], dict[str, Any]]


class _AsTorch:
    """An object whose unpickling calls ``as_torch``, with this process's ``sys.path``, which is not there yet."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"import sys; sys.path[:] = {sys.path!r}; from {PACKAGE}.compat import as_torch; as_torch()",)


def install() -> None:
    """Add to what such processes read. Again, it does nothing."""
    with suppress(ImportError):  # in a browser there are no processes
        from multiprocessing import spawn

        module: Any = spawn
        if module.get_preparation_data.__module__ != __name__:
            module.get_preparation_data = _adding_to(module.get_preparation_data)


def _adding_to(original: Prepared) -> Prepared:
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = original(name)
        return {**data, PACKAGE: _AsTorch()} if sys.modules.get("torch") is sys.modules[PACKAGE] else data

    return get_preparation_data
