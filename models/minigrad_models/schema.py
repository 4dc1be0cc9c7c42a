"""Checks the content of a file before it is used, as a file may be damaged or malicious.

A schema is a type annotation: ``int``, ``float | None``, ``dict[str, list[str]]``, a TypedDict, or a dataclass (the
dict of its fields). ``check`` compares plain data with a schema, ``check_like`` compares it with a valid value, and
``check_size`` rejects data that would take too long to traverse.
"""

from __future__ import annotations

import os
import types
from dataclasses import is_dataclass
from typing import Any, Literal, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from minigrad import Tensor
from minigrad.serialization.source import is_endless, opened, reason as reason, short as short

MOST_CONTAINERS, MOST_ENTRIES, DEEPEST = 200_000, 50_000_000, 60
_SCALARS = (bool, int, float, str, type(None))
_MOST_UNSIZED = 1 << 26  # limit in bytes for files whose reported size is 0, as in /proc


def content(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file."""
    if is_endless(path) or os.path.isdir(path):
        raise ValueError(f"{path} is a folder, a device or a pipe, not a file")
    with opened(path) as file:
        status = os.fstat(file.fileno())
        most = most if status.st_size else min(most, _MOST_UNSIZED)
        try:
            data = file.read(most + 1) if status.st_size <= most else b""
        except OSError as error:  # from /proc
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    if max(len(data), status.st_size) > most:
        raise ValueError(f"{path} is larger than {most >> 20 or 1} MiB")
    return data


def check_size(value: Any) -> None:
    """Raise ValueError for data that is too deeply nested or too large. A shared part counts each time it occurs,
    because a few kilobytes can describe a tree of 2¹⁰⁰ leaves."""
    stack, containers, entries = [(value, 1)], 0, 0
    while stack:
        node, depth = stack.pop()
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list | tuple) else ()
        if not inner:
            continue
        containers, entries = containers + 1, entries + len(inner)
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        if containers > MOST_CONTAINERS or entries > MOST_ENTRIES:
            raise ValueError("it has too many entries, or contains itself")
        stack += [(part, depth + 1) for part in inner if isinstance(part, dict | list | tuple)]


def check(value: Any, schema: Any, where: str) -> None:
    """Raise ValueError unless a value matches a schema. An int counts as a float, but a bool does not count as an int;
    ints must fit in 64 bits and floats must be finite. ``where`` names the value in the message."""
    origin, arguments = get_origin(schema), get_args(schema)
    if schema is Any:
        return None
    if is_typeddict(schema) or is_dataclass(schema):
        _check_typed(value, schema, where)
    elif origin is types.UnionType or origin is Union:
        faults = []
        for choice in arguments:
            try:
                return check(value, choice, where)
            except ValueError as fault:
                faults.append(fault)
        raise faults[0]
    elif origin is Literal:
        _expect(any(type(value) is type(one) and value == one for one in arguments), value, schema, where)
    elif origin is dict:
        _expect(isinstance(value, dict), value, schema, where)
        for key, part in value.items():
            check(key, arguments[0], f"a key of {where}")
            check(part, arguments[1], f"{where}[{short(key)}]")
    elif origin is list or (origin is tuple and arguments[1:] == (...,)):
        _expect(isinstance(value, origin), value, schema, where)
        for i, part in enumerate(value):
            check(part, arguments[0], f"{where}[{i}]")
    elif schema is float:
        _expect(is_number(value) and abs(value) < 2**63, value, schema, where)  # NaN fails
    elif schema is int:
        _expect(isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**63, value, schema, where)
    else:
        kind = type(None) if schema is None else origin or schema
        _expect(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), value, schema, where)


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _expect(holds: bool, value: Any, schema: Any, where: str) -> None:
    if not holds:
        name = schema.__name__ if isinstance(schema, type) and not get_args(schema) else str(schema)
        raise ValueError(f"{where} is {short(value)}, but should be of type {name}")


def _check_typed(value: Any, schema: Any, where: str) -> None:
    _expect(isinstance(value, dict), value, dict, where)
    hints = get_type_hints(schema, include_extras=True)
    if missing := getattr(schema, "__required_keys__", frozenset()) - value.keys():
        raise ValueError(f"{where} lacks {', '.join(sorted(missing))}")
    for name, part in value.items():
        if not isinstance(name, str) or name not in hints:
            raise ValueError(f"{where} has an unknown entry {short(name)}")
        hint = hints[name]
        check(part, get_args(hint)[0] if get_origin(hint) is Required else hint, f"{where}.{name}")


def check_like(value: Any, present: Any, where: str, complete: bool = True) -> None:
    """Raise ValueError unless a value has the same structure as ``present``: types, shapes and (if ``complete``) all
    keys. All numbers match each other, and None matches any scalar."""
    if isinstance(present, Tensor | np.ndarray):
        same = isinstance(value, type(present)) and (value.shape, value.dtype) == (present.shape, present.dtype)
    elif isinstance(present, dict):
        same = isinstance(value, dict) and not (complete and present.keys() - value.keys())
        for key in (present.keys() & value.keys()) if same else ():
            check_like(value[key], present[key], f"{where}[{short(key)}]", complete)
    elif isinstance(present, list | tuple):
        same = isinstance(value, list | tuple) and (not complete or len(value) == len(present))
        for i, part in enumerate(value if same and present else ()):
            check_like(part, present[min(i, len(present) - 1)], f"{where}[{i}]", complete)
    elif present is None:
        same = isinstance(value, (*_SCALARS, Tensor))
    elif is_number(present):
        same = is_number(value) or (isinstance(value, Tensor) and value.numel() == 1)
    else:
        same = not isinstance(present, _SCALARS) or isinstance(value, type(present))
    if not same:
        raise ValueError(f"{where} is {short(value)}, but should be like {short(present)}")
