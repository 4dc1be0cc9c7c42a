"""A function's launches as a CUDA graph, with a memory pool of its own; a rehearsal calls the function again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from .place import Place


class Repeated:
    """In a rehearsal: where a graph would launch kernels, it calls the function, which writes into the same arrays."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.launch = function

    def on_stream(self) -> AbstractContextManager[Any]:
        """The stream on which it is launched."""
        return nullcontext()


class Captured:
    """A graph. The arrays of the function live in a pool that nothing else uses, as long as the graph does."""

    def __init__(self, cupy: Any, function: Callable[[], Any]) -> None:
        self._pool = cupy.cuda.MemoryPool()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()  # other streams have written their arrays
        with cupy.cuda.using_allocator(self._pool.malloc), self._stream:
            function()  # kernels are compiled and loaded before the capture
            self._stream.synchronize()
            self._stream.begin_capture()
            try:
                function()
            except BaseException:
                with suppress(RuntimeError):  # the capture is void, and its end reports that
                    self._stream.end_capture()
                raise
            self._graph = self._stream.end_capture()

    def launch(self) -> None:
        """Run the function's kernels once more, on its stream."""
        self._graph.launch(self._stream)

    def on_stream(self) -> AbstractContextManager[Any]:
        """The stream on which it is launched."""
        stream: AbstractContextManager[Any] = self._stream
        return stream


def captured(place: Place, function: Callable[[], Any]) -> Captured | Repeated:
    """A function's launches as a graph. The function has run once by then."""
    if place.rehearsal:
        function()
        return Repeated(function)
    return Captured(place.xp(), function)
