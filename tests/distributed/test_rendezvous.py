"""The server where ranks meet, in this process, and what it says to connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
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
        """The answer to a question is all that comes."""
        return self.ask("get_appnum") == {"cmd": "appnum", "appnum": "0"}

    def close(self) -> None:
        """Returns when the server knows it: then it closes the connection, too."""
        with suppress(OSError):  # the server has closed it
            self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(4096):
                pass
        self.socket.close()


class Place:
    """A server, and connections to it."""

    def __init__(self, size: int, stack: ExitStack, hears: bool) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.stack, self.ended = listener.getsockname()[1], stack, dict[int, str]()
        self.server = Rendezvous(listener, size, 60, self.ended.__setitem__ if hears else None)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()
        stack.callback(self.thread.join, 20)
        stack.callback(setattr, self.server, "open", False)

    def peer(self) -> Peer:
        peer = Peer(self.port)
        self.stack.callback(peer.socket.close)
        return peer

    def join(self, rank: int, host: str = "here") -> Peer:
        """A rank that the server knows."""
        peer = self.peer().join(rank, self.server.size, host)
        until(lambda: rank in self.server.members, f"rank {rank} joins")
        return peer

    def all_come(self) -> list[Peer]:
        peers = [self.join(rank) for rank in range(self.server.size)]
        for peer in peers:
            assert peer.hear()["cmd"] == "all"
        return peers

    def ends(self) -> bool:
        self.thread.join(20)
        return not self.thread.is_alive()


@pytest.fixture
def place() -> Iterator[Callable[..., Place]]:
    with ExitStack() as stack:
        yield lambda size, hears=False: Place(size, stack, hears)


Places = Callable[..., Place]


def test_lines_are_read_as_they_were_written() -> None:
    assert decode(encode("put", key="a", value="b=c").rstrip()) == {"cmd": "put", "key": "a", "value": "b=c"}
    assert decode(b"cmd=put  key=\xff") == {"cmd": "put", "key": "\ufffd"}


def test_which_rank_is_where() -> None:
    assert mapping(["a"]) == "(vector,(0,1,1))"
    assert mapping(["a", "a", "b", "b", "b"]) == "(vector,(0,1,2),(1,1,3))"
    assert mapping(["a", "b", "a"]) == "(vector,(0,1,1),(1,1,1),(0,1,1))"


ODD = ["GET / HTTP/1.1\r\n\r\n", "\xff\xfe\n", "cmd=join\n", "cmd=join rank=a size=b\n", "cmd=leave\n", "cmd=failed\n"]
ODD += ["cmd=initack\n", "cmd=get\n", "cmd=put\n", "x" * 200000]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_somebody_else_connects(place: Places) -> None:
    """A port scanner or a browser changes nothing."""
    here = place(2)
    for text in ODD:
        other = here.peer()
        with suppress(ConnectionError):  # the server has closed it
            other.socket.sendall(text.encode("latin-1"))
        other.close()
    first, second = here.all_come()
    first.say("leave")
    assert second.hear() == {"cmd": "left", "rank": "0"}
    assert here.server.open


def test_the_others_hear_why(place: Places) -> None:
    here = place(2, hears=True)
    peers = here.all_come()
    peers[0].say("failed", why="ValueError%3A%20no")
    heard = peers[1].hear()
    assert (heard["cmd"], heard["why"], heard["speaker"]) == ("lost", "ValueError%3A%20no", "-1")
    until(lambda: here.ended, "the launcher hears of it, too")
    assert here.ended == {0: "ValueError%3A%20no"}


def test_it_ends_when_all_have_left_or_died(place: Places) -> None:
    here = place(2)
    first, second = here.all_come()
    first.say("leave")
    assert second.hear()["cmd"] == "left" and here.server.open
    second.say("leave")
    assert here.ends()
    here = place(2)
    for peer in here.all_come():
        peer.close()
    assert here.ends()


@pytest.mark.parametrize("again", [False, True])
def test_one_that_dies_before_the_last_comes_is_missing(place: Places, again: bool) -> None:
    """Else all would wait for it in MPI, for ever. It may come again."""
    here = place(3)
    first, second = here.join(0), here.join(1)
    second.close()
    assert 1 not in here.server.members
    third = here.join(2)
    if again:
        second = here.join(1)
        assert [peer.hear()["cmd"] for peer in (first, second, third)] == ["all"] * 3
        second.close()
        assert first.hear()["cmd"] == "lost"
    else:
        here.server.seconds = 0
        assert first.hear() == third.hear() == {"cmd": "missing", "ranks": "1"}


# PMI-1 -------------------------------------------------------------------------------------------------------
