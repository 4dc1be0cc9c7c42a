"""NCCL as a transport: on the stand-in, with ranks as threads, and on a GPU if there is one."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.distributed as dist
from minigrad.backend import cuda
from minigrad.distributed.nccl import Nccl
from tests.support import nccl as fake, streams, strict
from tests.support.cases import raises
from tests.support.ranks import until
from tests.support.strict_array import NAMESPACE, Device, StrictArray

SECONDS = 60.0  # until a test that hangs fails
FLOAT32 = 7  # NCCL's number for the dtype


class Control:
    """The MPI functions that the transport uses, among threads."""

    def __init__(self, rank: int, size: int, boxes: dict[Any, SimpleQueue[Any]]) -> None:
        self.rank, self.size, self._boxes = rank, size, boxes

    def Bcast(self, array: Any) -> None:
        for other in range(1, self.size):
            if self.rank == 0:
                self.Send(array, other, -1)
        if self.rank:
            self.Recv(array, 0, -1)

    def Send(self, array: Any, to: int, tag: int) -> None:
        self._boxes[self.rank, to, tag].put(array.copy())

    def Recv(self, array: Any, source: int, tag: int) -> None:
        array[:] = self._boxes[source, self.rank, tag].get(timeout=SECONDS)


def among(ranks: int, body: Callable[[Nccl], Any]) -> list[Any]:
    """The results of ``body`` in the given number of ranks, which are threads."""
    boxes: dict[Any, SimpleQueue[Any]] = defaultdict(SimpleQueue)

    def run(rank: int) -> Any:
        transport = Nccl(NAMESPACE, Control(rank, ranks, boxes) if ranks > 1 else None)
        try:
            return body(transport)
        finally:
            transport.close()

    with ThreadPoolExecutor(ranks) as pool:
        return [each.result(SECONDS) for each in [pool.submit(run, rank) for rank in range(ranks)]]


def over(*operations: Any) -> None:
    """Wait for operations."""
    until(lambda: False not in [operation.Test() for operation in operations], "the operations are over")


def full(value: complex, size: int = 3, dtype: Any = np.float32) -> Any:
    return NAMESPACE.full(size, value, dtype)


def reduce_in(transport: Nccl, array: Any) -> Any:
    return transport.begin("all_reduce", array, array, "sum", 0, None)


@pytest.fixture
def busy_stream() -> Iterator[tuple[streams.Stream, threading.Event]]:
    """A stream that runs a kernel until the flag is set."""
    stream, flag = streams.Stream(), threading.Event()
    stream.launch_host_func(lambda _: flag.wait(SECONDS), None)
    yield stream, flag
    flag.set()


def test_streams_wait_for_each_other(busy_stream: tuple[streams.Stream, threading.Event]) -> None:
    """An operation waits for earlier work, and work after ``join`` waits for the operation."""
    stream, flag = busy_stream
    transport, array, out, values = Nccl(NAMESPACE, None), full(1), full(0), list[float]()
    with stream:
        stream.launch_host_func(lambda _: array.fill(5), None)
        operations = [reduce_in(transport, array), transport.begin("all_gather", out, array, "", 0, None)]
        operations[1].join()
        stream.launch_host_func(lambda _: values.append(float(out.get()[0])), None)
    threading.Event().wait(0.05)  # time for work that does not wait
    assert not operations[1].Test() and out.get()[0] == 0 and not values
    flag.set()
    over(*operations)
    stream.synchronize()
    assert out.get().tolist() == [5, 5, 5] and values == [5]
    transport.close()


def test_messages() -> None:
    """Messages between two ranks use a separate communicator and end when they are received; messages in a batch begin
    together, in any order."""

    def body(transport: Nccl) -> Any:
        other, message = 1 - transport.rank, full(0)
        if transport.rank == 0:
            over(transport.send(full(7), 1, 5))
        else:
            over(transport.receive(message, 0, 0))
            assert message.get()[0] == 7
        with transport.at_once(), transport.at_once():
            operations = [transport.send(full(transport.rank), other, 0), transport.receive(message, other, 0)]
            assert not operations[0].Test()
        over(*operations)
        assert operations[1].source == other
        raises(ValueError, "NCCL can receive only from a specific rank", lambda: transport.receive(message, None, 0))
        return message.get()[0]

    assert among(2, body) == [1, 0]


# Errors -----------------------------------------------------------------------------------------------------


def test_nccl_is_missing_or_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bytes:
        raise fake.NcclError(fake.UNHANDLED)

    monkeypatch.setattr(fake.NCCL, "get_unique_id", refuse)
    start = lambda: reduce_in(Nccl(NAMESPACE, None), full(1))
    raises(RuntimeError, "UNHANDLED_CUDA_ERROR", start)
    monkeypatch.setattr(fake.NCCL, "available", False)
    raises(ImportError, r"CuPy cannot find NCCL.*nvidia-nccl-cu12", lambda: Nccl(NAMESPACE, None))


def test_a_tensor_on_another_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    transport, other = Nccl(NAMESPACE, None), Device()
    over(reduce_in(transport, full(1)))
    other.id = 3
    monkeypatch.setattr(StrictArray, "device", other)
    text = r"uses this rank's cuda:0, but a tensor is on cuda:3: .*set_device"
    raises(RuntimeError, text, lambda: reduce_in(transport, full(1)))
    transport.close()


def test_two_ranks_on_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake, "GPU", 4)
    among(2, lambda transport: raises(RuntimeError, "INVALID_USAGE", lambda: reduce_in(transport, full(1))))


def test_nccl_refuses_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its group of calls is then closed."""
    transport, out = Nccl(NAMESPACE, None), full(0)
    with monkeypatch.context() as patch:
        patch.setattr(fake.NCCL, "NCCL_FLOAT32", 77)
        raises(RuntimeError, "INVALID_ARGUMENT", lambda: transport.begin("gather", out, full(1), "", 0, None))
    over(transport.begin("gather", out, full(3), "", 0, None))
    assert out.get()[0] == 3
    transport.close()


