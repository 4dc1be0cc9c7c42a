"""NCCL as a transport: on the stand-in, with ranks as threads, and on a GPU where there is one."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.distributed as dist
from minigrad.backend import cuda
from minigrad.distributed.nccl import Nccl
from minigrad.distributed.transport import Done, Request
from tests.support import nccl as fake
from tests.support import streams, strict
from tests.support.ranks import until
from tests.support.strict_array import NAMESPACE, Device, StrictArray

SECONDS = 60.0  # until a test that waits for nothing fails
Array = np.ndarray[Any, Any]
Body = Callable[[Nccl], Any]
FLOAT32 = 7  # NCCL's number


class Control:
    """What the transport asks of an MPI, among threads."""

    def __init__(self, rank: int, size: int, boxes: dict[tuple[int, int, int], deque[Array]]) -> None:
        self.rank, self.size, self._boxes = rank, size, boxes

    def send(self, array: Array, to: int, tag: int) -> Request:
        self._boxes[self.rank, to, tag].append(array.copy())
        return Done()

    def receive(self, array: Array, source: int, tag: int) -> Request:
        return Letter(array, self._boxes[source, self.rank, tag])


class Letter:
    def __init__(self, array: Array, box: deque[Array]) -> None:
        self._array, self._box, self._over = array, box, False

    def done(self) -> bool:
        if not self._over and self._box:
            self._array[:] = self._box.popleft()
            self._over = True
        return self._over


def among(ranks: int, body: Body) -> list[Any]:
    """What ``body`` returns in each of so many ranks, which are threads."""
    boxes: dict[tuple[int, int, int], deque[Array]] = defaultdict(deque)

    def run(rank: int) -> Any:
        transport = Nccl(NAMESPACE, Control(rank, ranks, boxes) if ranks > 1 else None)  # type: ignore[arg-type]
        try:
            return body(transport)
        finally:
            transport.close()

    with ThreadPoolExecutor(ranks) as pool:
        return [each.result(SECONDS) for each in [pool.submit(run, rank) for rank in range(ranks)]]


def over(*requests: Request) -> None:
    """Wait for requests. Each is asked: that moves it on."""
    until(lambda: min([request.done() for request in requests]), "the requests are over")


def full(value: complex, size: int = 3, dtype: Any = np.float32) -> Any:
    return NAMESPACE.full(size, value, dtype)


# Numbers ----------------------------------------------------------------------------------------------------


# Order ------------------------------------------------------------------------------------------------------


@pytest.fixture
def held() -> Iterator[tuple[streams.Stream, threading.Event]]:
    """A stream that is at a kernel until the flag is set."""
    stream, flag = streams.Stream(), threading.Event()
    stream.launch_host_func(lambda _: flag.wait(SECONDS), None)
    yield stream, flag
    flag.set()


@pytest.mark.parametrize("together", [False, True])
def test_it_waits_for_the_current_stream(held: tuple[streams.Stream, threading.Event], together: bool) -> None:
    """The first call finds no communicator yet; the second may go on the current stream."""
    stream, flag = held
    transport, array = Nccl(NAMESPACE, None), full(1)
    out = full(0)
    over(transport.all_reduce(full(1), "sum", True))
    with stream:
        stream.launch_host_func(lambda _: array.fill(5), None)
        requests = [transport.all_reduce(array, "sum", together), transport.all_gather(out, array)]
    threading.Event().wait(0.05)  # time for what does not wait
    assert not requests[1].done() and out.get()[0] == 0
    flag.set()
    over(requests[1])
    assert out.get().tolist() == [5, 5, 5]
    transport.close()


def test_nobody_waits_for_the_communicator() -> None:
    """A call returns before the other ranks have made theirs."""
    called = threading.Event()

    def body(transport: Nccl) -> None:
        if transport.rank:
            assert called.wait(SECONDS)
        request = transport.all_reduce(full(1), "sum", True)
        assert not transport.rank or called.is_set()
        called.set()
        over(request)

    among(2, body)


# Messages ---------------------------------------------------------------------------------------------------


def test_a_message_is_not_sent_before_it_is_asked_for() -> None:
    ask = threading.Event()

    def body(transport: Nccl) -> None:
        if transport.rank:
            ask.wait(SECONDS)
            over(transport.receive(full(0), 0, 1))
        else:
            requests = [transport.send(full(1), 1, tag) for tag in (3, 1)]
            assert not any(request.done() for request in requests)
            ask.set()
            over(requests[1])
            assert not requests[0].done()

    among(2, body)


def test_a_rank_alone_has_nobody_to_send_to() -> None:
    transport = Nccl(NAMESPACE, None)
    for call in (transport.send, transport.receive):
        with pytest.raises(ValueError, match="a rank cannot send to itself, and there is no other"):
            call(full(1), 0, 0)


def test_a_message_of_another_length() -> None:
    def body(transport: Nccl) -> None:
        request = transport.receive(full(0), 0, 1) if transport.rank else transport.send(full(0, 4), 1, 1)
        with pytest.raises(RuntimeError, match=r"NCCL has lost the connection between ranks 0 and 1 .*INVALID_USAGE"):
            over(request)

    among(2, body)


# What goes wrong --------------------------------------------------------------------------------------------


def test_nccl_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What CuPy has in its place is a module that says so, and nothing else."""
    monkeypatch.setattr(fake.NCCL, "available", False)
    monkeypatch.delattr(fake.NCCL, "NcclCommunicator")
    with pytest.raises(ImportError, match=r"CuPy finds no NCCL, which carries tensors .*nvidia-nccl-cu12"):
        Nccl(NAMESPACE, None)


