"""DistributedDataParallel on 1 and 3 ranks: the checks of ``ddp_checks.py``."""

import pytest

import minigrad as mg
from minigrad import nn
from tests.compat import ddp_checks as program
from tests.support.outcomes import outcomes as outcomes
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")


@pytest.mark.parametrize("ranks", [1, 3])
def test_on_ranks(outcomes: Outcomes, ranks: int) -> None:
    for check in checks(program, ranks):
        outcomes.confirm(program.__name__, ranks, check)


def test_without_a_world() -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    assert nn.parallel.DistributedDataParallel is nn.DistributedDataParallel


def test_the_reducer_detaches_after_the_backward_pass(device: str) -> None:
    mg.distributed.init_process_group()
    try:
        model = nn.DistributedDataParallel(nn.Linear(3, 2).to(device))
        before = mg.autograd.observer.watch.observers
        x = mg.ones(2, 3, device=device)
        model(x).sum().backward()
        with mg.no_grad():
            model(x)
        assert mg.autograd.observer.watch.observers == before
        assert model.module.weight.grad is not None and model.module.weight.grad.tolist() == [[2.0] * 3] * 2
    finally:
        mg.distributed.destroy_process_group()
