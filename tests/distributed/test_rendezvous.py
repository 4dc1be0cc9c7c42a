"""The server where ranks meet, in this process, and what it says to connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from minigrad.distributed.rendezvous import Fields, Rendezvous, decode, encode, lines, mapping
from tests.support.ranks import until


class Peer:
    """A connection to a server."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.lines = lines(self.socket)

    def say(self, cmd: str, **fields: object) -> Peer:
        self.socket.sendall(encode(cmd, **fields))
        return self

    def join(self, rank: int, size: int, host: str = "here") -> Peer:
        return self.say("join", rank=rank, size=size, host=host, pid=1000 + rank)

    def ask(self, cmd: str, **fields: object) -> Fields:
        self.say(cmd, **fields)
        return self.hear()

    def hear(self) -> Fields:
        return next(self.lines)

    def hears_nothing(self) -> bool:
        self.socket.settimeout(0.3)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(20)

    def close(self) -> None:
        with suppress(OSError):  # the server has closed it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Place:
    """A server, and connections to it."""

    def __init__(self, size: int, seconds: float, stack: ExitStack, told: bool) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.stack, self.ended = listener.getsockname()[1], stack, dict[int, str]()
        self.server = Rendezvous(listener, size, seconds, self.ended.__setitem__ if told else None)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()
        stack.callback(self.thread.join, 5)
        stack.callback(setattr, self.server, "open", False)

    def peer(self) -> Peer:
        made = Peer(self.port)
        self.stack.callback(made.socket.close)
        return made

    def all_come(self) -> list[Peer]:
        peers = [self.peer().join(rank, self.server.size) for rank in range(self.server.size)]
        for peer in peers:
            assert peer.hear()["cmd"] == "all"
        return peers


