"""Messages between two ranks. On GPUs, NCCL matches them by order and ignores tags, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ..tensor import Tensor
from .collectives import Loan, Rank, inside, root_of
from .group import Group, ProcessGroup
from .work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]
MOST_TAG = 2**20


def isend(tensor: Tensor, dst: Rank = None, group: Group = None, tag: int = 0, group_dst: Rank = None) -> Work | None:
    """Begin to send a tensor to another rank, which must receive it with the same ``tag``. Raises ValueError if the
    rank does not exist or is this one, and TypeError if ``tensor`` is not a tensor."""
    if (g := inside(group, "isend", tensor)) is None:
        return None
    to = peer_of(g, dst, group_dst, "dst")
    _check(tag)
    request = g.transport(tensor.array).send(Loan(tensor, g).array, to, tag)
    return g.begin(Work("send", request, None, g.seconds, [tensor]), True)


def irecv(tensor: Tensor, src: Rank = None, group: Group = None, tag: int = 0, group_src: Rank = None) -> Work | None:
    """Begin to receive a tensor of the same shape and dtype into ``tensor``. A ``src`` of None means any rank. Raises
    ValueError if the rank does not exist or is this one, and TypeError if ``tensor`` is not a tensor."""
    if (g := inside(group, "irecv", tensor)) is None:
        return None
    source = None if src is None and group_src is None else peer_of(g, src, group_src, "src")
    _check(tag)
    if g.comm is None:
        raise ValueError("there is no other rank to receive from")
    loan = Loan(tensor, g)
    request = g.transport(tensor.array).receive(loan.array, source, tag)
    return g.begin(Work("recv", request, loan.back, g.seconds, [tensor]), True)


def send(tensor: Tensor, dst: Rank = None, group: Group = None, tag: int = 0, group_dst: Rank = None) -> None:
    """Call ``isend``, then wait until the tensor may be modified again."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: Rank = None, group: Group = None, tag: int = 0, group_src: Rank = None) -> int:
    """Call ``irecv``, then wait. Returns the sender's rank, or -1 on ranks outside the group."""
    work, g = irecv(tensor, src, group, tag, group_src), inside(group)
    if work is None or g is None:
        return -1
    work.wait()
    request: Any = work.request
    return g.ranks[request.source]


def peer_of(g: ProcessGroup, rank: Rank, number: Rank, what: str) -> int:
    """The group rank of another rank; see ``root_of``. Raises ValueError if neither is passed, or for this rank."""
    peer = root_of(g, rank, number, what)
    if rank is None and number is None:
        raise ValueError(f"pass {what} or group_{what}")
    if peer == g.number:
        raise ValueError("a rank cannot send to itself")
    return peer


def _check(tag: int) -> None:
    if not 0 <= tag < MOST_TAG:
        raise ValueError(f"a tag must be a number from 0 to {MOST_TAG - 1}, not {tag}")


@dataclass(eq=False)
class P2POp:
    """A message for ``batch_isend_irecv``: ``isend`` or ``irecv``, a tensor, and the other rank."""

    op: Callable[..., Any]
    tensor: Tensor
    peer: Rank = None
    group: Group = None
    tag: int = 0
    group_peer: Rank = None

    def __post_init__(self) -> None:
        if self.op not in (isend, irecv):
            raise ValueError("the op of a P2POp must be isend or irecv")


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages. On GPUs, where messages run one after another, begin them all at once. Raises ValueError
    if the list is empty or an element is not a P2POp."""
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv takes a list of at least one P2POp")
    with ExitStack() as stack:
        for each in p2p_op_list:
            if (g := inside(each.group)) is not None and g.on_gpu(each.tensor.array):
                stack.enter_context(g.transport(each.tensor.array).at_once())
        works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]
