"""A call that is watched: what each recorded op was given and made, where, in which module, how long it took.

Values are looked at when they are made, as the program may change them later, and nothing is kept of results
but what is shown. While no call is watched, nothing of this is in place.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter_ns
from types import FrameType
from typing import Any

from ... import cuda
from ...autograd.mode import state
from ...autograd.tape import Node, Variable
from ...nn import module as modules
from ...profiler import watch
from ...profiler.recorder import OP, Event, Recorder
from .data import Value
from .names import Modules, Variables, input_name, place_of, told, user_frame, variables
from .values import outline, value_of


@dataclass
class Seen:
    """One recorded op.

    Attributes:
        value: of its (first) result. module: the path of the one that it belongs to.
        place, code: the program's line, "file:line" and its text. attributes: arguments that are no arrays.
        others: the arguments that are arrays and want no gradient: their names, and themselves.
        event: from which the time is read.
    """

    value: Value
    module: str
    place: str
    code: str
    attributes: dict[str, str]
    others: list[tuple[str, Any]]
    event: Event | None


class Observation:
    """Watches the calls within it, in this thread.

    Args:
        modules: knows the modules' paths.

    Attributes:
        seen: by node. leaves: the values of what ops read and none made, by id, as it was then.
        leaf_names: what the function that recorded the op calls them, by id. variables: the same of results.

    Raises:
        RuntimeError: a profile is running.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules, self.variables = modules, Variables()
        self.seen: dict[Node, Seen] = {}
        self.leaves: dict[int, Value] = {}
        self.leaf_names: dict[int, str] = {}
        self.clock = clock()
        self._recorder = Recorder(self.clock, modules=False)
        self._within: list[str] = []  # the modules that are being called
        self._aside: dict[Event, int] = {}  # ns of an event that went into watching
        self._recorded: set[Event] = set()  # in which a node was made
        self._hollow: set[Node] = set()  # of logits that are not computed (nn/functional/deferred.py)
        self._thread = threading.get_ident()
        self._held: list[Any] = []  # leaves, as their ids are in use
        self._undo = ExitStack()

    def __enter__(self) -> Observation:
        with self._undo:  # if that fails halfway, all is as before
            watch.begin(self._recorder)
            self._undo.callback(watch.end)
            self._undo.callback(modules.register_module_forward_pre_hook(self._entered).remove)
            self._undo.callback(modules.register_module_forward_hook(self._left, always_call=True).remove)
            self._undo.callback(self._look_away)
            state.observers = (*state.observers, self._saw)
            self._undo = self._undo.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._undo.close()
        self.variables.finish()

    def _look_away(self) -> None:
        """The observers without this one; the call may have changed the others."""
        state.observers = tuple(observer for observer in state.observers if observer != self._saw)

    def seconds(self, node: Node) -> float | None:
        """How long the op took, without what it took to look at it, and without recorded ops within it:
        ``x[0].exp_()`` is an assignment to x, in which exp is called."""
        event = self.seen[node].event if node in self.seen else None
        if event is None:
            return None
        within = [] if node.op.backward else [e for e in event.cpu_children if e in self._recorded]
        return (self._took(event) - sum(map(self._took, within))) / 1e9

    def _took(self, event: Event) -> int:
        return event.duration - self._aside.get(event, 0)

    def _entered(self, module: modules.Module, args: Any) -> None:
        if threading.get_ident() == self._thread:
            self._within.append(self.modules.name(module, self._within[-1] if self._within else ""))

    def _left(self, module: modules.Module, args: Any, result: Any) -> None:
        if threading.get_ident() == self._thread and self._within:
            self._within.pop()

    def _saw(self, node: Node, args: tuple[Any, ...], result: Any) -> None:
        begin, event = self.clock(), self._recorder.current()
        frame = user_frame()
        self.variables.look()
        self.variables.expect(frame, node)
        attributes, others = self._arguments(node, args, frame)
        op = event if event is not None and event.kind == OP else None
        first = result[0] if isinstance(result, tuple) else result
        self.seen[node] = Seen(
            self._value(node, first), self._within[-1] if self._within else "", *place_of(frame), attributes, others, op
        )
        if op is not None:
            self._recorded.add(op)
        spent = self.clock() - begin
        while event is not None:
            self._aside[event] = self._aside.get(event, 0) + spent
            event = event.cpu_parent

    def _arguments(
        self, node: Node, args: tuple[Any, ...], frame: FrameType
    ) -> tuple[dict[str, str], list[tuple[str, Any]]]:
        """The arguments that are no arrays, and those that are and want no gradient; the values of leaves."""
        attributes, others = {}, []
        for i, argument in enumerate(args):
            array = argument.array if isinstance(argument, Variable) else argument
            if not hasattr(array, "dtype") or not hasattr(array, "strides"):
                if argument is not None:
                    attributes[input_name(node, i)] = told(argument)
                continue
            if i not in node.plan.inputs:
                others.append((input_name(node, i), argument))
            elif argument._node is not None:
                continue
            if id(argument) not in self.leaves:
                self._add_leaf(argument, array, frame)
        return attributes, others

    def _add_leaf(self, leaf: Any, array: Any, frame: FrameType) -> None:
        """Look at what an op reads and no op has made (or none that a gradient goes back to)."""
        self.leaves[id(leaf)] = value_of(array)
        self._held.append(leaf)
        name = next((name for name, value in variables(frame).items() if value is leaf), "")
        if name.isidentifier():
            self.leaf_names[id(leaf)] = name

    def _value(self, node: Node, result: Variable) -> Value:
        """What is shown of a result; of logits that nobody has computed yet, the shape."""
        array = result.array
        flat = array.size > 1 and not any(array.strides)
        if flat and (node.op.name == "linear" or any(edge[0] in self._hollow for edge in node.edges)):
            self._hollow.add(node)
            return outline(array.shape, array.dtype, str(result.device))  # type: ignore[attr-defined]
        return value_of(array)


def clock() -> Callable[[], int]:
    """The time in ns; where there is a GPU in use, once it has done what it was told."""
    return _gpu_clock if "cupy" in sys.modules and cuda.is_available() else perf_counter_ns


def _gpu_clock() -> int:
    cuda.synchronize()
    return perf_counter_ns()
