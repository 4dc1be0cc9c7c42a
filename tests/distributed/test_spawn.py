"""``spawn``: functions in several processes, and how they end. In a process of its own, which has no threads yet."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import begun, finished, free_port, written

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
BEGIN = """
import os, signal, sys, time
import minigrad
import minigrad.distributed as dist
from minigrad.distributed.spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, spawn
from tests.support.ranks import is_running, raised, tell
"""


def _run(text: str, folder: Path, **extra: str) -> Any:
    path = written(f"{BEGIN}{text}", folder)
    ran = finished(begun([sys.executable, path], folder, **extra), 20)
    assert ran.status == 0, ran.err
    return ran


def test_ranks_by_variables(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
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


def test_ranks_by_an_address(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    text = f"""
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:{free_port()}", rank=rank, world_size=2)
    x = minigrad.ones(2)
    dist.all_reduce(x)
    assert x.tolist() == [2, 2]
spawn(work, nprocs=2)
"""
    _run(text, tmp_path)


def test_twice_at_one_port(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    text = f"""
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:{free_port()}", rank=rank, world_size=2)
    dist.barrier()
for _ in range(2):
    spawn(work, nprocs=2)
"""
    _run(text, tmp_path)


def test_who_returns_first_has_not_died(tmp_path: Path) -> None:
    """Also without ``destroy_process_group``."""
    pytest.importorskip("mpi4py")
    text = f"""
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:{free_port()}", rank=rank, world_size=2)
    dist.barrier()
    time.sleep(1.5 if rank == 0 else 0)
    print(rank)
spawn(work, nprocs=2)
"""
    assert _run(text, tmp_path).out == "1\n0\n"


def test_an_exception_and_its_traceback(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    text = f"""
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:{free_port()}", rank=rank, world_size=3)
    dist.barrier()
    if rank == 1:
        raise KeyError("no luck")
    dist.barrier()
try:
    spawn(work, nprocs=3)
except ProcessRaisedException as error:
    assert error.error_index == 1 and error.error_pid > 0
    assert "-- Process 1 terminated with the following error:" in str(error)
    assert 'raise KeyError("no luck")' in str(error) and "KeyError: 'no luck'" in str(error)
    print("raised")
"""
    ran = _run(text, tmp_path)
    assert ran.out == "raised\n"
    assert "minigrad: rank 1" in ran.err and "has died: KeyError" in ran.err


@pytest.mark.parametrize("length", [1, 100000])
def test_an_exception_without_ranks(tmp_path: Path, length: int) -> None:
    """Also one whose text is longer than what a pipe holds."""
    text = f"""
def work(number):
    if number == 0:
        time.sleep(30)
    raise ValueError("é" * {length})
said = raised(ProcessRaisedException, lambda: spawn(work, nprocs=2))
assert "-- Process 1 terminated" in said and "é" * {length} in said
"""
    _run(text, tmp_path)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "process 1 was killed by SIGKILL"),
        ("sys.exit(3)", "process 1 ended with status 3"),
        ("os._exit(4)", "process 1 ended with status 4"),
    ],
)
def test_a_process_ends(tmp_path: Path, ends: str, said: str) -> None:
    pytest.importorskip("mpi4py")
    text = f"""
def work(rank):
    dist.init_process_group(init_method="tcp://127.0.0.1:{free_port()}", rank=rank, world_size=2)
    dist.barrier()
    if rank == 1:
        {ends}
    dist.barrier()
print(raised(ProcessExitedException, lambda: spawn(work, nprocs=2)))
"""
    assert _run(text, tmp_path).out == f"{said}\n"


def test_an_exception_that_a_keyboard_makes(tmp_path: Path) -> None:
    text = """
def work(number):
    raise KeyboardInterrupt
raised(ProcessExitedException, lambda: spawn(work, nprocs=2))
"""
    _run(text, tmp_path)


def test_without_join(tmp_path: Path) -> None:
    text = """
def work(number, seconds):
    time.sleep(seconds)
context = spawn(work, (1,), 2, join=False)
assert isinstance(context, ProcessContext) and len(context.pids()) == 2
assert all(map(is_running, context.pids()))
assert context.join(0.05) is False
assert context.join() is True
assert not any(map(is_running, context.pids()))
"""
    _run(text, tmp_path)


def test_processes_that_do_not_end_when_asked(tmp_path: Path) -> None:
    text = """
def work(number):
    if number == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    time.sleep(0.5)
    raise ValueError("no luck")
context = spawn(work, nprocs=2, join=False)
raised(ProcessRaisedException, lambda: context.join(grace_period=0.2))
assert not any(map(is_running, context.pids()))
"""
    _run(text, tmp_path)


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    """Who interrupts ``spawn`` ends what it has started, as the system's Ctrl-C does."""
    text = """
import threading
from minigrad.distributed import spawn as module
def work(number):
    time.sleep(60)
made = []
plain = module.ProcessContext
class Context(plain):
    def __init__(self, *given):
        super().__init__(*given)
        made.append(self)
module.ProcessContext = Context
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
signal.signal(signal.SIGINT, signal.default_int_handler)
raised(KeyboardInterrupt, lambda: spawn(work, nprocs=2))
time.sleep(1)
running = [pid for pid in made[0].pids() if is_running(pid)]
for pid in running:
    os.kill(pid, signal.SIGKILL)
assert not running
"""
    _run(text, tmp_path)


def test_a_rank_cannot_be_forked(tmp_path: Path) -> None:
    text = """
dist.init_process_group()
assert "before init_process_group" in raised(RuntimeError, lambda: spawn(print, nprocs=2))
"""
    _run(text, tmp_path)


def test_random_numbers_and_threads(tmp_path: Path) -> None:
    """Each process has its share of the threads."""
    text = """
from minigrad.backend.parallel import get_num_threads, set_num_threads
set_num_threads(4)
def work(number):
    assert get_num_threads() == 2, get_num_threads()
spawn(work, nprocs=2)
assert get_num_threads() == 4
"""
    _run(text, tmp_path)
