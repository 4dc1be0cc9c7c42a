"""Fixtures for the tests of models: a browser, when it opens pictures, and checks of command-line errors."""

from tests.examples.conftest import browser, open_file, opened, refused  # noqa: F401  # fixtures
from tests.viz.conftest import pytest_collection_modifyitems  # noqa: F401
