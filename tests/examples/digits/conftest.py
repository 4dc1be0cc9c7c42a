"""What the tests of the digits share: a browser, and the results of a short training of all networks."""

from __future__ import annotations

import pytest

from examples.digits.results import Results
from tests.support.browser import browser, open_file  # noqa: F401  # fixtures


@pytest.fixture(scope="module")
def results() -> Results:
    """One epoch each, with two seeds."""
    return Results(seed=0, epochs=1, repeat=2)
