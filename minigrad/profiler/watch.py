"""Records the events of a profile. The recorder observes the ops, nodes and spans that the engine reports. An event's
parent is the event that was open in its thread when it began. An event's *self* time excludes its children, so the self
times of an event and all its descendants add up to its total time."""

from __future__ import annotations

import ctypes
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from functools import cache
from math import prod
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import cuda
from ..autograd.graph import name_by_op
from ..autograd.observer import Observer, attach, detach
from ..autograd.tape import Node, Variable
from ..autograd.tracebacks import user_frames
from .flops import flops_of
from .watched import ModuleNames

OP, NODE, WALK, MODULE, USER, STEP = "op", "node", "walk", "module", "user", "step"
CATEGORIES = dict.fromkeys((OP, NODE, WALK), "cpu_op") | dict.fromkeys((USER, STEP), "user_annotation")
CATEGORIES[MODULE] = "python_function"


class TimeRange(NamedTuple):
    """The start and end of an event, in µs of ``time.perf_counter``."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


@dataclass(slots=True, eq=False, repr=False)
class Event:
    """A recorded call, with the attribute names of PyTorch's ``FunctionEvent``. Times are in µs, and durations in ns.
    Self times exclude the children."""

    name: str  # the call's name: "add", "AddBackward0", "Net.fc1", "Optimizer.step#Adam.step"
    kind: str  # OP, NODE (backward node), WALK (backward pass), MODULE, USER (label) or STEP (optimiser, data loader)
    cpu_parent: Event | None  # the enclosing event
    op: Any = None  # the op; for a MODULE the name of its class
    forward: Event | None = None  # for a backward node, the event of its forward op
    thread: int = 0  # the native id of its thread
    cpu_children: list[Event] = field(default_factory=list)  # the events directly inside it
    start: int = 0  # in ns of ``time.perf_counter_ns``
    end: int = 0
    place: str = ""  # its module; for a backward node, the module of its forward op
    phase: str = "forward"  # or "backward"; "other" for the optimiser and data loading
    bytes: int = 0  # size of results other than views; for a backward node, size of the gradients that it passes on
    cpu_memory_usage: int = 0  # growth of memory use in bytes, if recorded
    flops: int = 0  # multiplications and additions of ops that ``flops.py`` supports, if recorded
    input_shapes: list[list[int]] = field(default_factory=list)  # of the arguments, [] for non-tensors;
    # for a node, of the incoming gradients
    stack: list[str] = field(default_factory=list)  # lines of the program, innermost first: "file(line): function"
    sequence_nr: int = -1  # shared by a forward op and its backward node, -1 for none
    id: int = 0

    count = 1
    is_async = is_remote = False

    def __post_init__(self) -> None:
        """Inherit the place and phase from the parent, unless the kind determines them."""
        kind, forward, parent = self.kind, self.forward, self.cpu_parent
        if parent is not None:
            self.place, self.phase = parent.place, parent.phase
        if kind in (NODE, WALK):
            self.phase = "backward"
            self.place = self.place if forward is None else forward.place
        elif kind == MODULE:
            self.place = self.name
            self.phase = "forward" if self.phase == "other" else self.phase
        elif kind != OP and (not self.place or self.place.startswith("[")):  # outside all modules
            self.place = f"[{self.key}]"
            self.phase = "other" if kind == STEP else self.phase

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}, {self.cpu_time_total:.3f}us>"

    @property
    def key(self) -> str:
        """The name by which events are summed. Modules are summed by class, and all steps together."""
        if self.kind == MODULE:
            return f"nn.Module: {self.op}"
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    @property
    def time_range(self) -> TimeRange:
        return TimeRange(self.start / 1000, self.end / 1000)

    def around(self) -> Iterator[Event]:
        """The enclosing events, innermost first."""
        event = self.cpu_parent
        while event is not None:
            yield event
            event = event.cpu_parent

    @property
    def is_outermost(self) -> bool:
        """Whether this op or backward node was not called by another. Only the results of such events are counted."""
        return self.kind in (OP, NODE) and (self.cpu_parent is None or self.cpu_parent.kind not in (OP, NODE))

    @property
    def duration(self) -> int:
        return self.end - self.start

    @property
    def self_duration(self) -> int:
        return self.duration - sum(child.duration for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:
        return self.duration / 1000

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        return self.self_duration / 1000

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)


_STEPS = {"step": "Optimizer.{method}#{name}", "data": "enumerate(DataLoader)#{name}"}  # PyTorch's names


class _Thread(threading.local):
    """The open events and spans of a thread, outermost first."""

    def __init__(self, stacks: list[list[Event]]) -> None:
        self.events: list[Event] = []
        self.spans: list[tuple[Event | None, Any]] = []  # the event (if any) and the call's results for each span
        self.number = getattr(threading, "get_native_id", threading.get_ident)()  # not in WebAssembly
        stacks.append(self.events)


class Recorder(Observer):
    """Records a profile's events in all threads. ``parts`` lists the data to record in addition to names and times."""

    def __init__(self, clock: Callable[[], int], memory: Callable[[], int] | None, parts: Set[str]) -> None:
        self.clock, self.memory, self.parts = clock, memory, parts
        self.events: list[Event] = []  # in the order in which they began
        self.over = False  # other threads may still send events after the end
        self.lasted = 0  # duration in ns, set when the profile ends
        self._began = perf_counter_ns()
        self._recorded: WeakKeyDictionary[Node, Event] = WeakKeyDictionary()  # the event that recorded each node
        self._arriving: dict[Any, list[list[int]]] = {}  # shapes of the incoming gradients of a node
        self._names = ModuleNames()
        self._stacks: list[list[Event]] = []
        self._thread = _Thread(self._stacks)

    def open(self, name: str, kind: str, op: Any = None, forward: Event | None = None) -> Event:
        thread = self._thread
        event = Event(name, kind, thread.events[-1] if thread.events else None, op, forward, thread.number)
        if "stack" in self.parts and forward is not None:
            event.stack = forward.stack
        elif "stack" in self.parts:
            codes = ((frame.f_code, frame.f_lineno) for frame in user_frames())
            event.stack = [f"{code.co_filename}({line}): {code.co_name}" for code, line in codes]
        thread.events.append(event)
        self.events.append(event)
        if self.memory is not None:
            event.cpu_memory_usage = -self.memory()
        event.start = self.clock()
        return event

    def close(self, event: Event) -> None:
        """End an event, and any events inside it that are still open (such as events in an unfinished generator)."""
        end, stack = self.clock(), self._thread.events
        if not event.end and event in stack:  # otherwise, the profile has ended, or this is another thread
            self._close_to(event, stack, end)

    def _close_to(self, last: Event | None, stack: list[Event], end: int) -> None:
        in_use = 0 if self.memory is None else self.memory()
        while stack:
            event = stack.pop()
            event.end = end
            event.cpu_memory_usage += in_use
            if event.cpu_parent is not None:
                event.cpu_parent.cpu_children.append(event)
            if event is last:
                return

    def _close_innermost(self, kind: str, op: Any) -> Event | None:
        """End and return this thread's innermost open event of a kind and op, if any."""
        event = next((e for e in reversed(self._thread.events) if e.kind == kind and e.op is op), None)
        if event is not None:
            self.close(event)
        return event

    def finish(self) -> None:
        """End the events that are still open, in all threads."""
        end, self.over = self.clock(), True
        for stack in self._stacks:
            self._close_to(None, stack, end)
        self.lasted = end - self._began

    def applying(self, op: Any, args: tuple[Any, ...]) -> None:
        if self.over:
            return
        event = self.open(op.name, OP, op)
        event.input_shapes = [_shape(a) for a in args] if "shapes" in self.parts else []

    def applied(self, op: Any, args: tuple[Any, ...], result: Any, node: Any) -> None:
        event = self._close_innermost(OP, op)
        if event is None:  # the profile began while the op was running
            return
        if node is not None:
            self._recorded[node], event.sequence_nr = event, node.order
        event.bytes = _bytes(result, args)
        if "flops" in self.parts:
            event.flops = flops_of(op.name, result, args)

    def failed(self, op: Any) -> None:
        self._close_innermost(OP, op)

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        if "shapes" in self.parts and not self.over and not isinstance(target, Variable):
            self._arriving.setdefault(target, []).append(_shape(gradient))

    def passing(self, node: Any) -> None:
        if self.over:
            return
        forward = self._recorded.get(node)
        event = self.open(name_by_op(node.op), NODE, node.op, forward)
        event.sequence_nr = node.order if forward is None else forward.sequence_nr
        event.input_shapes = self._arriving.pop(node, [])
        event.bytes = sum(dtype.itemsize * prod(shape) for _, _, shape, dtype in node.edges)

    def passed(self, node: Any, gradients: Any) -> None:
        self._close_innermost(NODE, node.op)

    def entered(self, name: str, kind: str, subject: Any) -> None:
        event, thread = None, self._thread
        if self.over:
            return
        if kind == "module" and "modules" in self.parts:
            place = thread.events[-1].place if thread.events else ""
            event = self.open(self._names.path(subject, "" if place.startswith("[") else place), MODULE, name)
        elif kind in ("walk", "call"):
            event = self.open(name, WALK if kind == "walk" else OP)
        elif kind in _STEPS:
            event = self.open(_STEPS[kind].format(name=name, method=name.rpartition(".")[2]), STEP)
        thread.spans.append((event, subject if kind == "call" else None))

    def left(self) -> None:
        spans = self._thread.spans
        event, results = spans.pop() if spans else (None, None)
        if event is not None:
            self.close(event)
            event.bytes += _bytes(results[0], ()) if results else 0


