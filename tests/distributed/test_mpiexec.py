"""Ranks that an MPI's own launcher has started."""

import sys
from pathlib import Path

import pytest

from tests.support.ranks import Ran, answers, begun, finished, is_running, written

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
MPIEXEC = Path(sys.prefix) / "bin" / "mpiexec"
pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason=f"there is no {MPIEXEC}: PyPI's mpich brings it")
nightly = pytest.mark.nightly
BEGIN = """
import os, signal, sys
from pathlib import Path
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell, until
"""


def _run(text: str, folder: Path, ranks: int = 2, *before: str, **extra: str) -> Ran:
    command = [MPIEXEC, *before, "-n", str(ranks), sys.executable, written(f"{BEGIN}{text}", folder)]
    return finished(begun(command, folder, **extra))


def test_ranks(tmp_path: Path) -> None:
    text = """
dist.init_process_group("mpi")
k = dist.get_rank()
x = minigrad.ones(3) * (k + 1)
dist.all_reduce(x)
y = minigrad.zeros(3)
work = dist.irecv(y, (k + 1) % 3)
dist.send(x + k, (k - 1) % 3)
work.wait()
objects = [None] * 3
dist.all_gather_object(objects, k)
tell([k, dist.get_world_size(), dist.get_backend(), dist.get_node_local_rank(), x.tolist(), y.tolist(), objects], k)
dist.destroy_process_group()
"""
    ran = _run(text, tmp_path, 3)
    assert ran.status == 0, ran.err
    rest = lambda k: [[6] * 3, [6 + (k + 1) % 3] * 3, [0, 1, 2]]
    assert answers(3, tmp_path) == [[k, 3, "mpi", k, *rest(k)] for k in range(3)]


@nightly
def test_torchruns_variables_do_not_matter_and_arguments_must_agree(tmp_path: Path) -> None:
    """And the world may begin again."""
    text = """
said = raised(ValueError, lambda: dist.init_process_group(rank=5, world_size=9))
assert "PMI_RANK and PMI_SIZE say that this is rank" in said
for _ in range(2):
    dist.init_process_group()
    x = minigrad.ones(2)
    dist.all_reduce(x)
    assert x.tolist() == [2, 2]
    tell(dist.get_rank(), dist.get_rank())
    dist.destroy_process_group()
"""
    ran = _run(text, tmp_path, RANK="5", WORLD_SIZE="9", MASTER_ADDR="no.such.machine")
    assert ran.status == 0, ran.err
    assert answers(2, tmp_path) == [0, 1]


@nightly
@pytest.mark.parametrize("ends", ["raise ValueError('no luck')", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(3)"])
def test_an_end_of_one_ends_the_job(tmp_path: Path, ends: str) -> None:
    text = f"""
dist.init_process_group(timeout=timedelta(seconds=2))
tell(os.getpid(), dist.get_rank())
dist.barrier()
if dist.get_rank() == 1:
    {ends}
dist.all_reduce(minigrad.ones(3))
"""
    ran = _run(text, tmp_path)
    assert ran.status != 0
    if "ValueError" in ends:
        assert "minigrad: rank 1 ends with an error:" in ran.err and ran.err.count("ValueError: no luck") == 1
    assert not any(is_running(pid) for pid in answers(2, tmp_path))


@nightly
def test_calls_that_differ_and_one_that_does_not_come(tmp_path: Path) -> None:
    text = """
dist.init_process_group()
tell(raised(RuntimeError, lambda: dist.all_reduce(minigrad.ones(3 + dist.get_rank()))), dist.get_rank())
if dist.get_rank() == 0:
    said = raised(RuntimeError, lambda: dist.barrier(timeout=timedelta(seconds=0.3)))
    assert said == "barrier timed out after 0.3 s: rank 1 has not called it", said
    Path("gave_up").touch()
    dist.all_reduce(minigrad.ones(2), async_op=True)
else:
    until(Path("gave_up").exists, "rank 0 gives up")
    dist.barrier()
"""
    ran = _run(text, tmp_path)
    assert ran.status == 0, ran.err
    first, second = answers(2, tmp_path)
    assert first == second and "rank 1: all_reduce(float32 of shape (4,), op=sum)" in str(first)
