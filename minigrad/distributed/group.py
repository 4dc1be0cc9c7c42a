"""Process groups: ranks that work together, and the backend that transfers their arrays."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from functools import cache
from types import TracebackType
from typing import Any, ClassVar

from ..backend import xp
from ..backend.parallel import set_num_threads, threads_of_environment
from . import launch, mpi
from .work import Work, wait_for

__all__ = ["Backend", "GroupMember", "ProcessGroup", "ReduceOp", "default_pg_timeout", "destroy_process_group"]
__all__ += ["get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks"]
__all__ += ["get_rank", "get_world_size", "group", "init_process_group", "is_available", "is_backend_available"]
__all__ += ["is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched"]
__all__ += ["new_group", "reduce_op"]
default_pg_timeout = timedelta(minutes=30)
OF_FIRST = "_of_first_rank"  # an attribute of errors that rank 0 has sent to all ranks
GRACE = 1.0  # seconds for rank 0 to show an error common to all ranks and for the others to finish
BACKENDS = ("mpi", "gloo", "nccl")


class ReduceOp(Enum):
    """How a reduction combines elements across ranks. AVG is SUM divided by the number of ranks."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


reduce_op = ReduceOp
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Backend(str):
    """A backend name in lower case: "mpi", "gloo" (implemented by MPI here) or "nccl". Raises ValueError if unknown."""

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, not {name!r}")
        return super().__new__(cls, _checked(name))

    GLOO, NCCL, MPI, UCC, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "undefined"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl"}


class ProcessGroup:
    """An ordered list of global ranks, each of which also has a group rank. ``number`` is the group rank of this
    process, ``comm`` the MPI communicator (None if the world size is 1), and ``seconds`` the timeout of calls."""

    def __init__(self, ranks: Sequence[int], number: int, backend: str, comm: Any, seconds: float) -> None:
        self.ranks, self.number, self.backend, self.comm, self.seconds = list(ranks), number, backend, comm, seconds
        self._cpu: Any = mpi.Alone() if comm is None else mpi.Mpi(comm)
        self._gpu: Any = None
        self._pending: list[Work] = []  # kept even if the program discards them
        self.compares = comm is not None and os.environ.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL"

    def rank(self) -> int:
        """The group rank of this process."""
        return self.number

    def size(self) -> int:
        """The number of ranks in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    def on_gpu(self, array: Any) -> bool:
        """Whether NCCL transfers an array."""
        return "nccl" in self.backend and xp(array).__name__ != "numpy"

    def transport(self, array: Any) -> Any:
        """The transport for an array: NCCL on a GPU, if the group has that backend, else MPI through CPU memory."""
        if not self.on_gpu(array):
            return self._cpu
        if self._gpu is None:
            from .nccl import Nccl

            self._gpu = Nccl(xp(array), self.comm)
        return self._gpu

    def begin(self, work: Work, async_op: bool, timeout: timedelta | None = None) -> Work | None:
        """Wait for a running call or, with ``async_op``, return its handle, and keep it until the call has finished."""
        if async_op:
            self._pending = [other for other in self._pending if not other.is_completed()]
            self._pending.append(work)
            return work
        work.wait(timeout)
        return None

    def compare(self, call: str) -> None:
        """Raise RuntimeError on all ranks if they do not make the same call."""
        calls: dict[str, list[int]] = {}
        for rank, theirs in zip(self.ranks, self.comm.allgather(call), strict=True):
            calls.setdefault(theirs, []).append(rank)
        if len(calls) > 1:
            parts = [f"rank{'s' * (len(who) > 1)} {', '.join(map(str, who))}: {what}" for what, who in calls.items()]
            raise RuntimeError(f"the ranks made different calls. {'; '.join(parts)}")

    def number_of(self, rank: int) -> int:
        """The group rank of a global rank. Raises ValueError if it is not in the group."""
        if rank not in self.ranks:
            raise ValueError(f"rank {rank} is not in the group, whose ranks are {', '.join(map(str, self.ranks))}")
        return self.ranks.index(rank)

    def close(self) -> None:
        """Free the communicators. Unless an error is ending the program, first wait for running calls."""
        with suppress(RuntimeError):
            if sys.exc_info()[0] is None:
                for work in self._pending:
                    work.wait()
                if self is group.WORLD and self.comm is not None:  # MPICH may lose other ranks' messages when it ends
                    wait_for(self.comm.Ibarrier().Test, GRACE, "destroy_process_group")
        if self._gpu is not None:
            self._gpu.close()
        if self.comm is not None:
            self.comm.Free()
        self._pending, self._gpu, self.comm = [], None, None

    def __repr__(self) -> str:
        return f"ProcessGroup(ranks={self.ranks}, backend={self.backend!r})"


class group:
    """A namespace for ``group.WORLD``, the group of all ranks, which is None before ``init_process_group``."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: ClassVar[int] = -100


