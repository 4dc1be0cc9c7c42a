"""Calls under way: what ``async_op=True`` returns, and how each moves on while others wait.

A call has two halves: the headers of all ranks are compared (``agreement.py``), then the arrays go round. MPI moves
nothing by itself, so both are moved on by whatever the program calls next of this module, in order, and by ``wait``.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from .agreement import CALLS, Agreement, Counts, Header
from .future import Future
from .roll_call import RollCall
from .transport import Request

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .mpi import Mpi

EAGER = 0.002  # seconds in which a waiting rank looks again at once
NAP = 0.0005  # seconds between later looks
LOOK = 0.05  # seconds between looks for a roll call

Start = Callable[[bool], Request]


class Work:
    """A call of a group. ``wait()`` ends it.

    Attributes:
        name: of the function.
        results: the tensors that it writes.
    """

    results: Sequence[Tensor] = ()

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

    def get_future(self) -> Future[list[Tensor]]:
        """A future of ``results``, or of the error that the call ends with."""
        future: Future[list[Tensor]] = Future()

        def end() -> None:
            if self._error is None:
                future.set_result(list(self.results))
            else:
                future.set_exception(self._error)

        def move(wait: bool) -> None:
            try:
                self.wait() if wait else self.is_completed()
            finally:
                if self._over:
                    self._end()

        self.then(end)
        return future.moved_by(move)

    # What the queue calls -----------------------------------------------------------------------------------

    def begin(self, together: bool) -> None:
        """The headers agree: let the arrays go round."""
        try:
            self._request = self._start(together)
        except (RuntimeError, ValueError, TypeError) as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """The call ends with an error."""
        self._error = error
        self._end()

    def move(self) -> bool:
        """Move on. Returns whether it is over."""
        if not self._over and self._request is not None and self._is_done(self._request):
            if self._finish is not None:
                self._finish()
            self._request = self._finish = None
            self._end()
        return self._over

    def has_more(self) -> bool:
        """Whether it will call MPI again."""
        return bool(getattr(self._request, "has_more", False))

    def is_moving(self) -> bool:
        """Whether its arrays are under way."""
        return self._request is not None

    def _is_done(self, request: Request) -> bool:
        """Whether a transfer is complete; an error of its is the call's."""
        try:
            return request.done()
        except RuntimeError as error:
            self.fail(error)
            return False

    def _end(self) -> None:
        """Call those who have asked for it with ``then``."""
        self._over, functions, self._then = True, self._then, []
        for function in functions:
            function()

    def then(self, function: Callable[[], Any]) -> None:
        """Call a function when it is complete, or has ended with an error."""
        if self._over:
            function()
        else:
            self._then.append(function)


