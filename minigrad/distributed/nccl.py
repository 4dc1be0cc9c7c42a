"""Array transfers between GPUs over NVIDIA's NCCL, using CuPy. Each rank has one GPU. As in PyTorch, the ranks of a
group share a communicator, which ``batch_isend_irecv`` also uses; each pair that sends single messages has its own.
Each communicator has a stream. An operation waits for the program's earlier work, and ``join`` makes later work wait
for the operation. NCCL runs a communicator's operations one after another. Two ranks wait for each other at their first
message, and a send may block until it is received, so ranks that all send first must use a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from ..backend.extras import how_to_install

DTYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
OPS = ("sum", "prod", "min", "max")
ALL = -1  # used instead of a peer
KEY_TAG = 2**20 + 2  # above the tags of messages
Parts = Sequence[tuple[int, Any]]
Start = Callable[[Any, int], None]  # enqueues a communicator's operations on a stream


class Operation:
    """An operation on a communicator's stream. ``source`` is the sender of a message."""

    def __init__(self, cupy: Any, comm: Any, stream: Any, start: Start, name: str, source: int = ALL) -> None:
        self._cupy, self.comm, self.stream, self.start, self.name, self.source = cupy, comm, stream, start, name, source
        self.over: Any = None  # an event after the operation on the stream

    def Test(self) -> bool:
        """Whether the result has arrived. Raises RuntimeError if the connection is lost."""
        self._check()
        return self.over is not None and bool(self.over.done)

    def join(self) -> None:
        """Make the current stream wait for the result. Raises RuntimeError if the connection is lost."""
        self._check()
        self._cupy.cuda.get_current_stream().wait_event(self.over)

    def _check(self) -> None:
        try:
            self.comm.check_async_error()
        except (RuntimeError, KeyError) as error:  # CuPy does not know NCCL's newest errors
            text = f"NCCL has lost a connection in {self.name} ({error}): look for the first error among all ranks"
            raise RuntimeError(text) from error


