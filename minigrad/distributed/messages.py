"""Messages between two ranks. The header of each goes before it, so that a wrong dtype or shape is an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from ..backend import dtype as dt
from ..backend import xp
from ..tensor import Tensor
from .agreement import LENGTH, Header, announced, header, spelled
from .group import ProcessGroup, is_outside, the_group
from .lending import Loan
from .roll_call import GRACE
from .transport import Done, Request
from .work import LOOK, Work, _named, pause

FIRST_TAG = 100  # of headers: those below are the roll call's
MOST_TAG = 2**20
BUSY = 1.0  # seconds in which a rank looks for a message without a rest
Group = ProcessGroup | int | None


class Message(Work):
    """A message under way: its header, then its array."""

    def __init__(
        self, group: ProcessGroup, name: str, other: int | None, peer: str, steps: list[Callable[[], Request | None]]
    ) -> None:
        super().__init__(group.queue, name, lambda together: _never(), None)
        self._peer, self._steps = peer, steps
        self.line: tuple[str, int | None, int] = ("", None, 0)
        self.before: Message | None = None
        self.after = 0  # steps after that of the array
        others = set(group.ranks) - {group.ranks[group.number]}
        self._who = others if other is None else {group.ranks[other]}

    def _give_up(self, why: str) -> None:
        cancel = getattr(self._request, "cancel", None)
        if self.name == "recv" and cancel is not None:
            cancel()
        self._queue.give_up(self, why)

    def shares_line(self, line: tuple[str, int | None, int]) -> bool:
        """Whether MPI could take one's array for the other's; a receive from anybody may be from anyone."""
        same = self.line[0] == line[0] and self.line[2] == line[2]
        return same and (self.line[1] == line[1] or None in (self.line[1], line[1]))

    def _must_wait(self) -> bool:
        """Whether an earlier message of the line has not begun to send or receive its array."""
        if self.before is not None and (self.before.move() or self.before.is_on_its_way()):
            self.before = None
        return self.before is not None

    def is_on_its_way(self) -> bool:
        """Whether its array has begun."""
        return len(self._steps) <= self.after

    def _is_over(self) -> bool:
        self._queue.move()
        return self.move()

    def move(self) -> bool:
        """Begin one step after the other. Returns whether all are over."""
        while not self._over and not self._must_wait():
            if self._request is not None and not self._is_done(self._request):
                return self._over
            if not self._steps:
                self._end()
                break
            try:
                self._request = self._steps[0]()
            except RuntimeError as error:
                self.fail(error)
                break
            if self._request is None:
                return False
            del self._steps[0]
        return self._over

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the message. Raises RuntimeError: it differs from what is expected, or the time is over."""
        seconds = self._queue.seconds if timeout is None else timeout.total_seconds()
        begin, ended = time.monotonic(), 0.0
        while not self._is_over():
            passed = time.monotonic() - begin
            if passed > seconds:
                self._give_up(f"{self.name} timed out after {seconds:g} s: {self._peer}")
            ended = ended or (passed if self._who <= self._queue.gone else 0.0)
            if ended and passed > ended + GRACE:  # time for what was sent before the end
                self._give_up(f"{self.name} cannot end: {_named(sorted(self._who))} ended; {self._peer}")
            if passed > LOOK:
                self._queue.look(self, False, seconds)
            pause(passed, self.is_moving() and passed < BUSY)
        if self._error is not None:
            raise self._error
        return True


def _never() -> Request:
    raise AssertionError("a message has no collective")


