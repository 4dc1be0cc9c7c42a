"""``spawn``: functions in several processes, and how they end."""

import sys
from pathlib import Path

import pytest

from tests.support.ranks import begun, finished, written

pytest.importorskip("mpi4py", reason="several processes need mpiexec")
PROGRAM = """
import os, signal, sys
from pathlib import Path
import minigrad
import minigrad.distributed as dist
from minigrad.distributed.spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, spawn
from tests.support.ranks import raised, until

def reduces(rank, size, factor):
    dist.init_process_group("gloo", init_method="tcp://localhost:1", rank=rank, world_size=size)
    x = minigrad.ones(2) * (rank + 1) * factor
    dist.all_reduce(x)
    assert x.tolist() == [30, 30] and dist.get_node_local_rank() == rank
    dist.destroy_process_group()

def raises(rank, size):
    dist.init_process_group(rank=rank, world_size=size)
    if rank == 1:
        raise KeyError("no luck")
    dist.barrier()

def exits(number):
    sys.exit(3)

def waits(number):
    until(Path("go").exists, "the word comes")

if __name__ == "__main__":
    assert spawn(reduces, (2, 10), 2) is None
    try:
        spawn(raises, (2,), 2)
    except ProcessRaisedException as error:
        assert error.error_index == 1
        assert "-- Process 1 terminated with the following error:" in str(error) and "KeyError: 'no luck'" in str(error)
    else:
        raise AssertionError
    assert raised(ProcessExitedException, lambda: spawn(exits, nprocs=2)) == "a process has failed: mpiexec returned 3"
    context = spawn(waits, nprocs=2, join=False)
    assert isinstance(context, ProcessContext) and context.join(0.05) is False
    Path("go").touch()
    assert context.join() is True
    print("over")
"""


def test_a_program(tmp_path: Path) -> None:
    ran = finished(begun([sys.executable, written(PROGRAM, tmp_path)], tmp_path))
    assert (ran.status, ran.out) == (0, "over\n"), ran.err
