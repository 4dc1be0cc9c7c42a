"""A call that is watched: each recorded op's arguments and result, its line, its module, and its time.

Values are looked at when they are made, as the program may change them later, and nothing is kept of results
but what is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from types import FrameType
from typing import Any

from ... import cuda
from ...autograd.observer import Observer, attach, detach
from ...autograd.places import user_frame
from ...autograd.tape import Node, Variable
from ...ops.op import Op
from ...profiler import watch
from ...profiler.watch import gpu_clock
from .data import Value
from .names import Modules, Variables, argument_text, input_name, is_array, place_of, variables
from .values import value_of


@dataclass
class Seen:
    """One recorded op."""

    value: Value  # of its (first) result
    module: str  # the path of the one that it belongs to
    place: str  # the program's line, "file:line",
    code: str  # and its text
    attributes: dict[str, str]  # arguments that are no arrays
    others: list[tuple[str, Any]]  # arguments that are arrays and want no gradient: their names, and themselves
    seconds: float  # that it took, without the time of watching


class Observation(Observer):
    """Watches the calls within it, in this thread; not while a profile is running, whose time this would be."""

    def __init__(self, modules: Modules) -> None:
        self.modules, self.variables = modules, Variables()  # they know the paths of modules, the names of results
        self.seen: dict[Node, Seen] = {}
        self.leaves: dict[int, Value] = {}  # the values of what ops read and none made, by id, as it was then
        self.leaf_names: dict[int, str] = {}  # what the function that recorded the op calls them, by id
        self.clock = clock()
        self._running: list[tuple[Op, list[int]]] = []  # the ops that are running: since when, the time of watching
        self._within: list[str] = [""]  # the modules around each span that has begun
        self._held: list[Any] = []  # leaves, as their ids are in use

    def __enter__(self) -> Observation:
        if watch.recording() is not None:
            raise RuntimeError("a profile is running already: end it before a call is drawn")
        attach(self)
        return self

    def __exit__(self, *raised: object) -> None:
        detach(self)  # the call may have left other observers
        self.variables.look(end=True)

    def entered(self, name: str, kind: str, subject: Any) -> None:
        around = self._within[-1]
        self._within.append(self.modules.name(subject, around) if kind == "module" else around)

    def left(self) -> None:
        if len(self._within) > 1:
            self._within.pop()

    def applying(self, op: Op, args: tuple[Any, ...]) -> None:
        self._running.append((op, [self.clock(), 0]))

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        end = self.clock()
        begin, aside = self._running.pop()[1]
        if node is not None:
            frame = user_frame()
            self.variables.look()
            self.variables.expect(frame, node)
            attributes, others = self._arguments(node, args, frame)
            value = value_of((result[0] if isinstance(result, tuple) else result).array)
            place, seconds = place_of(frame), (end - begin - aside) / 1e9
            self.seen[node] = Seen(value, self._within[-1], *place, attributes, others, seconds)
        if self._running:
            self._running[-1][1][1] += aside + self.clock() - end

    def failed(self, op: Op) -> None:
        while self._running and self._running.pop()[0] is not op:
            continue

    def _arguments(
        self, node: Node, args: tuple[Any, ...], frame: FrameType
    ) -> tuple[dict[str, str], list[tuple[str, Any]]]:
        """The arguments that are no arrays, and those that are and want no gradient; the values of leaves."""
        attributes, others = {}, []
        for i, argument in enumerate(args):
            array = argument.array if isinstance(argument, Variable) else argument
            if not is_array(argument):
                if argument is not None:
                    attributes[input_name(node, i)] = argument_text(argument)
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


def clock() -> Callable[[], int]:
    """The time in ns; where there is a GPU in use, once it has done its work."""
    return gpu_clock if "cupy" in sys.modules and cuda.is_available() else perf_counter_ns
