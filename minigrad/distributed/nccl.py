"""The transport of GPUs: NVIDIA's NCCL, by CuPy. One rank has one GPU.

**Order on the GPU.** Before an operation, its stream waits for an event that the call recorded on the current stream:
what the program began before comes first. ``done()`` asks for an event behind the operation. When that has passed, the
result is in memory, and whatever the program begins then, on any stream, comes later by itself. Where all ranks are
about to wait, ``all_reduce`` goes on the current stream, and nobody waits on the CPU.

**Messages.** NCCL runs the operations of one communicator one after another, whatever streams they are on, and a
message may end only when it is received: two ranks that both send first would wait for ever. So each direction between
two ranks is a communicator of its own, with its own stream. NCCL knows no tags either, but pairs messages by their
order: the receiver says through MPI which one is next (a ticket), and both sides begin them in that order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend.dtype import Array
from ..backend.extras import how_to_install
from .transport import Done, Request

if TYPE_CHECKING:
    from .mpi import Mpi

DTYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
OPS = ("sum", "prod", "min", "max")
KEY, TICKET = 21, 22  # tags; messages.py begins at 100, and the roll call has others
KEY_BYTES = 128  # of what NCCL calls a unique id
A_GPU_EACH = (
    "each rank of a machine needs a GPU of its own: begin with "
    "minigrad.cuda.set_device(minigrad.distributed.get_node_local_rank())"
)
HINTS = {
    1: "a call of CUDA's failed, for want of memory or by an error before this one",
    2: "a socket or shared memory failed: NCCL_SOCKET_IFNAME chooses the network; a container needs room in /dev/shm",
    5: A_GPU_EACH,
    6: "another rank has ended, or the network is down: look for the first error among all ranks",
}
Key = np.ndarray[Any, Any]
Start = Callable[[Any, int], None]  # puts operations of a communicator on a stream


def library(cupy: Any) -> Any:
    """A CuPy's ``cuda.nccl``, which it does not import by itself."""
    return import_module(f"{cupy.__name__}.cuda.nccl")


