"""Observers of a call and of a backward pass. ``Observation`` records each op of a call with its line, module and time;
``Shown`` records gradients. Values are summarised immediately, as the program may change them later. Only summaries are
kept. The autograd engine itself runs the backward pass, so the gradients are the same as from ``backward()``."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter_ns
from types import FrameType
from typing import Any
from weakref import ref

from ... import cuda
from ...autograd.mode import at_end
from ...autograd.observer import Observer, attach, detach, observed
from ...autograd.origin import WeakValue
from ...autograd.tape import RETAINED, Node, Variable, wrap
from ...autograd.tracebacks import at, user_frame
from ...autograd.walk import nodes_behind, pass_back
from ...backend import xp
from ...nn.parameter import Parameter
from ...ops.op import Op
from ...profiler.watch import gpu_clock
from ...profiler.watched import Within
from . import graph_data as data
from .graph_data import Value, value_of
from .graph_names import Modules, Variables, argument_text, input_name, is_array, name_in, readable

Arrays = list[tuple[str, Any]]  # the names and arguments of an op
Target = tuple[Node | int, int]  # a node (or a leaf's id, as == compares tensors elementwise) and the slot


class Observation(Within):
    """Observes the ops that run inside its context in this thread."""

    def __init__(self, modules: Modules, arguments: Sequence[tuple[str, Variable]] = ()) -> None:
        super().__init__(modules)
        self._arguments_of_call = {id(tensor): name for name, tensor in arguments}
        self.variables = Variables()  # the names of results
        self.ops: dict[Node, tuple[data.Node, Arrays]] = {}  # nodes, and arrays that require no gradient
        # Leaves by id: the value when read, the name in the function that recorded the op, and the leaf, which keeps
        # its id in use.
        self.leaves: dict[int, tuple[Value, str, Any]] = {}
        self.made: dict[int, tuple[ref[Variable], str]] = {}  # results without a gradient, by id: see ``made_of``
        self.clock = clock()
        self._times: list[list[int]] = []  # for each running op, its start and the time spent in the observer

    def __enter__(self) -> Observation:
        attach(self)
        return self

    def __exit__(self, *raised: object) -> None:
        detach(self)  # other observers may still be attached
        self.variables.look()

    def applying(self, op: Op, args: tuple[Any, ...]) -> None:
        super().applying(op, args)
        self._times.append([self.clock(), 0])

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        end = self.clock()
        self.running.pop()
        begin, aside = self._times.pop()
        if node is not None:
            frame = user_frame()
            self.variables.look(frame, node)
            attributes, others = self._arguments(node, args, frame)
            file, line = frame.f_code.co_filename, frame.f_lineno
            code = linecache.getline(file, line, frame.f_globals).strip()
            place = at(readable(file), line)
            record = data.Node(-1, "op", op.name, op.name, self.within[-1], place, code, attributes)
            record.value = value_of((result[0] if isinstance(result, tuple) else result).array)
            record.forward_seconds = (end - begin - aside) / 1e9
            self.ops[node] = record, others
        elif isinstance(result, Variable):
            read = (a for a in args if isinstance(a, Variable))
            of_call, frame = self._arguments_of_call, user_frame()
            names = (of_call.get(id(a), "") or self.made_of(a) or name_in(frame, a) for a in read)
            if name := next(filter(None, names), "").partition(" (")[0]:
                self.made[id(result)] = ref(result), f"{name} ({'a view' if op.view else op.name})"
        if self._times:
            self._times[-1][1] += aside + self.clock() - end

    def failed(self, op: Op) -> None:
        super().failed(op)
        del self._times[len(self.running) :]

    def made_of(self, tensor: Any) -> str:
        """The source and op of a result without a gradient, such as "target (cast)"; "" for other tensors."""
        result, name = self.made.get(id(tensor), (None, ""))
        return name if result and result() is tensor else ""

    def _arguments(self, node: Node, args: tuple[Any, ...], frame: FrameType) -> tuple[dict[str, str], Arrays]:
        """The non-array arguments, and the arrays that require no gradient. Leaves are recorded as well."""
        others = [(i, argument) for i, argument in enumerate(args) if i not in node.plan.inputs]
        leaves = [args[i] for i in node.plan.inputs if not args[i]._node] + [a for _, a in others if is_array(a)]
        for leaf in leaves:
            if id(leaf) not in self.leaves:
                name = "" if isinstance(leaf, Parameter) else name_in(frame, leaf)
                self.leaves[id(leaf)] = value_of(leaf.array if isinstance(leaf, Variable) else leaf), name, leaf
        return by_kind((input_name(node, i), argument) for i, argument in others)


def by_kind(arguments: Iterable[tuple[str, Any]]) -> tuple[dict[str, str], Arrays]:
    """An op's non-array arguments as text, and its arrays, by name. Arguments that are None are omitted."""
    attributes, others = dict[str, str](), Arrays()
    for name, value in arguments:
        if is_array(value) or isinstance(value, WeakValue):
            others.append((name, value))
        elif value is not None:
            attributes[name] = argument_text(value)
    return attributes, others