class Places:
    """Makes servers."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack

    def __call__(self, size: int, seconds: float = 20, told: bool = False) -> Place:
        return Place(size, seconds, self.stack, told)


@pytest.fixture
def place() -> Iterator[Places]:
    with ExitStack() as stack:
        yield Places(stack)


def test_lines_are_read_as_they_were_written() -> None:
    assert decode(encode("put", key="a", value="b=c").rstrip()) == {"cmd": "put", "key": "a", "value": "b=c"}
    assert decode(b"cmd=put  key=\xff") == {"cmd": "put", "key": "\ufffd"}


def test_which_rank_is_where() -> None:
    assert mapping(["a"]) == "(vector,(0,1,1))"
    assert mapping(["a", "a", "b", "b", "b"]) == "(vector,(0,1,2),(1,1,3))"
    assert mapping(["a", "b", "a"]) == "(vector,(0,1,1),(1,1,1),(0,1,1))"


def test_all_come(place: Places) -> None:
    here = place(3)
    peers = [here.peer().join(rank, 3, f"host{rank}") for rank in (2, 0)]
    assert all(peer.hears_nothing() for peer in peers)
    peers.append(here.peer().join(1, 3, "host1"))
    assert [peer.hear() for peer in peers] == [{"cmd": "all", "hosts": "host0,host1,host2"}] * 3


def test_who_is_missing(place: Places) -> None:
    here = place(4, seconds=0.3)
    peers = [here.peer().join(rank, 4) for rank in (0, 2)]
    assert [peer.hear() for peer in peers] == [{"cmd": "missing", "ranks": "1,3"}] * 2
    here.thread.join(5)
    assert not here.thread.is_alive()


def test_the_time_begins_with_the_first(place: Places) -> None:
    here = place(2, seconds=0.3)
    time.sleep(0.6)
    assert here.thread.is_alive()
    here.all_come()


def test_two_of_one_rank(place: Places) -> None:
    here = place(2)
    first = here.peer().join(0, 2, "one")
    until(lambda: 0 in here.server.members, "rank 0 joins")
    assert here.peer().join(0, 2).hear() == {"cmd": "refused", "why": "twice", "host": "one", "pid": "1000"}
    second = here.peer().join(1, 2)
    assert first.hear()["cmd"] == second.hear()["cmd"] == "all"


def test_another_size(place: Places) -> None:
    here = place(2)
    assert here.peer().join(0, 3).hear() == {"cmd": "refused", "why": "size", "size": "2"}
    here.all_come()


def test_a_rank_outside_the_world(place: Places) -> None:
    """Nobody is told that all have come when one is missing."""
    here = place(2)
    first, odd = here.peer().join(0, 2), here.peer().join(7, 2)
    assert odd.hears_nothing() or odd.hear()["cmd"] == "refused"
    assert first.hears_nothing()
    second = here.peer().join(1, 2)
    assert first.hear()["cmd"] == second.hear()["cmd"] == "all"


ODD = ["GET / HTTP/1.1\r\n\r\n", "\xff\xfe\n", "cmd=join\n", "cmd=join rank=a size=b\n", "cmd=leave\n", "cmd=failed\n"]
ODD += ["cmd=initack\n", "cmd=get\n", "cmd=put\n", "x" * 200000]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_somebody_else_connects(place: Places, text: str) -> None:
    """A port scanner or a browser changes nothing."""
    here = place(2)
    other = here.peer()
    with suppress(ConnectionError):  # the server has closed it
        other.socket.sendall(text.encode("latin-1"))
    time.sleep(0.05)
    other.close()
    first, second = here.all_come()
    first.say("leave")
    assert second.hear() == {"cmd": "left", "rank": "0"}
    time.sleep(0.2)
    assert here.thread.is_alive()


def test_the_others_hear_of_a_rank_that_breaks_off(place: Places) -> None:
    here = place(3)
    peers = here.all_come()
    peers[1].close()
    for rank in (0, 2):
        heard = peers[rank].hear()
        assert (heard["cmd"], heard["rank"], heard["pid"], heard["speaker"]) == ("lost", "1", "1001", "0")
    assert here.ended == {}


def test_the_others_hear_why(place: Places) -> None:
    here = place(2, told=True)
    peers = here.all_come()
    peers[0].say("failed", why="ValueError%3A%20no")
    heard = peers[1].hear()
    assert (heard["cmd"], heard["why"], heard["speaker"]) == ("lost", "ValueError%3A%20no", "-1")
    until(lambda: here.ended, "the launcher hears of it, too")
    assert here.ended == {0: "ValueError%3A%20no"}


def test_who_leaves_is_not_lost(place: Places) -> None:
    here = place(3)
    peers = here.all_come()
    peers[1].say("leave").close()
    for rank in (0, 2):
        assert peers[rank].hear() == {"cmd": "left", "rank": "1"}
        assert peers[rank].hears_nothing()


def test_it_ends_when_all_have_left(place: Places) -> None:
    here = place(2)
    first, second = here.all_come()
    first.say("leave")
    time.sleep(0.3)
    assert here.thread.is_alive()
    second.say("leave")
    here.thread.join(5)
    assert not here.thread.is_alive()


def test_it_ends_when_all_have_died(place: Places) -> None:
    here = place(2)
    for peer in here.all_come():
        peer.close()
    here.thread.join(5)
    assert not here.thread.is_alive()


def test_one_that_dies_before_the_last_comes_is_missing(place: Places) -> None:
    """Else all would wait for it in MPI, for ever."""
    here = place(3, seconds=1.5)
    first = here.peer().join(0, 3)
    second = here.peer().join(1, 3)
    until(lambda: 1 in here.server.members, "rank 1 has joined")
    second.close()
    until(lambda: 1 not in here.server.members, "rank 1 is gone")
    third = here.peer().join(2, 3)
    assert first.hear() == third.hear() == {"cmd": "missing", "ranks": "1"}


def test_one_that_dies_before_the_last_comes_may_come_again(place: Places) -> None:
    here = place(3)
    first = here.peer().join(0, 3)
    second = here.peer().join(1, 3)
    until(lambda: 1 in here.server.members, "rank 1 has joined")
    second.close()
    until(lambda: 1 not in here.server.members, "rank 1 is gone")
    again = here.peer().join(1, 3)
    third = here.peer().join(2, 3)
    assert [peer.hear()["cmd"] for peer in (again, first, third)] == ["all"] * 3
    again.close()
    assert first.hear()["cmd"] == "lost"


# PMI-1 -------------------------------------------------------------------------------------------------------


def test_what_mpich_asks_for(place: Places) -> None:
    here = place(2)
    here.all_come()
    first = here.peer()
    assert first.ask("initack", pmiid=1) == {"cmd": "initack", "rc": "0"}
    assert [first.hear() for _ in range(3)] == [
        {"cmd": "set", "size": "2"},
        {"cmd": "set", "rank": "1"},
        {"cmd": "set", "debug": "0"},
    ]
    assert first.ask("init", pmi_version=1, pmi_subversion=1)["rc"] == "0"
    assert first.ask("get_universe_size")["size"] == "2"
    assert first.ask("get_my_kvsname")["kvsname"].startswith("minigrad_")
    assert int(first.ask("get_maxes")["vallen_max"]) >= 1024
    assert first.ask("get_appnum") == {"cmd": "appnum", "appnum": "0"}
    assert first.ask("get", key="PMI_process_mapping")["value"] == "(vector,(0,1,2))"


def test_a_table_of_texts(place: Places) -> None:
    here = place(2)
    first, second = here.peer(), here.peer()
    assert first.ask("put", kvsname="k", key="card", value="a=b#c")["rc"] == "0"
    assert second.ask("get", kvsname="k", key="card")["value"] == "a=b#c"
    assert second.ask("get", kvsname="k", key="none")["rc"] == "-1"


def test_a_barrier(place: Places) -> None:
    here = place(2)
    first, second = here.peer(), here.peer()
    for _ in range(2):
        assert first.say("barrier_in").hears_nothing()
        second.say("barrier_in")
        assert first.hear() == second.hear() == {"cmd": "barrier_out"}
    assert first.ask("finalize") == {"cmd": "finalize_ack"}
