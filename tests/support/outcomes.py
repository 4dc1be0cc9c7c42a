"""A fixture for tests of several ranks."""

import os

import pytest

from tests.support.ranks import Outcomes


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """The outcomes of the checks in ``programs``, shared among the processes of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    return Outcomes(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
