"""``torch.distributed`` as a world of one: this process is rank 0 of 1, and collectives change nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

from ..tensor import Tensor

_ADVICE = "minigrad trains on one device, in one process"
default_pg_timeout = timedelta(minutes=30)


class ReduceOp(Enum):
    """What ``all_reduce`` computes of the ranks' tensors; of one tensor all are that tensor."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


reduce_op = ReduceOp


class Backend(str):
    """The name of a way to send tensors."""

    GLOO, NCCL, MPI, UCC, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "undefined"


class ProcessGroup:
    """The group of one process."""

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1


class group:
    """The default group, as ``group.WORLD``."""

    WORLD: ProcessGroup | None = None


GroupMember = group


class Work:
    """What a collective with ``async_op=True`` returns: done already."""

    def wait(self, timeout: Any = None) -> bool:
        """True."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed


class _World:
    backend = ""  # "" before init_process_group


def is_available() -> bool:
    """False: what asks wants several processes. What does not ask finds a world of one."""
    return False


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return bool(_World.backend)


def is_nccl_available() -> bool:
    """False."""
    return False


is_mpi_available = is_ucc_available = is_torchelastic_launched = is_nccl_available
is_gloo_available = is_backend_available = lambda *backend: True


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Begin as rank 0 of a world of one, which arguments, the URL of ``init_method`` or WORLD_SIZE ask for.

    Args:
        backend: any name; nothing is sent.
        init_method: "env://", a "tcp://" or a "file://" address; nothing is opened.
        world_size: 1; -1 asks the environment (one process where that does not tell).
        rank: 0; -1 asks the environment.

    Raises:
        NotImplementedError: a world of several processes.
        ValueError: called twice.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    size = world_size if world_size >= 0 else int(os.environ.get("WORLD_SIZE", "1"))
    place = rank if rank >= 0 else int(os.environ.get("RANK", "0"))
    if size != 1 or place != 0:
        raise NotImplementedError(
            f"{_ADVICE}: there is no rank {place} in a world of {size}. Start the program with python, "
            "world_size=1 and rank=0"
        )
    _World.backend = backend or "gloo"
    group.WORLD = ProcessGroup()


def destroy_process_group(group: Any = None) -> None:
    """End what ``init_process_group`` began.

    Raises:
        AssertionError: it was not called.
    """
    if not is_initialized():
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        _World.backend, GroupMember.WORLD = "", None


def _need() -> None:
    if not is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_rank(group: Any = None) -> int:
    """0.

    Raises:
        ValueError: before ``init_process_group``, as all that follow.
    """
    _need()
    return 0


def get_world_size(group: Any = None) -> int:
    """1."""
    _need()
    return 1


def get_backend(group: Any = None) -> str:
    """The name that ``init_process_group`` was given."""
    _need()
    return _World.backend.rpartition(":")[2]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """0."""
    return 0


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> ProcessGroup:
    """A group of this process."""
    _need()
    _check_ranks(*(ranks or ()))
    return ProcessGroup()


def _check_ranks(*ranks: int | None) -> None:
    if wrong := [rank for rank in ranks if rank not in (0, None)]:
        raise ValueError(f"{_ADVICE}: there is no rank {wrong[0]}")


def _done(async_op: bool, *ranks: int | None) -> Work | None:
    _need()
    _check_ranks(*ranks)
    return Work() if async_op else None


# Collectives ----------------------------------------------------------------------------------------------


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """There is nobody to wait for."""
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """There is nobody to wait for."""
    _need()


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The sum (mean, ...) of one tensor is that tensor."""
    return _done(async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The sum (mean, ...) of one tensor is that tensor."""
    return _done(async_op, dst, group_dst)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Rank 0's tensor is this one."""
    return _done(async_op, src, group_src)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy the tensor into the list's only one."""
    done = _done(async_op)
    _copy(tensor_list[0], tensor)
    return done


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the input into the output."""
    done = _done(async_op)
    _copy(output_tensor, input_tensor)
    return done


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the list's only tensor into the output."""
    return all_gather_into_tensor(output, input_list[0], group, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the input into the output."""
    return all_gather_into_tensor(output, input, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy the tensor into the list's only one."""
    done = _done(async_op, dst, group_dst)
    if gather_list:
        _copy(gather_list[0], tensor)
    return done


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the list's only tensor into the tensor."""
    done = _done(async_op, src, group_src)
    if scatter_list:
        _copy(tensor, scatter_list[0])
    return done


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the only input into the only output."""
    return all_gather_into_tensor(output_tensor_list[0], input_tensor_list[0], group, async_op)


def _copy(target: Tensor, source: Tensor) -> None:
    from ..autograd import no_grad

    with no_grad():
        target.copy_(source.reshape(target.shape))


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the object into the list."""
    _need()
    object_list[0] = obj


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the object into the list."""
    _done(False, dst, group_dst)
    if object_gather_list:
        object_gather_list[0] = obj


def broadcast_object_list(
    object_list: Sequence[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Rank 0's objects are these."""
    _done(False, src, group_src)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0) -> None:
    """Refused.

    Raises:
        ValueError: there is nobody to send to.
    """
    _need()
    raise ValueError(f"{_ADVICE}: there is no rank {dst} to send to")


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0) -> int:
    """Refused.

    Raises:
        ValueError: there is nobody to receive from.
    """
    _need()
    raise ValueError(f"{_ADVICE}: there is no rank {src} to receive from")


isend, irecv = send, recv
