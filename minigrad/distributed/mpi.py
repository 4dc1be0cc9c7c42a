"""Array transfers between ranks on CPUs over MPI, using mpi4py. If the world size is 1, arrays are copied. Collectives
use non-blocking calls, which are as fast, as MPI cannot match them with blocking calls on other ranks."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..backend import xp
from ..backend.extras import how_to_install
from .launch import Place
from .work import Done, Request


def is_available() -> bool:
    """Whether mpi4py is installed."""
    return find_spec("mpi4py") is not None


@cache
def load() -> Any:
    """mpi4py's ``MPI`` module, which starts MPI on import. Raises ImportError if mpi4py or MPI is missing."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        install = how_to_install("mpi4py", "mpich")
        raise ImportError(f"running several ranks requires MPI ({error}): {install}", name="mpi4py") from error
    return MPI


def connect(place: Place) -> Any:
    """Start MPI and return a communicator of all ranks. Raises ImportError if mpi4py or MPI is missing, and
    RuntimeError if MPI's rank and size differ from ``place``."""
    world = load().COMM_WORLD
    if (world.rank, world.size) != place[:2]:
        version = " ".join(load().Get_library_version().split(",")[0].split()[:3])
        raise RuntimeError(
            f"this is rank {place.rank} of {place.size}, but {version} has started {world.size} process(es): start the "
            "ranks with python -m minigrad.run, or with that MPI's own mpiexec"
        )
    world.Barrier()
    with suppress(OSError):  # all ranks have mapped MPICH's shared memory, whose files a killed job would leave
        for line in Path("/proc/self/maps").read_text().splitlines():
            if "/dev/shm/mpich_shm_" in line and not line.endswith("(deleted)"):
                Path(line.split(maxsplit=5)[-1]).unlink(missing_ok=True)
    return world.Dup()


def threads_here(world: Any) -> int:
    """The number of CPUs for this rank: those to which the launcher has bound it, or its share of the machine."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    here = world.Split_type(load().COMM_TYPE_SHARED)
    everyone = here.allgather(cores)
    here.Free()
    return max(1, len(cores) // everyone.count(cores))


class Mpi:
    """Transfers over one communicator. Arrays must be contiguous, with dtypes that MPI supports."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.here = comm, load().IN_PLACE
        names = ("sum", "prod", "min", "max", "band", "bor", "bxor")
        self.ops = {name: getattr(load(), name.upper()) for name in names}

    def begin(self, call: str, out: Any, array: Any, op: str, root: int, sizes: Any) -> Any:
        """Begin a collective, which writes ``out`` and reads ``array``; in-place calls pass the same array twice.
        Returns the request. ``sizes`` contains the element counts that an all-to-all receives and sends, by rank."""
        comm, reduction = self.comm, self.ops.get(op)
        starts: dict[str, Callable[[], Any]] = {
            "all_reduce": lambda: comm.Iallreduce(self.here, array, reduction),
            "reduce": lambda: comm.Ireduce(
                *((self.here, array) if comm.rank == root else (array, None)), reduction, root
            ),
            "reduce_scatter": lambda: comm.Ireduce_scatter_block(array, out, reduction),
            "broadcast": lambda: comm.Ibcast(array, root),
            "all_gather": lambda: comm.Iallgather(array, out),
            "gather": lambda: comm.Igather(array, out, root),
            "scatter": lambda: comm.Iscatter(array, out, root),
            "all_to_all": lambda: comm.Ialltoallv([array, list(sizes[1])], [out, list(sizes[0])]),
        }
        return starts[call]()

    def send(self, array: Any, to: int, tag: int) -> Any:
        return self.comm.Isend(array, to, tag)

    def receive(self, array: Any, source: int | None, tag: int) -> Request:
        """Receive from one rank, or from any rank (None)."""
        return Received(self.comm.Irecv(array, load().ANY_SOURCE if source is None else source, tag))


class Received:
    """A message that this rank is receiving."""

    def __init__(self, request: Any) -> None:
        self._request, self._status = request, load().Status()

    def Test(self) -> bool:
        """Whether the message has arrived. If so, ``source`` is the sender's group rank."""
        is_there = bool(self._request.Test(self._status))
        self.source = int(self._status.Get_source()) if is_there else None
        return is_there


class Alone:
    """``Mpi`` for a world size of 1, with a communicator's methods for Python objects."""

    bcast = staticmethod(lambda value, root: value)
    allgather = staticmethod(lambda value: [copy.deepcopy(value)])
    gather = staticmethod(lambda value, root: [copy.deepcopy(value)])

    def begin(self, call: str, out: Any, array: Any, *_: Any) -> Request:
        """Copy the input to the output."""
        if out is not array:
            xp(out).copyto(out.reshape(-1), array.reshape(-1))
        return Done()
