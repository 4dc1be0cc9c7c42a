"""Gradients through collectives: the checks of ``programs/functional.py``, and PyTorch."""

from __future__ import annotations

import pytest

from tests.distributed.programs import functional
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
CASES = [(ranks, check) for ranks in (1, 2, 3) for check in checks(functional, ranks)]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_of_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    outcomes.confirm(functional.__name__, ranks, check)
