"""Where the time of a profile goes: its events' self times, added up by module or by op. Each nanosecond is in one row,
and in the column forward or backward (in neither, for the optimiser and the loading of data): columns add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from .event import MODULE, OP, Event
from .table import Columns, format_bytes, format_rows, format_share, format_time

_OUTSIDE = "[no module]"
_BETWEEN = "[between ops]"
SORT_KEYS = ("total", "self_total", "forward", "backward", "self_forward", "self_backward", "calls", "bytes", "memory")


@dataclass
class Row:
    """A module or an op. Times are in µs; "self" leaves out the modules below it."""

    key: str  # the module's path, or the op's name; in brackets what is neither
    calls: int = 0  # in the forward
    forward: float = 0.0
    self_forward: float = 0.0
    backward: float = 0.0
    self_backward: float = 0.0
    total: float = 0.0  # also of what is neither forward nor backward
    self_total: float = 0.0
    bytes: int = 0  # of the results, and of the gradients in the backward
    memory: int = 0  # by how much the memory in use grew in the forward, if that was asked for: what is kept

    def add(self, event: Event, itself: bool = True) -> None:
        """Add what an event of this row, or else of a module below, has outside the events within it."""
        time = event.self_cpu_time_total
        for name in ("total", event.phase) if event.phase in ("forward", "backward") else ("total",):
            for column in (name, f"self_{name}") if itself else (name,):
                setattr(self, column, getattr(self, column) + time)
        self.bytes += event.bytes * event.is_outermost
        self.memory += event.self_cpu_memory_usage * (event.phase == "forward")


class Breakdown(list[Row]):
    """The rows of ``profile.by_module()`` or ``profile.by_op()``, which ran for ``profiled`` µs. Where some lie within
    others (``nested``) there are columns of self time; with ``memory`` one of what was kept."""

    def __init__(self, title: str, rows: Iterable[Row], profiled: float, nested: bool, memory: bool) -> None:
        super().__init__(rows)
        self.title, self.profiled, self.nested, self.memory = title, profiled, nested, memory

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in µs."""
        return sum(row.self_total for row in self)

    def table(
        self, sort_by: str | None = None, row_limit: int = -1, header: str | None = None, time_unit: str | None = None
    ) -> str:
        """The rows as a table of text; see ``EventList.table``. ``sort_by`` is a column of ``Row``: the largest first;
        None leaves modules in the order of their tree, and ops with the longest first."""
        whole, on = (format_time(us, time_unit) for us in (self.self_cpu_time_total, self.profiled))
        foot = f"Time of all events: {whole} of the {on} that the profile was on"
        return format_rows(self._columns(time_unit), self, sort_by, SORT_KEYS, row_limit, foot, header)

    def _columns(self, unit: str | None) -> Columns:
        def time(us: float) -> str:
            return format_time(us, unit) if us else "--"

        whole = self.self_cpu_time_total
        yield self.title, lambda r: r.key
        yield "Calls", lambda r: str(r.calls)
        yield "Forward", lambda r: time(r.forward)
        if self.nested:
            yield "Self forward", lambda r: time(r.self_forward)
        yield "Backward", lambda r: time(r.backward)
        if self.nested:
            yield "Self backward", lambda r: time(r.self_backward)
        yield "Total", lambda r: time(r.total)
        yield "Total %", lambda r: format_share(r.total, whole)
        yield "Bytes", lambda r: format_bytes(r.bytes)
        if self.memory:
            yield "Kept", lambda r: format_bytes(r.memory)


def by_module(events: Iterable[Event], depth: int | None) -> list[Row]:
    """A row for each module that was called, parents before children, and one for each thing outside; what lies more
    than ``depth`` levels below the outermost is part of those above (None: no limit)."""
    rows: dict[str, Row] = {}
    with_events: set[str] = set()
    for event in events:
        place = event.place or _OUTSIDE
        paths = _paths(place)[: None if depth is None else depth + 1]
        for path in paths:
            rows.setdefault(path, Row(path)).add(event, path == paths[-1])
        with_events.add(paths[-1])
        rows[paths[-1]].calls += event.kind == MODULE and place == paths[-1] and event.phase == "forward"
    order = {path: i for i, path in enumerate(rows)}
    shown = [rows[path] for path in with_events]
    return sorted(shown, key=lambda r: (r.key.startswith("["), [order[p] for p in _paths(r.key)]))


def by_op(events: Iterable[Event]) -> list[Row]:
    """A row for each op, with the ops and kernels that it calls and its backward nodes, the longest first;
    what lies in none is one row, or that of the nearest ``record_function`` or step around it."""
    rows: dict[str, Row] = {}
    for event in events:
        key = event.label or (event.place if event.place.startswith("[") else _BETWEEN)
        row = rows.setdefault(key, Row(key))
        row.calls += event.kind == OP and event.is_outermost and event.phase != "backward"
        row.add(event)
    return sorted(rows.values(), key=lambda row: row.total, reverse=True)


def _paths(path: str) -> list[str]:
    return [path] if path.startswith("[") else list(accumulate(path.split("."), "{}.{}".format))
