"""Values that will be there: ``torch.futures``, in which communication hooks speak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(futures.Future[T]):
    """Python's future under PyTorch's names. Its value is set later, by ``set_result`` or ``set_exception``, from this
    thread or another one. ``devices``: of no effect."""

    def __init__(self, *, devices: Any = None) -> None:
        super().__init__()

    def wait(self) -> T:
        """Wait for the value, and return it. Raises the error, if there is one instead."""
        return self.result()

    def value(self) -> T:
        """The value. Raises the error, if there is one instead; RuntimeError: there is neither yet."""
        if not self.done():
            raise RuntimeError("the future is not complete: call wait()")
        return self.result()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback`` returns, which is called with this one when it is complete."""
        following: Future[S] = Future()

        def call(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(call)
        return following


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of these futures, which is complete when each of them has a value or an error."""
    together: Future[list[Future[Any]]] = Future()
    left = iter(range(len(futures))[::-1])  # whose steps no two threads share

    def count(_: object) -> None:
        if next(left) == 0:
            together.set_result(list(futures))

    for each in futures:
        each.add_done_callback(count)
    if not futures:
        together.set_result([])
    return together
