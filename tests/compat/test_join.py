"""Join and hooks on 2 ranks (nightly on 1 and 4): the checks in ``join_checks.py``, and their names."""

import importlib

import pytest

from minigrad.compat import join
from minigrad.distributed import hooks
from tests.compat import join_checks as program
from tests.support.outcomes import outcomes as outcomes
from tests.support.ranks import Outcomes, checks

CASES = [pytest.param(2, check, id=check) for check in checks(program, 2)]
AT_NIGHT = [(n, check) for n in (1, 4) for check in checks(program, n)]
CASES += [pytest.param(*case, id="{1} of {0}".format(*case), marks=pytest.mark.nightly) for case in AT_NIGHT]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_on_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
    outcomes.confirm(program.__name__, ranks, check)


def test_names() -> None:
    algorithms = importlib.import_module("minigrad.distributed.algorithms")
    for path in ("minigrad.distributed.algorithms.join", "minigrad.distributed.algorithms"):
        assert importlib.import_module(path).Join is join.Join
    from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks

    assert default_hooks.allreduce_hook is hooks.allreduce_hook
    assert algorithms.Joinable is join.Joinable and algorithms.JoinHook is join.JoinHook
