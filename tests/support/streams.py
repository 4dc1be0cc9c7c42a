"""CUDA's streams and events for the strict stand-in, as ``cupy.cuda`` has them.

A stream is a thread that runs one task after another, later than the program that queued them: code that reads a result
without an event sees the old numbers. NumPy computes immediately, and so does the null stream: code that makes it wait
for an event waits itself. Kernels for other streams are functions (``launch_host_func``).
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, ClassVar, Self

from .strict_array import DEVICE, Device

PATIENCE = 60.0  # seconds until a test that hangs fails
_numbers = itertools.count(1)
_streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()
_local = threading.local()
Work = Callable[[], None]


def waited(flag: threading.Event) -> None:
    """Wait for a flag. Raises TimeoutError: it is not set in time."""
    if not flag.wait(PATIENCE):
        raise TimeoutError(f"a stream has waited for {PATIENCE:g} s")


class Event:
    """A position in a stream, once it is recorded."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.reached: threading.Event | None = None

    @property
    def done(self) -> bool:
        """True before it is recorded, as in CUDA."""
        return self.reached is None or self.reached.is_set()

    def record(self, stream: Stream | None = None) -> None:
        (stream or get_current_stream()).record(self)

    def synchronize(self) -> None:
        if self.reached is not None:
            waited(self.reached)


class Stream:
    """A stream: ``ptr`` is its handle for NCCL, which is 0 for the null stream."""

    null: ClassVar[Stream]

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else next(_numbers)
        self.device_id = DEVICE.id
        self._last: threading.Event | None = None
        self._queue: SimpleQueue[tuple[Work, threading.Event] | None] = SimpleQueue()
        if not null:
            threading.Thread(target=_run, args=(self._queue,), daemon=True).start()
            weakref.finalize(self, self._queue.put, None)
        _streams[self.ptr] = self

    def put(self, work: Work) -> None:
        """Launch work, as CUDA launches a kernel."""
        if self.ptr:
            self._last = threading.Event()
            self._queue.put((work, self._last))
        else:
            work()

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        reached = event.reached = threading.Event()
        self.put(reached.set)
        return event

    def wait_event(self, event: Event) -> None:
        if (reached := event.reached) is not None:
            self.put(lambda: waited(reached))

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any) -> None:
        self.put(lambda: callback(arg))

    @property
    def done(self) -> bool:
        return self._last is None or self._last.is_set()

    def synchronize(self) -> None:
        self.record().synchronize()

    def use(self) -> Self:
        _local.stream = self
        return self

    def __enter__(self) -> Self:
        _local.stack = [*getattr(_local, "stack", []), get_current_stream()]
        return self.use()

    def __exit__(self, *exception: object) -> None:
        *_local.stack, before = _local.stack
        before.use()


def _run(queue: SimpleQueue[tuple[Work, threading.Event] | None]) -> None:
    while (entry := queue.get()) is not None:
        work, over = entry
        work()
        over.set()


Stream.null = Stream(null=True)


def get_current_stream(device_id: int = -1) -> Stream:
    """This thread's stream."""
    stream: Stream = getattr(_local, "stream", Stream.null)
    return stream


def of_pointer(pointer: int) -> Stream:
    """The stream with a pointer. Raises KeyError: it no longer exists."""
    return _streams[pointer]


def on(device: int | None = None) -> Device:
    """``cupy.cuda.Device(number)``: there is only one. Raises RuntimeError: another number."""
    if device not in (None, DEVICE.id):
        raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
    return DEVICE
