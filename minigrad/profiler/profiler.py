"""``profile`` and its helpers: schedules, labels for parts of a program, and handlers for finished traces."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from os import PathLike
from time import perf_counter_ns
from typing import Any

from .. import cuda
from . import watch
from .averages import Breakdown, EventList, FunctionEventAvg, by_module, write_chrome_trace
from .watch import USER, Event, Recorder, gpu_clock


class ProfilerActivity(enum.Enum):
    """The activities to measure. With ``CUDA``, the profile waits for the GPU to measure GPU time."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class DeviceType(enum.Enum):
    """The device that an event ran on."""

    CPU = 0
    CUDA = 1


class ProfilerAction(enum.Enum):
    """The action of a profile in a step of its schedule."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


Schedule = Callable[[int], ProfilerAction]
_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Return a function from step to action: skip ``wait`` steps, discard ``warmup`` and record ``active``, and repeat.

    Args:
        wait, warmup, active: the numbers of steps. repeat: the number of cycles; 0 for no limit.
        skip_first: steps before the first cycle. skip_first_wait: 1 omits the ``wait`` steps of the first cycle.

    Raises ValueError for a negative number, or if no step is active.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError(
            f"a schedule needs wait, warmup, repeat and skip_first of at least 0, and active of at least 1; "
            f"got wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}"
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"step must be at least 0, not {step}")
        turn, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if step < skip_first or (repeat and turn >= repeat):
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.NONE if place < wait else ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def supported_activities() -> set[ProfilerActivity]:
    """The supported activities: CPU, and CUDA if there is a GPU."""
    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if cuda.is_available() else set())


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """Return an ``on_trace_ready`` function that writes each trace to its own file in a folder. It creates the folder
    if necessary, or raises RuntimeError. File names begin with ``worker_name``, by default the host and process id."""

    def handler(finished: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name} ({error.strerror})") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        finished.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class record_function(ContextDecorator):
    """Label part of a program, as a context manager or decorator. ``args`` is stored but not used."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[tuple[Recorder, Event] | None] = []

    def __enter__(self) -> record_function:
        recorder = watch.recording()
        self._open.append(None if recorder is None else (recorder, recorder.open(self.name, USER)))
        return self

    def __exit__(self, *raised: object) -> None:
        if (opened := self._open.pop()) is not None:
            recorder, event = opened
            recorder.close(event)


