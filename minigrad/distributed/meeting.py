"""A rank at the meeting of ``rendezvous.py``: it comes, waits for the others, and hears when one of them has died."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from . import rendezvous
from .place import LAUNCHER, Place

STATUS = 113  # of a process that ends because another has; programs of their own seldom use it
FILE = "file://"  # in place of an address: of the file that has it
PATIENCE = 2.0  # seconds for an earlier meeting to end
RETRY = 0.05  # seconds between tries to reach rank 0


class EarlierJob(Exception):
    """The meeting is that of a job which has just ended, or which has all its ranks."""


class Meeting:
    """The connection of one rank. ``gone`` names the ranks that have left; it stays open until ``leave``."""

    def __init__(self, place: Place, seconds: float) -> None:
        """Come, and wait for all.

        Raises:
            TimeoutError: rank 0 has not opened the meeting, or ranks have not come.
            ValueError: another process has this rank, or expects another number of ranks.
            OSError: rank 0 cannot listen at the address.
        """
        assert place.address is not None
        self.place, self.gone, self.process = place, set[int](), os.getpid()
        self.active = True  # whether this rank works with the others: between two worlds it does not
        self.address = ""  # "host:port", also where it came from a file
        self._end: subprocess.Popen[bytes] | None = None
        if place.rank == 0 and place.opens:
            self._end = _open(place, seconds)
        end = time.monotonic() + PATIENCE
        while True:
            self._connection = _connect(place, seconds)
            host_there, port_there, *_ = self._connection.getpeername()
            self.address = f"{host_there}:{port_there}"
            host = quote(os.environ.get("MINIGRAD_HOST") or socket.gethostname(), safe="")
            joining = rendezvous.encode("join", rank=place.rank, size=place.size, host=host, pid=os.getpid())
            self._connection.sendall(joining)
            self._lines = rendezvous.lines(self._connection)
            try:
                self.hosts = self._wait(seconds)
                break
            except EarlierJob as error:
                if time.monotonic() > end:
                    raise ValueError(str(error)) from None
                time.sleep(RETRY)
        if place.rank == 0 and place.address.startswith(FILE):
            Path(place.address.removeprefix(FILE)).unlink(missing_ok=True)  # the next job has another address
        threading.Thread(target=self._listen, daemon=True, name="minigrad meeting").start()

    def _wait(self, seconds: float) -> list[str]:
        """The machines of all ranks, when all have come."""
        place = self.place
        self._connection.settimeout(seconds + 5)  # the server says first who is missing
        for fields in self._lines:
            cmd = fields.get("cmd")
            if cmd == "all":
                self._connection.settimeout(None)
                return [unquote(host) for host in fields["hosts"].split(",")]
            if cmd == "missing":
                raise TimeoutError(
                    f"{_ranks(fields['ranks'])} of {place.size} did not come to {place.address} within {seconds:g} s: "
                    "was each started, with its RANK and the same WORLD_SIZE, MASTER_ADDR and MASTER_PORT?"
                )
            if fields.get("why") == "size":
                raise ValueError(
                    f"rank {place.rank} expects a world of {place.size}, and at {place.address} one of "
                    f"{fields['size']} meets: world_size (WORLD_SIZE) must be the same for all"
                )
            if fields.get("why") == "twice":
                raise (EarlierJob if fields.get("complete") == "1" else ValueError)(
                    f"rank {place.rank} has come to {place.address} already: process {fields['pid']} on "
                    f"{unquote(fields['host'])}. Each process needs a rank of its own, and each job a port"
                )
        raise EarlierJob(f"the meeting at {place.address} has ended before all {place.size} ranks had come")

    def _listen(self) -> None:
        """Hear of other ranks until this one leaves. If one has died, no collective can end: this process ends, too."""
        for fields in self._lines:
            cmd, rank = fields.get("cmd"), int(fields.get("rank", -1))
            if cmd == "left":
                self.gone.add(rank)
            elif cmd == "lost" and self.active and not self._left():
                if fields["speaker"] == str(self.place.rank):
                    why = unquote(fields["why"]) or "killed, or its machine is gone"
                    _say(f"rank {rank} (process {fields['pid']} on {unquote(fields['host'])}) has died: {why}")
                self._exit()
        if self.active and not self._left():
            self._exit()  # whoever held the meeting is gone: rank 0's machine, or minigrad.run

    def _left(self) -> bool:
        return self.place.rank in self.gone

    def _exit(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(STATUS)

    def forget(self) -> None:
        """In a forked process: the connection is the parent's, and must not stay open for it."""
        self.gone.add(self.place.rank)
        with suppress(OSError):
            os.close(self._connection.detach())

    def failed(self, why: str) -> None:
        """Tell the others that this rank ends with an error."""
        self._leave(rendezvous.encode("failed", why=quote(why, safe="")))

    def leave(self) -> None:
        """This rank needs no other any more."""
        self._leave(rendezvous.encode("leave"))

    def _leave(self, line: bytes) -> None:
        if self._left():
            return
        self.gone.add(self.place.rank)
        with suppress(OSError):  # it is over already
            self._connection.sendall(line)
            self._connection.shutdown(socket.SHUT_WR)


