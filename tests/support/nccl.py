"""NCCL for the strict stand-in, like ``cupy.cuda.nccl``: pointers, counts, dtype numbers, and streams.

Ranks are threads or processes on one machine. As in NCCL, their unique id is an address: its creator listens there
(``Hub``), and forwards the ranks' data. Calls that NCCL leaves undefined are refused here:

- a pointer or length outside the memory of a living array, also when the stream reaches the operation;
- calls of one communicator that differ between ranks, and messages of unexpected length;
- two ranks on one GPU, where NCCL may hang: ``GPU``, if a test sets it; otherwise each rank has a different GPU.

As in NCCL, operations of one communicator run one after another on all streams; a message ends when it is received; the
first message between two ranks waits for both; and so does freeing a communicator.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import streams
from .strict_array import _owners

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ID_BYTES = 128
NAMES = ("INT8", "UINT8", "INT32", "UINT32", "INT64", "UINT64", "FLOAT16", "FLOAT32", "FLOAT64")
DTYPES = {number: np.dtype(name.lower()) for number, name in enumerate(NAMES)}
OPS = {0: np.add, 1: np.multiply, 2: np.maximum, 3: np.minimum}
ERRORS = {
    1: "UNHANDLED_CUDA_ERROR: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    3: "INTERNAL_ERROR: internal error - please report this issue to the NCCL developers",
    4: "INVALID_ARGUMENT: invalid argument (run with NCCL_DEBUG=WARN for details)",
    5: "INVALID_USAGE: invalid usage (run with NCCL_DEBUG=WARN for details)",
}
UNHANDLED, ARGUMENT, USAGE, REMOTE = 1, 4, 5, 6
GPU: int | None = None
_local = threading.local()  # the open group of calls of each thread


class NcclError(RuntimeError):
    """CuPy's error; for a status that CuPy does not know (in CuPy 13: 6) it raises KeyError instead."""

    def __init__(self, status: int, detail: str = "") -> None:
        self.status = status
        super().__init__(f"NCCL_ERROR_{ERRORS[status]}{f' [{detail}]' if detail else ''}")


def _connection() -> Any:
    """``multiprocessing.connection``, imported lazily: Pyodide lacks it, but its tests import this file."""
    return import_module("multiprocessing.connection")


# Functions for ranks ----------------------------------------------------------------------------------------


@dataclass
class Operation:
    """A call. ``other`` is the root or the peer; ``reads`` and ``writes`` are pointers and numbers of elements."""

    name: str
    dtype: int
    op: int = 0
    other: int = 0
    reads: tuple[int, int] | None = None
    writes: tuple[int, int] | None = None
    data: bytes = b""

    @property
    def count(self) -> int:
        """The number of elements in a rank's result, or in its message."""
        place = self.writes or self.reads
        assert place is not None
        return place[1]

    def check(self, size: int) -> None:
        if self.dtype not in DTYPES or self.op not in OPS or not 0 <= self.other < size:
            raise NcclError(ARGUMENT, f"{self.name}: dtype {self.dtype}, op {self.op}, rank {self.other} of {size}")
        for place in (self.reads, self.writes):
            if place is not None:
                self.memory(*place)

    def memory(self, pointer: int, count: int) -> np.ndarray[Any, Any]:
        """The elements at a pointer. Raises NcclError: they are not in a single living array."""
        dtype = DTYPES[self.dtype]
        size = count * dtype.itemsize
        if not any(begin <= pointer and pointer + size <= end for begin, end in _living()):
            raise NcclError(UNHANDLED, f"{self.name}: {size} bytes are not in the memory of an array")
        return np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype)

    def sent(self) -> Operation:
        """The same operation, with the data that it reads."""
        data = b"" if self.reads is None else self.memory(*self.reads).tobytes()
        return Operation(self.name, self.dtype, self.op, self.other, self.reads, self.writes, data)

    def received(self, data: bytes | None) -> None:
        if data is not None and self.writes is not None:
            self.memory(*self.writes)[:] = np.frombuffer(data, DTYPES[self.dtype])


def _living() -> Sequence[tuple[int, int]]:
    """The beginning and the end of each strict array's memory."""
    ranges = []
    for reference in _owners.valuerefs():
        if (array := reference()) is not None:
            owner = array._array
            while type(owner.base) is np.ndarray:
                owner = owner.base
            ranges.append((owner.ctypes.data, owner.ctypes.data + owner.nbytes))
    return ranges


def get_unique_id() -> bytes:
    """The address of a new hub."""
    return Hub().address.encode().ljust(ID_BYTES, b"\0")


def groupStart() -> None:
    _local.depth = getattr(_local, "depth", 0) + 1


def groupEnd() -> None:
    if not getattr(_local, "depth", 0):
        raise NcclError(USAGE)
    _local.depth -= 1
    if _local.depth == 0:
        calls, _local.calls = getattr(_local, "calls", []), []
        for comm in {id(comm): comm for comm, _, _ in calls}.values():
            own = [(stream, operation) for which, stream, operation in calls if which is comm]
            if len({stream for stream, _ in own}) > 1:
                raise NcclError(USAGE, "a group on several streams, which the stand-in does not support")
            comm._begin(own[0][0], [operation for _, operation in own])


