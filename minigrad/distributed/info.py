"""What a program asks about ranks, groups and backends."""

from __future__ import annotations

import os

from . import mpi
from .group import Backend, ProcessGroup, is_outside, the_group
from .place import find

__all__ = ["get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks"]
__all__ += ["get_rank", "get_world_size", "is_available", "is_backend_available", "is_gloo_available"]
__all__ += [
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]
Group = ProcessGroup | int | None


def get_rank(group: Group = None) -> int:
    """The number of this process in a group; -1 if it is not in it.

    Raises:
        ValueError: ``init_process_group`` was not called.
    """
    return -1 if is_outside(group) else the_group(group).number


def get_world_size(group: Group = None) -> int:
    """How many ranks a group has; -1 if this process is not in it. Raises ValueError: as ``get_rank``."""
    return -1 if is_outside(group) else the_group(group).size()


def get_backend(group: Group = None) -> Backend:
    """The backend of a group. Raises ValueError: as ``get_rank``."""
    return Backend(the_group(group).backend.partition(",")[0].rpartition(":")[2])


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process among those of its machine.

    Raises:
        RuntimeError: the launcher has not said it, and there is no ``fallback_rank``.
    """
    said = os.environ.get("LOCAL_RANK") or find().local_rank
    if said is None and fallback_rank is None:
        raise RuntimeError("the launcher has not said which rank of its machine this is: set LOCAL_RANK")
    return int(fallback_rank or 0) if said is None else int(said)


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The ranks of a group, by their numbers in the world."""
    return list(the_group(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number in the world of a group's rank. Raises ValueError: there is none."""
    ranks = the_group(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of the group {ranks}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a rank of the world. Raises ValueError: it is not in the group."""
    return the_group(group).number_of(global_rank)


def is_available() -> bool:
    """True."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, which worlds of several ranks need."""
    return mpi.is_available()


is_gloo_available = is_mpi_available  # gloo is MPI here


def is_nccl_available() -> bool:
    """Whether CuPy and its NCCL are installed."""
    from ..backend import cuda

    return cuda.has_nccl()


def is_ucc_available() -> bool:
    """False."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether ``init_process_group`` can use a backend."""
    there = {"mpi": is_mpi_available, "gloo": is_gloo_available, "nccl": is_nccl_available}
    return backend.lower() in there and there[backend.lower()]()


def is_torchelastic_launched() -> bool:
    """Whether torchrun, or ``minigrad.run`` in its manner, has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