def _ranks(text: str) -> str:
    ranks = text.split(",")
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(ranks)}"


def _say(text: str) -> None:
    """Print what other processes have said, without what would steer a terminal."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
    print(f"minigrad: {shown}", file=sys.stderr, flush=True)


def split(address: str, least: int = 1) -> tuple[str, int]:
    """Host and port. Raises ValueError: no "host:port", or none from ``least`` to 65535."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not least <= int(port) < 65536:
        raise ValueError(f"an address must be host:port, with a port up to 65535, not {address!r}")
    return host.strip("[]"), int(port)


def listener(address: str) -> socket.socket:
    """A socket that listens at an address; of this machine alone, if that is localhost. Raises OSError: it cannot."""
    host, port = split(address, 0)
    known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, _, _, _, where = min(known, key=lambda each: each[0] != socket.AF_INET)  # MPICH wants numbers of IPv4
    one = str(where[0]) if host in ("localhost", "127.0.0.1", "::1") else ""  # a machine may call itself 127.0.1.1
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            server.bind((one, port))
            server.listen(1024)
            return server
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:  # an earlier job may be at its end
                server.close()
                raise OSError(
                    error.errno, f"rank 0 cannot listen at {address} ({error.strerror}): set MASTER_PORT to a free port"
                ) from error
            time.sleep(RETRY)


def _open(place: Place, seconds: float) -> subprocess.Popen[bytes]:
    """Start the server, in a process of its own: MPI's start in this one holds Python's lock."""
    assert place.address is not None
    with listener(_written(place.address) if place.address.startswith(FILE) else place.address) as server:
        command = [sys.executable, "-I", "-S", rendezvous.__file__, str(server.fileno()), str(place.size), str(seconds)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            pass_fds=[server.fileno()],
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )


def _connect(place: Place, seconds: float) -> socket.socket:
    """A connection to the server, as soon as it is there."""
    assert place.address is not None
    end = time.monotonic() + seconds
    while True:
        try:
            address = _read(place.address) if place.address.startswith(FILE) else place.address
            connection = socket.create_connection(split(address), timeout=max(RETRY, end - time.monotonic()))
        except OSError as error:
            if os.environ.get(LAUNCHER, str(os.getppid())) != str(os.getppid()) and hasattr(os, "fork"):
                raise ConnectionError("minigrad.run, which has started this rank, is gone") from error
            if time.monotonic() > end:
                raise TimeoutError(
                    f"rank 0 has not opened the meeting at {place.address} within {seconds:g} s ({error}): was it "
                    "started, and is MASTER_ADDR the machine where it runs?"
                ) from error
            time.sleep(RETRY)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def _written(url: str) -> str:
    """A free address of this machine, which rank 0 writes to a file."""
    path = Path(url.removeprefix(FILE))
    with socket.create_server(("", 0)) as free:
        address = f"{socket.gethostname()}:{free.getsockname()[1]}"
    partial = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(address)
    partial.replace(path)
    return address


def _read(url: str) -> str:
    """The address in a file, perhaps that of an earlier job. Raises OSError: there is none yet."""
    address = Path(url.removeprefix(FILE)).read_text(encoding="utf-8").strip()
    try:
        split(address)
    except ValueError as error:
        raise OSError(str(error)) from None
    return address
