"""The playground's programs also run here."""

import re
from pathlib import Path
from typing import Any

import pytest

from docs.web import scripts
from minigrad import viz

PANELS = ("graph", "playback", "explain", "attention")  # the panels of playground.js, except Output
FILES = sorted(scripts.EXAMPLES.glob("*.py"))


def panels(program: str) -> list[tuple[str, str]]:
    """The panels in a program's header: name and expression."""
    return re.findall(r"^#\| (\w+): (.+)$", program, re.MULTILINE)


class Shown:
    """The handle that ``display`` returns."""

    def update(self, value: Any) -> None:
        """Draw the value as the page does."""
        assert value._repr_svg_().startswith("<svg")


def display(value: Any, display_id: bool = False) -> Shown:
    """A stub for the page's ``display``."""
    handle = Shown()
    handle.update(value)
    return handle


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_an_example_runs_and_its_panels_show_something(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__", "display": display}
    exec(compile(program, path.name, "exec", dont_inherit=True), names)
    assert capsys.readouterr().out.strip()
    names["viz"] = viz
    for panel, expression in panels(program):
        assert panel in PANELS
        value = eval(expression, names)
        text = capsys.readouterr().out if panel == "explain" else value.html()
        assert len(text) > 100, panel
