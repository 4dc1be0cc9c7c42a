"""Handles of running calls, which functions return if ``async_op`` is True, and futures (``torch.futures``)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from ..tensor import Tensor

T = TypeVar("T")
S = TypeVar("S")
LOOKS = 64  # polls before the clock is read
EAGER = 1.0  # seconds for which a waiting rank polls without pausing
NAP = 0.0005  # seconds between later polls
ABANDONED: list[Request] = []  # after an error or timeout, MPI may still write to their arrays
give_way: Callable[[], Any] = getattr(os, "sched_yield", lambda: time.sleep(0))


class Request(Protocol):
    """A transfer in progress: an mpi4py request, or an object with the same method."""

    def Test(self) -> bool:
        """Whether the transfer is complete. Calling this also makes progress."""


class Done:
    """A transfer that is complete."""

    def Test(self) -> bool:
        return True


def wait_for(test: Callable[[], bool], seconds: float, name: str) -> None:
    """Poll until ``test()`` is true. Raises RuntimeError if it takes longer than ``seconds``."""
    if any(test() for _ in range(LOOKS)):
        return
    begin = time.monotonic()
    while not test():
        passed = time.monotonic() - begin
        if passed > seconds:
            raise RuntimeError(f"{name} timed out after {seconds:g} s: has every rank called it?")
        time.sleep(NAP) if passed > EAGER else give_way()


class Future(futures.Future[T]):
    """Python's future under PyTorch's names. The value is set later by ``set_result`` or ``set_exception``, from this
    or another thread. ``devices`` is ignored."""

    def __init__(self, *, devices: Any = None) -> None:
        super().__init__()

    def wait(self) -> T:
        """Wait for the value and return it. Raises the error if the call failed."""
        return self.result()

    def value(self) -> T:
        """The value. Raises the error if the call failed, and RuntimeError if it has not finished."""
        if not self.done():
            raise RuntimeError("the future is not complete: call wait()")
        return self.result()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future for the result of ``callback``, which is called with this future once it is complete."""
        following: Future[S] = Future()

        def call(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(call)
        return following


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of these futures. It is complete when each of them has a value or an error."""
    together: Future[list[Future[Any]]] = Future()
    left = iter(range(len(futures))[::-1])  # an iterator, so that no two threads get the same step

    def count(_: object) -> None:
        if next(left) == 0:
            together.set_result(list(futures))

    for each in futures:
        each.add_done_callback(count)
    if not futures:
        together.set_result([])
    return together


class Work:
    """A running call of a group, which writes to the tensors ``results``. After the transfer ``request``, it calls
    ``finish(name)``. ``wait()`` raises an error after ``seconds``."""

    def __init__(
        self,
        name: str,
        request: Request,
        finish: Callable[[str], Any] | None,
        seconds: float,
        results: Sequence[Tensor],
    ) -> None:
        self.name, self.request, self.results, self._finish, self._seconds = name, request, results, finish, seconds
        self._error: BaseException | None = None
        self._over = False

    def _move(self, how: Callable[[], object]) -> bool:
        """Check whether the arrays have arrived, or wait for them. Returns True if the call has finished."""
        if not self._over:
            try:
                if how() is False:
                    return False
                if self._finish is not None:
                    self._finish(self.name)
            except RuntimeError as error:
                self._error = error
            self._over, self._finish = True, None
        return True

    def is_completed(self) -> bool:
        """Whether there is a result or an error. Calling this also makes progress."""
        return self._move(self.request.Test)

    def is_success(self) -> bool:
        """Whether the call completed without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error, if any."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the result and return True. On a GPU, only the program's later work waits. Raises RuntimeError if
        MPI or NCCL has failed, or after the timeout, by default that of the group."""
        seconds = self._seconds if timeout is None else timeout.total_seconds()
        self._move(lambda: self._join(seconds))
        if self._error is not None:
            raise self._error
        return True

    def _join(self, seconds: float) -> None:
        join = getattr(self.request, "join", None)  # NCCL operations have it
        try:
            wait_for(self.request.Test, seconds, self.name) if join is None else join()
        except RuntimeError:
            ABANDONED.append(self.request)
            raise

    def result(self) -> Any:
        """Wait and return None, as the results are in the tensors of the call."""
        self.wait()

    synchronize = wait

    def get_future(self) -> Future[list[Tensor]]:
        """Wait and return a future with ``results`` or the error of the call."""
        future: Future[list[Tensor]] = Future()
        try:
            self.wait()
        except RuntimeError as error:
            future.set_exception(error)
        else:
            future.set_result(list(self.results))
        return future