def test_another_rank_ends() -> None:
    """NCCL's error 6 has no name in CuPy 13, which raises KeyError."""
    ready = threading.Barrier(2)

    def body(transport: Nccl) -> None:
        over(reduce_in(transport, full(1)))
        ready.wait(SECONDS)
        if transport.rank == 0:
            operation = reduce_in(transport, full(1))
            text = r"NCCL has lost a connection in all_reduce \(6\)"
            raises(RuntimeError, text, lambda: over(operation))
        else:
            transport._channels[-1][0].abort()

    among(2, body)


def test_operations_under_way_at_the_end(busy_stream: tuple[streams.Stream, threading.Event]) -> None:
    """NCCL's own shutdown would wait for them."""
    (stream, flag), transport = busy_stream, Nccl(NAMESPACE, None)
    with stream:
        reduce_in(transport, full(1))
    transport.close()
    flag.set()


def test_cupy_13(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its unique ids are tuples of signed numbers."""

    class Older(fake.NcclCommunicator):
        def __init__(self, ndev: int, commId: tuple[int, ...], rank: int) -> None:
            if type(commId) is not tuple:
                raise TypeError(f"Argument 'commId' has incorrect type (expected tuple, got {type(commId).__name__})")
            self._join(ndev, bytes(number % 256 for number in commId), rank)

    ids = fake.get_unique_id
    monkeypatch.setattr(fake.NCCL, "NcclCommunicator", Older)
    monkeypatch.setattr(fake.NCCL, "get_unique_id", lambda: tuple(np.frombuffer(ids(), np.int8).tolist()))

    def body(transport: Nccl) -> float:
        array = full(1)
        over(reduce_in(transport, array))
        return float(array.get()[0])

    assert among(2, body) == [2, 2]


def test_the_stand_in_refuses() -> None:
    comm, array = fake.NcclCommunicator(1, fake.get_unique_id(), 0), full(1, 4)
    place = array.data.ptr
    for wrong in (
        (place, place, 4, 99, 0, 0),  # a dtype
        (place, place, 4, FLOAT32, 9, 0),  # an operation
        (place, place, 5, FLOAT32, 0, 0),  # a length
        (place, np.ones(4, np.float32).ctypes.data, 4, FLOAT32, 0, 0),  # a pointer
    ):
        raises(fake.NcclError, None, lambda wrong=wrong: comm.allReduce(*wrong))
        assert array.get().tolist() == [1] * 4
    raises(TypeError, "an integer is required", lambda: comm.allReduce(array, array, 4, FLOAT32, 0, 0))
    raises(KeyError, None, lambda: comm.allReduce(place, place, 4, FLOAT32, 0, 12345678))
    raises(fake.NcclError, "INVALID_USAGE", fake.groupEnd)
    comm.destroy()


# One rank, on the stand-in and on a GPU ---------------------------------------------------------------------

GPU_WITHOUT_NCCL = cuda.is_available() and not dist.is_nccl_available()


@pytest.fixture(
    params=[
        "strict",
        pytest.param(
            "cuda",
            marks=[
                pytest.mark.cuda,
                pytest.mark.skipif(not cuda.is_available(), reason=cuda.why_not() or "there is a GPU"),
                pytest.mark.skipif(GPU_WITHOUT_NCCL, reason="CuPy finds no NCCL: pip install nvidia-nccl-cu12"),
            ],
        ),
    ]
)
def alone(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device, in a world of one rank that uses NCCL."""
    strict.install(emulate=False)
    dist.init_process_group("nccl", rank=0, world_size=1)
    yield request.param
    dist.destroy_process_group()


def test_one_rank(alone: str) -> None:
    assert dist.get_backend() == "nccl"
    x = minigrad.arange(6, dtype=minigrad.float32, device=alone)
    before, out = x.clone(), minigrad.zeros(6, device=alone)
    dist.all_reduce(x)
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    assert work is not None
    work.wait()
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    for call in (
        lambda: dist.all_gather([out], x),
        lambda: dist.gather(x, [out], 0),
        lambda: dist.scatter(out, [x], 0),
        lambda: dist.reduce_scatter(out, [x]),
        lambda: dist.all_to_all([out], [x]),
        lambda: dist.all_to_all_single(out, x),
    ):
        out.zero_()
        call()
        assert out.cpu().equal(before.cpu())
    z = minigrad.full((3,), 1 + 2j, device=alone)
    dist.all_reduce(z)
    assert z.cpu().tolist() == [1 + 2j] * 3
    whole = minigrad.tensor([1, 2], dtype=minigrad.int16, device=alone)
    dist.broadcast(whole, 0)
    with pytest.raises(RuntimeError, match="NCCL does not support 'sum' of int16"):
        dist.all_reduce(whole)
    assert whole.tolist() == [1, 2]


def test_later_kernels_see_the_result(alone: str) -> None:
    """Kernels before and after, without an explicit wait in between."""
    x = minigrad.ones((1000, 1000), device=alone)
    for _ in range(5):
        x = x * 2
        dist.all_reduce(x)
        x = x - 1
    assert float(x.max()) == float(x.min()) == 1
