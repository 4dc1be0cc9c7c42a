"""A process's place among the ranks, as the variables of mpiexec, srun or torchrun say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

# Rank, size, rank and size on this machine. Those of an MPI's launcher come before torchrun's.
MPI_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # hydra: MPICH, Intel MPI
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),  # srun --mpi=pmix
)
TORCHRUN_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


class Place(NamedTuple):
    """Process ``rank`` of ``size``; the same among the processes of one machine, where somebody says so."""

    rank: int = 0
    size: int = 1
    local_rank: int | None = None
    local_size: int | None = None


def find(rank: int = -1, size: int = -1, environment: Mapping[str, str] = os.environ) -> Place:
    """The place of this process.

    Args:
        rank, size: what the program itself says; -1 asks the environment.

    Raises ValueError: a variable is no number, the program contradicts mpiexec, or there is no such rank.
    """
    there = Place()
    for names in (*MPI_VARIABLES, TORCHRUN_VARIABLES):
        if (any if names is TORCHRUN_VARIABLES else all)(environment.get(name) for name in names[:2]):
            known = {field: name for field, name in zip(Place._fields, names, strict=True) if environment.get(name)}
            for name in known.values():
                if not environment[name].isdecimal():
                    said = environment[name]
                    raise ValueError(f"the environment variable {name} must be a whole number, not {said!r}")
            there = Place(**{field: int(environment[name]) for field, name in known.items()})
            break
    own, count = (rank if rank >= 0 else there.rank), (size if size >= 0 else there.size)
    if there.size > 1 and (own, count) != there[:2]:
        raise ValueError(
            f"rank={rank} and world_size={size}, but {names[0]} and {names[1]} say that this is rank {there.rank} of "
            f"{there.size}: leave both arguments out"
        )
    if not 0 <= own < count:
        raise ValueError(f"there is no rank {own} in a world of {count}: ranks are 0 to {count - 1}")
    return there._replace(rank=own, size=count)