def _shape(value: Any) -> list[int]:
    return list(value.shape) if hasattr(value, "nbytes") else []


def _bytes(result: Any, args: tuple[Any, ...]) -> int:
    """The size of an op's results in bytes, excluding its arguments and views of them."""
    inputs = [_array(a) for a in args]
    arrays = map(_array, result if isinstance(result, tuple) else (result,))
    return sum(array.nbytes for array in arrays if hasattr(array, "nbytes") and not _is_view(array, inputs))


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Variable) else value


def _is_view(array: Any, inputs: list[Any]) -> bool:
    base = getattr(array, "base", None)
    return any(a is array or (base is not None and (base is a or base is getattr(a, "base", None))) for a in inputs)


def gpu_clock() -> int:
    """The time in ns, read once the GPU has finished its work."""
    cuda.synchronize()
    return perf_counter_ns()


class _Mallinfo2(ctypes.Structure):  # from malloc.h (glibc 2.33 and later)
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


@cache
def malloc_reader() -> Callable[[], int] | None:
    """A function that returns the bytes allocated by glibc's malloc, which NumPy arrays use; None without glibc."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):  # Windows, macOS, musl
        return None
    info.restype, info.argtypes = _Mallinfo2, ()

    def used() -> int:
        now = info()
        return int(now.uordblks + now.hblkhd)  # in the heap, and in separate mappings

    return used


def traced() -> int:
    """The bytes that ``tracemalloc`` tracks."""
    return tracemalloc.get_traced_memory()[0]


_active: Recorder | None = None


def begin(recorder: Recorder) -> None:
    """Let a recorder observe all threads. Raises RuntimeError if another recorder is active."""
    global _active
    if _active is not None:
        raise RuntimeError("a profile is already running: leave its with block, or call its stop() method, first")
    attach(recorder, everywhere=True)
    _active = recorder


def end() -> None:
    """Detach the active recorder, if any."""
    global _active
    if _active is not None:
        detach(_active)
        _active = None


def recording() -> Recorder | None:
    """The active recorder, if any."""
    return _active


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=end)  # data loader workers are not profiled
