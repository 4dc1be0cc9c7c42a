"""What messages say of a file that may be damaged, or made to do harm."""

from __future__ import annotations

import struct
from reprlib import Repr
from types import FunctionType
from typing import Any

# What data that makes no sense raises, in Python and in NumPy
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, EOFError, OverflowError, RecursionError, struct.error)
_LONGEST = 60  # characters of a value
_LONGEST_REASON = 300  # of another error
_SCALARS = (bool, int, float, str, type(None), complex)
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _LONGEST
_REPR.maxlevel = 2


def short(value: Any) -> str:
    """A value for a message: text, a number or the name of a class, cut; of anything else its type, as to print it may
    take for ever."""
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:
        return f"a number of {value.bit_length():,} bits"
    if type(value) in _SCALARS:
        return _REPR.repr(value)
    if isinstance(value, (type, FunctionType)):
        return f"{value.__module__}.{value.__qualname__}"[:_LONGEST]
    return f"a {type(value).__name__}"


def reason(error: BaseException) -> str:
    """The text of an error for a message, cut; where it may quote more than text and numbers, only its type."""
    is_plain = isinstance(error, UnicodeError) or all(type(part) in _SCALARS for part in error.args)
    text = str(error) if is_plain else ""
    return (text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…") or type(error).__name__


def cause(error: BaseException) -> BaseException | None:
    """An error to name as the cause of another one; None if its text may be huge."""
    return None if reason(error).endswith("…") or reason(error) == type(error).__name__ else error
