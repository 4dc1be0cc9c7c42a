"""Calls under way when a rank ends, or its world. ``programs`` has the checks of worlds that live."""

import signal
from pathlib import Path

import pytest

from tests.support.ranks import run, told

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
nightly = pytest.mark.nightly
BEGIN = """
import os, sys, time
from datetime import timedelta
from pathlib import Path
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell, until
dist.init_process_group(timeout=timedelta(seconds=60))
k, n = dist.get_rank(), dist.get_world_size()
x = minigrad.ones(3) * (k + 1)
"""
WORLDS = f"""
import os
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell
x = minigrad.ones(2)
for call in (lambda: dist.all_reduce(x), lambda: dist.barrier(), dist.get_rank, dist.get_world_size, dist.get_backend):
    assert "init_process_group" in raised(ValueError, call)
raised(AssertionError, dist.destroy_process_group)
assert not dist.is_initialized() and dist.group.WORLD is None
raised(ValueError, lambda: dist.init_process_group("smoke"))
raised(ValueError, lambda: dist.init_process_group(init_method="http://localhost"))
raised(NotImplementedError, lambda: dist.init_process_group(store=object()))
assert not dist.is_initialized()
if os.environ["RANK"] == "0":
    os.cpu_count = lambda: 1
{BEGIN}
dist.all_reduce(x)
assert x.tolist() == [3] * 3
dist.destroy_process_group()
assert not dist.is_initialized()
raised(ValueError, dist.get_rank)
dist.init_process_group("cpu:gloo,cuda:nccl")
dist.all_reduce(x)
tell([dist.get_rank(), x.tolist()])
works = [dist.all_reduce(x.clone(), async_op=True) for _ in range(4)]
"""


def test_a_world_begins_and_ends_and_begins_again(tmp_path: Path) -> None:
    """Rank 0 sees fewer cores than ranks, and rank 1 enough: they still make the same calls of MPI. The program ends
    with calls under way."""
    assert told(WORLDS, 2, tmp_path) == [[0, [6] * 3], [1, [6] * 3]]


BARRIER = f"""{BEGIN}
path = Path("0.pickle")
if k == 0:
    said = raised(RuntimeError, lambda: dist.monitored_barrier(timeout=timedelta(seconds=0.3)))
    tell([said, raised(RuntimeError, lambda: dist.barrier(timeout=timedelta(seconds=0.3)))])
else:
    until(path.exists, "rank 0 gives up")
    tell(None)
"""


@nightly
def test_a_barrier_has_a_time_of_its_own(tmp_path: Path) -> None:
    assert told(BARRIER, 3, tmp_path)[0] == ["barrier timed out after 0.3 s: ranks 1, 2 have not called it"] * 2


ENDED = f"""{BEGIN}
if k == 1:
    tell("ended")
    %s
    sys.exit(0)
tell(raised(RuntimeError, lambda: dist.%s))
"""


@nightly
@pytest.mark.parametrize("how", ["", "dist.destroy_process_group()"])
def test_a_rank_that_has_ended_is_named(tmp_path: Path, how: str) -> None:
    answer = told(ENDED % (how, "all_reduce(x)"), 3, tmp_path)
    assert answer[0] == answer[2] == "all_reduce cannot end: rank 1 has ended without calling it"


@nightly
def test_a_message_of_a_rank_that_has_ended_does_not_come(tmp_path: Path) -> None:
    """Long before the time is over."""
    message = told(ENDED % ("", "recv(x, 1)"), 2, tmp_path, seconds=50)[0]
    assert "rank 1" in message and "ended" in message


AGAIN_AND_KILLED = f"""{BEGIN}
dist.destroy_process_group()
dist.init_process_group()
dist.barrier()
if k == 1:
    os.kill(os.getpid(), {int(signal.SIGKILL)})
dist.all_reduce(x)
"""


@nightly
def test_a_death_in_a_world_that_has_begun_again(tmp_path: Path) -> None:
    ran = run(AGAIN_AND_KILLED, 2, tmp_path)
    assert ran.status == 137 and "rank 1" in ran.err and "SIGKILL" in ran.err
