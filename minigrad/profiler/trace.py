"""Files for other programs: stacks, and a trace in the Trace Event Format of Chromium's catapult, with PyTorch's
categories and names of arguments."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from .event import CATEGORIES, MODULE, NODE, Event
from .table import format_bytes
from .watch import Recorder

_STACK_METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total")


def write_chrome_trace(path: str | PathLike[str], recorder: Recorder, metadata: dict[str, Any] | None = None) -> None:
    """``profile.export_chrome_trace``, with further entries by name."""
    content = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": time.time_ns() - perf_counter_ns(),  # of a timestamp of 0
        "record_shapes": int("shapes" in recorder.parts),
        "profile_memory": int("memory" in recorder.parts),
        "with_stack": int("stack" in recorder.parts),
        **(metadata or {}),
        "traceEvents": list(_trace_events(recorder)),
    }
    data = json.dumps(content).encode()
    _write(path, gzip.compress(data) if os.fspath(path).endswith(".gz") else data, "the trace")


def write_stacks(path: str | PathLike[str], events: Iterable[Event], metric: str) -> None:
    """``profile.export_stacks``: a line for each stack of the program, outermost first, and its time in whole µs."""
    if metric not in _STACK_METRICS:
        raise ValueError(f"metric is one of {', '.join(_STACK_METRICS)}, not {metric!r}")
    times: Counter[str] = Counter()
    for event in events:
        if event.stack:
            lines = [line.translate(str.maketrans(" ;\t\n", "____")) for line in reversed(event.stack)]
            times[";".join(lines)] += event.self_duration
    if not times:
        raise ValueError("no stacks were recorded: profile(with_stack=True) does")
    text = "".join(f"{stack} {time // 1000}\n" for stack, time in times.items() if time >= 1000)
    _write(path, text.encode(), "the stacks")


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
        when = {"pid": pid, "tid": event.thread, "ts": event.start / 1000, "dur": event.duration / 1000}
        yield {"ph": "X", "cat": CATEGORIES[event.kind], "name": event.name, **when, "args": _arguments(event)}
        if event.kind == NODE and event.forward is not None:
            both = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.id, "pid": pid}  # an arrow from its forward
            yield {"ph": "s", **both, "tid": event.forward.thread, "ts": event.forward.start / 1000}
            yield {"ph": "f", "bp": "e", **both, "tid": event.thread, "ts": event.start / 1000}


def _arguments(event: Event) -> dict[str, Any]:
    module = event.kind == MODULE
    known = {
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
    return {name: value for name, value in known.items() if value is not None}
