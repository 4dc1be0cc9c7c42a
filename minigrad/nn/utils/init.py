"""Modules without initial values."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ...backend.random import default_generator
from ..module import Module

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A module with uninitialised parameters: load a state dict into it.

    Raises:
        RuntimeError: it is not a Module with an argument ``device``.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = default_generator.get_state()
    module = module_cls(*args, **kwargs)
    default_generator.set_state(before)
    return module.to_empty(device=kwargs.get("device") or "cpu")
