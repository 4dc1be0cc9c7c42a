"""The observer of a profile: it writes down the ops, nodes and spans that the engine announces.

Nothing in the library asks whether a profile is on: while nobody watches, watching costs nothing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from math import prod
from threading import get_ident
from typing import Any

from ..autograd.observer import Observer, attach, detach
from ..autograd.tape import Variable
from .flops import flops_of
from .names import ModuleNames
from .recorder import MODULE, NODE, OP, STEP, WALK, Event, Recorder

_STEPS = {"step": "Optimizer.{method}#{name}", "data": "enumerate(DataLoader)#{name}"}  # as PyTorch calls them


class Watch(Observer):
    """Tells a recorder what happens."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names = ModuleNames()
        self._spans: defaultdict[int, list[tuple[Event | None, Any]]] = defaultdict(list)  # by thread
        self._arriving: dict[Any, list[list[int]]] = {}  # the shapes of the gradients of a node's results

    def applying(self, op: Any, args: tuple[Any, ...]) -> None:
        event = self.recorder.open(op.name, OP, op)
        event.input_shapes = [_shape(a) for a in args] if self.recorder.shapes else []

    def applied(self, op: Any, args: tuple[Any, ...], result: Any, node: Any) -> None:
        recorder, event = self.recorder, self.recorder.innermost(OP, op)
        if event is None:  # the profile has begun since
            return
        recorder.close(event)
        if node is not None:
            recorder.made[node], event.sequence_nr = event, node.order
        event.bytes = _bytes(result, args)
        if recorder.flops:
            event.flops = flops_of(op.name, result, args)

    def failed(self, op: Any) -> None:
        event = self.recorder.innermost(OP, op)
        if event is not None:
            self.recorder.close(event)

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        if self.recorder.shapes and not isinstance(target, Variable):
            self._arriving.setdefault(target, []).append(_shape(gradient))

    def passing(self, node: Any) -> None:
        forward = self.recorder.made.get(node)
        event = self.recorder.open(node.name(), NODE, node.op, forward=forward)
        event.sequence_nr = node.order if forward is None else forward.sequence_nr
        event.input_shapes = self._arriving.pop(node, [])
        event.bytes = sum(dtype.itemsize * prod(shape) for _, _, shape, dtype in node.edges)

    def passed(self, node: Any, gradients: Any) -> None:
        event = self.recorder.innermost(NODE, node.op)
        if event is not None:
            self.recorder.close(event)

    def entered(self, name: str, kind: str, subject: Any) -> None:
        recorder, event = self.recorder, None
        if kind == "module" and recorder.modules:
            top = recorder.current()
            path = self.names.path(subject, "" if top is None or top.place.startswith("[") else top.place)
            event = recorder.open(path, MODULE, name, place=path)
        elif kind == "walk":
            event = recorder.open(name, WALK)
        elif kind == "call":
            event = recorder.open(name, OP)
        elif kind in _STEPS:
            event = recorder.open(_STEPS[kind].format(name=name, method=name.rpartition(".")[2]), STEP)
        self._spans[get_ident()].append((event, subject if kind == "call" else None))

    def left(self) -> None:
        spans = self._spans[get_ident()]
        event, results = spans.pop() if spans else (None, None)
        if event is not None:
            self.recorder.close(event)
            event.bytes += _bytes(results[0], ()) if results else 0


def _shape(value: Any) -> list[int]:
    return list(value.shape) if hasattr(value, "nbytes") else []


def _bytes(result: Any, args: tuple[Any, ...]) -> int:
    """The bytes of an op's results that are neither arguments nor share their memory."""
    inputs = [_array(a) for a in args]
    arrays = map(_array, result if isinstance(result, tuple) else (result,))
    return sum(array.nbytes for array in arrays if hasattr(array, "nbytes") and not _is_view(array, inputs))


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Variable) else value


def _is_view(array: Any, inputs: list[Any]) -> bool:
    base = getattr(array, "base", None)
    return any(a is array or (base is not None and (base is a or base is getattr(a, "base", None))) for a in inputs)


# One at a time -------------------------------------------------------------------------------------------

_active: Watch | None = None


def begin(recorder: Recorder) -> None:
    """Let a recorder watch all threads.

    Raises:
        RuntimeError: another one does.
    """
    global _active
    if _active is not None:
        raise RuntimeError(
            "a profile is running already: end it (leave its with block, or call stop()) before another begins"
        )
    watch = Watch(recorder)
    attach(watch, everywhere=True)
    _active = watch


def end() -> None:
    """Let nobody watch."""
    global _active
    if _active is not None:
        detach(_active)
        _active = None


def recording() -> Recorder | None:
    """The recorder that watches at present."""
    return None if _active is None else _active.recorder


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=end)  # the workers of a data loader are not watched
