"""What is there for PyTorch's sake: the variables of torchrun, subgroups, placements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import make_dataclass
from datetime import timedelta
from typing import Any

from ..backend import Device
from ..distributed.group import Backend, GroupMember, ProcessGroup, is_outside, new_group, the_group
from ..distributed.place import MPI_VARIABLES, TORCHRUN_VARIABLES, find

Group = ProcessGroup | int


def tell_rank() -> None:
    """Where mpiexec has started this process, set the variables that torchrun would: programs for PyTorch read them."""
    if "RANK" in os.environ or not any(names[0] in os.environ and names[1] in os.environ for names in MPI_VARIABLES):
        return
    place = find()
    values = zip(TORCHRUN_VARIABLES, (place.rank, place.size, place.local_rank, place.local_size), strict=True)
    os.environ |= {name: str(value) for name, value in values if value is not None}


def get_default_backend_for_device(device: Any) -> str:
    """The backend that carries a device's tensors."""
    return Backend.default_device_backend_map[Device(device).type]


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Group, list[Group]]:
    """Cut a group into groups of so many ranks, one after another; gives this rank's and all. All ranks call it.

    Args:
        group_size: None for the ranks of a machine. group: None for all ranks.

    Raises:
        ValueError: the ranks cannot be cut into such groups.
    """
    ranks = the_group(group).ranks
    size = int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks))) if group_size is None else group_size
    if size < 1 or len(ranks) % size:
        raise ValueError(f"{len(ranks)} ranks cannot be cut into groups of {size}")
    parts = [ranks[first : first + size] for first in range(0, len(ranks), size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Group, list[Group]]:
    """Make a group of each list of ranks; gives this rank's group, and all of them. All ranks of the world call it.
    Raises ValueError: there are no lists, or one rank is in two."""
    ranks = [rank for each in ranks_per_subgroup_list for rank in each]
    if not ranks or len(set(ranks)) < len(ranks):
        raise ValueError(f"groups need different ranks, not {[*map(list, ranks_per_subgroup_list)]}")
    groups = [new_group(each, timeout, backend, pg_options) for each in ranks_per_subgroup_list]
    own = (group for group in groups if not is_outside(group))
    return next(own, GroupMember.NON_GROUP_MEMBER), groups


# torch.distributed.tensor: libraries write tables of placements, though there is no DTensor to be placed ----------


def _placement(name: str, *fields: Any, base: tuple[type, ...] = ()) -> Any:
    return make_dataclass(name, fields, bases=base, frozen=True, namespace={"__module__": __name__})


Placement = _placement("Placement")
Replicate = _placement("Replicate", base=(Placement,))
Shard = _placement("Shard", ("dim", int), base=(Placement,))
Partial = _placement("Partial", ("reduce_op", str, "sum"), base=(Placement,))