class Shown(Observer):
    """Stores summaries of all gradients. A result with a single reader shares the summary of its edge."""

    def __init__(self, tape: list[Node]) -> None:
        self.edges: dict[tuple[Node, int], Value] = {}  # by node and position
        self.results: dict[Target, Value] = {}
        self.seconds: dict[Node, float] = {}  # time for a node's rules, and for summing their results
        self.ran = False  # whether there are any gradients
        self._clock, self._begin, self._aside = clock(), 0, 0
        self._depth = 0  # of nested backward passes, as a rule may run another
        self._readers: dict[Target, list[tuple[Node, int]]] = {}
        for node in tape:
            for position, (target, slot, *_) in enumerate(node.edges):
                self._readers.setdefault(target_of(target, slot), []).append((node, position))

    def arrived(self, target: Node | Variable, slot: int, gradient: Any) -> None:
        if self._depth:
            return
        self.ran = True
        hooks = (target.hooks or {}).get(slot) if isinstance(target, Node) else target._hooks
        key = target_of(target, slot)
        readers = self._readers.get(key, [])
        same = self.edges.get(readers[0]) if len(readers) == 1 and not hooks else None
        self.results[key] = same or value_of(gradient)

    def passing(self, node: Node) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begin, self._aside = self._clock(), 0

    def delivered(self, node: Node, position: int, gradient: Any) -> None:
        if self._depth == 1:
            begin = perf_counter_ns()
            self.note(node, position, gradient)
            self._aside += perf_counter_ns() - begin

    def note(self, node: Node, position: int, gradient: Any) -> None:
        """Keep a summary of the gradient on an edge before it is summed."""
        self.edges[node, position] = value_of(gradient)

    def passed(self, node: Node, gradients: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds[node] = (self._clock() - self._begin - self._aside) / 1e9

    def first(self, target: Node | int) -> Value | None:
        """The gradient of a leaf, or of a node's first result that received one."""
        slots = range(len(target.results or (None,)) if isinstance(target, Node) else 1)
        return next((self.results[target, slot] for slot in slots if (target, slot) in self.results), None)

    def take(self, leaves: Sequence[Variable]) -> None:
        """Use the leaves' ``.grad``, which an earlier backward pass has computed."""
        self.ran = True
        for leaf in leaves:
            if leaf._grad is not None:
                self.results[id(leaf), 0] = value_of(leaf._grad.array)


def clock() -> Callable[[], int]:
    """A clock in ns. If a GPU is in use, the clock waits until the GPU has finished."""
    return gpu_clock if "cupy" in sys.modules and cuda.is_available() else perf_counter_ns


def target_of(target: Node | Variable, slot: int) -> Target:
    """The key of a node's result, or of a leaf."""
    return target if isinstance(target, Node) else id(target), slot


def place_in(numbers: Mapping[Node | int, int], value: Any) -> int | None:
    """The index of a node, of a tensor's node, or of a leaf. Returns None for other values."""
    node = value if isinstance(value, Node) else getattr(value, "_node", None)
    number = None if node is None else numbers.get(node)
    return numbers.get(id(value)) if number is None else number


def watch_backward(root: Variable, observer: Observer, free: bool = False) -> None:
    """Run backward from a tensor, starting with ones. All hooks of the program run, except those of ``retain_grad``."""
    tables = [hooks for node in nodes_behind((root,)) for hooks in (node.hooks or {}).values() if RETAINED in hooks]
    away = [hooks[RETAINED] for hooks in tables]

    def put_back() -> None:
        for hooks, hook in zip(tables, away, strict=True):
            hooks[RETAINED] = hook

    with at_end(put_back) as end, end, observed(observer):
        for hooks in tables:
            del hooks[RETAINED]
        pass_back(root, wrap(xp(root.array).ones_like(root.array)), retain=not free)
