"""Calls under way: who is missing when the time is over, who has ended, and what must not hang or crash."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.ranks import run, told

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
BEGIN = """
import os, sys, time
from datetime import timedelta
import numpy as np
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell
dist.init_process_group(timeout=timedelta(seconds=float(os.environ.get("SECONDS", "30"))))
k, n = dist.get_rank(), dist.get_world_size()
x = minigrad.ones(3) * (k + 1)
"""

LATE = f"""{BEGIN}
if k == 1:
    time.sleep(4)
    tell("late")
    sys.exit()
work = dist.all_reduce(x, async_op=True)
tell([raised(RuntimeError, lambda: work.wait(timedelta(seconds=0.5))), work.is_success()])
time.sleep(4)
"""


def test_the_time_is_over_and_who_is_missing_is_named(tmp_path: Path) -> None:
    first, late, third = told(LATE, 3, tmp_path)
    assert late == "late"
    assert first == third == ["all_reduce timed out after 0.5 s: rank 1 has not called it", False]


BARRIER = f"""{BEGIN}
if k == 0:
    said = raised(RuntimeError, lambda: dist.monitored_barrier(timeout=timedelta(seconds=0.3)))
    tell([said, raised(RuntimeError, lambda: dist.barrier(timeout=timedelta(seconds=0.3)))])
else:
    time.sleep(7)
    tell(None)
"""


def test_a_barrier_has_a_time_of_its_own(tmp_path: Path) -> None:
    assert told(BARRIER, 3, tmp_path)[0] == ["barrier timed out after 0.3 s: ranks 1, 2 have not called it"] * 2


OF_THE_GROUP = f"""{BEGIN}
group = dist.new_group([0, 2], timeout=timedelta(seconds=0.3))
tell(raised(RuntimeError, lambda: dist.all_reduce(x, group=group)) if k == 2 else None)
time.sleep(3.5 if k != 2 else 0)
"""


def test_a_group_has_a_time_of_its_own_and_names_ranks_of_the_world(tmp_path: Path) -> None:
    assert told(OF_THE_GROUP, 3, tmp_path)[2] == "all_reduce timed out after 0.3 s: rank 0 has not called it"


ENDED = f"""{BEGIN}
if k == 1:
    tell("ended")
    sys.exit(0)
tell(raised(RuntimeError, lambda: dist.all_reduce(x)))
"""


def test_a_rank_that_has_ended_is_named(tmp_path: Path) -> None:
    first, _, third = told(ENDED, 3, tmp_path, seconds=30)
    assert first == third == "all_reduce cannot end: rank 1 has ended without calling it"


DESTROYED = ENDED.replace("sys.exit(0)", "dist.destroy_process_group(); time.sleep(4); sys.exit(0)")


def test_a_rank_that_has_destroyed_its_group_is_named(tmp_path: Path) -> None:
    said = told(DESTROYED, 3, tmp_path, seconds=30)[0]
    assert said == "all_reduce cannot end: rank 1 has ended without calling it"


RECEIVING = f"""{BEGIN}
if k == 1:
    tell("ended")
    sys.exit(0)
tell(raised(RuntimeError, lambda: dist.recv(x, 1)) if k == 0 else None)
"""


def test_who_waits_for_a_message_of_a_rank_that_has_ended_hears_so(tmp_path: Path) -> None:
    """Well before the time is over."""
    said = told(RECEIVING, 3, tmp_path, seconds=15)[0]
    assert "rank 1" in said and "ended" in said


FINISHED_FIRST = f"""{BEGIN}
if k == 0:
    from minigrad.distributed.mpi import Mpi, MpiRequest
    class Slow:
        def __init__(self, request):
            self.request, self.end = request, time.monotonic() + 4
        def done(self):
            return self.request.done() and time.monotonic() > self.end
    plain = Mpi.broadcast
    Mpi.broadcast = lambda *given: Slow(plain(*given))
dist.broadcast(x, 1)
tell(x.tolist())
"""


def test_a_rank_that_has_done_its_part_may_end(tmp_path: Path) -> None:
    """It is not blamed where a transfer to another rank takes some seconds more."""
    assert told(FINISHED_FIRST, 3, tmp_path) == [[2, 2, 2]] * 3


UNKEPT = f"""{BEGIN}
size = 1 << 16
tensors = [minigrad.ones(size, dtype=minigrad.float16) for _ in range(8)]
for t in tensors:
    dist.all_reduce(t, async_op=True)
