"""``torch.distributed`` as a world of one: this process is rank 0 of 1, and collectives change nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, ClassVar, NamedTuple, NoReturn

from ..autograd import no_grad
from ..tensor import Tensor

_ONE_DEVICE = "minigrad trains on one device"
_ADVICE = f"{_ONE_DEVICE}, in one process"
default_pg_timeout = timedelta(minutes=30)

# What ``all_reduce`` computes of the ranks' tensors; of one tensor each of them is that tensor.
ReduceOp = Enum("ReduceOp", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM", start=0)
reduce_op = ReduceOp
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Backend(str):
    """The name of a way to send tensors."""

    GLOO, NCCL, MPI, UCC, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "undefined"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl"}


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
    NON_GROUP_MEMBER = -100
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


# The table ------------------------------------------------------------------------------------------------


def _done(async_op: bool, *ranks: int | None) -> Work | None:
    """A collective of one process: nothing is sent."""
    _check(*ranks)
    return Work() if async_op else None


def _copy(source: Any, target: Any, async_op: bool, *ranks: int | None) -> Work | None:
    """Copy a tensor into a tensor, each alone or in a list; without a list there is nothing to copy."""
    work = _done(async_op, *ranks)
    value, into = (x if isinstance(x, Tensor) else next(iter(x or ()), None) for x in (source, target))
    if into is not None and value is not None:
        with no_grad():
            into.copy_(value.reshape(into.shape))
    return work


def _put(value: Any, objects: list[Any] | None, *ranks: int | None) -> None:
    """Make a value the only one of a list."""
    _check(*ranks)
    if objects:
        objects[0] = value


def _value(value: Any) -> Any:
    """A value that is known once the world is there."""
    _check()
    return value


def _nobody(rank: int | None, verb: str) -> NoReturn:
    _check()
    raise ValueError(f"{_ADVICE}: there is no rank {rank} to {verb}")


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the first object of one list into the other."""
    _put((scatter_object_input_list or [None])[0], scatter_object_output_list, src, group_src)


SUM = ReduceOp.SUM
_send = lambda tensor, dst=None, group=None, tag=0, group_dst=None: _nobody(dst, "send to")
_receive = lambda tensor, src=None, group=None, tag=0, group_src=None: _nobody(src, "receive from")
# Rows of the table in no_ops.py: PyTorch's parameters, and what is left to do for one process.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all_gather": lambda tensor_list, tensor, group=None, async_op=False: _copy(tensor, tensor_list, async_op),
    "all_gather_into_tensor": lambda output_tensor, input_tensor, group=None, async_op=False: _copy(
        input_tensor, output_tensor, async_op
    ),
    "all_gather_object": lambda object_list, obj, group=None: _put(obj, object_list),
    "all_reduce": lambda tensor, op=SUM, group=None, async_op=False: _done(async_op),
    "all_to_all": lambda output_tensor_list, input_tensor_list, group=None, async_op=False: _copy(
        input_tensor_list, output_tensor_list, async_op
    ),
    "barrier": lambda group=None, async_op=False, device_ids=None, timeout=None: _done(async_op),
    "batch_isend_irecv": lambda p2p_op_list: [_nobody(None, "send to")],
    "broadcast": lambda tensor, src=None, group=None, async_op=False, group_src=None: _done(async_op, src, group_src),
    "broadcast_object_list": lambda object_list, src=None, group=None, device=None, group_src=None: _check(
        src, group_src
    ),
    "gather": lambda tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None: _copy(
        tensor, gather_list, async_op, dst, group_dst
    ),
    "gather_object": lambda obj, object_gather_list=None, dst=None, group=None, group_dst=None: _put(
        obj, object_gather_list, dst, group_dst
    ),
    "get_backend": lambda group=None: _value(GroupMember.backend.rpartition(":")[2]),
    "get_global_rank": lambda group, group_rank: _value(0),
    "get_group_rank": lambda group, global_rank: _value(0),
    "get_process_group_ranks": lambda group=None: _value([0]),
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
    "is_xccl_available": lambda: False,
    "isend": _send,
    "monitored_barrier": lambda group=None, timeout=None, wait_all_ranks=False: _check(),
    "recv": _receive,
    "reduce": lambda tensor, dst=None, op=SUM, group=None, async_op=False, group_dst=None: _done(
        async_op, dst, group_dst
    ),
    "reduce_scatter": lambda output, input_list, op=SUM, group=None, async_op=False: _copy(
        input_list, output, async_op
    ),
    "reduce_scatter_tensor": lambda output, input, op=SUM, group=None, async_op=False: _copy(input, output, async_op),
    "scatter": lambda tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None: _copy(
        scatter_list, tensor, async_op, src, group_src
    ),
    "scatter_object_list": scatter_object_list,
    "send": _send,
    "_get_default_group": lambda: _value(GroupMember.WORLD),
    "_rank_not_in_group": lambda group=None: group == GroupMember.NON_GROUP_MEMBER,
    "_sync_module_states": lambda *args, **kwargs: None,
}

# ``distributed.nn``: collectives that gradients flow through.
WITH_GRADIENTS: dict[str, Callable[..., Any]] = {
    "all_gather": lambda tensor, group=None: (_value(tensor),),
    "all_reduce": lambda tensor, op=SUM, group=None: _value(tensor),
    "broadcast": lambda tensor, src, group=None: _value(tensor),
}


# torch.distributed.checkpoint.state_dict --------------------------------------------------------------------


class StateDictOptions(NamedTuple):
    """How a model's state dict is taken or loaded; of one process it is always whole."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state dict, on the CPU or without what needs no gradient if the options say so."""
    how = options or StateDictOptions()
    frozen = {name for name, p in model.named_parameters() if how.ignore_frozen_params and not p.requires_grad}
    state = {name: value for name, value in model.state_dict().items() if name not in frozen}
    return {name: value.cpu() if how.cpu_offload else value for name, value in state.items()}


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """``model.load_state_dict``, strict or not."""
    return model.load_state_dict(model_state_dict, strict=(options or StateDictOptions()).strict)
