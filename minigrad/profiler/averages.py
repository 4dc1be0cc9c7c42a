"""Sums a profile's events by name (with PyTorch's ``EventList`` and ``FunctionEventAvg``) or by module. In sums by
module, each nanosecond counts once, as forward or backward (or neither, for the optimiser and data loading). Events can
be exported as stacks, or as a trace in Chromium's format with PyTorch's names."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from os import PathLike
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from .table import Columns, cut, format_bytes, format_count, format_rows, format_share, format_time
from .watch import CATEGORIES, MODULE, NODE, Event, Recorder

_STACK_METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total")


def write_chrome_trace(path: str | PathLike[str], recorder: Recorder, metadata: dict[str, Any] | None = None) -> None:
    """Write a Chrome trace with additional metadata; see ``profile.export_chrome_trace``."""
    content = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": time.time_ns() - perf_counter_ns(),  # the time at timestamp 0
        "record_shapes": int("shapes" in recorder.parts),
        "profile_memory": int("memory" in recorder.parts),
        "with_stack": int("stack" in recorder.parts),
        **(metadata or {}),
        "traceEvents": list(_trace_events(recorder)),
    }
    data = json.dumps(content).encode()
    _write(path, gzip.compress(data) if os.fspath(path).endswith(".gz") else data, "the trace")


def _write(path: str | PathLike[str], data: bytes, what: str) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {what}: {error.strerror}", os.fspath(path)) from None


def _trace_events(recorder: Recorder) -> Iterator[dict[str, Any]]:
    pid = os.getpid()
    names = {getattr(thread, "native_id", thread.ident): thread.name for thread in threading.enumerate()}
    program = {"name": os.path.basename(sys.argv[0]) or "python"}
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": program}
    for thread in sorted({event.thread for event in recorder.events}):
        name = f"thread {thread} ({names.get(thread, 'ended')})"
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "ts": 0, "args": {"name": name}}
    for event in recorder.events:
        module = event.kind == MODULE
        details = {
            "External id": event.id,
            "Phase": event.phase,
            "Module": event.place or None,
            "Sequence number": event.sequence_nr if event.sequence_nr >= 0 else None,
            "Fwd thread id": None if event.forward is None else event.forward.thread,
            "Input Dims": event.input_shapes or None,
            "Class": event.op if module else None,
            "Bytes": None if module else event.bytes,
            "Memory": format_bytes(event.cpu_memory_usage) if event.cpu_memory_usage else None,
            "FLOPs": event.flops or None,
            "Call stack": ";".join(event.stack) or None,
        }
        args = {name: value for name, value in details.items() if value is not None}
        when = {"pid": pid, "tid": event.thread, "ts": event.start / 1000, "dur": event.duration / 1000}
        yield {"ph": "X", "cat": CATEGORIES[event.kind], "name": event.name, **when, "args": args}
        if event.kind == NODE and event.forward is not None:
            both = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.id, "pid": pid}  # draws an arrow from the forward op
            yield {"ph": "s", **both, "tid": event.forward.thread, "ts": event.forward.start / 1000}
            yield {"ph": "f", "bp": "e", **both, "tid": event.thread, "ts": event.start / 1000}


_DEVICES = ("device_", "cuda_", "xpu_", "privateuse1_")
_TIMES = ("cpu_time_total", "self_cpu_time_total", "cpu_time")
SORT_KEYS = (*_TIMES, "cpu_memory_usage", "self_cpu_memory_usage", "count", "bytes", "flops")
_ROW_KEYS = ("total", "self_total", "forward", "backward", "self_forward", "self_backward", "calls", "bytes", "memory")


@dataclass(eq=False, repr=False)
class FunctionEventAvg:
    """The sum of all events with one name: times in µs, with and without nested events, and other totals."""

    key: str  # their name
    count: int = 0
    cpu_time_total: float = 0.0  # an event nested in another with the same name is not counted again
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    bytes: int = 0
    flops: int = 0
    input_shapes: Any = ""  # the shapes of the first event, if recorded
    stack: list[str] = field(default_factory=list)  # the stack of the first event
    phase: str = ""  # the phase of the first event: "forward", "backward" or "other"

    def add(self, event: Event) -> None:
        if not self.count:
            self.input_shapes, self.stack, self.phase = event.input_shapes, event.stack, event.phase
        self.add_own(event)
        if not any(around.key == event.key for around in event.around()):
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    def add_own(self, event: Any) -> None:
        """Add an event, excluding its nested events."""
        for name in ("count", "bytes", "flops", "self_cpu_time_total", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(event, name))

    @property
    def cpu_time(self) -> float:
        """The mean time per event, in µs."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_str"):  # such as cpu_time_total_str
            return format_time(getattr(self, name.removesuffix("_str")))
        if (own_name := attribute(name)) != name:
            return getattr(self, own_name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={format_time(self.self_cpu_time_total)} "
            f"cpu_time={format_time(self.cpu_time)} count={self.count}>"
        )


def attribute(name: str) -> str:
    """Translate a PyTorch attribute's name. Device times are CPU times here, as the CPU waits for the device."""
    device = next((device for device in _DEVICES if device in name), "")
    return name.replace(f"self_{device}", "self_cpu_").replace(device, "cpu_") if device else name


