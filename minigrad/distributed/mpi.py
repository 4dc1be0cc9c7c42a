"""The transport of the CPU: an MPI, by mpi4py.

Whoever started the processes decides how MPI connects them. An MPI's own launcher (mpiexec, srun) has done it. Others
(torchrun's variables, ``minigrad.run``, ``spawn``) leave processes that do not know each other: they meet
(``meeting.py``), and MPICH, which speaks an open protocol there, gets its addresses. Open MPI's is PMIx, for which one
needs Open MPI's own daemon, so it serves those that its mpiexec has started.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..backend.dtype import Array
from ..backend.extras import how_to_install
from .place import Place
from .transport import Done, Request

ABI = "MPI4PY_MPIABI"  # of mpi4py: which library it loads
LIBRARY = "libmpi.so.12"  # MPICH's, where PyPI's package puts it
PIECE = 2**20  # bytes of an all-reduce within a machine
LOOKS = 64  # at a transfer in a row
OPS = {"sum": "SUM", "prod": "PROD", "min": "MIN", "max": "MAX", "band": "BAND", "bor": "BOR", "bxor": "BXOR"}


def is_available() -> bool:
    """Whether mpi4py is installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def connect(place: Place, address: str | None = None) -> Any:
    """Start MPI in this process. Returns its communicator of all ranks. ``address``: of the meeting.

    Raises:
        ImportError: mpi4py, or an MPI, is missing. RuntimeError: MPI connects other ranks than the place says.
    """
    if place.address is not None:
        os.environ |= {"PMI_PORT": address or place.address, "PMI_ID": str(place.rank)}
        os.environ |= {"PMI_RANK": str(place.rank), "PMI_SIZE": str(place.size)}
    MPI = load(needs_mpich=place.address is not None)
    if place.address is not None:  # a process that this one starts is no rank
        for name in ("PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE"):
            del os.environ[name]
    world = MPI.COMM_WORLD
    if (world.rank, world.size) != (place.rank, place.size):
        version = MPI.Get_library_version().split("\n")[0].split(",")[0].strip()
        raise RuntimeError(
            f"this is rank {place.rank} of {place.size}, but {version} knows {world.size} process(es): the mpiexec "
            "that started it is of another MPI than mpi4py has loaded. Start it with that MPI's own mpiexec, or with "
            "python -m minigrad.run"
        )
    world = world.Dup()
    if place.address is not None:
        world.Barrier()
        unlink_shared_memory()
    return world


def ranks_here(world: Any) -> int:
    """How many of a communicator's ranks share this machine's memory; all of them ask."""
    MPI: Any = sys.modules["mpi4py.MPI"]
    shared: Any = world.Split_type(MPI.COMM_TYPE_SHARED)
    return int(shared.size)


def unlink_shared_memory() -> None:
    """Take the names of MPICH's shared memory away, when all ranks have it: without MPI_Finalize nobody else would, and
    a killed job would leave its files."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            name = line.split(maxsplit=5)[-1]
            if name.startswith("/dev/shm/mpich_shm_") and not name.endswith("(deleted)"):
                with suppress(OSError):
                    os.unlink(name)


def load_names() -> None:
    """Raise what ``connect`` would where mpi4py is missing, before anybody waits for anybody."""
    if not is_available():
        raise ImportError(_missing("mpi4py"), name="mpi4py")


@cache
def load(needs_mpich: bool) -> Any:
    """mpi4py's ``MPI``, which starts MPI when it is imported. Raises ImportError: a part is missing."""
    if needs_mpich or not any(name.startswith("OMPI_") for name in os.environ):
        _load_mpich(needs_mpich)
    try:
        import mpi4py
    except ImportError as error:
        raise ImportError(_missing("mpi4py"), name="mpi4py") from error
    mpi4py.rc.finalize = not needs_mpich  # a meeting has its own end, and a rank may leave it before others
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"mpi4py finds no MPI ({error}): {_missing('mpich')}", name="mpi4py.MPI") from error
    if needs_mpich and "MPICH" not in MPI.Get_library_version() and "Intel" not in MPI.Get_library_version():
        raise ImportError(f"mpi4py was imported with another MPI than MPICH. {_missing('mpich')}")
    return MPI


def _load_mpich(required: bool) -> None:
    """Load MPICH's library, if PyPI's package is there: mpi4py then finds it by its name."""
    path = Path(sys.prefix) / "lib" / LIBRARY
    if path.exists():
        os.environ.setdefault(ABI, "mpich")
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    elif required:
        os.environ.setdefault(ABI, "mpich")  # a system's own


def _missing(package: str) -> str:
    return (
        f"processes that are to work together need {package}: {how_to_install('distributed', 'mpi4py', 'mpich')}. "
        "(Processes that no mpiexec has started can meet with MPICH alone.)"
    )


