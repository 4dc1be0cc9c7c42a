"""Helpers for running a model to inspect it. They name its modules, and restore its state afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..autograd.mode import at_end
from ..autograd.observer import Observer
from ..backend.random import default_generator
from ..backend.storage import owner
from ..nn import hooks
from ..nn.module import Module
from ..ops.op import Op
from ..utils._pytree import tree_leaves


@contextmanager
def untouched(model: Module | None) -> Iterator[None]:
    """Restore the random state and a model's modes and buffers on exit. Lazy modules stay initialised."""
    random = default_generator.get_state()
    modules = [] if model is None else list(model.modules())
    modes = [(module, module.training) for module in modules]
    entries = [(m._buffers, name, b) for m in modules for name, b in m._buffers.items() if b is not None]
    buffers = [(table, name, b, b.array, b.array.copy(), b._changes[:]) for table, name, b in entries]

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
    """Call ``before(module, args, kwargs)`` and ``after(module, args, kwargs, result)`` around each call of a module in
    this thread, inside all hooks. As with hooks, the values they return replace the arguments and the result."""
    thread = threading.get_ident()

    def here(function: Callable[..., Any]) -> hooks.Hook:
        return hooks.Hook(lambda *args: function(*args) if threading.get_ident() == thread else None, True)

    with ExitStack() as handles:
        if before is not None:
            handles.callback(hooks.register(hooks.ALL_FORWARD_PRE, here(before)).remove)
        handles.callback(hooks.register(hooks.ALL_FORWARD, here(after)).remove)
        yield


def memory_of(value: Any) -> list[Any]:
    """The arrays whose memory a value and its contents keep alive."""
    arrays = (getattr(leaf, "array", leaf) for leaf in tree_leaves(value))  # of a tensor, or a Function's result
    return [owner(array) for array in arrays if hasattr(array, "nbytes") and hasattr(array, "strides")]


class ModuleNames:
    """The paths of modules, such as "encoder.layers.0". Without a ``root``, paths start with a class: "Net.encoder"."""

    def __init__(self, root: Module | None = None) -> None:
        self._paths: dict[int, str] = {}
        self._roots: dict[str, Module] = {}  # kept alive so that ids are not reused
        if root is not None:
            self._enter(root, "")

    def path(self, module: Module, place: str) -> str:
        """The path of a module called from ``place`` ("" for none). An unregistered module is named after its class."""
        if id(module) not in self._paths:
            kind = f"{place}.{type(module).__name__}" if place else type(module).__name__
            root, count = kind, 2
            while root in self._roots:
                root, count = f"{kind}#{count}", count + 1
            self._enter(module, root)
        return self._paths[id(module)]

    def _enter(self, module: Module, root: str) -> None:
        """Name a new root and all modules below it that do not have a name yet."""
        self._roots[root] = module
        for name, inner in module.named_modules():
            self._paths.setdefault(id(inner), ".".join(filter(None, (root, name))))


class Within(Observer):
    """Tracks the paths of running modules and the running ops, innermost last."""

    def __init__(self, names: ModuleNames) -> None:
        self.names, self.within = names, [""]  # an entry for each open span
        self.running: list[Op] = []

    def entered(self, name: str, kind: str, subject: Any) -> None:
        around = self.within[-1]
        self.within.append(self.names.path(subject, around) if kind == "module" else around)

    def left(self) -> None:
        if len(self.within) > 1:  # otherwise, the span began before this observer
            self.within.pop()

    def applying(self, op: Op, args: tuple[Any, ...]) -> None:
        self.running.append(op)

    def failed(self, op: Op) -> None:
        while self.running and self.running.pop() is not op:
            continue
