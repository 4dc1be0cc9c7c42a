"""``spawn``: functions in several processes, and how they end. In a process of its own, which has no threads yet."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.ranks import Ran, begun, finished, free_port, written

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="several ranks need mpi4py")
nightly = pytest.mark.nightly
BEGIN = """
import os, signal, sys
from pathlib import Path
import minigrad
import minigrad.distributed as dist
from minigrad.distributed.spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, spawn
from tests.support.ranks import is_running, raised, until
"""


def _run(text: str, folder: Path, **extra: str) -> Ran:
    path = written(f"{BEGIN}{text}", folder)
    ran = finished(begun([sys.executable, path], folder, **extra))
    assert ran.status == 0, ran.err
    return ran


WORK = """
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:%d", rank=rank, world_size=2)
    dist.barrier()
"""


@needs_mpi
@nightly
def test_ranks_by_variables(tmp_path: Path) -> None:
    text = """
weight = minigrad.ones(2)
def work(rank, size, factor):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    x = weight * (rank + 1) * factor
    dist.all_reduce(x)
    assert x.tolist() == [60, 60], x
    assert dist.get_node_local_rank() == rank
    dist.destroy_process_group()
assert spawn(work, (3, 10), 3) is None
print("over")
"""
    assert _run(text, tmp_path, MASTER_ADDR="localhost", MASTER_PORT=str(free_port())).out == "over\n"


@needs_mpi
def test_ranks_by_an_address(tmp_path: Path) -> None:
    """Twice at one port. Who returns first, also without ``destroy_process_group``, has not died."""
    text = f"""{WORK % free_port()}
    if rank == 0:
        until(lambda: number in [int(path.name) for path in Path.cwd().glob("?")], "rank 1 is over")
    x = minigrad.ones(2)
    print(rank)
    if rank == 1:
        Path(str(number)).touch()
for number in range(2):
    spawn(work, nprocs=2)
"""
    assert _run(text, tmp_path).out == "1\n0\n1\n0\n"


@needs_mpi
@nightly
def test_a_rank_raises(tmp_path: Path) -> None:
    text = f"""{WORK % free_port()}
    if rank == 1:
        raise KeyError("no luck")
    dist.barrier()
try:
    spawn(work, nprocs=2)
except ProcessRaisedException as error:
    assert error.error_index == 1 and error.error_pid > 0
    assert "-- Process 1 terminated with the following error:" in str(error)
    assert 'raise KeyError("no luck")' in str(error) and "KeyError: 'no luck'" in str(error)
    print("raised")
"""
    ran = _run(text, tmp_path)
    assert ran.out == "raised\n"
    assert "minigrad: rank 1" in ran.err and "has died: KeyError" in ran.err


@needs_mpi
@nightly
@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "process 1 was killed by SIGKILL"),
        ("sys.exit(3)", "process 1 ended with status 3"),
        ("os._exit(4)", "process 1 ended with status 4"),
    ],
)
def test_a_rank_ends(tmp_path: Path, ends: str, message: str) -> None:
    text = f"""{WORK % free_port()}
    if rank == 1:
        {ends}
    dist.barrier()
print(raised(ProcessExitedException, lambda: spawn(work, nprocs=2)))
"""
    assert _run(text, tmp_path).out == f"{message}\n"


def test_processes_without_ranks(tmp_path: Path) -> None:
    """How they end, also with a text longer than a pipe holds; each has its share of the threads."""
    text = """
def raises(number, length):
    if number == 0:
        signal.pause()
    raise ValueError("é" * length)
for length in (1, 100000):
    message = raised(ProcessRaisedException, lambda: spawn(raises, (length,), 2))
    assert "-- Process 1 terminated" in message and "é" * length in message

def interrupts(number):
    raise KeyboardInterrupt
raised(ProcessExitedException, lambda: spawn(interrupts, nprocs=2))

def waits(number):
    until(Path("go").exists, "the word comes")
context = spawn(waits, nprocs=2, join=False)
assert isinstance(context, ProcessContext) and len(context.pids()) == 2
assert all(map(is_running, context.pids()))
assert context.join(0.05) is False
Path("go").touch()
assert context.join() is True
assert not any(map(is_running, context.pids()))

from minigrad.backend.parallel import get_num_threads, set_num_threads
set_num_threads(4)
def has_its_share(number):
    assert get_num_threads() == 2, get_num_threads()
spawn(has_its_share, nprocs=2)
assert get_num_threads() == 4

dist.init_process_group()
assert "before init_process_group" in raised(RuntimeError, lambda: spawn(print, nprocs=2))
"""
    _run(text, tmp_path)


@nightly
def test_processes_that_do_not_end_when_asked(tmp_path: Path) -> None:
    text = """
def work(number):
    if number == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path("ignores").touch()
        signal.sigwait([signal.SIGINT])
    until(Path("ignores").exists, "the other ignores SIGTERM")
    raise ValueError("no luck")
context = spawn(work, nprocs=2, join=False)
raised(ProcessRaisedException, lambda: context.join(grace_period=0.2))
assert not any(map(is_running, context.pids()))
"""
    _run(text, tmp_path)


@nightly
def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    """Who interrupts ``spawn`` ends the processes that it has started, as the system's Ctrl-C does."""
    text = """
def work(number):
    Path(f"{os.getpid()}.pid").touch()
    if len(list(Path.cwd().glob("*.pid"))) == 2:
        os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
signal.signal(signal.SIGINT, signal.default_int_handler)
raised(KeyboardInterrupt, lambda: spawn(work, nprocs=2))
assert not [path for path in Path.cwd().glob("*.pid") if is_running(int(path.stem))]
"""
    _run(text, tmp_path)