for _ in range(20):
    dist.barrier()
    noise = [np.full(size, -1.0, np.float32) for _ in range(8)]
    del noise
tell([t.float().sum().item() / size for t in tensors])
dist.barrier()
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_nobody_keeps_the_handle(tmp_path: Path, ranks: int) -> None:
    """The calls go on, and nothing that they use is freed."""
    assert told(UNKEPT, ranks, tmp_path) == [[ranks] * 8] * ranks


NEW_GROUP = f"""{BEGIN}
if k == 0:
    work = dist.all_reduce(x, async_op=True)
else:
    time.sleep(0.3)
    dist.all_reduce(x)
group = dist.new_group([0, 1])
if k == 0:
    work.wait()
y = minigrad.ones(2)
dist.all_reduce(y, group=group)
tell([x.tolist(), y.tolist()])
"""


def test_a_group_is_made_while_a_call_is_under_way(tmp_path: Path) -> None:
    assert told(NEW_GROUP, 2, tmp_path, seconds=15) == [[[3] * 3, [2] * 2]] * 2


CROWDED = f"""
import os
if os.environ["RANK"] == "0":
    os.cpu_count = lambda: 1
{BEGIN}
dist.all_reduce(x)
dist.all_reduce(x)
tell(x.tolist())
"""


def test_machines_with_different_numbers_of_cores(tmp_path: Path) -> None:
    """Rank 0 sees fewer cores than ranks, and rank 1 enough: they still make the same calls of MPI."""
    assert told(CROWDED, 2, tmp_path, seconds=15) == [[6] * 3] * 2


AGAIN = f"""{BEGIN}
dist.all_reduce(x)
dist.destroy_process_group()
assert not dist.is_initialized()
dist.init_process_group(timeout=timedelta(seconds=5))
dist.all_reduce(x)
tell([dist.get_rank(), x.tolist()])
dist.barrier()
dist.destroy_process_group()
"""


def test_a_world_that_begins_again(tmp_path: Path) -> None:
    """As in the tests of many programs: each begins and ends its own."""
    assert told(AGAIN, 2, tmp_path, seconds=20) == [[0, [6] * 3], [1, [6] * 3]]


AGAIN_AND_KILLED = f"""{BEGIN}
dist.destroy_process_group()
dist.init_process_group(timeout=timedelta(seconds=5))
dist.barrier()
if k == 1:
    os.kill(os.getpid(), {int(signal.SIGKILL)})
dist.all_reduce(x)
"""


def test_a_death_in_a_world_that_has_begun_again(tmp_path: Path) -> None:
    ran = run(AGAIN_AND_KILLED, 2, tmp_path, seconds=20)
    assert ran.status == 137 and "rank 1" in ran.err and "SIGKILL" in ran.err


LATE_COMER = f"""{BEGIN}
if k == 0:
    raised(RuntimeError, lambda: dist.all_reduce(x))
    time.sleep(3)
    tell(None)
else:
    time.sleep(4)
    tell(raised(RuntimeError, lambda: dist.all_reduce(x)))
"""


def test_who_comes_after_the_others_have_given_up_has_a_time_out_too(tmp_path: Path) -> None:
    said = told(LATE_COMER, 2, tmp_path, seconds=20, SECONDS="1")[1]
    assert "all_reduce" in said


ENDS = f"""{BEGIN}
works = [dist.all_reduce(x.clone(), async_op=True) for _ in range(4)]
tell([work.is_completed() for work in works] and None)
"""


def test_a_program_ends_with_calls_under_way(tmp_path: Path) -> None:
    told(ENDS, 2, tmp_path, seconds=20)


BEFORE = """
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
dist.init_process_group("cpu:gloo,cuda:nccl")
dist.destroy_process_group()
raised(ValueError, dist.get_rank)
tell(None)
"""


def test_before_the_world_begins_and_after_it(tmp_path: Path) -> None:
    told(BEFORE, 2, tmp_path)
