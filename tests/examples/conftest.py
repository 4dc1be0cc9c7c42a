"""Fixtures for the tests of examples: a browser, and checks of command-line errors."""

import re
from collections.abc import Callable

import pytest

from tests.support.browser import browser, open_file, opened  # noqa: F401  # fixtures


@pytest.fixture
def refused(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Check that a command of the module's ``cli`` exits with 1 and a one-line error, or with 2 after its usage."""

    def check(command: list[str], message: str, status: int = 1) -> None:
        capsys.readouterr()
        try:
            ended = request.module.cli.main(command)
        except SystemExit as stop:
            ended = stop.code
        lines = capsys.readouterr().err.strip().splitlines()
        assert ended == status and (status == 2 or (len(lines) == 1 and lines[0].startswith("error: "))), lines
        assert re.search(message, lines[-1]), lines[-1]

    return check
