"""Values that will be there: ``torch.futures``, in which communication hooks speak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(futures.Future[T]):
    """Python's future under PyTorch's names. Its value is set later, by ``set_result`` or ``set_exception``, from this
    thread or another one.

    Args:
        devices: of no effect.
        move: ``move(wait)`` brings the value about, waiting for it or not: MPI moves nothing by itself.
    """

    def __init__(self, *, devices: Any = None, move: Callable[[bool], Any] | None = None) -> None:
        super().__init__()
        self._move = move

    def done(self) -> bool:
        """Whether there is a value, or an error."""
        if self._move is not None and not super().done():
            self._move(False)
        return super().done()

    def wait(self) -> T:
        """Wait for the value, and return it. Raises the error, if there is one instead."""
        if self._move is not None and not super().done():
            try:
                self._move(True)
            except Exception:
                if not super().done():  # else the error is this future's, too
                    raise
        return self.result()

    def value(self) -> T:
        """The value. Raises the error, if there is one instead; RuntimeError: there is neither yet."""
        if not super().done():
            raise RuntimeError("the future is not complete: call wait()")
        return self.result()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback`` returns, which is called with this one when it is complete."""
        following: Future[S] = Future(move=lambda wait: self.wait() if wait else self.done())

        def call(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(call)
        return following


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of these futures, which is complete when each of them has a value or an error."""

    def move(wait: bool) -> None:
        for each in futures:
            with suppress(Exception):  # a future keeps its error
                each.wait() if wait else each.done()

    together: Future[list[Future[Any]]] = Future(move=move)
    left = iter(range(len(futures))[::-1])  # whose steps no two threads share

    def count(_: object) -> None:
        if next(left) == 0:
            together.set_result(list(futures))

    for each in futures:
        each.add_done_callback(count)
    if not futures:
        together.set_result([])
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all these futures; returns their values. Raises the first error, after all are complete."""
    return [each.wait() for each in collect_all(futures).wait()]