class profile:
    """Records every op, backward node, module call and step while it is running.

        with profile() as p:
            loss = model(x).sum()
            loss.backward()
        print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
        print(p.by_module().table())
        p.export_chrome_trace("trace.json")

    Args:
        activities: CPU, CUDA or both; by default, all available ones. With CUDA, the profile waits for the GPU at the
            start and end of every event; without it, only the launches are timed.
        schedule: a function from step to action; by default, all steps are recorded. Call ``step()`` after each step.
        on_trace_ready: a function to call with the profile after each cycle of the schedule, and at the end.
        record_shapes: record the shapes of arguments.
        profile_memory: record how much memory use grew in each event, including temporary arrays. With CUDA, only
            memory allocated from CuPy's pool counts.
        with_stack: record the program lines that called each op; a backward node gets the lines of its forward op.
        with_flops: count the multiplications and additions in matrix products, convolutions, attention, add and mul.
        with_modules: record module calls (PyTorch's default is False).
        acc_events: keep the events of earlier cycles of the schedule.
        use_cuda: PyTorch's older alternative to ``activities``. Arguments that are not listed here are ignored.

    Recording takes a few µs of Python time per event, which counts towards the enclosing event's self time. There is no
    overhead while no profile is running.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = True,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: Any = None,
    ) -> None:
        activity_set = set(activities) if activities is not None else supported_activities()
        if use_cuda:
            activity_set.add(ProfilerActivity.CUDA)
        if not activity_set:
            raise ValueError("activities is empty: pass ProfilerActivity.CPU, CUDA or both, or omit it")
        if ProfilerActivity.CUDA in activity_set and not cuda.is_available():
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            activity_set.discard(ProfilerActivity.CUDA)
        self.activities, self.on_trace_ready, self.acc_events = activity_set, on_trace_ready, acc_events
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        parts = {"memory": profile_memory, "shapes": record_shapes, "stack": with_stack, "flops": with_flops}
        self._parts = {name for name, is_on in {**parts, "modules": with_modules}.items() if is_on}
        self.schedule, self.record_steps = schedule or (lambda step: ProfilerAction.RECORD), schedule is not None
        self.step_num = 0
        self.current_action: ProfilerAction | None = None  # None while the profile is not running
        self._metadata: dict[str, Any] = {}
        self._recorder: Recorder | None = None  # the active recorder
        self._done: Recorder | None = None
        self._step: record_function | None = None
        self._tracing = False  # whether this profile started tracemalloc

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start recording. Raises RuntimeError if this or another profile is running."""
        if self.current_action is not None:
            raise RuntimeError("this profile has already been started: stop() it first")
        self._go_on_with(self.schedule(self.step_num))

    def stop(self) -> None:
        """Stop, and call ``on_trace_ready`` if a cycle was active. Raises RuntimeError if it is not running."""
        if self.current_action is None:
            raise RuntimeError("this profile is not running: start() it, or use it in a with statement")
        self._go_on_with(None)

    def step(self) -> None:
        """Advance the schedule by one step. Raises RuntimeError if the profile is not running."""
        if self.current_action is None:
            raise RuntimeError("call step() between start() and stop(), or in the with block")
        self.step_num += 1
        self._go_on_with(self.schedule(self.step_num))

    def _go_on_with(self, action: ProfilerAction | None) -> None:
        """Switch from the last step's action to ``action``; None ends the profile."""
        if self._step is not None:
            self._step.__exit__()
            self._step = None
        before, self.current_action = self.current_action, action
        if self._recorder is not None and not (before is ProfilerAction.RECORD and action in _RECORDS):
            self._end(self._recorder, keep=before in _RECORDS)
            if before in _RECORDS:
                if before is ProfilerAction.RECORD and action is not None:
                    warnings.warn(f"Incorrect schedule: RECORD followed by {action.name}", stacklevel=3)
                elif self.on_trace_ready is not None:
                    self.on_trace_ready(self)
        if action not in (None, ProfilerAction.NONE) and self._recorder is None:
            try:
                self._begin()
            except BaseException:
                self.current_action = None
                raise
        if action is not None and self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _begin(self) -> None:
        gpu = ProfilerActivity.CUDA in self.activities
        read = None
        if self.profile_memory:
            read = cuda.memory_allocated if gpu else watch.malloc_reader() or watch.traced
        recorder = Recorder(gpu_clock if gpu else perf_counter_ns, read, self._parts)
        watch.begin(recorder)
        if read is watch.traced and not tracemalloc.is_tracing():
            tracemalloc.start()
            self._tracing = True
        self._recorder = recorder

    def _end(self, recorder: Recorder, keep: bool) -> None:
        recorder.finish()
        watch.end()
        if self._tracing:
            tracemalloc.stop()
        self._tracing, self._recorder = False, None
        if not keep:
            return
        if self.acc_events and self._done is not None:
            recorder.events[:0] = self._done.events
            recorder.lasted += self._done.lasted
        for number, event in enumerate(recorder.events):
            event.id = number
        self._done = recorder

    def events(self) -> EventList:
        """All events, in the order in which they began. Raises RuntimeError if nothing has been recorded yet."""
        recorder = self._finished()
        return EventList(recorder.events, recorder.parts, recorder)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sum events by name, and modules by class; see ``EventList.key_averages``."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self.events().total_average()

    def by_module(self, depth: int | None = None) -> Breakdown:
        """The time and bytes of each module, forward and backward. The self times of modules and of other events add up
        to the total. ``depth`` is the number of levels to show below the outermost modules; None for all."""
        recorder = self._finished()
        return Breakdown(by_module(recorder.events, depth), recorder.lasted / 1000, self.profile_memory)

    def _finished(self) -> Recorder:
        if self._done is None:
            state = "has recorded nothing yet" if self.current_action is None else "is still running"
            there = "its tables and traces are available after the with block (or stop()), and in on_trace_ready"
            raise RuntimeError(f"the profile {state}: {there}")
        return self._done

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write all events as a Chrome trace, which ui.perfetto.dev and chrome://tracing show as a timeline with arrows
        from each op to its backward node. The file is compressed if its name ends in ".gz". Raises OSError."""
        write_chrome_trace(path, self._finished(), self._metadata)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the self time of each stack in µs, as "outer;inner time", for flamegraph.pl. Requires ``with_stack``.
        Raises ValueError if no stacks were recorded, and OSError if the file cannot be written."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add text to the traces' metadata."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a JSON value to the traces' metadata. Raises ValueError if the text is not JSON."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
