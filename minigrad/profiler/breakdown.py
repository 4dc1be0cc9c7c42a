"""Where the time of a profile goes: its events' self times, added up by module or by op.

Every nanosecond of every event is in one row, and in one of the columns forward and backward (or in neither,
for the optimiser and the loading of data), so that a column adds up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from .recorder import MODULE, OP, Event
from .table import format_bytes, format_share, format_table, format_time

_OUTSIDE = "[no module]"
_BETWEEN = "[between ops]"
SORT_KEYS = ("total", "self_total", "forward", "backward", "self_forward", "self_backward", "calls", "bytes", "memory")


@dataclass
class Row:
    """A module or an op. Times are in µs; "self" leaves out the modules below it.

    Attributes:
        key: the module's path, or the op's name; in brackets what is neither.
        calls: of the module or the op, in the forward.
        forward, backward: the time there, of all that lies within.
        total: all its time, also of what is neither forward nor backward.
        bytes: of the results, and of the gradients in the backward.
        memory: by how much the memory in use grew in the forward, if that was asked for: what is kept.
    """

    key: str
    calls: int = 0
    forward: float = 0.0
    self_forward: float = 0.0
    backward: float = 0.0
    self_backward: float = 0.0
    total: float = 0.0
    self_total: float = 0.0
    bytes: int = 0
    memory: int = 0


class Breakdown(list[Row]):
    """The rows of ``profile.by_module()`` or ``profile.by_op()``.

    Args:
        title: the head of the first column.
        rows: in the order of the table.
        profiled: how long the profile ran, in µs.
        nested: whether some rows lie within others: then there are columns of self time.
        memory: whether memory was recorded.
    """

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
        """The rows as a table of text.

        Args:
            sort_by: the largest first: a column of ``Row``; None leaves modules in the order of their tree,
                and ops with the longest first.
            row_limit: at most so many rows; -1 for all.
            header: a line above it.
            time_unit: "s", "ms" or "us"; None chooses by the size.

        Raises:
            ValueError: an unknown ``sort_by`` or ``time_unit``.
        """
        if time_unit not in (None, "s", "ms", "us"):
            raise ValueError(f"time_unit must be 's', 'ms', 'us' or None, not {time_unit!r}")
        if sort_by is not None and sort_by not in SORT_KEYS:
            known = ", ".join(SORT_KEYS)
            raise ValueError(f"this table is not sorted by {sort_by!r}: sort_by is one of {known}")
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=attrgetter(sort_by), reverse=True)
        columns = list(self._columns(time_unit))
        cells = [[text(row) for _, text in columns] for row in (rows if row_limit < 0 else rows[:row_limit])]
        whole, on = (format_time(us, time_unit) for us in (self.self_cpu_time_total, self.profiled))
        foot = [f"Time of all events: {whole} of the {on} that the profile was on"]
        return format_table([head for head, _ in columns], cells, foot, header)

    def _columns(self, unit: str | None) -> Iterator[tuple[str, Callable[[Row], str]]]:
        """(head, text of a row)."""
        whole = self.self_cpu_time_total
        yield self.title, lambda r: r.key
        yield "Calls", lambda r: str(r.calls)
        yield "Forward", lambda r: _time(r.forward, unit)
        if self.nested:
            yield "Self forward", lambda r: _time(r.self_forward, unit)
        yield "Backward", lambda r: _time(r.backward, unit)
        if self.nested:
            yield "Self backward", lambda r: _time(r.self_backward, unit)
        yield "Total", lambda r: _time(r.total, unit)
        yield "Total %", lambda r: format_share(r.total, whole)
        yield "Bytes", lambda r: format_bytes(r.bytes)
        if self.memory:
            yield "Kept", lambda r: format_bytes(r.memory)


def by_module(events: Iterable[Event], depth: int | None) -> list[Row]:
    """A row for each module that was called, parents before children, and one for each thing outside.

    Args:
        events: of a profile.
        depth: modules below so many levels are part of those above them; None for no limit.
    """
    own: dict[str, Row] = {}
    order: dict[str, int] = {}
    for event in events:
        key = _cut_path(event.place or _OUTSIDE, depth)
        for above in _paths(key):
            order.setdefault(above, len(order))
        row = own.setdefault(key, Row(key))
        row.calls += event.kind == MODULE and event.place == key and event.phase == "forward"
        _add(row, event)
    rows = {key: replace(row) for key, row in own.items()}
    for key, row in own.items():
        for above in _paths(key)[:-1]:
            if above in rows:
                _add_below(rows[above], row)
    return sorted(rows.values(), key=lambda r: (r.key.startswith("["), [order[p] for p in _paths(r.key)]))


def by_op(events: Iterable[Event]) -> list[Row]:
    """A row for each op, with the ops and kernels that it calls and its backward nodes, the longest first;
    what lies in none is one row, or that of the nearest ``record_function`` or step around it."""
    rows: dict[str, Row] = {}
    for event in events:
        key = event.label or (event.place if event.place.startswith("[") else _BETWEEN)
        row = rows.setdefault(key, Row(key))
        row.calls += event.kind == OP and event.is_outermost and event.phase != "backward"
        _add(row, event)
    return sorted(rows.values(), key=lambda row: row.total, reverse=True)


def _add(row: Row, event: Event) -> None:
    """Add an event to the row that it is part of."""
    time, forward, backward = event.self_cpu_time_total, event.phase == "forward", event.phase == "backward"
    row.total, row.self_total = row.total + time, row.self_total + time
    row.forward, row.self_forward = row.forward + time * forward, row.self_forward + time * forward
    row.backward, row.self_backward = row.backward + time * backward, row.self_backward + time * backward
    row.bytes += event.bytes * event.is_outermost
    row.memory += event.self_cpu_memory_usage * forward


def _add_below(row: Row, below: Row) -> None:
    """Add the self times of a module to a module above it."""
    row.total += below.self_total
    row.forward += below.self_forward
    row.backward += below.self_backward
    row.bytes += below.bytes
    row.memory += below.memory


def _time(us: float, unit: str | None) -> str:
    return format_time(us, unit) if us else "--"


def _cut_path(path: str, depth: int | None) -> str:
    return path if depth is None or path.startswith("[") else ".".join(path.split(".")[: depth + 1])


def _paths(path: str) -> list[str]:
    """A path and those above it, the outermost first."""
    if path.startswith("["):
        return [path]
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
