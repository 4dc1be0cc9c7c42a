"""Ranks on this machine: started together, watched, and ended together.

    python -m minigrad.run [-n RANKS] program.py [ARGUMENTS]
    python -m minigrad.run [-n RANKS] -m module [ARGUMENTS]

Each rank gets torchrun's environment variables. If one ends with an error or is killed, the others, which would wait
for it for ever, are ended, and it is named. Ctrl-C and SIGTERM go to all ranks, which may finish what they are at.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType

from . import meeting
from .meeting import STATUS
from .place import LAUNCHER, LAUNCHERS, MEETING
from .rendezvous import Rendezvous

MOST = 1024  # ranks, machines or threads: a mistyped number must not fill the machine with processes
PATIENCE = 3.0  # seconds for a rank to end after it was asked to
MOST_SECONDS = 24 * 3600.0  # for all to come: programs have their own time-out
LOOK = 0.02  # seconds between looks at the ranks


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; by default with the process's own arguments. Returns the exit status of the first that failed."""
    p = argparse.ArgumentParser(
        prog="python -m minigrad.run",
        description="Start a program as several ranks on this machine, or on several (with --nodes).",
        epilog="Example: python -m minigrad.run -n 4 train.py --lr 0.001",
    )
    p.add_argument("-n", "--nproc-per-node", "--nproc_per_node", type=_count, default=cores(),
                   help="ranks on this machine (default: its CPUs)")  # fmt: skip
    p.add_argument("--nodes", "--nnodes", type=_count, default=1, help="machines, on each of which this command runs")
    p.add_argument("--node-rank", "--node_rank", type=int, default=0, help="the number of this one, from 0")
    p.add_argument("--master-addr", "--master_addr", default="", help="the machine with number 0, if there are several")
    p.add_argument("--master-port", "--master_port", type=_port, default=0, help="a port of it (default: a free one)")
    p.add_argument("--threads", type=_count, help="threads of each rank (default: the CPUs, shared)")
    p.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)  # torchrun's word for one machine
    p.add_argument("-m", "--module", action="store_true", help="program is the name of a module")
    p.add_argument("program", help="a Python file, or with -m a module")
    p.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    given = p.parse_args(arguments)
    if not 0 <= given.node_rank < given.nodes:
        p.error(f"--node-rank is {given.node_rank}, of {given.nodes} machines")
    if given.nodes > 1 and not (given.master_addr and given.master_port):
        p.error("several machines need --master-addr and --master-port, the same on each")
    if not given.module and not os.path.exists(given.program):
        p.error(f"there is no file {given.program}")
    command = [sys.executable, *(["-m"] if given.module else []), given.program, *given.arguments]
    extra = {} if given.threads is None else {"MINIGRAD_NUM_THREADS": str(given.threads)}
    address = f"{given.master_addr or 'localhost'}:{given.master_port}"
    try:
        return Job(command, given.nproc_per_node, given.nodes, given.node_rank, address, extra).run()
    except OSError as error:
        print(f"minigrad.run: {error}", file=sys.stderr)
        return 1


def cores() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count(text: str) -> int:
    if not text.isdecimal() or not text.strip("0"):
        raise argparse.ArgumentTypeError(f"a positive whole number is needed, not {text[:60]!r}")
    if len(text) > 9 or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"at most {MOST:,} are possible, not {text[:60]}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is needed, 0 to 65535, not {text!r}")
    return int(text)


def launch(command: Sequence[str], ranks: int, extra: Mapping[str, str] | None = None) -> int:
    """Run a command, which tells its own errors, as so many ranks on this machine. Returns the exit status of the first
    that failed, or 0."""
    return Job(command, ranks, 1, 0, "localhost:0", extra or {}, tells_errors=True).run()


