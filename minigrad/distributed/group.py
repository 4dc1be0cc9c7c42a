"""Process groups: which ranks work together, and what carries their arrays."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import urllib.parse
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from types import TracebackType
from typing import Any, ClassVar

from ..backend import xp
from ..backend.parallel import set_num_threads, threads_of_environment
from . import mpi, place
from .agreement import header
from .meeting import STATUS, Meeting
from .mpi import Mpi
from .transport import Alone, Done, Transport
from .work import Queue, Work

default_pg_timeout = timedelta(minutes=30)
OF_FIRST = "_of_first_rank"  # an attribute of errors that rank 0 has told all
BACKENDS = ("mpi", "gloo", "nccl")


class ReduceOp(Enum):
    """What a reduction computes of the ranks' elements. AVG is SUM divided by the number of ranks."""

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
    """The name of a way to send tensors, in lower case: "mpi", "gloo" (which is MPI here), or "nccl".

    Raises:
        ValueError: there is no such backend.
    """

    def __new__(cls, name: str) -> Backend:
        """The name, checked."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, not {name!r}")
        return super().__new__(cls, _checked(name))

    GLOO, NCCL, MPI, UCC, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "undefined"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl"}


class ProcessGroup:
    """Some ranks of the world, in an order: each has a number in it.

    Attributes:
        ranks: their numbers in the world.
        backend: as the program called it.
        queue: the calls under way.
    """

    def __init__(
        self,
        ranks: Sequence[int],
        number: int,
        backend: str,
        data: Mpi | None,
        seconds: float,
        gone: set[int],
        crowded: bool = False,
    ) -> None:
        self.ranks, self.number, self.backend = list(ranks), number, backend
        self.control: Mpi | None = None if data is None else data.twin()
        self.aside: Mpi | None = None if data is None else data.twin()
        self.data: Mpi | None = data
        self.queue = Queue(self.ranks, self.control, self.aside, seconds, gone, crowded)
        self._nccl: Transport | None = None

    def rank(self) -> int:
        """The number of this process in the group."""
        return self.number

    def size(self) -> int:
        """How many ranks there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend."""
        return self.backend

    def carrier(self, array: Any) -> Transport:
        """What carries an array: NCCL on a GPU, if the group has that backend; else MPI, in the CPU's memory."""
        if "nccl" in self.backend and xp(array).__name__ != "numpy":
            from .nccl import Nccl

            if self._nccl is None:
                self._nccl = Nccl(xp(array), self.control)
            return self._nccl
        return Alone() if self.data is None else self.data

    def on_gpu(self, array: Any) -> bool:
        """Whether the carrier takes arrays of a GPU as they are."""
        return "nccl" in self.backend and xp(array).__name__ != "numpy"

    def number_of(self, rank: int) -> int:
        """The number in the group of a rank of the world. Raises ValueError: it is not in the group."""
        if rank not in self.ranks:
            raise ValueError(f"rank {rank} is not in the group, whose ranks are {', '.join(map(str, self.ranks))}")
        return self.ranks.index(rank)

    def close(self) -> None:
        """Free what carries arrays."""
        self.queue.close()
        for carrier in (self._nccl, self.data, self.control, self.aside):
            if carrier is not None:
                carrier.close()
        self._nccl = self.data = self.control = self.aside = None

    def __repr__(self) -> str:
        return f"ProcessGroup(ranks={self.ranks}, backend={self.backend!r})"


