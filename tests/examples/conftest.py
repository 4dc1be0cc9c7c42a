"""What the tests of examples share: a browser, and how a program refuses a command."""

import re
from collections.abc import Callable

import pytest

from tests.support.browser import browser, open_file  # noqa: F401  # fixtures


@pytest.fixture
def refused(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str], str], None]:
    """A command of the program ``cli`` of the test's module ends with one line that says why."""

    def check(command: list[str], message: str) -> None:
        capsys.readouterr()
        assert request.module.cli.main(command) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("error: "), lines
        assert re.search(message, lines[0]), lines[0]

    return check
