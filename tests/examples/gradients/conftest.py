"""What the tests of gradients share: a browser."""

from __future__ import annotations

from tests.support.browser import browser, open_file  # noqa: F401  # fixtures