class Nccl:
    """Collectives on GPUs; see ``Transport``.

    Nothing is connected before the first call that needs it.

    Args:
        cupy: the module. control: an MPI of the same ranks; None in a world of one.

    Raises:
        ImportError: CuPy finds no NCCL.
    """

    name = "nccl"

    def __init__(self, cupy: Any, control: Mpi | None) -> None:
        self._nccl = library(cupy)
        if not self._nccl.available:
            install = how_to_install("cuda", "nvidia-nccl-cu12")
            what = "CuPy finds no NCCL, which carries tensors between GPUs (for CUDA 13 it is nvidia-nccl-cu13)"
            raise ImportError(f"{what}: {install}", name="cupy.cuda.nccl")
        self.rank, self.size = (0, 1) if control is None else (control.rank, control.size)
        self._cupy, self._control = cupy, control
        self._device: int | None = None  # of the first array: it decides
        self._all: Channel | None = None
        self._inbound: dict[int, Link] = {}  # by the rank that sends
        self._outbound: dict[int, Outbound] = {}  # by the rank that receives
        self._said: list[Request] = []  # what MPI may still have to send

    # Reductions ---------------------------------------------------------------------------------------------

    def all_reduce(self, array: Array, op: str, together: bool) -> Request:
        """See ``Transport``. Raises RuntimeError, as all reductions: NCCL has no such one of this dtype."""
        dtype, each, number = self._reduction(array, op)

        def start(comm: Any, stream: int) -> None:
            comm.allReduce(array.data.ptr, array.data.ptr, array.size * each, dtype, number, stream)

        return self._among_all(array).call("all_reduce", start, here=together)

    def reduce(self, array: Array, op: str, root: int) -> Request:
        """See ``Transport``."""
        dtype, each, number = self._reduction(array, op)

        def start(comm: Any, stream: int) -> None:
            comm.reduce(array.data.ptr, array.data.ptr, array.size * each, dtype, number, root, stream)

        return self._among_all(array).call("reduce", start)

    def reduce_scatter(self, out: Array, parts: Array, op: str) -> Request:
        """See ``Transport``."""
        dtype, each, number = self._reduction(out, op)

        def start(comm: Any, stream: int) -> None:
            comm.reduceScatter(parts.data.ptr, out.data.ptr, out.size * each, dtype, number, stream)

        return self._among_all(out, parts).call("reduce_scatter", start)

    # Moving -------------------------------------------------------------------------------------------------

    def broadcast(self, array: Array, root: int) -> Request:
        """See ``Transport``."""
        dtype, each = self._moved(array)

        def start(comm: Any, stream: int) -> None:
            comm.broadcast(array.data.ptr, array.data.ptr, array.size * each, dtype, root, stream)

        return self._among_all(array).call("broadcast", start)

    def all_gather(self, out: Array, array: Array) -> Request:
        """See ``Transport``."""
        dtype, each = self._moved(array)

        def start(comm: Any, stream: int) -> None:
            comm.allGather(array.data.ptr, out.data.ptr, array.size * each, dtype, stream)

        return self._among_all(array, out).call("all_gather", start)

    def gather(self, out: Array | None, array: Array, root: int) -> Request:
        """See ``Transport``."""
        rows = [] if out is None else self._rows(out)
        return self._among_all(array, out).call("gather", self._exchange([(root, array)], rows))

    def scatter(self, array: Array, parts: Array | None, root: int) -> Request:
        """See ``Transport``."""
        rows = [] if parts is None else self._rows(parts)
        return self._among_all(array, parts).call("scatter", self._exchange(rows, [(root, array)]))

    def all_to_all(self, out: Array, parts: Array, received: Sequence[int], sent: Sequence[int]) -> Request:
        """See ``Transport``."""
        start = self._exchange(_cut(parts, sent), _cut(out, received))
        return self._among_all(out, parts).call("all_to_all", start)

    def _exchange(self, sends: Iterable[tuple[int, Array]], receives: Iterable[tuple[int, Array]]) -> Start:
        """Send arrays to ranks and receive others, all at once; nobody waits for what is empty."""
        sends, receives = ([(rank, array) for rank, array in each if array.size] for each in (sends, receives))

        def start(comm: Any, stream: int) -> None:
            with self._at_once():
                for rank, array in sends:
                    dtype, each = self._moved(array)
                    comm.send(array.data.ptr, array.size * each, dtype, rank, stream)
                for rank, array in receives:
                    dtype, each = self._moved(array)
                    comm.recv(array.data.ptr, array.size * each, dtype, rank, stream)

        return start

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        self._nccl.groupStart()
        try:
            yield
        finally:  # a group that is left open would swallow the calls that follow
            self._nccl.groupEnd()

    def _rows(self, array: Array) -> list[tuple[int, Array]]:
        return list(enumerate(array.reshape(self.size, -1))) if array.size else []

    # Messages -----------------------------------------------------------------------------------------------

    def send(self, array: Array, to: int, tag: int) -> Request:
        """See ``Transport``."""
        device = self._checked(array)
        if to not in self._outbound:
            self._outbound[to] = Outbound(self._cupy, device, self._with_others(), to)
        return self._outbound[to].call(self._exchange([(1, array)], []), tag)

    def receive(self, array: Array, source: int, tag: int) -> Request:
        """See ``Transport``."""
        device, control = self._checked(array), self._with_others()
        if source not in self._inbound:
            what = f"ranks {source} and {self.rank}"
            self._inbound[source] = Link(self._cupy, device, 1, 2, self._new_key(), Done(), what)
        channel = self._inbound[source]
        self._said = [request for request in self._said if not request.done()]
        self._said.append(control.send(_ticket(channel.key, tag), source, TICKET))
        return channel.call("recv", self._exchange([], [(0, array)]))

    def _with_others(self) -> Mpi:
        if self._control is None:
            raise ValueError("a rank cannot send to itself, and there is no other")
        return self._control

    # Connecting ---------------------------------------------------------------------------------------------

    def _among_all(self, array: Array, other: Array | None = None) -> Channel:
        """The channel of all ranks, for one or two arrays. All come here at the same place of the program."""
        device = self._checked(array)
        if other is not None:
            self._checked(other)
        if self._all is None:
            key, arrives = self._shared_key()
            what = "the rank" if self.size == 1 else f"{self.size} ranks"
            self._all = Channel(self._cupy, device, self.rank, self.size, key, arrives, what)
        return self._all

    def _shared_key(self) -> tuple[Key, Request]:
        """Rank 0's key, and when it is there. It comes in messages: a broadcast of MPI's would have to keep its place
        among the headers of later calls (``agreement.py``), which are under way."""
        if self.rank > 0:
            key = np.zeros(KEY_BYTES, np.uint8)
            return key, self._with_others().receive(key, 0, KEY)
        key = self._new_key()
        if self._control is not None:
            self._said += [self._control.send(key, rank, KEY) for rank in range(1, self.size)]
        return key, Done()

    def _new_key(self) -> Key:
        """NCCL's new unique id. CuPy gives 128 bytes; before its version 14, as many numbers from -128 to 127."""
        try:
            return np.array([number % 256 for number in self._nccl.get_unique_id()], np.uint8)
        except (RuntimeError, KeyError) as error:
            raise explained(error, "NCCL does not start") from error

    def _checked(self, array: Array) -> int:
        """The array's GPU. Raises RuntimeError: it is another one than this rank's."""
        number = int(array.device.id)
        if self._device is None:
            self._device = number
        if number != self._device:
            raise RuntimeError(
                f"NCCL connects this rank's cuda:{self._device}, where the first tensor was, and a tensor is on "
                f"cuda:{number}: move it there; {A_GPU_EACH}"
            )
        return number

    def close(self) -> None:
        """End all connections."""
        ends = {(source, self.rank): channel for source, channel in self._inbound.items()}
        ends |= {(self.rank, to): outbound.channel for to, outbound in self._outbound.items()}
        # NCCL may wait for the other ranks here: all take one order, in which nobody waits for who waits for it
        channels = [] if self._all is None else [self._all]
        for channel in [*channels, *(ends[pair] for pair in sorted(ends))]:
            channel.close()
        self._all, self._inbound, self._outbound = None, {}, {}

    # What NCCL knows ----------------------------------------------------------------------------------------

    def _moved(self, array: Array) -> tuple[int, int]:
        """NCCL's number of a dtype that an array has or can be moved as, and how many of it are an element."""
        kind = array.dtype
        if kind.kind == "c":
            return getattr(self._nccl, f"NCCL_FLOAT{kind.itemsize * 4}"), 2
        if kind.name in DTYPES:
            return getattr(self._nccl, f"NCCL_{kind.name.upper()}"), 1
        return self._nccl.NCCL_UINT8, kind.itemsize

    def _reduction(self, array: Array, op: str) -> tuple[int, int, int]:
        """The same for a reduction, and its number. Raises RuntimeError: NCCL does not have it."""
        kind = array.dtype
        if op not in OPS or not (kind.name in DTYPES or (kind.kind == "c" and op == "sum")):
            raise RuntimeError(
                f"NCCL has no reduction {op!r} of {kind.name}: move the tensor to the CPU, where MPI reduces it, or "
                "convert it (NCCL has sum, prod, min and max of real numbers, but for int16 and uint16, and the sum of "
                "complex ones)"
            )
        return (*self._moved(array), getattr(self._nccl, f"NCCL_{op.upper()}"))