def test_a_tensor_on_another_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = Nccl(NAMESPACE, None)
    over(transport.all_reduce(full(1), "sum", False))
    other = Device()
    other.id = 3
    monkeypatch.setattr(StrictArray, "device", other)
    with pytest.raises(RuntimeError, match=r"connects this rank's cuda:0.* a tensor is on cuda:3: .*set_device"):
        transport.broadcast(full(1), 0)
    transport.close()


def test_two_ranks_on_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake, "GPU", 4)

    def body(transport: Nccl) -> None:
        request = transport.all_reduce(full(1), "sum", False)
        with pytest.raises(RuntimeError, match=r"NCCL cannot connect 2 ranks \(.*GPU of its own: .*set_dev"):
            over(request)
        with pytest.raises(RuntimeError, match="NCCL cannot connect 2 ranks"):
            transport.all_reduce(full(1), "sum", True)

    among(2, body)


def test_nccl_refuses_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error belongs to the call that is wrong, and the group of calls that it stood in is closed."""
    transport = Nccl(NAMESPACE, None)
    out = full(0)
    with monkeypatch.context() as patch:
        patch.setattr(fake.NCCL, "NCCL_FLOAT32", 77)
        wrong = transport.gather(out, full(1), 0)
        right = transport.broadcast(full(1, 3, np.float64), 0)
        over(right)
        with pytest.raises(RuntimeError, match=r"NCCL refuses gather \(NCCL_ERROR_INVALID_ARGUMENT: .*NCCL_DEBUG=WARN"):
            over(wrong)
    over(transport.gather(out, full(3), 0))
    assert out.get()[0] == 3
    transport.close()


def test_another_rank_ends() -> None:
    """NCCL's error 6 has no name in CuPy 13, which raises KeyError."""
    ready = threading.Barrier(2)

    def body(transport: Nccl) -> None:
        over(transport.all_reduce(full(1), "sum", False))
        ready.wait(SECONDS)
        if transport.rank == 0:
            request = transport.all_reduce(full(1), "sum", False)
            with pytest.raises(RuntimeError, match=r"connection between 2 ranks \(error 6\): another rank has"):
                over(request)
            with pytest.raises(RuntimeError, match="lost the connection"):
                transport.all_reduce(full(1), "sum", False)
        else:
            assert transport._all is not None
            transport._all._comm.abort()

    among(2, body)


def test_nccl_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bytes:
        raise fake.NcclError(fake.UNHANDLED)

    monkeypatch.setattr(fake.NCCL, "get_unique_id", refuse)
    with pytest.raises(RuntimeError, match=r"NCCL does not start .*a call of CUDA's failed"):
        Nccl(NAMESPACE, None).all_reduce(full(1), "sum", False)


def test_after_close(held: tuple[streams.Stream, threading.Event]) -> None:
    """What is under way has no end; NCCL's own would wait for it."""
    (stream, flag), transport = held, Nccl(NAMESPACE, None)
    over(transport.all_reduce(full(1), "sum", False))
    with stream:
        request = transport.all_reduce(full(1), "sum", False)
    transport.close()
    with pytest.raises(RuntimeError, match="NCCL's connection between the rank is closed"):
        request.done()
    transport.close()
    flag.set()


def test_cupy_13(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its unique ids are tuples of numbers with a sign."""

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
        over(transport.all_reduce(array, "sum", False))
        return float(array.get()[0])

    assert among(2, body) == [2, 2]


# The stand-in -----------------------------------------------------------------------------------------------


@pytest.fixture
def comm() -> Iterator[fake.NcclCommunicator]:
    made = fake.NcclCommunicator(1, fake.get_unique_id(), 0)
    yield made
    made.destroy()


def test_the_stand_in_refuses(comm: fake.NcclCommunicator) -> None:
    array = full(1, 4)
    place = array.data.ptr
    wrong: dict[str, tuple[Any, ...]] = {
        "a dtype": (place, place, 4, 99, 0, 0),
        "an operation": (place, place, 4, FLOAT32, 9, 0),
        "a length": (place, place, 5, FLOAT32, 0, 0),
        "a pointer": (place, np.ones(4, np.float32).ctypes.data, 4, FLOAT32, 0, 0),
    }
    for what, arguments in wrong.items():
        with pytest.raises(fake.NcclError):
            comm.allReduce(*arguments)
        assert array.get().tolist() == [1] * 4, what
    with pytest.raises(TypeError, match="an integer is required"):
        comm.allReduce(array, array, 4, FLOAT32, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        comm.allReduce(place, place, 4, FLOAT32, 0, 12345678)
    with pytest.raises(fake.NcclError, match="INVALID_USAGE"):
        fake.groupEnd()


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
    with pytest.raises(RuntimeError, match="NCCL has no reduction 'sum' of int16"):
        dist.all_reduce(whole)
    assert whole.tolist() == [1, 2]


def test_what_follows_sees_the_result(alone: str) -> None:
    """Kernels before and after, with nothing between them that waits."""
    x = minigrad.ones((1000, 1000), device=alone)
    for _ in range(5):
        x = x * 2
        dist.all_reduce(x)
        x = x - 1
    assert float(x.max()) == float(x.min()) == 1
