"""Handles of registered hooks."""

from __future__ import annotations

from itertools import count
from typing import Any


class RemovableHandle:
    """Puts a hook among ``hooks``, under a number, ``id``, that no other hook has had; ``remove()`` takes it away."""

    _keys = count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.id = hooks, next(self._keys)
        hooks[self.id] = hook

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()
