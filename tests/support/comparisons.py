"""Finds the tests that compare with PyTorch: if it is missing, pytest deselects them."""

import functools
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

HAS_TORCH = importlib.util.find_spec("torch") is not None
_NAMES = {"torch", "theirs"}


def compares(test: Callable[..., Any]) -> bool:
    """Whether a test uses the name ``torch``, or a function or class of the tests that does."""
    return isinstance(test, FunctionType) and _compares(test, frozenset())


def _compares(value: Any, above: frozenset[Any]) -> bool:
    if value in above or not value.__module__.startswith("tests."):
        return False
    functions = [value] if isinstance(value, FunctionType) else filter(inspect.isfunction, vars(value).values())
    return any(_reads_torch(inspect.unwrap(f), above | {value}) for f in functions)


@functools.cache
def _reads_torch(function: FunctionType, above: frozenset[Any]) -> bool:
    names = set(_names(function.__code__))
    if names & _NAMES:
        return True
    parts = (function.__globals__.get(name) for name in names)
    return any(_compares(part, above) for part in parts if isinstance(part, (FunctionType, type)))


def _names(code: CodeType) -> Iterator[str]:
    """The global names and attributes that code and its inner functions read, and the string "torch"."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif constant == "torch":
            yield constant
