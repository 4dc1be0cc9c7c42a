"""What the tests of embeddings share: a browser that opens pages."""

from tests.support.browser import browser, open_file  # noqa: F401  # fixtures
