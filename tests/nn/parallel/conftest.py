"""What the tests of several ranks share."""

from tests.distributed.conftest import outcomes as outcomes
