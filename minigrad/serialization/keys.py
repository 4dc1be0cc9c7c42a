"""Keys of dicts and members of sets that a file may have: those that take a reasonable time to hash and to compare.

Python's dicts are fast as long as few keys have the same hash. Text and bytes have secret hashes; the hash of an
integer is its remainder by 2⁶¹ - 1, and anyone can write a file of integers, or of complex numbers or tuples of them,
that all have the same one: each is compared with all before it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from .bounds import Bounds

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


def dict_of(items: Any = ()) -> dict[Any, Any]:
    """The dict of a dict's items, or of pairs. Raises as ``hashed`` and ``put``; TypeError: something else, which may
    have any number of items."""
    if not isinstance(items, (dict, list, tuple)):
        raise TypeError(f"a dict of a {type(items).__name__}")
    pairs = [(key, value) for key, value in (items.items() if isinstance(items, dict) else items)]
    hashed([key for key, _ in pairs], Bounds())
    return put({}, pairs)


def set_of(members: Any = ()) -> set[Any]:
    """The set of some members. Raises as ``hashed`` and ``add``."""
    if not isinstance(members, (list, tuple, set, frozenset, dict)):  # a range, in a few bytes, has any number of them
        raise TypeError(f"a set of a {type(members).__name__}")
    hashed(list(members), Bounds())
    return add(set(), members)


def put(target: dict[Any, Any], items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """The dict, with more items. Raises ValueError when too many of its keys have one hash."""
    for key, value in items:
        before = len(target)
        target[key] = value
        if len(target) > before:
            _look(target)
    return target


def add(target: set[Any], members: Iterable[Any]) -> set[Any]:
    """The set, with more members. Raises as ``put``."""
    for member in members:
        before = len(target)
        target.add(member)
        if len(target) > before:
            _look(target)
    return target


def _look(container: Collection[Any]) -> None:
    """Compare the hashes of a growing container's keys, whenever their number is a power of two: in linear time."""
    count = len(container)
    if count < _FEW or count & (count - 1):
        return
    alike = max(Counter(map(hash, container)).values())
    if alike > _MOST_ALIKE:
        raise ValueError(f"{alike} keys of a dict or set with one hash, which would take quadratic time")
