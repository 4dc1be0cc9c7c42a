"""Where a NumPy array keeps what it is about: its data, its shape, its steps. For compiled loops.

The fields of PyArrayObject follow the head of every object, of ``object.__basicsize__`` bytes; ``store.py`` compares
them with what NumPy says before it loads anything.
"""

from __future__ import annotations

from .loops import inline
from .native import word

HEAD = object.__basicsize__
_AXES, _SHAPE, _STEPS = HEAD + 8, HEAD + 16, HEAD + 24


@inline
def axes(array: int) -> int:
    """The number of axes."""
    return word(array + _AXES) & 0xFFFF


@inline
def at(array: int) -> int:
    """The address of the first element."""
    return word(array + HEAD)


@inline
def length(array: int, axis: int) -> int:
    """The length of an axis, counted from the end if negative; 1 where there is none."""
    place = axis + axes(array) if axis < 0 else axis
    return 1 if place < 0 else word(word(array + _SHAPE) + 8 * place)


@inline
def step(array: int, axis: int) -> int:
    """Bytes from one element of an axis to the next, counted from the end if negative."""
    place = axis + axes(array) if axis < 0 else axis
    return word(word(array + _STEPS) + 8 * place)


@inline
def volume(array: int, but: int) -> int:
    """The number of elements of all axes but the last ``but``."""
    count = 1
    for axis in range(axes(array) - but):
        count *= word(word(array + _SHAPE) + 8 * axis)
    return count
