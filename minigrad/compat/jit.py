"""TorchScript's names, ``torch.jit``: functions and modules stay Python; nothing can be saved as a script."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final, TypeVar

from ..nn import Module
from .refused import Refused

__all__ = [
    "Final",
    "ScriptModule",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "save",
    "script",
    "trace",
    "unused",
]

T = TypeVar("T")
ScriptModule = Module
ScriptFunction = type(lambda: None)


def script(obj: T, optimize: None = None, example_inputs: Any = None) -> T:
    """Return a function, class or module as it is, also as a decorator."""
    return obj


def trace(
    func: T,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    example_kwarg_inputs: Any = None,
) -> T:
    """Return a function or module as it is: unlike a trace it goes on to follow ``if`` and ``for``."""
    return func


def _same(obj: T, *args: Any, **kwargs: Any) -> T:
    return obj


export = freeze = optimize_for_inference = interface = script_if_tracing = script_method = _same


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with or without brackets."""
    return drop if callable(drop) else _same


def unused(fn: T) -> T:
    """Return ``fn``."""
    return fn


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's ``isinstance``."""
    import builtins

    return builtins.isinstance(obj, target_type)


def _unwrap_optional(x: T | None) -> T:
    """Return what is not None.

    Raises:
        AssertionError: it is None.
    """
    assert x is not None, "Unwrapping null optional"
    return x


def optimized_execution(should_optimize: bool) -> Any:
    """A context that changes nothing."""
    return nullcontext()


def fuser(name: str) -> Any:
    """A context that changes nothing."""
    return nullcontext()


save = Refused("torch.jit.save", "there are no scripts; save the state dict with minigrad.save")
load = Refused("torch.jit.load", "there are no scripts; load a state dict into the module's class")