class Channel:
    """A communicator of NCCL's, its stream, and the calls that wait until it is there.

    NCCL makes a communicator when all its ranks have come, and waits meanwhile; so a thread of its own does it. A rank
    that waited itself would not come to its other calls, for which those ranks may be waiting.

    Args:
        device: the number of the GPU. rank, size: in this channel.
        key: what its ranks have in common. arrives: when the key is there.
        what: who is connected, for errors.
    """

    def __init__(self, cupy: Any, device: int, rank: int, size: int, key: Key, arrives: Request, what: str) -> None:
        self.key, self._device = key, device
        self._cupy, self._rank, self._size, self._arrives, self._what = cupy, rank, size, arrives, what
        with self._on_gpu():
            self._stream = cupy.cuda.Stream(non_blocking=True)
        self._comm: Any = None
        self._thread: Thread | None = None
        self._error: RuntimeError | None = None
        self._waiting: deque[Call] = deque()

    def call(self, name: str, start: Start, here: bool = False) -> Request:
        """Begin an operation behind those before it; with ``here`` on the current stream, if that is possible now."""
        if not (here and self.move()):
            call = self.prepared(name, start, self.move)
            self.put(call)
            return call
        with self._on_gpu():
            _run(name, start, self._comm, self._cupy.cuda.get_current_stream().ptr)
        return Done()

    def prepared(self, name: str, start: Start, move: Callable[[], Any]) -> Call:
        """A call that comes after what the current stream has now."""
        with self._on_gpu():
            return Call(name, start, self._event(self._cupy.cuda.get_current_stream()), move, self.check)

    def put(self, call: Call) -> None:
        """Begin a call when its turn comes."""
        self._waiting.append(call)
        self.move()

    def move(self) -> bool:
        """Move on. Returns whether the communicator is there. Raises RuntimeError: it cannot be made."""
        if self._error is not None:
            raise self._error
        if self._thread is None and self._arrives.done():
            self._thread = Thread(target=self._connect, args=(self.key.tobytes(),), name="nccl", daemon=True)
            self._thread.start()
        if self._comm is None:
            return False
        while self._waiting:
            call = self._waiting.popleft()
            with self._on_gpu():
                call.begin(self._comm, self._stream, self._event)
        return True

    def check(self) -> None:
        """Raise RuntimeError if an operation has failed on its way."""
        if self._error is not None:
            raise self._error
        try:
            self._comm.check_async_error()
        except (RuntimeError, KeyError) as error:
            self._error = explained(error, f"NCCL has lost the connection between {self._what}")
            raise self._error from error

    def close(self) -> None:
        """Free the communicator. What is still under way here will have no end: it is broken off."""
        if self._comm is not None:
            whole = self._error is None and not self._waiting and self._stream.done
            (self._comm.destroy if whole else self._comm.abort)()
        self._comm = None
        self._error = self._error or RuntimeError(f"NCCL's connection between {self._what} is closed")

    def _on_gpu(self) -> Any:
        """A context, for one thread."""
        return self._cupy.cuda.Device(self._device)

    def _event(self, stream: Any) -> Any:
        """An event behind what a stream has now."""
        return stream.record(self._cupy.cuda.Event(disable_timing=True))

    def _connect(self, key: bytes) -> None:
        """Make the communicator, in the thread."""
        try:
            with self._on_gpu():
                comm = self._made(key)
        except Exception as error:
            self._error = explained(error, f"NCCL cannot connect {self._what}")
            self._error.__cause__ = error
        else:
            self._comm = comm

    def _made(self, key: bytes) -> Any:
        make = library(self._cupy).NcclCommunicator
        try:
            return make(self._size, key, self._rank)
        except TypeError:  # CuPy 13
            return make(self._size, tuple(np.frombuffer(key, np.int8).tolist()), self._rank)