def isend(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to another rank, which receives it under the same ``tag``.

    Raises:
        ValueError: no such rank, or this one. TypeError: no tensor.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    to = _peer(g, dst, group_dst, "dst", "send to")
    _check(tensor, tag, "isend")
    loan, line = Loan(tensor, g), header("send", tensor.array, on_gpu=g.on_gpu(tensor.array))
    assert g.control is not None
    control = g.control
    steps: list[Callable[[], Request | None]] = [
        lambda: control.send(line, to, FIRST_TAG + tag),
        lambda: g.carrier(tensor.array).send(loan.array, to, FIRST_TAG + tag),
    ]
    return _begun(Message(g, "send", to, f"rank {g.ranks[to]} has not received it", steps), ("send", to, tag))


def irecv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor of this shape and dtype, in place, from a rank; None for whoever sends first.

    Raises:
        ValueError: no such rank, or this one. TypeError: no tensor.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    source = None if src is None and group_src is None else _peer(g, src, group_src, "src", "receive from")
    return _receive(tensor, g, source, tag)


class Received(Message):
    """A message that this rank receives; ``source`` is who has sent it."""

    source: int


def _receive(tensor: Tensor, g: ProcessGroup, source: int | None, tag: int) -> Received:
    _check(tensor, tag, "irecv")
    if g.control is None:
        raise ValueError("there is no other rank to receive from")
    loan, line, control, who = Loan(tensor, g), np.empty(LENGTH, np.int64), g.control, [source]

    wrong: list[str] = []

    def begin() -> Request | None:
        if who[0] is None:
            who[0] = control.first_waiting(FIRST_TAG + tag)
        return None if who[0] is None else control.receive(line, who[0], FIRST_TAG + tag)

    def then() -> Request:
        theirs, ours = spelled(line), spelled(header("send", tensor.array, on_gpu=g.on_gpu(tensor.array)))
        assert who[0] is not None
        rank = message.source = g.ranks[who[0]]
        if theirs != ours:
            wrong.append(f"rank {rank} calls {theirs}, and rank {g.ranks[g.number]} expects {ours}")
            return _taken_off(line, g, tensor, who[0], FIRST_TAG + tag)
        return g.carrier(tensor.array).receive(loan.array, who[0], FIRST_TAG + tag)

    def end() -> Request:
        if wrong:
            raise RuntimeError(wrong[0])
        loan.back("recv")
        return Done()

    nobody = "no rank has sent anything" if source is None else f"rank {g.ranks[source]} has sent nothing"
    message = Received(g, "recv", source, f"{nobody} (tag {tag})", [begin, then, end])
    message.after = 1
    return _begun(message, ("recv", source, tag))


def _taken_off(line: Header, g: ProcessGroup, tensor: Tensor, source: int, tag: int) -> Request:
    """Receive a message that does not fit into an array of its own, so that the next one under its tag is another."""
    there = announced(line)
    if there is None or bool(line[4]) != g.on_gpu(tensor.array):
        return Done()
    name, shape = there
    size = dt.named(name).itemsize
    module = xp(tensor.array) if line[4] else np
    scrap = module.empty(int(np.prod(shape)) * size, "u1")
    wide = scrap.view(f"u{size}") if name in ("bool", "float16", "bfloat16") else scrap.view(dt.named(name).numpy)
    return g.carrier(tensor.array).receive(wide, source, tag)


Some = TypeVar("Some", bound=Message)


def _begun(message: Some, line: tuple[str, int | None, int]) -> Some:
    """Begin a message behind those of its ``line`` (direction, other rank, tag): arrays go in the order of headers."""
    queue = message._queue
    if queue.broken:
        raise RuntimeError(f"the group cannot be used any more, since {queue.broken}")
    queue.move()
    message.line = line
    before = [m for m in queue.messages if isinstance(m, Message) and m.shares_line(line)]
    message.before = before[-1] if before else None
    if not message.move():
        queue.messages.append(message)
    return message


def send(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """``isend``, and wait until the tensor may be changed again."""
    message = isend(tensor, dst, group, tag, group_dst)
    if message is not None:
        message.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> int:
    """``irecv``, and wait. Returns the rank that sent; -1 on ranks that are not in the group."""
    if is_outside(group):
        return -1
    g = the_group(group)
    source = None if src is None and group_src is None else _peer(g, src, group_src, "src", "receive from")
    message = _receive(tensor, g, source, tag)
    message.wait()
    return message.source


def _peer(g: ProcessGroup, rank: int | None, number: int | None, what: str, verb: str) -> int:
    if (rank is None) == (number is None):
        raise ValueError(f"give {what} or group_{what}")
    if number is None:
        assert rank is not None
        number = g.number_of(rank)
    if not 0 <= number < g.size():
        raise ValueError(f"group_{what} is {number}, in a group of {g.size()}")
    if number == g.number:
        raise ValueError(f"a rank cannot {verb} itself")
    return number


def _check(tensor: Any, tag: int, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} takes a tensor, not {type(tensor).__name__}")
    if not 0 <= tag < MOST_TAG:
        raise ValueError(f"a tag is a number from 0 to {MOST_TAG - 1}, not {tag}")


class P2POp:
    """A message for ``batch_isend_irecv``: ``isend`` or ``irecv``, a tensor, and the other rank."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("the op of a P2POp must be isend or irecv")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages. Raises ValueError: there are none, or something else."""
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv takes a list of at least one P2POp")
    works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]
