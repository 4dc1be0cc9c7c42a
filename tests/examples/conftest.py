"""What the tests of examples share: a browser."""

from __future__ import annotations

from tests.support.browser import browser, open_file  # noqa: F401  # fixtures
