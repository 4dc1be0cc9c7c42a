"""What the tests of models share: a browser, when it opens pictures, and how a program refuses a command."""

from tests.examples.conftest import browser, open_file, opened, refused  # noqa: F401  # fixtures
from tests.viz.conftest import pytest_collection_modifyitems  # noqa: F401
