"""Ranks at the meeting: threads of this process, and processes that nobody watches."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minigrad.distributed import meeting
from minigrad.distributed.meeting import Meeting, split
from minigrad.distributed.place import Place
from minigrad.distributed.rendezvous import Rendezvous
from tests.support.ranks import answers, begun, by_hand, finished, free_port, is_running, until, written
from tests.support.threads import side_by_side


@pytest.fixture
def died(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ranks that would have ended because another has died."""
    ended: list[int] = []
    monkeypatch.setattr(Meeting, "_exit", lambda self: ended.append(self.place.rank))
    return ended


def held(size: int, seconds: float = 20) -> str:
    """The address of a server in this process."""
    listener = meeting.listener("localhost:0")
    server = Rendezvous(listener, size, seconds)
    threading.Thread(target=server.serve, daemon=True).start()
    return f"localhost:{listener.getsockname()[1]}"


def coming(rank: int, size: int, address: str, seconds: float = 20) -> Callable[[], Meeting]:
    return lambda: Meeting(Place(rank, size, address=address, opens=False), seconds)


def test_all_come(died: list[int]) -> None:
    address = held(3)
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
    (met,) = side_by_side([coming(0, 1, held(1))])
    assert met.hosts == ["my host, the 1st"]
    met.leave()


