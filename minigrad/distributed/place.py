"""A process's place among the ranks, as whoever started it says: mpiexec, torchrun's variables, Slurm's, or nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

# Rank, size, rank and size on this machine, in the environment of processes that an MPI has already connected.
MPI_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # hydra: MPICH, Intel MPI
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),  # srun --mpi=pmix
)
TORCHRUN_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
SLURM_VARIABLES = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "")  # srun alone; a batch script is no rank
LAUNCHER = "MINIGRAD_LAUNCHER"  # the process number of ``minigrad.run``, whose child a rank is
MEETING = "MINIGRAD_MEETING"  # the address where ``minigrad.run`` already waits for its ranks
LAUNCHERS = ("OMPI_", "PMI_", "PMIX_", "MPI_LOCAL", "MV2_", "HYDRA_", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_")
PORT = 29500  # torchrun's


@dataclass(frozen=True)
class Place:
    """One of ``size`` processes.

    Attributes:
        rank: its number, from 0.
        local_rank, local_size: the same among the processes of one machine; None where nobody says.
        address: "host:port" where the ranks meet; None if an MPI's launcher connects them.
        opens: whether rank 0 has to open the meeting; else somebody has.
    """

    rank: int
    size: int
    local_rank: int | None = None
    local_size: int | None = None
    address: str | None = None
    opens: bool = True

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 <= self.rank < self.size:
            raise ValueError(f"there is no rank {self.rank} in a world of {self.size}: ranks are 0 to {self.size - 1}")


def find(
    rank: int = -1, size: int = -1, address: str | None = None, environment: Mapping[str, str] = os.environ
) -> Place:
    """The place of this process.

    Args:
        rank, size: what the program itself says; -1 asks the environment.
        address: "host:port" that the program itself says.
        environment: variables by name.

    Raises:
        ValueError: a variable is no number, the program contradicts mpiexec, or says a rank without a size.
    """
    by_agent = "TORCHELASTIC_RUN_ID" in environment  # torchrun, which srun or mpiexec may have started
    for names in () if by_agent else MPI_VARIABLES:
        if (there := _numbers(names, environment)) is not None:
            _check_same(there, rank, size, names)
            return Place(*there)
    for names in (TORCHRUN_VARIABLES, SLURM_VARIABLES):
        there = _numbers(names, environment)
        if there is None:
            continue
        own, count, local_rank, local_size = there
        own, count = (rank if rank >= 0 else own), (size if size >= 0 else count)
        meeting = address or (_of_slurm if names is SLURM_VARIABLES else _of_torchrun)(environment)
        return Place(own, count, local_rank, local_size, meeting, not _is_open(environment, address))
    own, count = (_half(value, name, environment) for value, name in ((rank, "RANK"), (size, "WORLD_SIZE")))
    if (own < 0) != (count < 0) and (own, count) != (-1, 1):
        raise ValueError(
            f"rank={own} and world_size={count}: give both, or neither, as arguments or in the environment's RANK and "
            "WORLD_SIZE"
        )
    own, count = max(own, 0), max(count, 1) if count else count
    return Place(own, count, address=address or _of_torchrun(environment), opens=not _is_open(environment, address))


def _half(value: int, name: str, environment: Mapping[str, str]) -> int:
    """What the program says, else what a variable does; -1 if neither."""
    text = environment.get(name, "")
    if value >= 0 or not text:
        return value
    if not text.isdecimal():
        raise ValueError(f"the environment variable {name} must be a whole number, not {text!r}")
    return int(text)


def _numbers(names: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, int, int | None, int | None] | None:
    """The four numbers; None unless the first two are there."""
    if not (environment.get(names[0]) and environment.get(names[1])):
        return None
    values: list[int | None] = []
    for name in names:
        text = environment.get(name, "")
        if text and not text.isdecimal():
            raise ValueError(f"the environment variable {name} must be a whole number, not {text!r}")
        values.append(int(text) if text else None)
    own, count, local_rank, local_size = values
    assert own is not None and count is not None
    return own, count, local_rank, local_size


def _check_same(there: tuple[int, int, int | None, int | None], rank: int, size: int, names: tuple[str, ...]) -> None:
    if (rank >= 0 and rank != there[0]) or (size >= 0 and size != there[1]):
        raise ValueError(
            f"rank={rank} and world_size={size}, but {names[0]} and {names[1]} say that this is rank {there[0]} of "
            f"{there[1]}: leave both arguments out where mpiexec starts the program"
        )


def _is_open(environment: Mapping[str, str], address: str | None) -> bool:
    return address is None and MEETING in environment


def _of_torchrun(environment: Mapping[str, str]) -> str:
    """MASTER_ADDR and MASTER_PORT; the next port, where torchrun itself listens at that one."""
    if MEETING in environment:
        return environment[MEETING]
    port = _port(environment)
    if environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        port += 1
    return f"{environment.get('MASTER_ADDR', 'localhost')}:{port}"


def _of_slurm(environment: Mapping[str, str]) -> str:
    """The first machine of the job's step, and a port that differs from job to job."""
    if MEETING in environment:
        return environment[MEETING]
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST") or "localhost"
    job, step = (int(environment.get(name) or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    port = _port(environment) if "MASTER_PORT" in environment else 15000 + (job * 7 + step) % 15000
    return f"{environment.get('MASTER_ADDR') or first_node(nodes)}:{port}"


def _port(environment: Mapping[str, str]) -> int:
    text = environment.get("MASTER_PORT") or str(PORT)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError(f"the environment variable MASTER_PORT must be a port, 1 to 65535, not {text!r}")
    return int(text)


def first_node(nodes: str) -> str:
    """The first machine of Slurm's list.

    >>> from minigrad.distributed.place import first_node
    >>> first_node("gpu[07-09,12],cpu1")
    'gpu07'
    """
    outside = re.split(r",(?![^\[]*\])", nodes)[0]  # commas within brackets are others' numbers
    if not outside or outside.startswith("["):
        raise ValueError(f"no list of machines: {nodes!r}")
    return re.sub(r"\[(\d+)[^\]]*\]", r"\1", outside)