class group:
    """The group of all ranks, as ``group.WORLD``; None before ``init_process_group``."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: ClassVar[int] = -100


GroupMember = group


class World:
    """What ``init_process_group`` began, and ``destroy_process_group`` ends."""

    def __init__(self, there: place.Place, meeting: Meeting | None, hook: Any) -> None:
        self.place, self.meeting, self.hook = there, meeting, hook
        self.gone: set[int] = set() if meeting is None else meeting.gone
        self.groups: list[ProcessGroup] = []


_world: World | None = None
_earlier: Meeting | None = None  # stays open after destroy_process_group: the ranks may begin again


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
    """Begin to work with the other ranks. All call it.

    Where mpiexec (or Slurm's srun with PMIx or PMI-2) has started the program, MPI knows the ranks. Else they are told
    by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (torchrun's variables), by Slurm's, or by arguments, and meet at
    that address. Without any of these, the world is this process alone, and needs nothing installed. The threads of
    kernels are shared among the ranks of a machine, unless MINIGRAD_NUM_THREADS or OMP_NUM_THREADS is set.

    Args:
        backend: "mpi"; "gloo", which is MPI here; or "nccl", which carries tensors on GPUs, and MPI all else. None
            stands for "gloo" and, on GPUs, "nccl". As in PyTorch, "cpu:gloo,cuda:nccl" is a form, too.
        init_method: "env://", "tcp://host:port" or "file://path" on a disk that all share; for processes that no
            mpiexec has started.
        timeout: how long ranks wait for each other, here and in each call; 30 minutes by default.
        world_size, rank: -1 takes them from the environment.
        store, pg_options: must not be given.
        group_name, device_id: of no effect.

    Raises:
        ImportError: mpi4py or an MPI is missing, in a world of several ranks.
        ValueError: called twice; arguments or variables contradict each other.
        TimeoutError: ranks have not come; it names them.
    """
    global _world
    if _world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None or pg_options is not None:
        raise NotImplementedError("init_process_group takes no store and no pg_options: give init_method, or nothing")
    name = _checked(backend)
    seconds = (timeout or default_pg_timeout).total_seconds()
    there = _placed(init_method, rank, world_size)
    meeting = world = None
    if there.size > 1:
        if there.address is not None:
            mpi.load_names()
            meeting = _meet(there, seconds)
        world = mpi.connect(there, None if meeting is None else meeting.address)
    begun = _world = World(there, meeting, sys.excepthook)
    local = 1 if world is None else mpi.ranks_here(world)
    data = None if world is None else Mpi(world, is_local=local == there.size)
    crowded = local > (os.cpu_count() or 1)
    group.WORLD = ProcessGroup(range(there.size), there.rank, name, data, seconds, begun.gone, crowded)
    begun.groups.append(group.WORLD)
    if there.size > 1:
        sys.excepthook = _ended_by_error
        atexit.register(leave)
        _watch_forks()
        _share_cores(local, meeting is None)


def _checked(backend: str | None) -> str:
    """The backend in lower case. Raises ValueError: it is unknown."""
    name = "cpu:gloo,cuda:nccl" if backend is None else str(backend).lower()
    for part in name.split(","):
        if part.rpartition(":")[2] not in BACKENDS:
            raise ValueError(f"Invalid backend: {backend!r}. There are {', '.join(BACKENDS)}; gloo is MPI here")
    return name


def _meet(there: place.Place, seconds: float) -> Meeting:
    """Meet the others, or go on with those of an earlier world."""
    global _earlier
    if _earlier is None or _earlier.place != there:
        _earlier = Meeting(there, seconds)
    _earlier.active = True
    return _earlier


def _placed(init_method: str | None, rank: int, size: int) -> place.Place:
    """This process's place, from the program's arguments and the environment."""
    if init_method is None or init_method.startswith("env://"):
        return place.find(rank, size)
    if init_method.startswith("tcp://"):
        address, _, query = init_method.removeprefix("tcp://").partition("?")
        said = dict(urllib.parse.parse_qsl(query))
        rank = int(said.get("rank", rank)) if rank < 0 else rank
        size = int(said.get("world_size", size)) if size < 0 else size
        return place.find(rank, size, address.rstrip("/"))
    if init_method.startswith("file://"):
        return place.find(rank, size, init_method)
    raise ValueError(f"init_method must begin with env://, tcp:// or file://, not {init_method!r}")


def _share_cores(ranks: int, may_be_bound: bool) -> None:
    """Give each of a machine's ranks its share of the cores, unless somebody has said how many threads there are.

    Args:
        may_be_bound: mpiexec or srun has started them, and may have given each its own cores.
    """
    if threads_of_environment() is not None:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_bound = may_be_bound and cores < (os.cpu_count() or 1)
    set_num_threads(max(1, cores if is_bound else cores // ranks))


@functools.cache
def _watch_forks() -> None:
    """A forked process, such as a data loader's worker, is no rank."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    global _world, _earlier
    if _earlier is not None:
        _earlier.forget()
        _earlier = None
    if _world is not None:
        begun, _world, group.WORLD = _world, None, None
        sys.excepthook = begun.hook
        Queue.everywhere.clear()


def _ended_by_error(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Show an error that ends this rank, and end the others, which would wait for it."""
    if _world is None:
        sys.__excepthook__(kind, error, traceback)
        return
    begun = _world
    if is_of_first(error) and begun.meeting is not None:
        begun.meeting.leave()  # this rank has not died of itself
        os._exit(STATUS)  # rank 0 shows it
    print(f"minigrad: rank {begun.place.rank} ends with an error:", file=sys.stderr)
    begun.hook(kind, error, traceback)
    sys.stdout.flush()
    sys.stderr.flush()
    report(error)
    if begun.meeting is not None:
        os._exit(130 if issubclass(kind, KeyboardInterrupt) else 1)


def is_of_first(error: BaseException) -> bool:
    """Whether an error has reached this rank from rank 0."""
    return hasattr(error, OF_FIRST)


def report(error: BaseException) -> None:
    """Let the other ranks end, since this one ends with an error: now, or, if mpiexec has to do it, at Python's end."""
    if _world is None:
        return
    if _world.meeting is not None:
        _world.meeting.failed(f"{type(error).__name__}: {error}"[:500])
    elif group.WORLD is not None and group.WORLD.data is not None:
        atexit.register(group.WORLD.data.abort, 1)


def leave() -> None:
    """This process ends, and needs no other rank any more."""
    if _earlier is not None and _earlier.process == os.getpid():
        mpi.unlink_shared_memory()
        _earlier.leave()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End what ``init_process_group`` began, or one group of ``new_group``.

    Raises:
        AssertionError: there is none.
    """
    global _world
    if _world is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        begun, _world, GroupMember.WORLD = _world, None, None
        for each in begun.groups:
            with suppress(Exception):
                each.close()
        if begun.place.size > 1:
            sys.excepthook = begun.hook
        if begun.meeting is not None:
            begun.meeting.active = False
    elif isinstance(group, ProcessGroup):
        _world.groups.remove(group)
        group.close()


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return _world is not None


def the_group(given: Any = None) -> ProcessGroup:
    """A group, by default that of all ranks.

    Raises:
        ValueError: ``init_process_group`` was not called. TypeError: no group, or one of other ranks.
    """
    if group.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if given is None:
        return group.WORLD
    if not isinstance(given, ProcessGroup):
        raise TypeError("this rank is not in the group" if given == group.NON_GROUP_MEMBER else f"no group: {given!r}")
    return given


def is_outside(given: Any) -> bool:
    """Whether this is what ``new_group`` gave to a rank that is not in the group."""
    return isinstance(given, int) and given == group.NON_GROUP_MEMBER


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
    """A group of some ranks. All ranks of the world call it, in the same order.

    Args:
        ranks: numbers in the world; None for all. timeout: as of ``init_process_group``; None for that of the world.
        backend: None for that of the world. use_local_synchronization: its members alone call it.
        pg_options, group_desc, device_id: of no effect. sort_ranks: False keeps the order of ``ranks``.

    Returns:
        The group; ``GroupMember.NON_GROUP_MEMBER`` on ranks that are not in it.

    Raises:
        ValueError: no such ranks, or one twice.
    """
    world = the_group()
    assert _world is not None
    listed = list(world.ranks if ranks is None else ranks)
    members = sorted(listed) if sort_ranks else listed
    if len(set(members)) < len(members) or not members or not set(members) <= set(world.ranks):
        raise ValueError(f"a group needs different ranks, from 0 to {world.size() - 1}, not {list(ranks or [])}")
    data = None
    if world.control is not None and not use_local_synchronization:  # MPI's own call waits for ever
        waiting = Work(world.queue, "new_group", lambda together: Done())
        world.queue.put(waiting, header("barrier", None)).wait()
    for queue in list(Queue.everywhere):
        queue.drain()
    if world.data is not None:
        if use_local_synchronization:
            data = world.data.among(members) if world.number in members else None
        else:
            data = world.data.split(members)
    if world.number not in members:
        return group.NON_GROUP_MEMBER
    seconds = world.queue.seconds if timeout is None else timeout.total_seconds()
    name = world.backend if backend is None else _checked(backend)
    made = ProcessGroup(members, members.index(world.number), name, data, seconds, _world.gone, world.queue.crowded)
    _world.groups.append(made)
    return made


def local_rank() -> int | None:
    """The number of this process among those of its machine, if that is known."""
    if _world is None:
        return None
    there, meeting = _world.place, _world.meeting
    if there.local_rank is None and meeting is not None:
        return meeting.hosts[: there.rank].count(meeting.hosts[there.rank])
    return there.local_rank
