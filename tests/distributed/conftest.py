"""What the tests of several ranks share."""

from tests.support.outcomes import outcomes as outcomes
