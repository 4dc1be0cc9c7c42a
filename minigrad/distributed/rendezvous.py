"""Where processes meet that no mpiexec has started: a small server, beside rank 0 or within ``minigrad.run``.

It does two things, both in lines of ``name=value`` over TCP:

- **The meeting.** Each rank joins, and hears who the others are when all have come, or who has not. The connection
  stays: one that breaks before its rank has left means that the rank has died, and the others hear of it.
- **PMI-1**, the protocol in which MPICH's processes tell each other their addresses ("Simple PMI", Balaji et al. 2010,
  "PMI: A Scalable Parallel Process-Management Interface for Extreme-Scale Systems"): a table of texts, and a barrier.

It needs the standard library alone, and runs as a script, since MPI's start holds Python's lock in rank 0:

    python rendezvous.py FILE_DESCRIPTOR_OF_A_LISTENING_SOCKET SIZE SECONDS

Then its standard input is a pipe from rank 0: if that breaks before all have come, the meeting is over.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

LONGEST = 1 << 16  # of a line
Fields = dict[str, str]


def encode(cmd: str, **fields: Any) -> bytes:
    """A line; texts must not hold spaces."""
    return (" ".join([f"cmd={cmd}", *(f"{name}={value}" for name, value in fields.items())]) + "\n").encode()


def decode(line: bytes) -> Fields:
    """The fields of a line."""
    parts = (word.partition("=") for word in line.decode("utf-8", "replace").split())
    return {name: value for name, _, value in parts}


def lines(connection: socket.socket) -> Iterator[Fields]:
    """The lines that come, until the other side closes, or breaks the connection."""
    with connection.makefile("rb") as file:
        while True:
            try:
                line = file.readline(LONGEST)
            except (OSError, ValueError):
                return
            if not line.endswith(b"\n"):
                return
            yield decode(line)


def mapping(hosts: list[str]) -> str:
    """Which rank is on which machine, as MPICH reads it: (vector,(machine,1,ranks),...)"""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
    runs: list[list[int]] = []
    for host in hosts:
        if runs and runs[-1][0] == numbers[host]:
            runs[-1][1] += 1
        else:
            runs.append([numbers[host], 1])
    return f"(vector,{','.join(f'({node},1,{count})' for node, count in runs)})"


class Rendezvous:
    """The server for ``size`` ranks.

    Args:
        listener: a socket that listens.
        seconds: how long the first to come waits for the last.
        ended: called with a rank and a reason when the rank has died; by default the first of the others hears that it
            should say so.
    """

    def __init__(
        self, listener: socket.socket, size: int, seconds: float, ended: Callable[[int, str], None] | None = None
    ) -> None:
        self.listener, self.size, self.seconds, self.ended = listener, size, seconds, ended
        self.name = f"minigrad_{os.urandom(8).hex()}"  # MPICH names files of shared memory by it
        self.lock = threading.Lock()
        self.members: dict[int, tuple[socket.socket, Fields]] = {}
        self.left: set[int] = set()
        self.values: dict[str, str] = {}
        self.at_barrier: list[socket.socket] = []
        self.first: float | None = None  # when the first came
        self.open, self.complete = True, False

    def serve(self) -> None:
        """Until all have left or died, or not all have come in time."""
        self.listener.settimeout(0.1)
        while self.open:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                self._look_at_the_clock()
                continue
            except OSError:  # closed
                break
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
        self.listener.close()

    def _look_at_the_clock(self) -> None:
        with self.lock:
            late = self.first is not None and time.monotonic() - self.first > self.seconds
            if late and not self.complete:
                missing = [rank for rank in range(self.size) if rank not in self.members]
                self._tell(encode("missing", ranks=",".join(map(str, missing))))
                self.open = False

    def _tell(self, line: bytes, but: int = -1) -> None:
        for rank, (connection, _) in self.members.items():
            if rank != but and rank not in self.left:
                _send(connection, line)

    def _talk(self, connection: socket.socket) -> None:
        """Answer one connection: a rank's, or that of its MPI."""
        rank = -1
        with connection:
            for fields in lines(connection):
                cmd = fields.get("cmd", "")
                try:
                    if cmd == "join":
                        rank = self._join(connection, fields)
                    elif cmd in ("leave", "failed"):
                        self._leave(rank, fields.get("why", "") if cmd == "failed" else None)
                    elif not self._answer(connection, cmd, fields):
                        break
                except (KeyError, ValueError):  # from something that is no rank
                    break
            self._leave(rank, "")

    def _join(self, connection: socket.socket, fields: Fields) -> int:
        """Note a rank, and tell all when it was the last. Returns the rank; -1 if it cannot join."""
        rank, size = int(fields["rank"]), int(fields["size"])
        with self.lock:
            if size != self.size or not 0 <= rank < size:
                _send(connection, encode("refused", why="size", size=self.size))
                return -1
            if rank in self.members:
                theirs = self.members[rank][1]
                more = {"complete": 1} if self.complete else {}
                _send(connection, encode("refused", why="twice", host=theirs["host"], pid=theirs["pid"], **more))
                return -1
            self.first = self.first or time.monotonic()
            self.members[rank] = connection, fields
            if len(self.members) == self.size:
                self.complete = True
                hosts = [self.members[r][1]["host"] for r in range(self.size)]
                self.values["PMI_process_mapping"] = mapping(hosts)
                self._tell(encode("all", hosts=",".join(hosts)))
        return rank

    def _leave(self, rank: int, why: str | None) -> None:
        """A rank is over: it has left (None), or died, perhaps saying why; then the others hear of it."""
        with self.lock:
            if rank < 0 or rank in self.left or rank not in self.members:
                return
            if not self.complete:  # it may come again
                del self.members[rank]
                return
            self.left.add(rank)
            if why is not None and self.open:
                others = [r for r in range(self.size) if r not in self.left]
                fields = self.members[rank][1]
                speaker = -1 if self.ended else min(others, default=-1)
                line = encode("lost", rank=rank, host=fields["host"], pid=fields["pid"], why=why, speaker=speaker)
                self._tell(line, rank)
                for waiting in self.at_barrier:  # within MPI's start nobody hears that
                    with contextlib.suppress(OSError):
                        waiting.shutdown(socket.SHUT_RDWR)
                if self.ended:
                    self.ended(rank, why)
            elif why is None:
                self._tell(encode("left", rank=rank), rank)
            if len(self.left) == self.size:
                self.open = False

    # PMI-1 --------------------------------------------------------------------------------------------------

    def _answer(self, connection: socket.socket, cmd: str, fields: Fields) -> bool:
        """One line of PMI-1. Returns False for one that is none."""
        if cmd == "initack":
            rank = fields["pmiid"]
            said = encode("initack", rc=0) + encode("set", size=self.size)
            return _send(connection, said + encode("set", rank=rank) + encode("set", debug=0))
        if cmd == "barrier_in":
            with self.lock:
                self.at_barrier.append(connection)
                if len(self.at_barrier) == self.size:
                    for other in self.at_barrier:
                        _send(other, encode("barrier_out"))
                    self.at_barrier = []
            return True
        if cmd == "put":
            with self.lock:
                self.values[fields["key"]] = fields.get("value", "")
            return _send(connection, encode("put_result", rc=0, msg="success"))
        if cmd == "get":
            value = self.values.get(fields["key"])
            found = {"rc": -1, "msg": "unknown"} if value is None else {"rc": 0, "msg": "success", "value": value}
            return _send(connection, encode("get_result", **found))
        plain = {
            "init": encode("response_to_init", pmi_version=1, pmi_subversion=1, rc=0),
            "get_maxes": encode("maxes", kvsname_max=256, keylen_max=256, vallen_max=4096),
            "get_appnum": encode("appnum", appnum=0),
            "get_my_kvsname": encode("my_kvsname", kvsname=self.name),
            "get_universe_size": encode("universe_size", size=self.size),
            "finalize": encode("finalize_ack"),
        }
        return cmd in plain and _send(connection, plain[cmd])


def _send(connection: socket.socket, line: bytes) -> bool:
    try:
        connection.sendall(line)
    except OSError:
        return False  # its own thread notices
    return True


def _end_with(server: Rendezvous) -> None:
    """End a meeting that rank 0 does not wait for any more."""
    sys.stdin.buffer.read()
    if not server.complete:
        server.open = False


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        meeting = Rendezvous(inherited, int(sys.argv[2]), float(sys.argv[3]))
        threading.Thread(target=_end_with, args=(meeting,), daemon=True).start()
        meeting.serve()