class Job:
    """The ranks of one program on this machine."""

    def __init__(
        self,
        command: Sequence[str],
        ranks: int,
        nodes: int,
        node: int,
        address: str,
        extra: Mapping[str, str],
        tells_errors: bool = False,
    ) -> None:
        self.command, self.ranks, self.nodes, self.node, self.extra = list(command), ranks, nodes, node, extra
        self.address, self.tells_errors = address, tells_errors
        self.processes: list[subprocess.Popen[bytes]] = []
        self._asked = False
        self._lost: dict[int, str] = {}

    def run(self) -> int:
        """Start all, and wait for them. Raises OSError: the port is taken, or no process can be started."""
        listener = self._listen()
        before = {number: signal.signal(number, self._pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for number in range(self.ranks):
                self.processes.append(subprocess.Popen(self.command, env=self._environment(number)))
            return self._watch()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)
            if listener is not None:
                listener.close()

    def _listen(self) -> socket.socket | None:
        """Hold the meeting, on the first machine."""
        if self.node > 0:
            return None
        listener = meeting.listener(self.address)
        host = meeting.split(self.address, 0)[0]
        self.address = f"{host}:{listener.getsockname()[1]}"
        server = Rendezvous(listener, self.ranks * self.nodes, MOST_SECONDS, self._lost.__setitem__)
        threading.Thread(target=server.serve, daemon=True).start()
        return listener

    def _environment(self, number: int) -> dict[str, str]:
        host, port = meeting.split(self.address, 0)
        ours = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        return ours | dict(self.extra) | {
            "RANK": str(self.node * self.ranks + number),
            "WORLD_SIZE": str(self.nodes * self.ranks),
            "LOCAL_RANK": str(number),
            "LOCAL_WORLD_SIZE": str(self.ranks),
            "GROUP_RANK": str(self.node),
            "MASTER_ADDR": host,
            "MASTER_PORT": str(port),
            MEETING: self.address,
            LAUNCHER: str(os.getpid()),
            "TORCHELASTIC_RUN_ID": "minigrad",
        }  # fmt: skip

    def _watch(self) -> int:
        """Until all have ended, or one has failed; then end the others. Returns the exit status."""
        while True:
            codes = [process.poll() for process in self.processes]
            failed = [(number, code) for number, code in enumerate(codes) if code]
            if failed:
                return self._failed(failed)
            if None not in codes:
                return 0
            time.sleep(LOOK)

    def _failed(self, failed: list[tuple[int, int]]) -> int:
        """Say which rank has failed, and how; those that failed after it end with ``STATUS``."""
        time.sleep(10 * LOOK)  # others may have ended at the same time
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:  # the one whose error it is may still be at its end
            codes_now = [process.poll() for process in self.processes]
            if None not in codes_now or any(code not in (0, None, STATUS) for code in codes_now):
                break
            time.sleep(LOOK)
        codes = [(n, c) for n, p in enumerate(self.processes) if (c := p.poll())]
        first = [(n, c) for n, c in codes if c != STATUS]
        if not first and (self._lost or self.nodes > 1):  # they have ended because one on another machine has
            lost = f"rank {next(iter(self._lost))}" if self._lost else "a rank on another machine"
            print(f"minigrad.run: {lost} has died; the other ranks are ended", file=sys.stderr)
            return STATUS
        first = first or failed
        if self._asked and all(code in (130, -signal.SIGINT, -signal.SIGTERM) for _, code in first):
            return 130
        for number, code in first:
            if self.tells_errors and code > 0:
                continue
            process = self.processes[number]
            print(
                f"minigrad.run: rank {self.node * self.ranks + number} (process {process.pid}) {ended_how(code)}; "
                "the other ranks are ended",
                file=sys.stderr,
            )
        code = first[0][1]
        return code if code > 0 else 128 - code

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Hand a signal to the ranks. Ctrl-C in a terminal reaches them by itself."""
        from_terminal = number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty() and not self._asked
        self._asked = True
        for process in self.processes:
            if process.poll() is None and not from_terminal:
                process.send_signal(number)

    def _end(self) -> None:
        """End what still runs."""
        running = [process for process in self.processes if process.poll() is None]
        for process in running:
            process.terminate()
        end = time.monotonic() + PATIENCE
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()


def ended_how(code: int) -> str:
    """An exit status in words."""
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
