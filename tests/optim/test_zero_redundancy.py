"""ZeroRedundancyOptimizer on 1 and 3 ranks: the checks of ``zero_checks.py``."""

import pytest

from minigrad import nn, optim
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer
from tests.optim import zero_checks
from tests.support.cases import raises
from tests.support.outcomes import outcomes as outcomes
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")


@pytest.mark.parametrize("ranks", [1, 3])
def test_of_ranks(outcomes: Outcomes, ranks: int) -> None:
    for check in checks(zero_checks, ranks):
        outcomes.confirm(zero_checks.__name__, ranks, check)


def test_without_a_world() -> None:
    build = lambda: ZeroRedundancyOptimizer(nn.Linear(1, 1).parameters(), optim.SGD, lr=0.1)
    raises(ValueError, "Default process group has not been initialized", build)