class Queue:
    """The calls of one group, in the order in which all ranks make them.

    Ranks may wait for different groups at one time, so whoever waits moves all queues.

    Args:
        ranks: the group's, by their numbers in the world.
        control: an MPI of the group for headers and roll calls; None in a world of one.
        aside: another, for what follows some headers.
        seconds: how long a call waits.
        gone: the ranks of the world that have left, as far as is known; it changes.
        crowded: whether this machine has more ranks than CPUs: then none may block in MPI, which looks without a rest.
    """

    everywhere: ClassVar[list[Queue]] = []

    def __init__(
        self,
        ranks: list[int],
        control: Mpi | None,
        aside: Mpi | None,
        seconds: float,
        gone: set[int],
        crowded: bool = False,
    ) -> None:
        self.ranks, self.control, self.aside = ranks, control, aside
        self.seconds, self.gone, self.crowded = seconds, gone, crowded
        self.waiting: deque[Work] = deque()  # for their headers
        self.begun: list[Work] = []  # their arrays are under way, whether or not anybody keeps the Work
        self.messages: list[Work] = []  # between two ranks
        self.abandoned: list[Work] = []  # that came too late: MPI still has their arrays
        self.broken = ""  # why the group cannot be used any more
        self._roll = None if control is None else RollCall(control)
        self.everywhere.append(self)

    def close(self) -> None:
        """Nothing moves any more."""
        if self in self.everywhere:
            self.everywhere.remove(self)

    def put(self, work: Work, line: Header | None, counts: Counts | None = None) -> Work:
        """Begin a call.

        Args:
            line: its header; None if nothing has to be compared.
            counts: how many elements this rank sends to each, and expects of each, to be compared, too.
        """
        if self.broken:
            raise RuntimeError(f"the group cannot be used any more, since {self.broken}")
        self.move()
        if self.control is None or self.aside is None or line is None:
            self.drain()
            work.begin(False)
            return self._keep(work)
        work.agreement = Agreement(self.control, self.aside, line, counts)
        self.waiting.append(work)
        return work

    def _keep(self, work: Work) -> Work:
        if not work.move():
            self.begun.append(work)
        return work

    def drain(self) -> None:
        """Wait until all calls have begun: what goes by MPI without a header must not overtake them."""
        while self.waiting or self._more():
            self.wait((*self.waiting, *self.begun)[0], None, started=True)

    def _more(self) -> bool:
        """Whether a call that has begun will yet call MPI."""
        return any(work.has_more() for work in self.begun)

    def move(self) -> None:
        """Move the calls of all groups on."""
        for queue in self.everywhere:
            queue.move_own()

    def move_own(self) -> None:
        """Begin the calls whose headers have been compared, in order, and move what has begun."""
        for works in (self.messages, self.begun):
            for work in list(works):
                if work.move() and work in works:  # a function that waits for it may have begun another
                    works.remove(work)
        while self.waiting and not self._more():
            agreement = self.waiting[0].agreement
            if agreement is None or not agreement.done():
                break
            work = self.waiting.popleft()
            try:
                together = agreement.check(self.ranks)
            except RuntimeError as error:
                work.fail(error)
            else:
                work.begin(together)
                self._keep(work)

    def wait(self, work: Work, timeout: timedelta | None, started: bool = False) -> None:
        """Until a call is over; or has begun."""
        seconds = self.seconds if timeout is None else timeout.total_seconds()
        begin = looked = time.monotonic()
        while True:
            self.move()
            if work.move() or (started and work not in self.waiting and not work.has_more()):
                return
            now = time.monotonic()
            if now - looked > LOOK:
                looked = now
                self.look(work, now - begin > seconds, seconds)
            pause(now - begin, work.is_moving())

    def look(self, work: Work, late: bool, seconds: float) -> None:
        """Answer roll calls of all groups; if this call is late, hold one, and say who is missing."""
        for queue in self.everywhere:
            if queue._roll is not None:
                queue._roll.answer()
        gone = [rank for rank in self.ranks if rank in self.gone] if work in self.waiting else []
        if self._roll is None or not (late or gone):
            return
        here = self._roll.hold()
        self.move()
        if work.move():
            return
        missing = [rank for number, rank in enumerate(self.ranks) if number not in here]
        if gone and not late and (not set(gone) & set(missing) or work not in self.waiting):
            return
        self.give_up(work, _late(work.name, missing, gone, seconds))

    def give_up(self, work: Work, why: str) -> None:
        """A call has come to nothing; what MPI has of it stays."""
        self.abandoned.append(work)
        for works in (self.waiting, self.begun, self.messages):
            if work in works:
                works.remove(work)
        if work.name in CALLS and work.name not in ("barrier", "send", "recv"):
            self.broken = why  # the others' arrays would meet those of the next call
        work.fail(RuntimeError(why))


def pause(passed: float, moving: bool) -> None:
    """Between two looks of a rank that waits since so many seconds: let others run; after a while, sleep, unless arrays
    are ``moving``, which MPI moves on only while somebody looks."""
    if passed > EAGER and not moving:
        time.sleep(NAP)
    elif hasattr(os, "sched_yield"):
        os.sched_yield()


def _late(name: str, missing: list[int], gone: list[int], seconds: float) -> str:
    if gone:
        return f"{name} cannot end: {_named(gone)} ended without calling it"
    if not missing:
        return f"{name} is not over after {seconds:g} s, though all ranks wait: is the network up?"
    return f"{name} timed out after {seconds:g} s: {_named(missing)} not called it"


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} have"
