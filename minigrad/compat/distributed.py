"""``torch.distributed`` as a world of one: this process is rank 0 of 1, and collectives change nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from inspect import Parameter, Signature
from typing import Any, NoReturn

from ..autograd import no_grad
from ..tensor import Tensor

_ONE_DEVICE = "minigrad trains on one device"
_ADVICE = f"{_ONE_DEVICE}, in one process"
default_pg_timeout = timedelta(minutes=30)

# What ``all_reduce`` computes of the ranks' tensors; of one tensor each of them is that tensor.
ReduceOp = Enum("ReduceOp", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM", start=0)
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
    """The default group, as ``group.WORLD``; None before ``init_process_group``."""

    WORLD: ProcessGroup | None = None
    backend = ""


GroupMember = group


class Work:
    """What a collective with ``async_op=True`` returns: it is complete."""

    def wait(self, timeout: Any = None) -> bool:
        """True."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return group.WORLD is not None


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
    """Begin as rank 0 of a world of one. Nothing is opened, and nothing is sent.

    Args:
        backend: any name.
        init_method: "env://", a "tcp://" or a "file://" address.
        world_size: 1; -1 takes WORLD_SIZE from the environment, 1 by default.
        rank: 0; -1 takes RANK from the environment, 0 by default.

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
    group.backend, group.WORLD = backend or "gloo", ProcessGroup()


def destroy_process_group(group: Any = None) -> None:
    """End what ``init_process_group`` began.

    Raises:
        AssertionError: it was not called.
    """
    if not is_initialized():
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Call ``fn(0, *args)`` in this process: ``torch.multiprocessing.spawn``.

    Raises:
        NotImplementedError: for more than one process.
    """
    if nprocs != 1:
        raise NotImplementedError(
            f"{_ONE_DEVICE}: spawn(nprocs={nprocs}) is absent. Call it with nprocs=1, or use "
            "Python's multiprocessing for work that is not distributed"
        )
    fn(0, *args)


def _check(*ranks: int | None) -> None:
    """Refuse a call before ``init_process_group``, and ranks other than 0."""
    if not is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if wrong := [rank for rank in ranks if rank not in (0, None)]:
        raise ValueError(f"{_ADVICE}: there is no rank {wrong[0]}")


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> ProcessGroup:
    """A group of this process."""
    _check(*(ranks or ()))
    return ProcessGroup()


# Collectives ----------------------------------------------------------------------------------------------

# A collective of one process: its parameters, and what it copies into what (of a list, its only element).
COLLECTIVES: dict[str, str] = {
    "all_gather": "tensor_list tensor group=None async_op=False : tensor_list <- tensor",
    "all_gather_into_tensor": "output_tensor input_tensor group=None async_op=False : output_tensor <- input_tensor",
    "all_gather_object": "object_list obj group=None : object_list <- obj",
    "all_reduce": "tensor op=SUM group=None async_op=False",
    "all_to_all": (
        "output_tensor_list input_tensor_list group=None async_op=False : output_tensor_list <- input_tensor_list"
    ),
    "barrier": "group=None async_op=False device_ids=None",
    "broadcast": "tensor src=None group=None async_op=False group_src=None",
    "broadcast_object_list": "object_list src=None group=None device=None group_src=None",
    "gather": "tensor gather_list=None dst=None group=None async_op=False group_dst=None : gather_list <- tensor",
    "gather_object": "obj object_gather_list=None dst=None group=None group_dst=None : object_gather_list <- obj",
    "monitored_barrier": "group=None timeout=None wait_all_ranks=False",
    "reduce": "tensor dst=None op=SUM group=None async_op=False group_dst=None",
    "reduce_scatter": "output input_list op=SUM group=None async_op=False : output <- input_list",
    "reduce_scatter_tensor": "output input op=SUM group=None async_op=False : output <- input",
    "scatter": "tensor scatter_list=None src=None group=None async_op=False group_src=None : tensor <- scatter_list",
}
_DEFAULTS: dict[str, Any] = {"": Parameter.empty, "None": None, "False": False, "SUM": ReduceOp.SUM}
_RANKS = ("dst", "src", "group_dst", "group_src")


def collective(name: str) -> Callable[..., Work | None]:
    """The function of a row of ``COLLECTIVES``."""
    parameters, _, copy = COLLECTIVES[name].partition(" : ")
    words = [parameter.partition("=") for parameter in parameters.split()]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature([Parameter(word, kind, default=_DEFAULTS[default]) for word, _, default in words])

    def call(*args: Any, **kwargs: Any) -> Work | None:
        values = signature.bind(*args, **kwargs).arguments
        _check(*(values.get(rank) for rank in _RANKS))
        if copy:
            target, source = (values.get(word) for word in copy.split(" <- "))
            (_put if name.endswith("object") else _copy)(target, source)
        return Work() if values.get("async_op") else None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{copy}." if copy else "Nothing is sent: each rank's tensors are these."
    vars(call)["__signature__"] = signature
    return call


def _put(objects: list[Any] | None, value: Any) -> None:
    if objects:
        objects[0] = value


def _copy(target: Any, source: Any) -> None:
    """Copy a tensor into a tensor, each alone or in a list; without a list there is nothing to copy."""
    into, value = (x if isinstance(x, Tensor) else next(iter(x or ()), None) for x in (target, source))
    if into is not None and value is not None:
        with no_grad():
            into.copy_(value.reshape(into.shape))


# The other functions ----------------------------------------------------------------------------------------


def _value(value: Any) -> Any:
    """A value that is known once the world is there."""
    _check()
    return value


def _nobody(rank: int | None, verb: str) -> NoReturn:
    _check()
    raise ValueError(f"{_ADVICE}: there is no rank {rank} to {verb}")


_send = lambda tensor, dst=None, group=None, tag=0: _nobody(dst, "send to")
_receive = lambda tensor, src=None, group=None, tag=0: _nobody(src, "receive from")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: collective(name) for name in COLLECTIVES},
    "get_backend": lambda group=None: _value(GroupMember.backend.rpartition(":")[2]),
    "get_node_local_rank": lambda fallback_rank=None: 0,
    "get_rank": lambda group=None: _value(0),
    "get_world_size": lambda group=None: _value(1),
    "irecv": _receive,
    "is_available": lambda: False,  # a program that asks wants several processes
    "is_backend_available": lambda *backend: True,
    "is_gloo_available": lambda *backend: True,
    "is_mpi_available": lambda: False,
    "is_nccl_available": lambda: False,
    "is_torchelastic_launched": lambda: False,
    "is_ucc_available": lambda: False,
    "isend": _send,
    "recv": _receive,
    "send": _send,
}
