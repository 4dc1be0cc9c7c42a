"""Values that will be there: ``torch.futures``, in which communication hooks speak."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
S = TypeVar("S")

Move = Callable[[bool], Any]


class Future(Generic[T]):
    """A value that somebody sets later, with ``set_result`` or ``set_exception``, from this thread or another one.

    Args:
        devices: of no effect.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._lock = threading.Lock()
        self._complete = threading.Event()
        self._result: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._move: Move | None = None

    def moved_by(self, move: Move) -> Future[T]:
        """Let ``move(wait)`` bring the value about, waiting for it or not: MPI moves nothing by itself."""
        self._move = move
        return self

    def done(self) -> bool:
        """Whether there is a value, or an error."""
        if self._move is not None and not self._complete.is_set():
            self._move(False)
        return self._complete.is_set()

    def wait(self) -> T:
        """Wait for the value, and return it. Raises the error, if there is one instead."""
        if self._move is not None and not self._complete.is_set():
            try:
                self._move(True)
            except Exception:
                if not self._complete.is_set():  # else the error is this future's, too
                    raise
        self._complete.wait()
        return self.value()

    def value(self) -> T:
        """The value. Raises the error, if there is one instead; RuntimeError: there is neither yet."""
        if not self._complete.is_set():
            raise RuntimeError("the future is not complete: call wait()")
        if self._error is not None:
            raise self._error
        return cast(T, self._result)

    def set_result(self, result: T) -> None:
        """Complete it with a value. Raises RuntimeError: it is complete."""
        self._end(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Complete it with an error. Raises AssertionError: that is none; RuntimeError: it is complete."""
        assert isinstance(result, BaseException), f"{result!r} is of type {type(result).__name__}, not an Exception."
        self._end(None, result)

    def _end(self, result: T | None, error: BaseException | None) -> None:
        with self._lock:
            if self._complete.is_set():
                raise RuntimeError("the future is complete already: a value can be set once")
            self._result, self._error = result, error
            self._complete.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback`` returns, which is called with this one when it is complete."""
        following: Future[S] = Future()

        def call(completed: Future[T]) -> None:
            try:
                result = callback(completed)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self._when_complete(call)
        return following.moved_by(lambda wait: self.wait() if wait else self.done())

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call a function with this future when it is complete. An error of it is printed, and goes no further."""

        def call(completed: Future[T]) -> None:
            try:
                callback(completed)
            except Exception:
                traceback.print_exc()

        self._when_complete(call)

    def _when_complete(self, call: Callable[[Future[T]], Any]) -> None:
        with self._lock:
            if not self._complete.is_set():
                self._callbacks.append(call)
                return
        call(self)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all these futures, which is complete when they are."""
    everything: Future[list[Future[Any]]] = Future()
    lock, left = threading.Lock(), [len(futures)]

    def count(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            is_last = left[0] == 0
        if is_last:
            everything.set_result(list(futures))

    def move(wait: bool) -> None:
        for future in futures:
            with suppress(Exception):  # who asks for that future's value gets it
                future.wait() if wait else future.done()

    for future in futures:
        future._when_complete(count)
    if not futures:
        everything.set_result([])
    return everything.moved_by(move)


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all futures, and return their values. Raises the error of the first that has one."""
    return [future.value() for future in collect_all(futures).wait()]