class Link(Channel):
    """The channel of the messages from one rank, which has number 0 in it, to another, number 1."""

    def _made(self, key: bytes) -> Any:
        """The communicator, after a byte went through it: NCCL connects two ranks at their first message, and whoever
        begins that waits for the other."""
        comm, byte = super()._made(key), self._cupy.zeros(1, np.uint8)
        self._stream.wait_event(self._event(self._cupy.cuda.get_current_stream()))
        greet = comm.recv if self._rank else comm.send
        greet(byte.data.ptr, 1, library(self._cupy).NCCL_UINT8, 1 - self._rank, self._stream.ptr)
        self._stream.synchronize()
        return comm


class Call:
    """An operation of NCCL's that begins when its turn comes.

    Args:
        start: puts it on a stream; it holds the arrays. before: the event that it has to wait for.
        move, check: what moves it on, and what raises the errors of its way.
    """

    def __init__(
        self, name: str, start: Start, before: Any, move: Callable[[], Any], check: Callable[[], None]
    ) -> None:
        self._name, self._start, self._before, self._move, self._check = name, start, before, move, check
        self._after: Any = None
        self._error: RuntimeError | None = None

    def begin(self, comm: Any, stream: Any, event: Callable[[Any], Any]) -> None:
        """Put it on the channel's stream. An error waits for who asks whether it is done."""
        stream.wait_event(self._before)
        try:
            _run(self._name, self._start, comm, stream.ptr)
        except RuntimeError as error:
            self._error = error
        self._after = event(stream)

    def done(self) -> bool:
        """Whether the result is there. Raises RuntimeError: it will not come."""
        if self._after is None:
            self._move()
        if self._error is not None:
            raise self._error
        if self._after is None:
            return False
        passed: bool = self._after.done
        self._check()  # where an operation has failed, the stream may have gone on
        return passed


