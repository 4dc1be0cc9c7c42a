"""Calls that differ between ranks: the checks of ``programs/agreement.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.programs import agreement
from tests.support.ranks import Outcomes, checks, told

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
CASES = [(ranks, check) for ranks in (2, 3) for check in checks(agreement, ranks)]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_of_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    outcomes.confirm(agreement.__name__, ranks, check)


BEFORE_RIGHT_ONES = """
import time
from datetime import timedelta
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell
dist.init_process_group(timeout=timedelta(seconds=5))
x, y = minigrad.ones(3), minigrad.ones(3)
if dist.get_rank() == 0:
    wrong = dist.all_reduce(minigrad.ones(3), async_op=True)
    works = [dist.all_reduce(t, async_op=True) for t in (x, y)]
    raised(RuntimeError, wrong.wait)
    for work in works:
        work.wait()
else:
    said = raised(RuntimeError, lambda: dist.all_reduce(minigrad.ones(4)))
    assert "shape (3,)" in said and "shape (4,)" in said, said
    dist.all_reduce(x)
    dist.all_reduce(y)
tell([x.tolist(), y.tolist()])
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_wrong_call_before_right_ones(tmp_path: Path, ranks: int) -> None:
    """Rank 0 has begun the next calls when the first turns out to be wrong; the others begin them later."""
    assert told(BEFORE_RIGHT_ONES, ranks, tmp_path, seconds=20) == [[[ranks] * 3] * 2] * ranks
