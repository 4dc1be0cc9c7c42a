"""Collectives of 1 to 4 ranks against the same in NumPy: the checks of ``programs/collectives.py``."""

from __future__ import annotations

import pytest

from tests.distributed.programs import collectives
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
CASES = [(ranks, check) for ranks in (1, 2, 3, 4) for check in checks(collectives, ranks)]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_of_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    outcomes.confirm(collectives.__name__, ranks, check)
