"""A plugin of pytest: it writes how each test ends as a line of JSON, so that a suite which is stopped is of use."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from .runner import append

FILE = os.environ.get("MINIGRAD_TESTS")
LONGEST = 3000  # characters of a reason


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle, in all processes alike."""
    random.Random(0).shuffle(items)


def pytest_configure(config: pytest.Config) -> None:
    """Only the main process writes: it hears of all tests."""
    if FILE is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rows(Path(FILE)))


class Rows:
    """Writes to a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the end of a test, or a failure before or after it."""
        if report.when == "call" or report.outcome != "passed":
            why = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr or ""))
            append(self.file, {"test": report.nodeid, "end": report.outcome, "why": why[:LONGEST]})
