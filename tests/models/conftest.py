"""What the tests of models share: a browser, and how a program refuses a command."""

from tests.examples.conftest import browser, open_file, opened, refused  # noqa: F401  # fixtures
