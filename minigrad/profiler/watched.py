"""A model is run to be looked at, and is afterwards as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..autograd.mode import at_end
from ..backend.random import default_generator
from ..nn import hooks
from ..nn.module import Module


@contextmanager
def untouched(model: Module | None) -> Iterator[None]:
    """What runs within it leaves random numbers where they were, and of a model the modes and the buffers (a batch
    norm's running mean). What a lazy module makes on its first call stays."""
    random = default_generator.get_state()
    modules = [] if model is None else list(model.modules())
    modes = [(module, module.training) for module in modules]
    held = [(m._buffers, name, b) for m in modules for name, b in m._buffers.items() if b is not None]
    buffers = [(table, name, b, b.array, b.array.copy(), b._changes[:]) for table, name, b in held]

    def put_back() -> None:
        default_generator.set_state(random)
        for module, training in modes:
            module.training = training
        for table, name, buffer, array, numbers, version in buffers:
            if buffer._changes != version:
                array[...] = numbers
                buffer.array, buffer._changes[:] = array, version
            table[name] = buffer

    with at_end(put_back) as end, end:
        yield


@contextmanager
def around_calls(before: Callable[..., Any] | None, after: Callable[..., Any]) -> Iterator[None]:
    """Within it, ``before(module, args, kwargs)`` and ``after(module, args, kwargs, result)`` run around each call of a
    module in this thread, next to its forward; what they return replaces arguments and result, as a hook's does."""
    thread = threading.get_ident()

    def here(function: Callable[..., Any]) -> hooks.Hook:
        return hooks.Hook(lambda *given: function(*given) if threading.get_ident() == thread else None, True)

    with ExitStack() as handles:
        if before is not None:
            handles.callback(hooks.register(hooks.ALL_FORWARD_PRE, here(before)).remove)
        handles.callback(hooks.register(hooks.ALL_FORWARD, here(after)).remove)
        yield