class MpiRequest:
    """A request of MPI's, and the arrays that it needs until it is done."""

    __slots__ = ("arrays", "request")

    def __init__(self, request: Any, *arrays: Any) -> None:
        self.request, self.arrays = request, arrays

    def done(self) -> bool:
        """Whether the transfer is complete. MPI moves a long one on in small pieces, each when it is asked."""
        test = self.request.Test
        return any(test() for _ in range(LOOKS))

    def cancel(self) -> None:
        """Give up a receive, whose array nobody may write to any more."""
        self.request.Cancel()


class InPieces:
    """A reduction of an array, piece after piece: on one machine a piece that stays in cache takes two thirds of the
    time (``python -m benchmarks.ranks`` measures all-reduces)."""

    def __init__(self, begin: Callable[[Any], Any], array: Any) -> None:
        flat, size = array.reshape(-1), max(1, PIECE // array.itemsize)
        self._pieces = [flat[start : start + size] for start in range(0, flat.size, size)]
        self._begin, self._request = begin, begin(self._pieces.pop(0))

    @property
    def has_more(self) -> bool:
        """Whether a piece has not begun: until then, no other call may begin, since MPI pairs calls by their order."""
        return bool(self._pieces)

    def done(self) -> bool:
        """Whether all is complete."""
        for _ in range(LOOKS):
            if self._request.Test():
                if not self._pieces:
                    return True
                self._request = self._begin(self._pieces.pop(0))
        return False


class Mpi:
    """Collectives of one communicator.

    Args:
        is_local: all its ranks are on one machine.
    """

    name = "mpi"

    def __init__(self, world: Any, is_local: bool = False) -> None:
        self.world, self.rank, self.size, self.is_local = world, int(world.rank), int(world.size), is_local
        self._mpi = sys.modules["mpi4py.MPI"]
        self._is_mpich = "MPICH" in self._mpi.Get_library_version()
        self._ops = {name: getattr(self._mpi, theirs) for name, theirs in OPS.items()}

    def all_reduce(self, array: Array, op: str, together: bool) -> Request:
        """See ``Transport``."""
        if together and not self._is_mpich:  # MPICH's is as quick without blocking, and then has a time-out
            self.world.Allreduce(self._mpi.IN_PLACE, array, self._ops[op])
            return Done()
        begin: Callable[[Any], Any] = lambda part: self.world.Iallreduce(self._mpi.IN_PLACE, part, self._ops[op])
        if self.is_local and array.nbytes > PIECE:
            return InPieces(begin, array)
        return MpiRequest(begin(array), array)

    def reduce(self, array: Array, op: str, root: int) -> Request:
        """See ``Transport``."""
        mine, result = (self._mpi.IN_PLACE, array) if self.rank == root else (array, None)
        return MpiRequest(self.world.Ireduce(mine, result, self._ops[op], root), array)

    def broadcast(self, array: Array, root: int) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Ibcast(array, root), array)

    def all_gather(self, out: Array, array: Array) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Iallgather(array, out), out, array)

    def gather(self, out: Array | None, array: Array, root: int) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Igather(array, out, root), out, array)

    def scatter(self, array: Array, parts: Array | None, root: int) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Iscatter(parts, array, root), array, parts)

    def reduce_scatter(self, out: Array, parts: Array, op: str) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Ireduce_scatter_block(parts, out, self._ops[op]), out, parts)

    def all_to_all(self, out: Array, parts: Array, received: Sequence[int], sent: Sequence[int]) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Ialltoallv([parts, list(sent)], [out, list(received)]), out, parts)

    def send(self, array: Array, to: int, tag: int) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Isend(array, to, tag), array)

    def receive(self, array: Array, source: int, tag: int) -> Request:
        """See ``Transport``."""
        return MpiRequest(self.world.Irecv(array, source, tag), array)

    def first_waiting(self, tag: int) -> int | None:
        """The rank of a message that waits under a tag; None if there is none."""
        status = self._mpi.Status()
        return int(status.Get_source()) if self.world.Iprobe(self._mpi.ANY_SOURCE, tag, status) else None

    def split(self, ranks: Sequence[int]) -> Mpi | None:
        """A transport of some ranks, in this order; None in the others. All ranks call it with the same."""
        number = ranks.index(self.rank) if self.rank in ranks else -1
        world = self.world.Split(0 if number >= 0 else self._mpi.UNDEFINED, max(number, 0))
        return None if number < 0 else Mpi(world, self.is_local)

    def among(self, ranks: Sequence[int]) -> Mpi:
        """The same, which its members alone call."""
        group = self.world.Get_group().Incl(list(ranks))
        return Mpi(self.world.Create_group(group), self.is_local)

    def twin(self) -> Mpi:
        """The same ranks, whose messages never meet those of this one."""
        return Mpi(self.world.Dup(), self.is_local)

    def abort(self, status: int) -> None:
        """End all ranks, by MPI's launcher."""
        self.world.Abort(status)

    def close(self) -> None:
        """Free the communicator."""
        self.world.Free()


def known(array: np.ndarray[Any, Any]) -> bool:
    """Whether MPI has the dtype; it has neither float16 nor bfloat16."""
    return array.dtype.kind in "iubc" or (array.dtype.kind == "f" and array.dtype.itemsize >= 4)
