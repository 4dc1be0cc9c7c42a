"""Calls under way: what ``async_op=True`` returns, and how each moves on while others wait.

A call has two halves: the headers of all ranks are compared (``agreement.py``), then the arrays go round. MPI moves
nothing by itself, so both are moved on by whatever the program calls next of this module, in order, and by ``wait``.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .agreement import Agreement, Header
from .roll_call import RollCall
from .transport import Request

if TYPE_CHECKING:
    from .mpi import Mpi

EAGER = 0.002  # seconds in which a waiting rank looks again at once
NAP = 0.0005  # seconds between later looks
LOOK = 0.05  # seconds between looks for a roll call

Start = Callable[[bool], Request]


class Work:
    """A call of a group. ``wait()`` ends it.

    Attributes:
        name: of the function.
    """

    def __init__(self, queue: Queue, name: str, start: Start, finish: Callable[[], Any] | None = None) -> None:
        self.name, self._queue, self._start, self._finish = name, queue, start, finish
        self.agreement: Agreement | None = None
        self._request: Request | None = None
        self._error: BaseException | None = None
        self._over = False
        self._then: list[Callable[[], Any]] = []

    def is_completed(self) -> bool:
        """Whether the result is there, or an error; the call moves the work on."""
        self._queue.move()
        return self.move()

    def is_success(self) -> bool:
        """Whether it is complete, without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error, if there was one."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the result, and return True.

        Args:
            timeout: at most so long; None for that of the group.

        Raises:
            RuntimeError: the ranks' calls differ, or the time is over: then it names the ranks that did not call.
        """
        self._queue.wait(self, timeout)
        if self._error is not None:
            raise self._error
        return True

    def result(self) -> Any:
        """Wait, and return None: results are in the tensors that were given."""
        self.wait()

    synchronize = wait

    # What the queue calls -----------------------------------------------------------------------------------

    def begin(self, together: bool) -> None:
        """The headers agree: let the arrays go round."""
        self._request = self._start(together)

    def fail(self, error: BaseException) -> None:
        """The call ends with an error."""
        self._error, self._over = error, True

    def move(self) -> bool:
        """Move on. Returns whether it is over."""
        if not self._over and self._request is not None and self._request.done():
            self._over = True
            if self._finish is not None:
                self._finish()
            self._request = self._finish = None
            for function in self._then:
                function()
        return self._over

    def then(self, function: Callable[[], Any]) -> None:
        """Call a function when it is complete."""
        if self._over:
            function()
        else:
            self._then.append(function)


class Queue:
    """The calls of one group, in the order in which all ranks make them.

    Args:
        ranks: the group's, by their numbers in the world.
        control: an MPI of the group for headers and roll calls; None in a world of one.
        seconds: how long a call waits.
        gone: the ranks of the world that have left, as far as is known; it changes.
    """

    def __init__(self, ranks: list[int], control: Mpi | None, seconds: float, gone: set[int]) -> None:
        self.ranks, self.control, self.seconds, self.gone = ranks, control, seconds, gone
        self.waiting: deque[Work] = deque()
        self.messages: list[Work] = []  # between two ranks, in no order
        self._roll = None if control is None else RollCall(control)
        self._crowded = False if control is None else control.size > (os.cpu_count() or 1)

    def put(self, work: Work, line: Header | None) -> Work:
        """Begin a call. ``line``: its header; None if nothing has to be compared."""
        self.move()
        if self.control is None or line is None:
            if self.waiting:
                self._drain()
            work.begin(False)
            return work
        work.agreement = Agreement(self.control, line)
        self.waiting.append(work)
        return work

    def _drain(self) -> None:
        while self.waiting:
            self.wait(self.waiting[0], None, started=True)

    def move(self) -> None:
        """Begin the calls whose headers have been compared, in order, and move messages on."""
        if self.messages:
            self.messages = [message for message in self.messages if not message.move()]
        while self.waiting and self.waiting[0].agreement is not None and self.waiting[0].agreement.done():
            work = self.waiting.popleft()
            assert work.agreement is not None
            try:
                together = work.agreement.check(self.ranks)
            except RuntimeError as error:
                work.fail(error)
            else:
                work.begin(together and not self._crowded and not self.waiting)

    def wait(self, work: Work, timeout: timedelta | None, started: bool = False) -> None:
        """Until a call is over; or has begun."""
        seconds = self.seconds if timeout is None else timeout.total_seconds()
        begin = looked = time.monotonic()
        while True:
            self.move()
            if work.move() or (started and work not in self.waiting):
                return
            now = time.monotonic()
            if now - looked > LOOK:
                looked = now
                self._look(work, now - begin > seconds, seconds)
            if now - begin > EAGER:
                time.sleep(NAP)
            else:
                os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)

    def _look(self, work: Work, late: bool, seconds: float) -> None:
        """Answer roll calls; if this call is late, hold one, and say who is missing."""
        if self._roll is None:
            return
        self._roll.answer()
        gone = [rank for rank in self.ranks if rank in self.gone]
        if not (late or gone):
            return
        here = self._roll.hold()
        self.move()
        if work.move():
            return
        missing = [rank for number, rank in enumerate(self.ranks) if number not in here]
        if gone and not set(gone) & set(missing) and not late:
            return
        work.fail(RuntimeError(_late(work.name, missing, gone, seconds)))
        if work in self.waiting:
            self.waiting.remove(work)


def _late(name: str, missing: list[int], gone: list[int], seconds: float) -> str:
    if gone:
        return f"{name} cannot end: {_named(gone)} ended without calling it"
    if not missing:
        return f"{name} is not over after {seconds:g} s, though all ranks wait: is the network up?"
    return f"{name} timed out after {seconds:g} s: {_named(missing)} not called it"


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} have"


class Finished(Work):
    """A call that was over at once."""

    def __init__(self) -> None:
        self._error, self._over, self._then = None, True, []

    def is_completed(self) -> bool:
        """True."""
        return True

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True."""
        return True
