"""The checks in ``programs`` compare each function with NumPy, on one rank and on several connected by MPI."""

import pytest

import minigrad.distributed as dist
from tests.distributed.programs import every
from tests.support.cases import each
from tests.support.outcomes import outcomes as outcomes
from tests.support.ranks import Outcomes, checks

nightly = pytest.mark.nightly


def test_one_rank() -> None:
    dist.init_process_group(rank=0, world_size=1)
    try:
        each(checks(every, 1), lambda name: getattr(every, name)(dist.new_group()))
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=nightly), 3, pytest.param(4, marks=nightly)])
@pytest.mark.parametrize("module", ["agreement", "collectives", "functional", "messages", "nccl", "objects"])
def test_several_ranks(outcomes: Outcomes, module: str, ranks: int) -> None:
    pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
    names = [name for name in checks(every, ranks) if name.startswith(f"check_{module}_")]
    assert len(names) > 2
    each(names, lambda name: outcomes.confirm(every.__name__, ranks, name))
