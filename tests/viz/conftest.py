"""What the tests of pictures share: a browser that opens the files they save."""

from tests.support.browser import browser, open_file  # noqa: F401  # fixtures
