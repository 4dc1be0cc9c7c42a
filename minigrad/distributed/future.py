"""Values that will be there: ``torch.futures``, in which communication hooks speak."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent import futures
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that somebody sets later, with ``set_result`` or ``set_exception``, from this thread or another one.

    Args:
        devices: of no effect.
        move: ``move(wait)`` brings the value about, waiting for it or not: MPI moves nothing by itself.
    """

    def __init__(self, *, devices: Any = None, move: Callable[[bool], Any] | None = None) -> None:
        self._inner: futures.Future[T] = futures.Future()
        self._move = move or (lambda wait: None)

    def done(self) -> bool:
        """Whether there is a value, or an error."""
        if not self._inner.done():
            self._move(False)
        return self._inner.done()

    def wait(self) -> T:
        """Wait for the value, and return it. Raises the error, if there is one instead."""
        if not self._inner.done():
            try:
                self._move(True)
            except Exception:
                if not self._inner.done():  # else the error is this future's, too
                    raise
        return self._inner.result()

    def value(self) -> T:
        """The value. Raises the error, if there is one instead; RuntimeError: there is neither yet."""
        if not self._inner.done():
            raise RuntimeError("the future is not complete: call wait()")
        return self._inner.result()

    def set_result(self, result: T) -> None:
        """Complete it with a value. Raises RuntimeError: it is complete."""
        self._set(self._inner.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Complete it with an error. Raises AssertionError: that is none; RuntimeError: it is complete."""
        assert isinstance(result, BaseException), f"{result!r} is of type {type(result).__name__}, not an Exception."
        self._set(self._inner.set_exception, result)

    def _set(self, how: Callable[[Any], None], what: Any) -> None:
        try:
            how(what)
        except futures.InvalidStateError:
            raise RuntimeError("the future is complete already: a value can be set once") from None

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback`` returns, which is called with this one when it is complete."""
        following: Future[S] = Future(move=lambda wait: self.wait() if wait else self.done())

        def call(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self._inner.add_done_callback(call)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call a function with this future when it is complete. An error of it is printed, and goes no further."""

        def call(_: object) -> None:
            try:
                callback(self)
            except Exception:
                traceback.print_exc()

        self._inner.add_done_callback(call)
