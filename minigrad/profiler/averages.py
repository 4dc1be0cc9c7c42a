"""The events of a profile, and their sums by name: PyTorch's ``EventList`` and ``FunctionEventAvg``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from . import trace
from .event import Event
from .table import Columns, cut, format_bytes, format_count, format_rows, format_share, format_time

_DEVICES = ("device_", "cuda_", "xpu_", "privateuse1_")
_TIMES = ("cpu_time_total", "self_cpu_time_total", "cpu_time")
SORT_KEYS = (*_TIMES, "cpu_memory_usage", "self_cpu_memory_usage", "count", "bytes", "flops")


@dataclass(eq=False, repr=False)
class FunctionEventAvg:
    """Several events of one name together: times in µs, with and without what lies within them, and sums."""

    key: str  # their name
    count: int = 0
    cpu_time_total: float = 0.0  # of one within another of the same name, the time is in the latter's already
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    bytes: int = 0
    flops: int = 0
    input_shapes: Any = ""  # of the first of them, where they were asked for
    stack: list[str] = field(default_factory=list)  # so, too
    phase: str = ""  # "forward", "backward" or "other", of the first

    def add(self, event: Event) -> None:
        if not self.count:
            self.input_shapes, self.stack, self.phase = event.input_shapes, event.stack, event.phase
        self.add_own(event)
        if not any(around.key == event.key for around in event.around()):
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    def add_own(self, event: Any) -> None:
        """What an event has outside the events within it."""
        for name in ("count", "bytes", "flops", "self_cpu_time_total", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(event, name))

    @property
    def cpu_time(self) -> float:
        """The mean time of one, in µs."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_str"):  # cpu_time_total_str and the like
            return format_time(getattr(self, name.removesuffix("_str")))
        if (known := attribute(name)) != name:
            return getattr(self, known)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={format_time(self.self_cpu_time_total)} "
            f"cpu_time={format_time(self.cpu_time)} count={self.count}>"
        )


def attribute(name: str) -> str:
    """Our name for one of PyTorch's: times on a device are times of the program, which has waited for it."""
    device = next((device for device in _DEVICES if device in name), "")
    return name.replace(f"self_{device}", "self_cpu_").replace(device, "cpu_") if device else name


class EventList(list[Any]):
    """A list of events (``profile.events()``) or of their averages (``profile.key_averages()``), of a recorder. Its
    ``columns`` are those of "memory", "shapes", "stack", "flops" that the table has."""

    def __init__(self, events: Iterable[Any] = (), columns: Iterable[str] = (), recorder: Any = None) -> None:
        super().__init__(events)
        self.columns, self.recorder = frozenset(columns), recorder

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in µs, each moment of a thread counted once."""
        return sum(event.self_cpu_time_total for event in self)

    total = self_cpu_time_total

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums by name, of modules by class; and by the shapes of the arguments, or by so many lines of the program,
        the innermost first. Ops have no overloads here."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            group = (event.key, shapes, tuple(event.stack[:group_by_stack_n]))
            groups.setdefault(group, FunctionEventAvg(event.key)).add(event)
        for average in groups.values():
            average.input_shapes = average.input_shapes if group_by_input_shapes else ""
            average.stack = average.stack[:group_by_stack_n]
        unasked = {"shapes": not group_by_input_shapes, "stack": not group_by_stack_n}
        columns = [name for name in self.columns if not unasked.get(name)]
        return EventList(groups.values(), columns, self.recorder)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all: its ``self_cpu_time_total`` is the time of the profile's events, in µs."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add_own(event)
        total.cpu_time_total = total.self_cpu_time_total
        total.cpu_memory_usage = total.self_cpu_memory_usage
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table of text, with ``header`` above it.

        Args:
            sort_by: the largest first: one of ``SORT_KEYS``; None leaves the order.
            row_limit: at most so many rows; -1 for all.
            max_..._column_width: longer texts are cut; None for none.
            top_level_events_only: only events that lie within no other.
            time_unit: "s", "ms" or "us"; None chooses by the size.

        Raises:
            ValueError: an unknown ``sort_by`` or ``time_unit``.
        """
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None))]
        columns = self._columns(time_unit, max_name_column_width, max_shapes_column_width, max_src_column_width)
        foot = f"Self CPU time total: {format_time(self.total, time_unit)}"
        return format_rows(columns, rows, sort_by and attribute(sort_by), SORT_KEYS, row_limit, foot, header)

    def _columns(self, unit: str | None, name: int | None, shapes: int | None, source: int | None) -> Columns:
        whole = self.total
        yield "Name", lambda e: cut(e.key, name)
        yield "Self CPU %", lambda e: format_share(e.self_cpu_time_total, whole)
        yield "Self CPU", lambda e: format_time(e.self_cpu_time_total, unit)
        yield "CPU total %", lambda e: format_share(e.cpu_time_total, whole)
        yield "CPU total", lambda e: format_time(e.cpu_time_total, unit)
        yield "CPU time avg", lambda e: format_time(e.cpu_time, unit)
        if "memory" in self.columns:
            yield "CPU Mem", lambda e: format_bytes(e.cpu_memory_usage)
            yield "Self CPU Mem", lambda e: format_bytes(e.self_cpu_memory_usage)
        yield "Bytes", lambda e: format_bytes(e.bytes)
        if "flops" in self.columns:
            yield "Total FLOPs", lambda e: format_count(e.flops)
        yield "# of Calls", lambda e: str(e.count)
        if "shapes" in self.columns:
            yield "Input Shapes", lambda e: cut(str(e.input_shapes or []), shapes)
        if "stack" in self.columns:
            yield "Source Location", lambda e: cut(" < ".join(e.stack), source)

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """``profile.export_chrome_trace``."""
        trace.write_chrome_trace(path, self.recorder)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """``profile.export_stacks``."""
        trace.write_stacks(path, self, metric)
