"""What a value of a file may hold: how many parts, each as often as it is reached, how deep, and which keys.

A tuple that holds another twice, which holds a third twice, and so on: 45 levels take 300 bytes of a pickle, and to
hash, compare or print them takes for ever.

Python's dicts are fast as long as few keys have the same hash. Text and bytes have secret hashes; the hash of an
integer is its remainder by 2⁶¹ - 1, and anyone can write a file of integers, or of complex numbers or tuples of them,
that all have the same one: each is compared with all before it.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from ..tensor import Tensor

MOST_PARTS = 50_000_000
DEEPEST = 25_000
FRAGILE = (defaultdict, deque)  # Python frees those within each other by recursion, which overflows its stack
_LEVELS = 100  # that one of these counts
_ENOUGH = 1 << 62
_SIZED = (tuple, list, dict, set, frozenset, deque)
_CONTAINERS = (*_SIZED, Namespace, SimpleNamespace, Tensor)


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
            parts = 1 + (len(node) if isinstance(node, _SIZED) else 0)
            parts += sum(part for _, part, _ in counted)
            depth = max((level for _, _, level in counted), default=0)
            depth += _LEVELS if isinstance(node, FRAGILE) else 1
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
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        if parts > most:
            raise ValueError(f"it repeats parts of itself: more than {most:,} parts")


def _is_leaf(part: Any) -> bool:
    """Whether it is a small tuple without containers, which is counted faster than it is remembered."""
    return isinstance(part, tuple) and len(part) < 8 and not any(isinstance(inner, _CONTAINERS) for inner in part)


def _inner(node: Any) -> list[Any]:
    """The containers directly within one."""
    if isinstance(node, (tuple, list, set, frozenset, deque)):
        return [part for part in node if isinstance(part, _CONTAINERS)]
    inner = []
    if isinstance(node, dict):
        inner = [part for two in (dict.keys(node), dict.values(node)) for part in two if isinstance(part, _CONTAINERS)]
    attributes = getattr(node, "__dict__", None) if isinstance(node, _CONTAINERS) else None
    return inner + [part for part in attributes.values() if isinstance(part, _CONTAINERS)] if attributes else inner


def dismantle(built: list[Any]) -> None:
    """Empty the fragile containers, while all of them are alive."""
    for container in built:
        if isinstance(container, FRAGILE):
            container.clear()


_MOST_BITS = 1 << 14  # of an integer, whose hash is not kept: it would be computed for each use of the key
_MOST_HASHED = 100_000  # parts of one key: nested tuples that repeat each other take exponential time to hash
_DEEPEST = 50
# Of one hash: 64-bit integers share theirs by eight at most, floating-point numbers by some tens; by twice as many on a
# 32-bit system, where hashes are remainders by 2³¹ - 1
_MOST_ALIKE = 64 if sys.hash_info.width == 64 else 128
_FEW = 128  # keys that are fast in any case


def hashed(keys: list[Any], bounds: Bounds) -> int:
    """How many parts of tuples the hashes of some keys are made of. Raises ValueError for one that takes too deep a
    stack, or too much time, to hash: tuples within tuples, or a huge number."""
    total = 0
    for key in keys:
        if isinstance(key, int) and key.bit_length() > _MOST_BITS:
            raise ValueError(f"a key of {key.bit_length():,} bits")
        if isinstance(key, (tuple, frozenset)):
            parts, depth = bounds.of(key)
            if parts > _MOST_HASHED or depth > _DEEPEST:
                raise ValueError("a key of tuples within tuples")
            total += parts
    return total


def dict_of(items: Any = ()) -> Any:
    """The dict of a dict's items, or of pairs. Raises as ``hashed`` and ``put``; TypeError: something else, which may
    have any number of items."""
    if not isinstance(items, (dict, list, tuple)):
        raise TypeError(f"a dict of a {type(items).__name__}")
    pairs = [(key, value) for key, value in (items.items() if isinstance(items, dict) else items)]
    hashed([key for key, _ in pairs], Bounds())
    return put({}, pairs)


def set_of(members: Any = ()) -> Any:
    """The set of some members. Raises as ``hashed`` and ``put``."""
    if not isinstance(members, (list, tuple, set, frozenset, dict)):  # a range, in a few bytes, has any number of them
        raise TypeError(f"a set of a {type(members).__name__}")
    hashed(list(members), Bounds())
    return put(set(), members)


def put(target: Any, items: Iterable[Any]) -> Any:
    """The dict with more (key, value) pairs, or the set with more members. Raises ValueError when too many keys have
    one hash: whenever their number becomes a power of two, their hashes are compared, in linear time."""
    is_dict = isinstance(target, dict)
    for item in items:
        before = len(target)
        if is_dict:
            key, value = item
            target[key] = value
        else:
            target.add(item)
        count = len(target)
        if count > before and count >= _FEW and not count & (count - 1):
            alike = max(Counter(map(hash, target)).values())
            if alike > _MOST_ALIKE:
                raise ValueError(f"{alike} keys of a dict or set with one hash, which would take quadratic time")
    return target
