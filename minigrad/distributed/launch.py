"""Starts ranks on this machine with mpiexec, and sets torchrun's environment variables for them.

    python -m minigrad.run [-n RANKS] program.py [ARGUMENTS]
    python -m minigrad.run [-n RANKS] -m module [ARGUMENTS]

If a rank raises, calls ``sys.exit`` with an error or is killed, mpiexec ends the others, which would otherwise hang. It
passes Ctrl-C and SIGTERM to all ranks. ``find_place`` reads the environment variables of mpiexec, srun and torchrun.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from minigrad.backend.extras import how_to_install  # absolute, because with ``-m`` this file is minigrad.run

TERMINAL = "MINIGRAD_TERMINAL"  # set if standard error goes to a terminal through mpiexec's pipe
# Rank, size, rank and size on this machine. An MPI launcher's variables take precedence over torchrun's.
MPI_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # hydra: MPICH, Intel MPI
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),  # srun --mpi=pmix
)
TORCHRUN_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


class Place(NamedTuple):
    """A process's ``rank`` and the world ``size``, and the same numbers for this machine if the launcher sets them."""

    rank: int = 0
    size: int = 1
    local_rank: int | None = None
    local_size: int | None = None


def find_place(rank: int = -1, size: int = -1, environment: Mapping[str, str] = os.environ) -> Place:
    """The place of this process, from the arguments or, if they are -1, from the environment. Raises ValueError if a
    variable is not a number, the arguments contradict mpiexec, or the rank is out of range."""
    there = Place()
    for names in (*MPI_VARIABLES, TORCHRUN_VARIABLES):
        if (any if names is TORCHRUN_VARIABLES else all)(environment.get(name) for name in names[:2]):
            variables = {field: name for field, name in zip(Place._fields, names, strict=True) if environment.get(name)}
            for name in variables.values():
                if not environment[name].isdecimal():
                    value = environment[name]
                    raise ValueError(f"the environment variable {name} must be a whole number, not {value!r}")
            there = Place(**{field: int(environment[name]) for field, name in variables.items()})
            break
    own, count = (rank if rank >= 0 else there.rank), (size if size >= 0 else there.size)
    if there.size > 1 and (own, count) != there[:2]:
        raise ValueError(
            f"rank={rank} and world_size={size}, but {names[0]} and {names[1]} say that this is rank {there.rank} of "
            f"{there.size}: leave both arguments out"
        )
    if not 0 <= own < count:
        raise ValueError(f"there is no rank {own} in a world of size {count}: ranks range from 0 to {count - 1}")
    return there._replace(rank=own, size=count)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, by default with the arguments of this process. Returns only if the command cannot start."""
    p = argparse.ArgumentParser(
        prog="python -m minigrad.run",
        description="Run a program as several ranks on this machine, with mpiexec.",
        epilog="Example: python -m minigrad.run -n 4 train.py --lr 0.001",
    )
    p.add_argument("-n", "--nproc-per-node", "--nproc_per_node", type=int, default=cores(),
                   help="number of ranks (default: number of CPUs)")  # fmt: skip
    p.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)  # torchrun's word for one machine
    p.add_argument("-m", "--module", action="store_true", help="run a module instead of a file")
    p.add_argument("program", help="a Python file, or a module name with -m")
    p.add_argument("arguments", nargs=argparse.REMAINDER, help="passed to the program")
    options = p.parse_args(arguments)
    if not 0 < options.nproc_per_node < 10_000:
        p.error(f"-n must be from 1 to 9,999, not {options.nproc_per_node}")
    if not options.module and not os.path.exists(options.program):
        p.error(f"file not found: {options.program}")
    words = [*(["-m"] if options.module else []), options.program, *options.arguments]
    try:
        start([sys.executable, "-m", "mpi4py", *words], options.nproc_per_node)  # mpi4py: sys.exit ends all ranks
    except ImportError as error:
        print(f"minigrad.run: {error}", file=sys.stderr)
        return 1


def cores() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def command(words: Sequence[str], ranks: int) -> list[str]:
    """The command line that starts a program with this many ranks. Raises ImportError if mpiexec is missing."""
    own = Path(sys.prefix) / "bin" / "mpiexec"
    mpiexec = str(own) if own.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise ImportError(f"running several ranks requires mpiexec: {how_to_install('mpi4py', 'mpich')}")
    every = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "GROUP_RANK": 0, "TORCHELASTIC_RUN_ID": "minigrad"}
    every |= {"MASTER_ADDR": "localhost", "MASTER_PORT": os.environ.get("MASTER_PORT") or 29500, "PYTHONUNBUFFERED": 1}
    every |= {TERMINAL: 1} if sys.stderr is not None and sys.stderr.isatty() else {}
    result = [mpiexec]
    for rank in range(ranks):
        variables = [f"{name}={value}" for name, value in ({"RANK": rank, "LOCAL_RANK": rank} | every).items()]
        result += [*[":"] * (rank > 0), "-n", "1", "env", *variables, *words]
    return result


def start(words: Sequence[str], ranks: int) -> NoReturn:
    """Replace this process with mpiexec, which starts this many ranks. Raises ImportError if mpiexec is missing."""
    program, *arguments = command(words, ranks)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    sys.exit(main())