class Outbound:
    """The messages to one rank, which begin in the order in which it asks for them."""

    def __init__(self, cupy: Any, device: int, control: Mpi, to: int) -> None:
        self._control, self._to = control, to
        self._ticket = np.zeros(KEY_BYTES + 8, np.uint8)
        self._asked: Request | None = control.receive(self._ticket, to, TICKET)
        what = f"ranks {control.rank} and {to}"
        self.channel = Link(cupy, device, 0, 2, self._ticket[:KEY_BYTES], self._asked, what)
        self._unasked: list[tuple[int, Call]] = []

    def call(self, start: Start, tag: int) -> Request:
        """Send when the receiver asks for a message of this tag."""
        call = self.channel.prepared("send", start, self.move)
        self._unasked.append((tag, call))
        self.move()
        return call

    def move(self) -> None:
        """Begin what is asked for. Raises RuntimeError: there is no connection."""
        while self._unasked:
            if self._asked is None:
                self._asked = self._control.receive(self._ticket, self._to, TICKET)
            if not self._asked.done():
                break
            tag = int(self._ticket[KEY_BYTES:].view(np.int64)[0])
            wanted = next((entry for entry in self._unasked if entry[0] == tag), None)
            if wanted is None:  # announced, and not yet sent: this rank is on its way to it
                break
            self._asked = None
            self._unasked.remove(wanted)
            self.channel.put(wanted[1])
        self.channel.move()


def _ticket(key: Key, tag: int) -> Key:
    """What a receiver sends: "the next of your messages that I receive is that of this tag", and the key."""
    return np.concatenate([key, np.array([tag], np.int64).view(np.uint8)])


def _cut(array: Array, sizes: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """The parts of a flat array, with their numbers."""
    begin = 0
    for number, size in enumerate(sizes):
        yield number, array[begin : begin + size]
        begin += size


def _run(name: str, start: Start, comm: Any, stream: int) -> None:
    """Put an operation on a stream. Raises RuntimeError: NCCL refuses it."""
    try:
        start(comm, stream)
    except (RuntimeError, KeyError) as error:
        raise explained(error, f"NCCL refuses {name}") from error


def explained(error: Exception, what: str) -> RuntimeError:
    """What failed, what NCCL says, and what to do. CuPy has no names for NCCL's newest errors: it raises KeyError."""
    number = error.args[0] if isinstance(error, KeyError) else getattr(error, "status", None)
    said = f"error {number}" if isinstance(error, KeyError) else str(error)
    return RuntimeError(f"{what} ({said}){f': {HINTS[number]}' if number in HINTS else ''}")
