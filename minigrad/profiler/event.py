"""What a profile writes down: events, each within the one that was open in its thread when it began, its parent.

An event's *self* time is what its children leave of its time: those of it and of all below it add up to its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    op: Any = None  # the op; of a MODULE the name of its class
    forward: Event | None = None  # of a backward node, the event that recorded it
    thread: int = 0  # the number that the system has for its thread
    cpu_children: list[Event] = field(default_factory=list)  # the events directly within
    start: int = 0  # in ns of ``time.perf_counter_ns``
    end: int = 0
    place: str = ""  # the module that it belongs to: a backward node to that of its forward
    phase: str = "forward"  # or "backward"; "other" for the optimiser and the loading of data
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
        """It belongs where its parent does, unless its kind says more."""
        kind, forward, parent = self.kind, self.forward, self.cpu_parent
        if parent is not None:
            self.place, self.phase = parent.place, parent.phase
        if kind in (NODE, WALK):
            self.phase = "backward"
            self.place = self.place if forward is None else forward.place
        elif kind == MODULE:
            self.place = self.name
            self.phase = "forward" if self.phase == "other" else self.phase
        elif kind != OP and (not self.place or self.place.startswith("[")):  # outside of all modules
            self.place = f"[{self.key}]"
            self.phase = "other" if kind == STEP else self.phase

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
