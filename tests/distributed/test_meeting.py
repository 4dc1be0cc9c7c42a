"""Ranks at the meeting: threads of this process, and processes that nobody watches."""

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from minigrad.distributed import meeting
from minigrad.distributed.meeting import Meeting, split
from minigrad.distributed.place import Place
from minigrad.distributed.rendezvous import Rendezvous
from tests.support.cases import raises
from tests.support.ranks import answers, begun, by_hand, finished, free_port, until, written
from tests.support.threads import side_by_side


@pytest.fixture
def died(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ranks that would have ended because another has died."""
    ended: list[int] = []
    monkeypatch.setattr(Meeting, "_exit", lambda self: ended.append(self.place.rank))
    return ended


def held(size: int) -> tuple[str, Rendezvous]:
    """A server in this process, and its address."""
    listener = meeting.listener("localhost:0")
    server = Rendezvous(listener, size, 60)
    threading.Thread(target=server.serve, daemon=True).start()
    return f"localhost:{listener.getsockname()[1]}", server


def coming(rank: int, size: int, address: str, seconds: float = 60) -> Callable[[], Meeting]:
    return lambda: Meeting(Place(rank, size, address=address, opens=False), seconds)


def test_all_come(died: list[int]) -> None:
    address, _ = held(3)
    met = side_by_side([coming(rank, 3, address) for rank in range(3)])
    assert met[0].hosts == met[2].hosts and len(met[0].hosts) == 3
    met[1].leave()
    until(lambda: met[0].gone == met[2].gone == {1}, "the others hear that rank 1 has left")
    met[1].leave()  # again: nothing happens
    met[0].leave()
    met[2].leave()
    assert died == []


def test_the_name_of_a_machine(died: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_HOST", "my host, the 1st")
    (met,) = side_by_side([coming(0, 1, held(1)[0])])
    assert met.hosts == ["my host, the 1st"]
    met.leave()


def test_one_that_fails_is_heard_of(died: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    address, _ = held(3)
    met = side_by_side([coming(rank, 3, address) for rank in range(3)])
    met[1].failed("ValueError: no such file: 'a b'\nand more")
    until(lambda: sorted(died) == [0, 2], "the others end")
    said = capfd.readouterr().err
    assert said.count("has died") == 1
    assert re.search(r"rank 1 \(process \d+ on .+\) has died: ValueError: no such file: 'a b'\nand more", said)


def test_one_that_breaks_off_is_heard_of(died: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    address, _ = held(2)
    met = side_by_side([coming(rank, 2, address) for rank in range(2)])
    met[0]._connection.shutdown(socket.SHUT_RDWR)
    until(lambda: 1 in died, "the other ends")
    assert "rank 0 (process" in (said := capfd.readouterr().err) and "killed, or its machine is gone" in said


def test_some_do_not_come() -> None:
    address, server = held(4)

    def come(rank: int) -> str:
        with pytest.raises(TimeoutError) as error:
            coming(rank, 4, address)()
        return str(error.value)

    def lose_patience() -> str:
        until(lambda: len(server.members) == 2, "two ranks come")
        server.seconds = 0
        return ""

    messages = side_by_side([lambda: come(0), lambda: come(2), lose_patience])
    assert all(f"ranks 1, 3 of 4 did not come to {address} within 60 s" in text for text in messages[:2])


def test_two_of_one_rank(died: list[int]) -> None:
    address, server = held(2)

    def others() -> Meeting:
        until(lambda: 0 in server.members, "rank 0 comes")
        with pytest.raises(ValueError, match=rf"rank 0 has come to {address} already: process {os.getpid()} on"):
            coming(0, 2, address)()
        return coming(1, 2, address)()

    for each in side_by_side([coming(0, 2, address), others]):
        each.leave()


def test_meetings_that_do_not_begin(tmp_path: Path) -> None:
    address, _ = held(2)
    closed, file = f"localhost:{free_port()}", f"file://{tmp_path / 'meeting'}"
    raises(ValueError, rf"rank 0 expects a world of 3, and at {address} one of 2 meets", coming(0, 3, address))
    for opened in (closed, file):
        words = rf"rank 0 has not opened the meeting at {opened}.* within 0.2 s"
        raises(TimeoutError, words, coming(1, 2, opened, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        words = f"rank 0 cannot listen at {taken} .*set MASTER_PORT to a free port"
        raises(OSError, words, lambda: Meeting(Place(0, 2, address=taken), 5))


def test_addresses() -> None:
    assert split("one:80") == ("one", 80)
    assert split("[::1]:80") == split("::1:80") == ("::1", 80)
    for port in ("", ":", ":http", ":-1", ":0", ":65536"):
        with pytest.raises(ValueError, match=f"localhost{port}"):
            split(f"localhost{port}")


def test_localhost_is_not_open_to_other_machines() -> None:
    for address in ("localhost:0", "127.0.0.1:0"):
        with meeting.listener(address) as listener:
            assert listener.getsockname()[0] in ("127.0.0.1", "::1")


def test_an_address_in_a_file(tmp_path: Path) -> None:
    """That of an earlier job is read again; at the end there is none."""
    path = tmp_path / "meeting"
    path.write_text(f"localhost:{free_port()}")
    places = [Place(rank, 3, address=f"file://{path}") for rank in (2, 1, 0)]
    met = side_by_side([lambda place=place: Meeting(place, 60) for place in places])
    assert len({one.address.rpartition(":")[2] for one in met}) == 1 and not path.exists()
    for one in met:
        one.leave()


# Processes that nobody watches ---------------------------------------------------------------------------------

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="several ranks need mpi4py")
BEGIN = """
import os, signal, sys, time
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import tell
rank = int(os.environ["NUMBER"])
"""
REDUCES = """
x = minigrad.ones(2) * (rank + 1)
dist.all_reduce(x)
tell([dist.get_rank(), dist.get_world_size(), x.tolist()], rank)
dist.barrier()
"""
IN_WORDS = "init_method=sys.argv[1], timeout=timedelta(seconds=30)"


@needs_mpi
@pytest.mark.parametrize(
    ("url", "arguments", "variables"),
    [
        ("tcp://localhost:{port}", f"{IN_WORDS}, rank=rank, world_size=2", False),
        pytest.param("file://{folder}/meeting", IN_WORDS, True, marks=pytest.mark.nightly),
        # as in PyTorch: to pass over what the URL says would be a world of one for each process
        pytest.param("tcp://localhost:{port}?rank={rank}&world_size=2", IN_WORDS, False, marks=pytest.mark.nightly),
    ],
)
def test_ranks_meet(tmp_path: Path, url: str, arguments: str, variables: bool) -> None:
    path, port = written(f"{BEGIN}\ndist.init_process_group({arguments})\n{REDUCES}", tmp_path), free_port()
    processes = []
    for rank in (1, 0):
        word = url.format(port=port, folder=tmp_path, rank=rank)
        extra = {"RANK": str(rank), "WORLD_SIZE": "2"} if variables else {}
        processes.append(begun([sys.executable, path, word], tmp_path, NUMBER=str(rank), **extra))
    for ran in [finished(process) for process in processes]:
        assert ran.status == 0, ran.err
    assert answers(2, tmp_path) == [[0, 2, [3, 3]], [1, 2, [3, 3]]]


WORLD = """
import os, signal, sys
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
dist.init_process_group(timeout=timedelta(seconds=60))
dist.barrier()
if dist.get_rank() == 1:
    %s
dist.all_reduce(minigrad.ones(2))
"""


@needs_mpi
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("ends", "status", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "has died: killed"),
        ("raise ValueError('no luck')", 1, "has died: ValueError: no luck"),
        # children, as those of loaders of data, hold its connection open no longer than itself
        ("os.fork() or (signal.pause(), os._exit(0)); os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "killed"),
    ],
)
def test_the_others_end_when_one_does(tmp_path: Path, ends: str, status: int, reason: str) -> None:
    first, second, third = processes = by_hand(WORLD % ends, 3, tmp_path)
    try:
        first_ran, third_ran = finished(first), finished(third)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(second.pid, signal.SIGKILL)
    second_ran = finished(second)
    assert (first_ran.status, second_ran.status, third_ran.status) == (meeting.STATUS, status, meeting.STATUS)
    assert f"rank 1 (process {processes[1].pid} on" in first_ran.err and reason in first_ran.err
    assert third_ran.err == ""
    assert status != 1 or ("rank 1 ends with an error" in second_ran.err and "ValueError: no luck" in second_ran.err)


@needs_mpi
@pytest.mark.nightly
def test_a_child_that_ends_is_not_the_rank(tmp_path: Path) -> None:
    """A process that a rank has forked runs Python's exit functions, too."""
    for process in by_hand(WORLD % "os.fork() or sys.exit(0); os.wait()", 2, tmp_path):
        ran = finished(process)
        assert ran.status == 0, ran.err