class Nccl:
    """Collectives and messages on GPUs; see ``mpi.Mpi``. Connects on the first call that requires it. ``comm`` is the
    MPI communicator of the same ranks (None if the world size is 1). Raises ImportError if CuPy cannot find NCCL."""

    def __init__(self, cupy: Any, comm: Any) -> None:
        self._nccl = import_module(f"{cupy.__name__}.cuda.nccl")  # CuPy does not import it automatically
        if not self._nccl.available:
            install = how_to_install("nvidia-nccl-cu12")
            what = "CuPy cannot find NCCL, which transfers tensors between GPUs (nvidia-nccl-cu13 for CUDA 13)"
            raise ImportError(f"{what}: {install}", name="cupy.cuda.nccl")
        self._cupy, self._mpi = cupy, comm
        self.rank: int = 0 if comm is None else comm.rank
        self.size: int = 1 if comm is None else comm.size
        self._device: int | None = None  # the device of the first array
        self._channels: dict[int, tuple[Any, Any]] = {}  # communicators and streams, by peer
        self._batch: list[Operation] | None = None

    def begin(self, call: str, out: Any, array: Any, op: str, root: int, sizes: Any) -> Operation:
        """Begin a collective; see ``Mpi``. Raises RuntimeError if NCCL does not support the reduction or dtype."""
        tensor = array if call.endswith("gather") else out
        count, kind = self._moved(tensor)
        number = self._reduction(tensor, op) if op else 0
        starts: dict[str, Start] = {
            "all_reduce": lambda c, s: c.allReduce(_at(array), _at(array), count, kind, number, s),
            "reduce": lambda c, s: c.reduce(_at(array), _at(array), count, kind, number, root, s),
            "reduce_scatter": lambda c, s: c.reduceScatter(_at(array), _at(out), count, kind, number, s),
            "broadcast": lambda c, s: c.broadcast(_at(array), _at(array), count, kind, root, s),
            "all_gather": lambda c, s: c.allGather(_at(array), _at(out), count, kind, s),
            "gather": lambda c, s: self._exchange(c, s, [(root, array)], self._parts(out)),
            "scatter": lambda c, s: self._exchange(c, s, self._parts(array), [(root, out)]),
            "all_to_all": lambda c, s: self._exchange(c, s, self._parts(array, sizes[1]), self._parts(out, sizes[0])),
        }
        return self._run(call, starts[call], tensor)

    def _parts(self, array: Any, sizes: Sequence[int] | None = None) -> list[tuple[int, Any]]:
        """An array's part for each rank, by default of equal size. Returns an empty list if the array is None."""
        if array is None:
            return []
        n = sizes or [array.size // self.size] * self.size
        return [(rank, array.reshape(-1)[sum(n[:rank]) : sum(n[: rank + 1])]) for rank in range(self.size)]

    def send(self, array: Any, to: int, tag: int) -> Operation:
        """Send to one rank, which must receive in the same order."""
        peer = self._number(to)
        return self._run("send", lambda c, s: self._exchange(c, s, [(peer, array)], []), array, to)

    def receive(self, array: Any, source: int | None, tag: int) -> Operation:
        if source is None:
            raise ValueError("NCCL can receive only from a specific rank: pass src")
        peer = self._number(source)
        return self._run("recv", lambda c, s: self._exchange(c, s, [], [(peer, array)]), array, source)

    def _number(self, peer: int) -> int:
        """The other rank's number in the communicator, which is the group's in a batch, and the pair's otherwise."""
        return int(peer > self.rank) if self._batch is None else peer

    def _exchange(self, comm: Any, stream: int, sends: Parts, receives: Parts) -> None:
        """Send arrays to ranks of a communicator and receive others."""
        for call, parts in ((comm.send, sends), (comm.recv, receives)):
            for rank, array in parts:
                if array.size:
                    call(_at(array), *self._moved(array), rank, stream)

    def _run(self, name: str, start: Start, array: Any, peer: int = ALL) -> Operation:
        """Begin an operation, or add it to the open batch."""
        number = int(array.device.id)
        self._device = number if self._device is None else self._device
        if number != self._device:
            text = f"NCCL uses this rank's cuda:{self._device}, but a tensor is on cuda:{number}"
            raise RuntimeError(f"{text}: first call minigrad.cuda.set_device(distributed.get_node_local_rank())")
        with self._cupy.cuda.Device(number):
            pair = ALL if self._batch is not None else peer
            if pair not in self._channels:
                self._channels[pair] = self._connect(pair), self._cupy.cuda.Stream(non_blocking=True)
            operation = Operation(self._cupy, *self._channels[pair], start, name, peer)
            if self._batch is None:
                self._launch([operation])
            else:
                self._batch.append(operation)
        return operation

    def _launch(self, operations: Sequence[Operation]) -> None:
        event: Callable[[Any], Any] = lambda stream: stream.record(self._cupy.cuda.Event(disable_timing=True))
        before = event(self._cupy.cuda.get_current_stream())
        for operation in operations:
            operation.stream.wait_event(before)
        self._nccl.groupStart()
        try:
            for operation in operations:
                operation.start(operation.comm, operation.stream.ptr)
        finally:  # an open group would swallow later calls
            self._nccl.groupEnd()
        for operation in operations:
            operation.over = event(operation.stream)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A context manager that queues operations and begins all of them at the end of the block."""
        outer, self._batch = self._batch, [] if self._batch is None else self._batch
        try:
            yield
            if outer is None and self._batch:
                self._launch(self._batch)
        finally:
            self._batch = outer

    def _connect(self, peer: int) -> Any:
        """A communicator of all ranks or of two. The first of these ranks creates NCCL's unique id."""
        rank, size = (self.rank, self.size) if peer == ALL else (int(self.rank > peer), 2)
        key = np.zeros(128, np.uint8)
        if rank == 0:  # CuPy returns bytes; before version 14, numbers from -128 to 127
            key[:] = [number % 256 for number in self._nccl.get_unique_id()]
        if peer != ALL:
            self._mpi.Send(key, peer, KEY_TAG) if rank == 0 else self._mpi.Recv(key, peer, KEY_TAG)
        elif self._mpi is not None:
            self._mpi.Bcast(key)
        try:
            return self._nccl.NcclCommunicator(size, key.tobytes(), rank)
        except TypeError:  # CuPy 13
            return self._nccl.NcclCommunicator(size, tuple(key.view(np.int8).tolist()), rank)

    def close(self) -> None:
        """Close all connections. Operations that are still running are aborted."""
        for _, (comm, stream) in sorted(self._channels.items()):  # in the same order on all ranks: NCCL may wait
            (comm.destroy if stream.done else comm.abort)()
        self._channels = {}

    def _moved(self, array: Any) -> tuple[int, int]:
        """The number of elements in a dtype that NCCL supports, and NCCL's number for that dtype."""
        kind = array.dtype
        if kind.kind == "c":
            return array.size * 2, getattr(self._nccl, f"NCCL_FLOAT{kind.itemsize * 4}")
        if kind.name in DTYPES:
            return array.size, getattr(self._nccl, f"NCCL_{kind.name.upper()}")
        return array.nbytes, self._nccl.NCCL_UINT8

    def _reduction(self, array: Any, op: str) -> int:
        """NCCL's number for a reduction. Raises RuntimeError if NCCL does not support it."""
        kind = array.dtype
        if op not in OPS or not (kind.name in DTYPES or (kind.kind == "c" and op == "sum")):
            text = f"NCCL does not support {op!r} of {kind.name}"
            raise RuntimeError(f"{text}: move the tensor to the CPU, where MPI reduces it, or convert it")
        return int(getattr(self._nccl, f"NCCL_{op.upper()}"))


def _at(array: Any) -> int:
    return int(array.data.ptr)
