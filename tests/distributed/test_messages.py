"""Messages between two ranks: the checks of ``programs/messages.py``."""

from __future__ import annotations

import pytest

from tests.distributed.programs import messages
from tests.support.ranks import Outcomes, checks

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
CASES = [(ranks, check) for ranks in (2, 3) for check in checks(messages, ranks)]


@pytest.mark.parametrize(("ranks", "check"), CASES)
def test_of_ranks(outcomes: Outcomes, ranks: int, check: str) -> None:
    outcomes.confirm(messages.__name__, ranks, check)
