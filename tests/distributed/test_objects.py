"""Collectives of Python objects: the checks of ``programs/objects.py``."""

from __future__ import annotations

import pytest

from tests.distributed.programs import objects
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
CASES = [(ranks, check) for ranks in (1, 2, 3) for check in checks(objects, ranks)]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_of_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    outcomes.confirm(objects.__name__, ranks, check)
