"""Parts of torch.distributed for compatibility: subgroups, private names, placements, and state dicts with options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import make_dataclass
from functools import partial
from typing import Any, NamedTuple

from ..distributed.group import GroupMember, ProcessGroup, is_initialized, is_outside, new_group, the_group
from ..distributed.launch import MPI_VARIABLES, TORCHRUN_VARIABLES, find_place
from ..distributed.objects import of_first
from .ddp import DistributedDataParallel, send

Group = ProcessGroup | int


def tell_rank() -> None:
    """In a process started by mpiexec, set torchrun's environment variables, which PyTorch programs read."""
    if "RANK" in os.environ or not any(names[0] in os.environ and names[1] in os.environ for names in MPI_VARIABLES):
        return
    place = find_place()
    values = zip(TORCHRUN_VARIABLES, (place.rank, place.size, place.local_rank, place.local_size), strict=True)
    os.environ |= {name: str(value) for name, value in values if value is not None}


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, *options: Any, **kwargs: Any
) -> tuple[Group, list[Group]]:
    """Split ``group`` (all ranks if None) into groups of ``group_size`` consecutive ranks (one per machine if None).
    Returns this rank's group and a list of all groups. All ranks must call this. For other arguments, see
    ``new_subgroups_by_enumeration``. Raises ValueError if the ranks cannot be split evenly."""
    ranks = the_group(group).ranks
    size = int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks))) if group_size is None else group_size
    if size < 1 or len(ranks) % size:
        raise ValueError(f"{len(ranks)} ranks cannot be split into groups of {size}")
    parts = [ranks[first : first + size] for first in range(0, len(ranks), size)]
    return new_subgroups_by_enumeration(parts, *options, **kwargs)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], *options: Any, **kwargs: Any
) -> tuple[Group, list[Group]]:
    """Make a group from each list of ranks, with the options of ``new_group``. Returns this rank's group and a list of
    all groups. All ranks must call this function. Raises ValueError if there are no lists, or if lists overlap."""
    ranks = [rank for each in ranks_per_subgroup_list for rank in each]
    if not ranks or len(set(ranks)) < len(ranks):
        raise ValueError(f"subgroups must be disjoint and not empty, but got {[*map(list, ranks_per_subgroup_list)]}")
    groups = [new_group(each, *options, **kwargs) for each in ranks_per_subgroup_list]
    own = (group for group in groups if not is_outside(group))
    return next(own, GroupMember.NON_GROUP_MEMBER), groups


def _sync_module_states(
    module: Any,
    process_group: ProcessGroup,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Iterable[str] = (),
    broadcast_buffers: bool = True,
) -> None:
    """Broadcast the parameters and buffers of one rank's module to all ranks."""
    tensors = dict(module.named_parameters()) | (dict(module.named_buffers()) if broadcast_buffers else {})
    ignored = set(params_and_buffers_to_ignore)
    send((tensor.detach() for name, tensor in tensors.items() if name not in ignored), process_group, src)


def _placement(name: str, *fields: Any, base: tuple[type, ...] = ()) -> Any:
    """A placement class, for libraries that build tables of placements. DTensor, which would use them, is missing."""
    return make_dataclass(name, fields, bases=base, frozen=True, namespace={"__module__": __name__})


Placement = _placement("Placement")
Replicate = _placement("Replicate", base=(Placement,))
Shard = _placement("Shard", ("dim", int), base=(Placement,))
Partial = _placement("Partial", ("reduce_op", str, "sum"), base=(Placement,))


class StateDictOptions(NamedTuple):
    """Options for getting or loading a model's state dict, which is complete even without ``full_state_dict``."""

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
    """A model's state dict, without DistributedDataParallel's "module." prefix and without the entries that the options
    exclude. With both ``full_state_dict`` and ``cpu_offload``, it is empty except on rank 0, which saves it."""
    how = options or StateDictOptions()
    if how.full_state_dict and how.cpu_offload and is_initialized() and the_group().number > 0:
        return {}
    module = _unwrapped(model)
    frozen = {name for name, p in module.named_parameters() if how.ignore_frozen_params and not p.requires_grad}
    state = {name: value for name, value in module.state_dict().items() if name not in frozen}
    return {name: value.cpu() if how.cpu_offload else value for name, value in state.items()}


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state dict, strictly or not, into a model, or into the module within a DistributedDataParallel. With
    ``broadcast_from_rank0``, other ranks do not need a state dict, because they get rank 0's values or its error."""
    how, module = options or StateDictOptions(), _unwrapped(model)
    load = partial(module.load_state_dict, model_state_dict, strict=how.strict)
    if not (how.broadcast_from_rank0 and is_initialized()):
        return load()
    keys = of_first(load)
    _sync_module_states(module, the_group(), 0, src=0)
    return keys


def _unwrapped(model: Any) -> Any:
    """The module within a DistributedDataParallel. Other modules are unchanged."""
    return model.module if isinstance(model, DistributedDataParallel) else model