class NcclCommunicator:
    """CuPy's communicator, with its parameters."""

    _line: Connection | None = None

    def __init__(self, ndev: int, commId: bytes, rank: int) -> None:
        if type(commId) is not bytes:
            raise TypeError(f"Argument 'commId' has incorrect type (expected bytes, got {type(commId).__name__})")
        self._join(ndev, commId, rank)

    def _join(self, ndev: int, key: bytes, rank: int) -> None:
        assert len(key) == ID_BYTES
        self._ndev, self._rank, self._failed = ndev, rank, 0
        self._connected: set[int] = set()
        self._turn = threading.Event()  # set when the operation before the next one is done
        self._turn.set()
        if not 0 <= rank < ndev:
            raise NcclError(ARGUMENT, f"rank {rank} of {ndev}")
        host, port = key.rstrip(b"\0").decode().split(":")
        self._line = _connection().Client((host, int(port)))
        self._line.send((ndev, rank, GPU))
        if status := self._answer():
            raise NcclError(status)

    def _answer(self) -> Any:
        assert self._line is not None
        if not self._line.poll(streams.PATIENCE):
            raise TimeoutError(f"no other rank has joined the communicator in {streams.PATIENCE:g} s")
        return self._line.recv()

    def allReduce(self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: int) -> None:
        self._call(stream, Operation("allReduce", datatype, op, 0, (sendbuf, count), (recvbuf, count)))

    def reduce(self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, root: int, stream: int) -> None:
        into = (recvbuf, count) if self._rank == root else None
        self._call(stream, Operation("reduce", datatype, op, root, (sendbuf, count), into))

    def broadcast(self, sendbuff: int, recvbuff: int, count: int, datatype: int, root: int, stream: int) -> None:
        source = (sendbuff, count) if self._rank == root else None
        self._call(stream, Operation("broadcast", datatype, 0, root, source, (recvbuff, count)))

    def reduceScatter(self, sendbuf: int, recvbuf: int, recvcount: int, datatype: int, op: int, stream: int) -> None:
        source = (sendbuf, recvcount * self._ndev)
        self._call(stream, Operation("reduceScatter", datatype, op, 0, source, (recvbuf, recvcount)))

    def allGather(self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: int) -> None:
        into = (recvbuf, count * self._ndev)
        self._call(stream, Operation("allGather", datatype, 0, 0, (sendbuf, count), into))

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        self._call(stream, Operation("send", datatype, 0, peer, (sendbuf, count), None))

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        self._call(stream, Operation("recv", datatype, 0, peer, None, (recvbuf, count)))

    def check_async_error(self) -> None:
        if self._failed:
            raise NcclError(self._failed)

    def destroy(self) -> None:
        if self._line is not None:
            with suppress(ConnectionError, EOFError):
                self._line.send("bye")
                self._answer()
            self.abort()

    def abort(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    __del__ = abort  # CuPy's destroys it, and may wait forever

    def _call(self, stream: int, operation: Operation) -> None:
        if self._line is None:
            raise NcclError(ARGUMENT, "the communicator is destroyed")
        for number in (stream, operation.dtype, operation.op, operation.other, *(operation.reads or operation.writes)):
            if type(number) is not int:
                raise TypeError(f"an integer is required, not {type(number).__name__}")
        operation.check(self._ndev)
        if not operation.count:  # NCCL checks no further
            return
        if getattr(_local, "depth", 0):
            _local.calls = [*getattr(_local, "calls", []), (self, stream, operation)]
        else:
            self._begin(stream, [operation])

    def _begin(self, stream: int, operations: list[Operation]) -> None:
        """Put operations, which run together, on a stream."""
        before, over = self._turn, threading.Event()
        self._turn = over
        peers = {each.other for each in operations if each.name in ("send", "recv")} - {self._rank}

        def run() -> None:
            streams.waited(before)
            try:
                self._exchange(operations)
            finally:
                over.set()

        streams.of_pointer(stream).put(run)
        if not peers <= self._connected:
            streams.waited(over)
            self._connected |= peers

    def _exchange(self, operations: list[Operation]) -> None:
        try:
            if self._line is None:
                raise EOFError
            self._line.send([operation.sent() for operation in operations])
            answer = self._answer()
        except (OSError, EOFError):
            answer = REMOTE
        except NcclError as error:  # the others cannot continue either
            answer = error.status
            self.abort()
        if isinstance(answer, int):
            self._failed = answer
            return
        for operation, data in zip(operations, answer, strict=True):
            operation.received(data)


# Between the ranks ------------------------------------------------------------------------------------------


@dataclass
class Group:
    """A rank's pending operations, and the data of each once it arrives."""

    operations: list[Operation]
    left: set[int] = field(default_factory=set)
    answers: list[bytes | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left, self.answers = set(range(len(self.operations))), [None] * len(self.operations)

    def first(self, name: str, other: int) -> int | None:
        """The first message that is not matched yet."""
        numbers = (n for n in sorted(self.left) if self.operations[n].name == name)
        return next((n for n in numbers if self.operations[n].other == other), None)


class Hub(threading.Thread):
    """Connects the ranks of one communicator, in a thread of the process that created their id."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._door = _connection().Listener(("127.0.0.1", 0), backlog=16)
        host, port = self._door.address
        self.address = f"{host}:{port}"
        self.lines: dict[int, Connection] = {}
        self.groups: dict[int, Group] = {}
        self.bye: set[int] = set()
        self.broken = False  # a rank has left
        self.start()

    def run(self) -> None:
        with self._door:
            greetings = [self._greeting()]
            while len(greetings) < greetings[0][0]:
                greetings.append(self._greeting())
        gpus = [gpu for _, _, gpu in greetings if gpu is not None]
        wrong = len(set(gpus)) < len(gpus) or len(self.lines) < len(greetings)
        for line in list(self.lines.values()):
            line.send(USAGE if wrong else 0)
        while self.lines:
            for line in _connection().wait(list(self.lines.values())):
                self._hear(next(rank for rank, each in self.lines.items() if each is line))
            self._match()

    def _greeting(self) -> tuple[int, int, int | None]:
        line = self._door.accept()
        size, rank, number = line.recv()
        self.lines[rank] = line
        return size, rank, number

    def _hear(self, rank: int) -> None:
        try:
            message = self.lines[rank].recv()
        except (EOFError, OSError):
            del self.lines[rank]
            self.broken = True
        else:
            if message == "bye":
                self.bye.add(rank)
            else:
                self.groups[rank] = Group(message)
        if self.broken:
            for other in [*self.groups, *self.bye]:
                self._tell(other, REMOTE)
        elif self.bye == set(self.lines):
            for other in self.bye:
                self._tell(other, 0)

    def _tell(self, rank: int, answer: Any) -> None:
        self.groups.pop(rank, None)
        if rank in self.lines:
            with suppress(OSError):
                self.lines[rank].send(answer)

    def _match(self) -> None:
        """Run all operations that are complete."""
        kinds = {rank: group.operations[0].name for rank, group in self.groups.items()}
        messages = [rank for rank, name in kinds.items() if name in ("send", "recv")]
        for source, to in product(messages, messages):
            self._pass_on(source, to)
        if kinds and len(kinds) == len(self.lines) and not messages:
            answers = combined([self.groups[rank].operations for rank in sorted(kinds)])
            for rank, answer in zip(sorted(kinds), answers, strict=True):
                self._tell(rank, answer)
        for rank in [rank for rank, group in self.groups.items() if not group.left]:
            self._tell(rank, self.groups[rank].answers)

    def _pass_on(self, source: int, to: int) -> None:
        if source not in self.groups or to not in self.groups:
            return
        ours, theirs = self.groups[source], self.groups[to]
        while (out := ours.first("send", to)) is not None and (into := theirs.first("recv", source)) is not None:
            message, expected = ours.operations[out], theirs.operations[into]
            if (message.dtype, message.count) != (expected.dtype, expected.count):
                self._tell(source, USAGE)
                self._tell(to, USAGE)
                return
            ours.left.discard(out)
            theirs.left.discard(into)
            theirs.answers[into] = message.data


def combined(calls: list[list[Operation]]) -> list[Any]:
    """Each rank's result of a collective, to which each rank passes one operation; an error if these differ."""
    first = calls[0][0]
    what = {(o.name, o.dtype, o.op, o.other, o.count) for (o, *_) in calls}
    if len(what) > 1 or any(len(each) > 1 for each in calls):
        return [USAGE] * len(calls)
    data = [np.frombuffer(operation.data, DTYPES[operation.dtype]) for (operation, *_) in calls]
    with np.errstate(all="ignore"):
        results: dict[str, Callable[[], list[Any]]] = {
            "allReduce": lambda: [reduce(OPS[first.op], data)] * len(calls),
            "reduce": lambda: [reduce(OPS[first.op], data)] * len(calls),
            "broadcast": lambda: [data[first.other]] * len(calls),
            "allGather": lambda: [np.concatenate(data)] * len(calls),
            "reduceScatter": lambda: np.split(reduce(OPS[first.op], data), len(calls)),
        }
        return [[array.tobytes()] for array in results[first.name]()]


_NUMBERS = {f"NCCL_{name}": number for number, name in enumerate(NAMES)}
_NUMBERS |= {"NCCL_SUM": 0, "NCCL_PROD": 1, "NCCL_MAX": 2, "NCCL_MIN": 3}
NCCL: Any = SimpleNamespace(available=True, NcclCommunicator=NcclCommunicator, NcclError=NcclError, **_NUMBERS)
NCCL.get_unique_id, NCCL.groupStart, NCCL.groupEnd = get_unique_id, groupStart, groupEnd
CUDA: Any = SimpleNamespace(
    Device=streams.on, Event=streams.Event, Stream=streams.Stream, get_current_stream=streams.get_current_stream
)
