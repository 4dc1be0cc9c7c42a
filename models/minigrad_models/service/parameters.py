"""The parameters of a request, checked. Each function raises Refused (400) with a message that names the parameter."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from .refused import Refused


def check_names(content: Mapping[str, Any], known: Collection[str], neutral: Mapping[str, Collection[Any]]) -> None:
    """Refuse parameters that are not ``known``. A parameter in ``neutral`` is not supported, but may have one of these
    values, which change nothing."""
    for name, value in content.items():
        if name in neutral:
            if value is not None and value not in neutral[name]:
                raise Refused(400, f'"{name}" is not supported by this server.')
        elif name not in known:
            raise Refused(400, f'Unknown parameter "{name[:40]}"; this address takes {", ".join(sorted(known))}.')


def number(content: Mapping[str, Any], name: str, default: float, low: float, high: float) -> float:
    """A number from ``low`` to ``high``, which must be an integer if the default is one."""
    value = content.get(name)
    if value is None:
        return default
    kinds = (int,) if isinstance(default, int) else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value) or not low <= value <= high:
        kind = "an integer" if isinstance(default, int) else "a number"
        raise Refused(400, f'"{name}" must be {kind} from {low:,} to {high:,}.')
    return value


def flag(content: Mapping[str, Any], name: str) -> bool:
    """A boolean, by default False."""
    value = content.get(name)
    if not (value is None or isinstance(value, bool)):
        raise Refused(400, f'"{name}" must be true or false.')
    return bool(value)


def texts(content: Mapping[str, Any], name: str, most: int) -> list[str]:
    """One or more texts: a string, or a list of strings."""
    value = content.get(name)
    rows = [value] if isinstance(value, str) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise Refused(400, f'"{name}" must be a string or a list of strings.')
    if len(rows) > most:
        raise Refused(400, f'"{name}" has {len(rows):,} strings; the limit is {most:,}.')
    for i, row in enumerate(rows):
        if not row:
            raise Refused(400, f'"{name}" has an empty string, at index {i}.')
        check_characters(name, row)
    return rows


def check_characters(name: str, text: str) -> None:
    """Refuse a text that UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(400, f'"{name}" contains an incomplete character (a lone surrogate).') from None