class EventList(list[Any]):
    """A recorder's events (``profile.events()``) or their averages (``profile.key_averages()``). ``columns`` lists the
    optional columns of the table: "memory", "shapes", "stack", "flops"."""

    def __init__(self, events: Iterable[Any] = (), columns: Iterable[str] = (), recorder: Any = None) -> None:
        super().__init__(events)
        self.columns, self.recorder = frozenset(columns), recorder

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events in µs. Nested events count once."""
        return sum(event.self_cpu_time_total for event in self)

    total = self_cpu_time_total

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sum events by name, and modules by class. Events can also be grouped by argument shapes, or by the innermost
        ``group_by_stack_n`` stack lines. minigrad's ops have no overloads to group by."""
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
        """The sum of all events. Its ``self_cpu_time_total`` is the total time of the events in µs."""
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
        """The events as a text table, with ``header`` above it. Raises ValueError for an unknown column or unit.

        Args:
            sort_by: the column to sort by in descending order, one of ``SORT_KEYS``. None keeps the order.
            row_limit: the maximum number of rows; -1 for all. max_..._column_width: truncate longer text, unless None.
            top_level_events_only: show only events that are not nested in another event.
            time_unit: "s", "ms" or "us". If None, it depends on the magnitude.
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
        """Write a Chrome trace; see ``profile.export_chrome_trace``."""
        write_chrome_trace(path, self.recorder)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write each stack, outermost call first, with its time in whole µs; see ``profile.export_stacks``."""
        if metric not in _STACK_METRICS:
            raise ValueError(f"metric must be one of {', '.join(_STACK_METRICS)}, not {metric!r}")
        times: Counter[str] = Counter()
        for event in self:
            if event.stack:
                lines = [line.translate(str.maketrans(" ;\t\n", "____")) for line in reversed(event.stack)]
                times[";".join(lines)] += event.self_duration
        if not times:
            raise ValueError("no stacks were recorded: pass with_stack=True to profile()")
        text = "".join(f"{stack} {time // 1000}\n" for stack, time in times.items() if time >= 1000)
        _write(path, text.encode(), "the stacks")


@dataclass
class Row:
    """A module's row. Times are in µs; "self" times exclude submodules."""

    key: str  # the module's path, or a name in brackets for events outside modules
    calls: int = 0  # in the forward pass
    forward: float = 0.0
    self_forward: float = 0.0
    backward: float = 0.0
    self_backward: float = 0.0
    total: float = 0.0  # including events outside forward and backward
    self_total: float = 0.0
    bytes: int = 0  # of results, and of gradients in the backward pass
    memory: int = 0  # growth of memory use in the forward pass, if recorded

    def add(self, event: Event, itself: bool = True) -> None:
        """Add an event of this module or a submodule, excluding its nested events."""
        time = event.self_cpu_time_total
        for name in ("total", event.phase) if event.phase in ("forward", "backward") else ("total",):
            for column in (name, f"self_{name}") if itself else (name,):
                setattr(self, column, getattr(self, column) + time)
        self.bytes += event.bytes * event.is_outermost
        self.memory += event.self_cpu_memory_usage * (event.phase == "forward")


class Breakdown(list[Row]):
    """The rows of ``profile.by_module()``. The profile ran for ``profiled`` µs. ``memory`` adds a memory column."""

    def __init__(self, rows: Iterable[Row], profiled: float, memory: bool) -> None:
        super().__init__(rows)
        self.profiled, self.memory = profiled, memory

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events in µs."""
        return sum(row.self_total for row in self)

    def table(
        self, sort_by: str | None = None, row_limit: int = -1, header: str | None = None, time_unit: str | None = None
    ) -> str:
        """The rows as a text table; see ``EventList.table``. ``sort_by`` is an attribute of ``Row``, sorted in
        descending order. None keeps modules in tree order."""
        whole, on = (format_time(us, time_unit) for us in (self.self_cpu_time_total, self.profiled))
        foot = f"Time of all events: {whole} of the {on} that the profile was on"
        return format_rows(self._columns(time_unit), self, sort_by, _ROW_KEYS, row_limit, foot, header)

    def _columns(self, unit: str | None) -> Columns:
        def time(us: float) -> str:
            return format_time(us, unit) if us else "--"

        whole = self.self_cpu_time_total
        yield "Module", lambda r: r.key
        yield "Calls", lambda r: str(r.calls)
        yield "Forward", lambda r: time(r.forward)
        yield "Self forward", lambda r: time(r.self_forward)
        yield "Backward", lambda r: time(r.backward)
        yield "Self backward", lambda r: time(r.self_backward)
        yield "Total", lambda r: time(r.total)
        yield "Total %", lambda r: format_share(r.total, whole)
        yield "Bytes", lambda r: format_bytes(r.bytes)
        if self.memory:
            yield "Kept", lambda r: format_bytes(r.memory)


def by_module(events: Iterable[Event], depth: int | None) -> list[Row]:
    """Rows of called modules, parents first, and of events outside modules. See ``profile.by_module`` for details."""
    rows: dict[str, Row] = {}
    with_events: set[str] = set()
    for event in events:
        place = event.place or "[no module]"
        paths = _paths(place)[: None if depth is None else depth + 1]
        for path in paths:
            rows.setdefault(path, Row(path)).add(event, path == paths[-1])
        with_events.add(paths[-1])
        rows[paths[-1]].calls += event.kind == MODULE and place == paths[-1] and event.phase == "forward"
    order = {path: i for i, path in enumerate(rows)}
    result = [rows[path] for path in with_events]
    return sorted(result, key=lambda r: (r.key.startswith("["), [order[p] for p in _paths(r.key)]))


def _paths(path: str) -> list[str]:
    return [path] if path.startswith("[") else list(accumulate(path.split("."), "{}.{}".format))