def test_one_that_fails_is_heard_of(died: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    address = held(3)
    met = side_by_side([coming(rank, 3, address) for rank in range(3)])
    met[1].failed("ValueError: no such file: 'a b'\nand more")
    until(lambda: sorted(died) == [0, 2], "the others end")
    said = capfd.readouterr().err
    assert said.count("has died") == 1
    assert re.search(r"rank 1 \(process \d+ on .+\) has died: ValueError: no such file: 'a b'\nand more", said)


def test_one_that_breaks_off_is_heard_of(died: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    address = held(2)
    met = side_by_side([coming(rank, 2, address) for rank in range(2)])
    met[0]._connection.shutdown(socket.SHUT_RDWR)
    until(lambda: 1 in died, "the other ends")
    assert "rank 0 (process" in (said := capfd.readouterr().err) and "killed, or its machine is gone" in said


def test_some_do_not_come() -> None:
    address = held(4, seconds=0.3)
    found = []

    def come(rank: int) -> None:
        with pytest.raises(TimeoutError) as error:
            coming(rank, 4, address, 0.3)()
        found.append(str(error.value))

    side_by_side([lambda rank=rank: come(rank) for rank in (0, 2)])
    assert all(f"ranks 1, 3 of 4 did not come to {address} within 0.3 s" in text for text in found)


def test_two_of_one_rank(died: list[int]) -> None:
    address = held(2)
    first = threading.Thread(target=lambda: met.append(coming(0, 2, address)()))
    met: list[Meeting] = []
    first.start()
    time.sleep(0.2)
    with pytest.raises(ValueError, match=rf"rank 0 has come to {address} already: process {os.getpid()} on"):
        coming(0, 2, address)()
    met.append(coming(1, 2, address)())
    first.join(20)
    assert len(met) == 2
    for each in met:
        each.leave()


def test_another_size() -> None:
    address = held(2)
    with pytest.raises(ValueError, match=rf"rank 0 expects a world of 3, and at {address} one of 2 meets"):
        coming(0, 3, address)()


def test_nobody_opens_it() -> None:
    with pytest.raises(TimeoutError, match=r"rank 0 has not opened the meeting at localhost:\d+ within 0.2 s"):
        coming(1, 2, f"localhost:{free_port()}", 0.2)()


def test_the_address_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(OSError, match=f"rank 0 cannot listen at {address} .*set MASTER_PORT to a free port"):
            Meeting(Place(0, 2, address=address), 5)


@pytest.mark.parametrize("port", ["", ":", ":http", ":-1", ":0", ":65536"])
def test_no_address(port: str) -> None:
    with pytest.raises(ValueError, match=f"localhost{port}"):
        coming(1, 2, f"localhost{port}", 0.2)()


def test_addresses() -> None:
    assert split("one:80") == ("one", 80)
    assert split("[::1]:80") == split("::1:80") == ("::1", 80)


def test_localhost_is_not_open_to_other_machines() -> None:
    for address in ("localhost:0", "127.0.0.1:0"):
        with meeting.listener(address) as listener:
            assert listener.getsockname()[0] in ("127.0.0.1", "::1")


def test_an_address_in_a_file(tmp_path: Path) -> None:
    """That of an earlier job is read again; at the end there is none."""
    path = tmp_path / "meeting"
    path.write_text(f"localhost:{free_port()}")
    places = [Place(rank, 3, address=f"file://{path}") for rank in (2, 1, 0)]
    found = side_by_side([lambda place=place: Meeting(place, 20) for place in places])
    assert len({one.address.rpartition(":")[2] for one in found}) == 1 and not path.exists()
    for one in found:
        one.leave()


def test_nobody_writes_the_file(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"rank 0 has not opened the meeting at file://.*within 0.2 s"):
        Meeting(Place(1, 2, address=f"file://{tmp_path / 'meeting'}"), 0.2)


# Processes that nobody watches ---------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, time
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell
begin = time.monotonic()
rank, size = int(os.environ["NUMBER"]), 2
"""
BY_ARGUMENTS = f"""{BEGIN}
dist.init_process_group(init_method=sys.argv[1], rank=rank, world_size=size, timeout=timedelta(seconds=15))
x = minigrad.ones(2) * (rank + 1)
dist.all_reduce(x)
tell(x.tolist(), rank)
dist.barrier()
"""


def _numbered(text: str, folder: Path, *arguments: str, delay: float = 0.0) -> None:
    """Run two processes to their end; rank 0 begins some seconds later."""
    path = written(text, folder)
    processes = []
    for rank in (1, 0):
        processes.append(begun([sys.executable, path, *arguments], folder, NUMBER=str(rank)))
        time.sleep(delay)
    for ran in [finished(process, 40) for process in processes]:
        assert ran.status == 0, ran.err


def test_by_tcp(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    _numbered(BY_ARGUMENTS, tmp_path, f"tcp://localhost:{free_port()}")
    assert answers(2, tmp_path) == [[3, 3], [3, 3]]


def test_by_a_file_and_again(tmp_path: Path) -> None:
    """The address of the first time, which the file still holds, misleads nobody."""
    pytest.importorskip("mpi4py")
    for _ in range(2):
        _numbered(BY_ARGUMENTS, tmp_path, f"file://{tmp_path}/meeting", delay=0.8)
        assert answers(2, tmp_path) == [[3, 3], [3, 3]]


BY_FILE_AND_VARIABLES = f"""{BEGIN}
dist.init_process_group(init_method=sys.argv[1], timeout=timedelta(seconds=8))
tell(dist.get_rank())
dist.barrier()
"""


def test_by_a_file_and_variables(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    processes = []
    for rank in ("0", "1"):
        command = [sys.executable, written(BY_FILE_AND_VARIABLES, tmp_path), f"file://{tmp_path}/meeting"]
        processes.append(begun(command, tmp_path, NUMBER=rank, RANK=rank, WORLD_SIZE="2"))
    for ran in [finished(process) for process in processes]:
        assert ran.status == 0, ran.err
    assert answers(2, tmp_path) == [0, 1]


BY_THE_URL = f"""{BEGIN}
dist.init_process_group(init_method=f"{{sys.argv[1]}}?rank={{rank}}&world_size=2", timeout=timedelta(seconds=8))
tell([dist.get_rank(), dist.get_world_size()], rank)
dist.barrier()
"""


def test_the_url_says_rank_and_size(tmp_path: Path) -> None:
    """As in PyTorch; to pass over what it says would be a world of one for each process."""
    pytest.importorskip("mpi4py")
    _numbered(BY_THE_URL, tmp_path, f"tcp://localhost:{free_port()}")
    assert answers(2, tmp_path) == [[0, 2], [1, 2]]


WORLD = """
import os, signal, sys, time
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
dist.init_process_group(timeout=timedelta(seconds=20))
x = minigrad.ones(2)
dist.barrier()
if dist.get_rank() == 1:
    %s
dist.all_reduce(x)
"""


def test_the_others_end_when_one_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    processes = by_hand(WORLD % "os.kill(os.getpid(), signal.SIGKILL)", 3, tmp_path)
    first, _, third = (finished(process, 15) for process in processes)
    assert first.status == third.status == meeting.STATUS
    assert f"rank 1 (process {processes[1].pid} on" in first.err and "killed" in first.err
    assert third.err == ""


def test_the_others_end_when_one_raises(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    first, second = (finished(p, 15) for p in by_hand(WORLD % "raise ValueError('no luck')", 2, tmp_path))
    assert (first.status, second.status) == (meeting.STATUS, 1)
    assert "rank 1 ends with an error" in second.err and "ValueError: no luck" in second.err
    assert "has died: ValueError: no luck" in first.err


def test_a_rank_with_children_is_killed(tmp_path: Path) -> None:
    """Children that it has forked, as loaders of data do, hold its connection open no longer than itself."""
    pytest.importorskip("mpi4py")
    text = "os.fork() or (time.sleep(30), os._exit(0)); os.kill(os.getpid(), signal.SIGKILL)"
    processes = by_hand(WORLD % text, 2, tmp_path)
    try:
        assert finished(processes[0], 15).status == meeting.STATUS
    finally:
        for process in processes:
            with pytest.MonkeyPatch.context():
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.communicate()


def test_a_child_that_ends_is_not_the_rank(tmp_path: Path) -> None:
    """A process that a rank has forked runs Python's exit functions, too."""
    pytest.importorskip("mpi4py")
    text = "os.fork() or sys.exit(0); os.wait(); time.sleep(0.5)"
    for process in by_hand(WORLD % text, 2, tmp_path):
        ran = finished(process, 15)
        assert ran.status == 0, ran.err


def test_who_did_not_come_is_named(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    text = "import minigrad.distributed as d, datetime\nd.init_process_group(timeout=datetime.timedelta(seconds=1))"
    for process in by_hand(text, 3, tmp_path, [0, 2]):
        ran = finished(process, 20)
        assert ran.status == 1 and "TimeoutError: rank 1 of 3 did not come to localhost:" in ran.err, ran.err


def test_a_meeting_of_a_rank_that_was_stopped_ends(tmp_path: Path) -> None:
    """Who interrupts rank 0 before the others have come can start it again at the same port."""
    pytest.importorskip("mpi4py")
    text = "import minigrad.distributed as dist\nprint('go', flush=True)\ndist.init_process_group()"
    (process,) = by_hand(text, 2, tmp_path, [0], MASTER_PORT=str(port := free_port()))
    assert process.stdout is not None and process.stdout.readline() == "go\n"

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens, "rank 0 opens the meeting")
    time.sleep(0.3)
    process.kill()
    process.communicate()
    assert not is_running(process.pid)
    try:
        until(lambda: not listens(), "the port is free again", 5)
    finally:
        for folder in Path("/proc").glob("[0-9]*"):  # the server that rank 0 has left behind
            words = folder.joinpath("cmdline").read_bytes().split(b"\0") if folder.joinpath("cmdline").exists() else []
            if any(word.endswith(b"rendezvous.py") for word in words):
                environment = folder.joinpath("environ").read_bytes()
                if f"MASTER_PORT={port}\0".encode() in environment:
                    os.kill(int(folder.name), signal.SIGKILL)