GroupMember = group
_groups: list[ProcessGroup] = []  # the groups that ``destroy_process_group`` closes
_errors: list[BaseException] = []  # the errors that end this process


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connect to the other ranks. Every rank must call this function.

    An MPI launcher starts the ranks: ``python -m minigrad.run``, mpiexec, or Slurm's srun with PMIx or PMI-2. Without a
    launcher, the world consists of only this process, and MPI is not required. The ranks on a machine divide its kernel
    threads among themselves, unless MINIGRAD_NUM_THREADS or OMP_NUM_THREADS is set.

    Args:
        backend: "mpi", "gloo" (implemented by MPI here), or "nccl", which transfers GPU tensors; MPI transfers others.
            None means "gloo" and, on GPUs, "nccl", like PyTorch's "cpu:gloo,cuda:nccl".
        init_method: "env://", "tcp://..." or "file://..."; ignored, as MPI connects the ranks.
        timeout: how long a call waits for the other ranks; 30 minutes by default.
        world_size, rank: must agree with the launcher; -1 means the launcher's value.
        store, pg_options: must not be passed.
        group_name, device_id: ignored.

    Raises ImportError if mpi4py or MPI is missing in a world of several ranks; ValueError if it is called twice, or the
    arguments contradict the launcher; and RuntimeError if MPI has not started that many ranks.
    """
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None or pg_options is not None:
        raise NotImplementedError("init_process_group does not accept store or pg_options: MPI connects the ranks")
    if not (init_method or "env://").startswith(("env://", "tcp://", "file://")):
        raise ValueError(f"init_method must begin with env://, tcp:// or file://, not {init_method!r}")
    name = _checked(backend)
    there = launch.find_place(rank, world_size)
    world = mpi.connect(there) if there.size > 1 else None
    seconds = (timeout or default_pg_timeout).total_seconds()
    group.WORLD = ProcessGroup(range(there.size), there.rank, name, world, seconds)
    _groups.append(group.WORLD)
    if world is not None:
        _watch()
        threads = mpi.threads_here(world)
        if threads_of_environment() is None:
            set_num_threads(threads)


def _checked(backend: str | None) -> str:
    """The backend name in lower case. Raises ValueError if it is unknown."""
    name = "cpu:gloo,cuda:nccl" if backend is None else str(backend).lower()
    for part in name.split(","):
        if part.rpartition(":")[2] not in BACKENDS:
            raise ValueError(f"Invalid backend: {backend!r}. Choose from {', '.join(BACKENDS)}; gloo uses MPI here")
    return name


@cache
def _watch() -> None:
    """Make any error that ends this process also end the other ranks. Forked processes are not ranks."""
    before, rank = sys.excepthook, launch.find_place().rank

    def failed(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if is_of_first(error):  # rank 0 shows it and ends all ranks
            time.sleep(GRACE)
        else:
            print(f"minigrad: rank {rank} failed with an error:", file=sys.stderr)
            before(kind, error, traceback)
        report(error)

    def forget() -> None:
        group.WORLD, sys.excepthook = None, before
        _groups.clear()

    sys.excepthook = failed
    atexit.register(lambda: None if group.WORLD is None or _errors else destroy_process_group())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def is_of_first(error: BaseException) -> bool:
    """Whether this rank has received the error from rank 0."""
    return hasattr(error, OF_FIRST)


def report(error: BaseException) -> None:
    """When this process ends with an error, end the other ranks too."""
    _errors.append(error)
    if "mpi4py.MPI" in sys.modules:
        from mpi4py.run import set_abort_status

        set_abort_status(error)


def all_end(error: BaseException) -> bool:
    """Whether all ranks end with this error. Each has ``GRACE`` seconds to reach this call. If all do, rank 0 can show
    the error, and ``report`` need not end waiting ranks."""
    comm: Any = the_group().comm
    try:
        wait_for(comm.Ibarrier().Test, GRACE, "all_end")
    except RuntimeError:
        return False
    return len(set(comm.allgather(repr(error)))) == 1


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Close all groups, or a single group from ``new_group``. Raises AssertionError before ``init_process_group``."""
    if GroupMember.WORLD is None:
        raise AssertionError("Process group cannot be None")
    ends = [group] if isinstance(group, ProcessGroup) and group is not GroupMember.WORLD else _groups[::-1]
    for each in ends:
        _groups.remove(each)
        each.close()
    if GroupMember.WORLD in ends:
        GroupMember.WORLD = None


