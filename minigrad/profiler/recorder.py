"""What a profile writes down: events with a beginning, an end and a place among each other.

An event lies within the one that was open in its thread when it began, its parent. Its *self* time is what
its children leave of its time, so the self times of an event and of all below it add up to its time, to the
nanosecond.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import cuda
from ..autograd.places import user_frames
from ..autograd.tape import Node

OP, NODE, WALK, MODULE, USER, STEP = "op", "node", "walk", "module", "user", "step"
CATEGORIES = dict.fromkeys((OP, NODE, WALK), "cpu_op") | dict.fromkeys((USER, STEP), "user_annotation")
CATEGORIES[MODULE] = "python_function"


class TimeRange(NamedTuple):
    """Beginning and end of an event, in µs of ``time.perf_counter``."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The time between, in µs."""
        return self.end - self.start


@dataclass(slots=True, eq=False, repr=False)
class Event:
    """One call of something, with PyTorch's names for what is known of it (``FunctionEvent``)."""

    name: str  # what was called: "add", "AddBackward0", "Net.fc1", "Optimizer.step#Adam.step"
    kind: str  # OP, NODE (in backward), WALK (``backward`` itself), MODULE, USER (a mark) or STEP (optimiser, loader)
    cpu_parent: Event | None  # the event around it
    op: Any = None  # the op, while the profile is on; of a MODULE the name of its class
    forward: Event | None = None  # of a backward node, the event that recorded it
    thread: int = 0  # the number that the system has for its thread
    cpu_children: list[Event] = field(default_factory=list)  # the events directly within
    start: int = 0  # in ns of ``time.perf_counter_ns``
    end: int = 0
    place: str = ""  # the module that it belongs to: a backward node to that of its forward
    phase: str = "forward"  # or "backward"; "other" for the optimiser and the loading of data
    label: str = ""  # the op that it is part of, of a backward node that of the forward
    bytes: int = 0  # of the results that are not views; of a backward node, of the gradients that it hands on
    cpu_memory_usage: int = 0  # by how many bytes the memory in use grew, if that was asked for
    flops: int = 0  # multiplications and additions, if asked for, of the ops that ``flops.py`` knows
    input_shapes: list[list[int]] = field(default_factory=list)  # of the arguments, [] for what is no tensor;
    # of a node, of the gradients that arrive
    stack: list[str] = field(default_factory=list)  # lines of the program, innermost first: "file(line): function"
    sequence_nr: int = -1  # the number that a forward op and its backward node share, -1 for none
    id: int = 0

    count = 1
    is_async = is_remote = False

    def __post_init__(self) -> None:
        if self.cpu_parent is not None:
            self.place, self.phase, self.label = self.cpu_parent.place, self.cpu_parent.phase, self.cpu_parent.label

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
        self.events: list[Event] = []  # in the order in which they began
        self.made: WeakKeyDictionary[Node, Event] = WeakKeyDictionary()  # the event that recorded each node
        self._stacks: list[list[Event]] = []
        self._thread = _Thread(self._stacks)
        self._began, self.lasted = perf_counter_ns(), 0  # lasted: how long, in ns, once the profile has ended

    def current(self) -> Event | None:
        """The innermost open event of this thread."""
        stack = self._thread.stack
        return stack[-1] if stack else None

    def innermost(self, kind: str, op: Any) -> Event | None:
        """The innermost open event of this thread of some kind and op."""
        return next((e for e in reversed(self._thread.stack) if e.kind == kind and e.op is op), None)

    def open(self, name: str, kind: str, op: Any = None, place: str = "", forward: Event | None = None) -> Event:
        """Begin an event; ``place`` is a module's path. For the others see ``Event``."""
        thread = self._thread
        stack = thread.stack
        event = Event(name, kind, stack[-1] if stack else None, op, forward, thread.number)
        _place(event, place)
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
        for event in self.events:
            event.op = event.op if event.kind == MODULE else None
        self._count()

    def join(self, earlier: Recorder) -> None:
        """Put the events of an earlier part of the profile before these."""
        self.events[:0] = earlier.events
        self.lasted += earlier.lasted
        self._count()

    def _count(self) -> None:
        for number, event in enumerate(self.events):
            event.id = number


def _end(event: Event, end: int, used: int) -> None:
    event.end = end
    event.cpu_memory_usage += used
    if event.cpu_parent is not None:
        event.cpu_parent.cpu_children.append(event)


def _place(event: Event, place: str) -> None:
    """Say where a new event belongs; it has its parent's place, phase and label so far."""
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


def gpu_clock() -> int:
    """The time in ns, once the GPU has done its work."""
    cuda.synchronize()
    return perf_counter_ns()


def program_lines() -> list[str]:
    """Where the program is, innermost first, without the lines of this library."""
    codes = ((frame.f_code, frame.f_lineno) for frame in user_frames())
    return [f"{code.co_filename}({line}): {code.co_name}" for code, line in codes]
