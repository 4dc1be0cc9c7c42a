"""What a profile writes down: events with a beginning, an end and a place among each other.

An event lies within the one that was open in its thread when it began, its parent. Its *self* time is what
its children leave of its time, so the self times of an event and of all below it add up to its time, to the
nanosecond. Besides, each event is told three things that the tables ask for:

- ``place``: the module that it belongs to. Backward nodes belong where the forward recorded them.
- ``phase``: "forward", "backward", or "other" for the optimiser and the loading of data.
- ``label``: the op that it is part of, for a backward node that of the forward.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..autograd.tape import Node

OP, NODE, WALK, MODULE, USER, STEP = "op", "node", "walk", "module", "user", "step"
CATEGORIES = {
    OP: "cpu_op",
    NODE: "cpu_op",
    WALK: "cpu_op",
    MODULE: "python_function",
    USER: "user_annotation",
    STEP: "user_annotation",
}
_PACKAGE = __name__.split(".")[0]


class TimeRange(NamedTuple):
    """Beginning and end of an event, in µs of ``time.perf_counter``."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The time between, in µs."""
        return self.end - self.start


class Event:
    """One call of something, with PyTorch's names for what is known of it (``FunctionEvent``).

    Attributes:
        name: what was called: "add", "AddBackward0", "Net.fc1", "Optimizer.step#Adam.step".
        kind: OP, NODE (a backward node), WALK (``backward`` itself), MODULE, USER (``record_function``) or
            STEP (the optimiser, the data loader).
        start, end: in ns of ``time.perf_counter_ns``.
        cpu_parent, cpu_children: the event around it, and those directly within.
        thread: the number that the system has given to its thread.
        op: the op, while the profile is on; of a MODULE the name of its class.
        place, phase, label: see the text of this file.
        bytes: of the results that are not views; of a backward node, of the gradients that it hands on.
        cpu_memory_usage: by how many bytes the memory in use grew, if that was asked for.
        flops: multiplications and additions, if asked for, of the ops that ``flops.py`` knows.
        input_shapes: of the arguments, [] for what is no tensor; of a node, of the gradients that arrive.
        stack: the lines of the program, innermost first: "file(line): function".
        sequence_nr: the number that a forward op and its backward node share, -1 for none.
        forward: of a backward node, the event that recorded it.
    """

    __slots__ = (
        "bytes",
        "cpu_children",
        "cpu_memory_usage",
        "cpu_parent",
        "end",
        "flops",
        "forward",
        "id",
        "input_shapes",
        "kind",
        "label",
        "name",
        "op",
        "phase",
        "place",
        "sequence_nr",
        "stack",
        "start",
        "thread",
    )

    count = 1
    is_async = is_remote = False

    def __init__(self, name: str, kind: str, parent: Event | None, op: Any = None) -> None:
        self.name, self.kind, self.op = name, kind, op
        self.start = self.end = 0
        self.cpu_parent, self.cpu_children = parent, list[Event]()
        self.place: str = "" if parent is None else parent.place
        self.phase: str = "forward" if parent is None else parent.phase
        self.label: str = "" if parent is None else parent.label
        self.bytes = self.cpu_memory_usage = self.flops = 0
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.sequence_nr = -1
        self.forward: Event | None = None
        self.thread = self.id = 0

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}, {self.cpu_time_total:.3f}us>"

    @property
    def key(self) -> str:
        """The name under which events are added up: modules by their classes, steps together."""
        if self.kind == MODULE:
            return f"nn.Module: {self.op}"
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    @property
    def time_range(self) -> TimeRange:
        """From when to when, in µs."""
        return TimeRange(self.start / 1000, self.end / 1000)

    def around(self) -> Iterator[Event]:
        """The events around it, the innermost first."""
        event = self.cpu_parent
        while event is not None:
            yield event
            event = event.cpu_parent

    @property
    def is_outermost(self) -> bool:
        """Whether it is an op, or a backward node, that no other has called: its results are counted once."""
        return self.kind in (OP, NODE) and (self.cpu_parent is None or self.cpu_parent.kind not in (OP, NODE))

    @property
    def duration(self) -> int:
        """Its time in ns."""
        return self.end - self.start

    @property
    def self_duration(self) -> int:
        """The time in ns that was spent in none of its children."""
        return self.duration - sum(child.duration for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:
        """Its time in µs."""
        return self.duration / 1000

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The time in µs that was spent in none of its children."""
        return self.self_duration / 1000

    @property
    def self_cpu_memory_usage(self) -> int:
        """By how many bytes memory grew outside its children."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)


class _Thread(threading.local):
    """The events that are open in a thread, the outermost first."""

    def __init__(self, stacks: list[list[Event]]) -> None:
        self.stack: list[Event] = []
        self.number = threading.get_native_id()
        stacks.append(self.stack)


class Recorder:
    """The events of a profile, from all threads.

    Args:
        clock: the time in ns; on a GPU one that waits for it first.
        memory: the bytes in use; None if nobody asked.
        shapes, stack, flops, modules: whether to write these down.

    Attributes:
        events: in the order in which they began.
        made: for each node the event that recorded it.
        lasted: how long the profile has been on, in ns, once it has ended.
    """

    def __init__(
        self,
        clock: Callable[[], int] = perf_counter_ns,
        memory: Callable[[], int] | None = None,
        shapes: bool = False,
        stack: bool = False,
        flops: bool = False,
        modules: bool = True,
    ) -> None:
        self.clock, self.memory = clock, memory
        self.shapes, self.stack, self.flops, self.modules = shapes, stack, flops, modules
        self.clear()

    def clear(self) -> None:
        """Forget everything, as if the profile began now."""
        self.events: list[Event] = []
        self.made: WeakKeyDictionary[Node, Event] = WeakKeyDictionary()
        self._stacks: list[list[Event]] = []
        self._thread = _Thread(self._stacks)
        self._began, self.lasted = perf_counter_ns(), 0

    def current(self) -> Event | None:
        """The innermost open event of this thread."""
        stack = self._thread.stack
        return stack[-1] if stack else None

    def innermost(self, kind: str, op: Any) -> Event | None:
        """The innermost open event of this thread of some kind and op."""
        return next((e for e in reversed(self._thread.stack) if e.kind == kind and e.op is op), None)

    def thread(self) -> int:
        """The number that the system has given to this thread."""
        return self._thread.number

    def open(self, name: str, kind: str, op: Any = None, place: str = "", forward: Event | None = None) -> Event:
        """Begin an event.

        Args:
            op: the op, of an OP or NODE; the name of the class, of a MODULE.
            place: of a MODULE, its path.
            forward: of a NODE, the event that recorded it.
        """
        thread = self._thread
        stack = thread.stack
        event = Event(name, kind, stack[-1] if stack else None, op)
        event.thread, event.forward = thread.number, forward
        _tell(event, place)
        if self.stack:
            event.stack = program_lines() if forward is None else forward.stack
        stack.append(event)
        self.events.append(event)
        if self.memory is not None:
            event.cpu_memory_usage = -self.memory()
        event.start = self.clock()
        return event

    def close(self, event: Event) -> None:
        """End an event, and those within it that were left open (by a generator that nobody finished)."""
        end = self.clock()
        stack = self._thread.stack
        if event.end or event not in stack:  # the profile ended before, or this is another thread
            return
        used = 0 if self.memory is None else self.memory()
        while stack:
            top = stack.pop()
            _end(top, end, used)
            if top is event:
                return

    def finish(self) -> None:
        """End the events that are still open, in all threads."""
        end, used = self.clock(), 0 if self.memory is None else self.memory()
        for stack in self._stacks:
            while stack:
                _end(stack.pop(), end, used)
        self.lasted = end - self._began
        for number, event in enumerate(self.events):
            event.id = number
            event.op = event.op if event.kind == MODULE else None

    def join(self, earlier: Recorder) -> None:
        """Put the events of an earlier part of the profile before these."""
        self.events[:0] = earlier.events
        self.lasted += earlier.lasted
        for number, event in enumerate(self.events):
            event.id = number


def _end(event: Event, end: int, used: int) -> None:
    event.end = end
    event.cpu_memory_usage += used
    if event.cpu_parent is not None:
        event.cpu_parent.cpu_children.append(event)


def _tell(event: Event, place: str) -> None:
    """Where a new event belongs; it has its parent's place, phase and label so far."""
    kind, forward = event.kind, event.forward
    if kind == OP:
        event.label = event.label or event.name
    elif kind == NODE:
        event.phase = "backward"
        event.label = (forward and forward.label) or event.op.name
        event.place = event.place if forward is None else forward.place
    elif kind == WALK:
        event.phase = "backward"
        event.label = event.label or f"[{event.name}]"
    elif kind == MODULE:
        event.place = place
        event.phase = "forward" if event.phase == "other" else event.phase
    elif not event.place or event.place.startswith("["):  # outside of all modules
        event.place = f"[{event.key}]"
        event.phase = "other" if kind == STEP else event.phase


def program_lines() -> list[str]:
    """Where the program is, innermost first, without the lines of this library."""
    lines = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] != _PACKAGE:
            code = frame.f_code
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