def is_initialized() -> bool:
    """Whether ``init_process_group`` has been called."""
    return group.WORLD is not None


def the_group(value: Any = None) -> ProcessGroup:
    """Check a group, by default the world, and return it. Raises ValueError before ``init_process_group``, and
    TypeError if it is not a group or this rank is outside it."""
    if group.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if value is None:
        return group.WORLD
    if not isinstance(value, ProcessGroup):
        raise TypeError("this rank is not in the group" if value == group.NON_GROUP_MEMBER else f"no group: {value!r}")
    return value


def is_outside(value: Any) -> bool:
    """Whether a value is the marker returned by ``new_group`` on ranks outside the group."""
    return isinstance(value, int) and value == group.NON_GROUP_MEMBER


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> ProcessGroup | int:
    """Create a group of the given ranks. All ranks of the world must call it, in the same order.

    Args:
        ranks: global ranks; None means all. timeout: see ``init_process_group``; None means the world's timeout.
        backend: None means the world's backend. use_local_synchronization: only members call this function.
        pg_options, group_desc, device_id: ignored. sort_ranks: if False, keep the order of ``ranks``.

    Returns ``GroupMember.NON_GROUP_MEMBER`` on ranks outside it. Raises ValueError if a rank is unknown or repeated.
    """
    world = the_group()
    listed = list(world.ranks if ranks is None else ranks)
    members = sorted(listed) if sort_ranks else listed
    if len(set(members)) < len(members) or not members or not set(members) <= set(world.ranks):
        raise ValueError(f"a group's ranks must be distinct and from 0 to {world.size() - 1}, not {list(ranks or [])}")
    is_inside = world.number in members
    comm = None
    if world.comm is not None and not use_local_synchronization:
        key = members.index(world.number) if is_inside else 0
        comm = world.comm.Split(0 if is_inside else mpi.load().UNDEFINED, key)
    elif world.comm is not None and is_inside:
        comm = world.comm.Create_group(world.comm.Get_group().Incl(members))
    if not is_inside:
        return group.NON_GROUP_MEMBER
    seconds = world.seconds if timeout is None else timeout.total_seconds()
    name = world.backend if backend is None else _checked(backend)
    _groups.append(ProcessGroup(members, members.index(world.number), name, comm, seconds))
    return _groups[-1]


Group = ProcessGroup | int | None


def get_rank(group: Group = None) -> int:
    """This process's rank in a group, or -1 if it is outside. Raises ValueError before ``init_process_group``."""
    return -1 if is_outside(group) else the_group(group).number


def get_world_size(group: Group = None) -> int:
    """The number of ranks in a group, or -1 if this process is outside. Raises the same errors as ``get_rank``."""
    return -1 if is_outside(group) else the_group(group).size()


def get_backend(group: Group = None) -> Backend:
    """The backend of a group. Raises the same errors as ``get_rank``."""
    return Backend(the_group(group).backend.partition(",")[0].rpartition(":")[2])


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank on its machine, or else ``fallback_rank``. Raises RuntimeError if there is neither."""
    local_rank = os.environ.get("LOCAL_RANK") or launch.find_place().local_rank
    if local_rank is None and fallback_rank is None:
        raise RuntimeError("the launcher has not set the rank on this machine: set LOCAL_RANK")
    return int(fallback_rank or 0) if local_rank is None else int(local_rank)


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The global ranks of a group."""
    return list(the_group(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a group rank. Raises ValueError if the group does not have that rank."""
    ranks = the_group(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of the group {ranks}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The group rank of a global rank. Raises ValueError if it is not in the group."""
    return the_group(group).number_of(global_rank)


def is_available() -> bool:
    """Always True."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed; a world of several ranks requires it."""
    return mpi.is_available()


is_gloo_available = is_mpi_available  # gloo is implemented by MPI


def is_nccl_available() -> bool:
    """Whether CuPy and NCCL are installed."""
    from ..backend import cuda

    return cuda.has_nccl()


def is_backend_available(backend: str) -> bool:
    """Whether ``init_process_group`` can use a backend."""
    there = {"mpi": is_mpi_available, "gloo": is_gloo_available, "nccl": is_nccl_available}
    return backend.lower() in there and there[backend.lower()]()


def is_torchelastic_launched() -> bool:
    """Whether this process was started by torchrun or ``minigrad.run``."""
    return "TORCHELASTIC_RUN_ID" in os.environ
