"""Processes that train one model, on one machine or many: by MPI on CPUs, NCCL on GPUs, under PyTorch's names.

A program that calls ``init_process_group`` runs as rank r of N, started by

    python -m minigrad.run -n N program.py

or by ``mpiexec -n N``, or by Slurm's ``srun``. The extra ``distributed`` brings mpi4py and an MPI with its mpiexec. See
docs/distributed.md.
"""

from __future__ import annotations

import os

from . import functional as functional
from . import mpi as _mpi
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_reduce as all_reduce
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_single as all_to_all_single
from .collectives import barrier as barrier
from .collectives import broadcast as broadcast
from .collectives import gather as gather
from .collectives import monitored_barrier as monitored_barrier
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .collectives import scatter as scatter
from .group import Backend as Backend
from .group import GroupMember as GroupMember
from .group import ProcessGroup as ProcessGroup
from .group import ReduceOp as ReduceOp
from .group import default_pg_timeout as default_pg_timeout
from .group import destroy_process_group as destroy_process_group
from .group import group as group
from .group import init_process_group as init_process_group
from .group import is_initialized as is_initialized
from .group import is_outside as _is_outside
from .group import new_group as new_group
from .group import reduce_op as reduce_op
from .group import the_group as _the_group
from .messages import P2POp as P2POp
from .messages import batch_isend_irecv as batch_isend_irecv
from .messages import irecv as irecv
from .messages import isend as isend
from .messages import recv as recv
from .messages import send as send
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import gather_object as gather_object
from .objects import recv_object_list as recv_object_list
from .objects import scatter_object_list as scatter_object_list
from .objects import send_object_list as send_object_list
from .place import find as _find
from .work import Work as Work

Group = ProcessGroup | int | None


def get_rank(group: Group = None) -> int:
    """The number of this process in a group; -1 if it is not in it.

    Raises:
        ValueError: ``init_process_group`` was not called.
    """
    return -1 if _is_outside(group) else _the_group(group).number


def get_world_size(group: Group = None) -> int:
    """How many ranks a group has; -1 if this process is not in it. Raises ValueError: as ``get_rank``."""
    return -1 if _is_outside(group) else _the_group(group).size()


def get_backend(group: Group = None) -> Backend:
    """The backend of a group, as it was given. Raises ValueError: as ``get_rank``."""
    return Backend(_the_group(group).backend.partition(",")[0].rpartition(":")[2])


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process among those of its machine.

    Raises:
        RuntimeError: the launcher has not said it, and there is no ``fallback_rank``.
    """
    said = os.environ.get("LOCAL_RANK") or _find().local_rank
    if said is None and fallback_rank is None:
        raise RuntimeError("the launcher has not said which rank of its machine this is: set LOCAL_RANK")
    return int(fallback_rank or 0) if said is None else int(said)


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The ranks of a group, by their numbers in the world."""
    return list(_the_group(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number in the world of a group's rank. Raises ValueError: there is none."""
    ranks = _the_group(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of the group {ranks}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a rank of the world. Raises ValueError: it is not in the group."""
    return _the_group(group).number_of(global_rank)


def is_available() -> bool:
    """True."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, which worlds of several ranks need."""
    return _mpi.is_available()


def is_gloo_available() -> bool:
    """The same: gloo is MPI here."""
    return _mpi.is_available()


def is_nccl_available() -> bool:
    """Whether CuPy and its NCCL are installed."""
    from ..backend import cuda

    return cuda.has_nccl()


def is_backend_available(backend: str) -> bool:
    """Whether ``init_process_group`` can use a backend."""
    there = {"mpi": is_mpi_available, "gloo": is_gloo_available, "nccl": is_nccl_available}
    return backend.lower() in there and there[backend.lower()]()


def is_torchelastic_launched() -> bool:
    """Whether torchrun, or ``minigrad.run`` in its manner, has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_ucc_available() -> bool:
    """False."""
    return False


is_xccl_available = is_ucc_available
