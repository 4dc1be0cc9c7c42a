"""How much a value of a file may hold: its parts, each as often as it is reached, and its depth.

A tuple that holds another twice, which holds a third twice, and so on: 45 levels take 300 bytes of a pickle, and to
hash, compare or print them takes for ever.
"""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

from ..tensor import Tensor

MOST_PARTS = 50_000_000
DEEPEST = 25_000
_LEVELS = 100  # of one defaultdict: Python frees those within each other by recursion, and overflows its stack
_ENOUGH = 1 << 62
_CONTAINERS = (tuple, list, dict, set, frozenset, Namespace, SimpleNamespace, Tensor)


class Bounds:
    """Counts parts and levels of values. What has been counted once is remembered, until ``forget``."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int, int]] = {}  # by id: the value, which stays alive, its parts, its depth

    def of(self, value: Any) -> tuple[int, int]:
        """The parts and the depth of a value. A value within itself counts once there."""
        known, stack = self._known, [value]
        while stack:
            node = stack[-1]
            if id(node) in known and known[id(node)][1]:
                stack.pop()
                continue
            inner = _inner(node)
            if id(node) not in known:
                known[id(node)] = node, 0, 0  # its parts are being counted
                if missing := [part for part in inner if id(part) not in known and not _is_leaf(part)]:
                    stack += missing
                    continue
            counted = [known.get(id(part)) or (part, 1 + len(part), 1) for part in inner]
            parts = 1 + (len(node) if isinstance(node, (tuple, list, dict, set, frozenset)) else 0)
            parts += sum(part for _, part, _ in counted)
            depth = max((level for _, _, level in counted), default=0) + levels(node)
            known[id(node)] = node, min(parts, _ENOUGH), depth
            stack.pop()
        return known[id(value)][1:]

    def forget(self, changed: Any) -> None:
        """Count again, if a value that is about to change has been counted."""
        if id(changed) in self._known:
            self._known.clear()

    def check(self, value: Any, most: int = MOST_PARTS) -> None:
        """Raise ValueError for a value of more parts, or nested too deeply."""
        parts, depth = self.of(value)
        if parts > most:
            raise ValueError(f"it repeats parts of itself: more than {most:,} parts")
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")


def levels(container: Any) -> int:
    """How much a container adds to a depth."""
    return _LEVELS if type(container) is defaultdict else 1


def _is_leaf(part: Any) -> bool:
    """Whether it is a small tuple without containers, which is counted faster than it is remembered."""
    return isinstance(part, tuple) and len(part) < 8 and not any(isinstance(inner, _CONTAINERS) for inner in part)


def _inner(node: Any) -> list[Any]:
    """The containers directly within one."""
    if isinstance(node, (tuple, list, set, frozenset)):
        return [part for part in node if isinstance(part, _CONTAINERS)]
    inner = []
    if isinstance(node, dict):
        inner = [part for two in (dict.keys(node), dict.values(node)) for part in two if isinstance(part, _CONTAINERS)]
    attributes = getattr(node, "__dict__", None) if isinstance(node, _CONTAINERS) else None
    return inner + [part for part in attributes.values() if isinstance(part, _CONTAINERS)] if attributes else inner


def dismantle(built: list[Any]) -> None:
    """Empty defaultdicts, while all of them are alive."""
    for container in built:
        if type(container) is defaultdict:
            container.clear()
