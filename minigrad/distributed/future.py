"""Values that will be there: ``torch.futures``, in which communication hooks speak."""

from __future__ import annotations

from collections.abc import Callable
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
