"""The playground's programs, which run here as well; and what esbuild is given."""

import re
from pathlib import Path
from typing import Any

import pytest

from minigrad import viz
from web import scripts

PANELS = ("graph", "playback", "explain", "attention")  # of playground.js, but for Output
FILES = sorted(scripts.EXAMPLES.glob("*.py"))


def panels(program: str) -> list[tuple[str, str]]:
    """What a program's head says of its panels: name and expression."""
    return re.findall(r"^#\| (\w+): (.+)$", program, re.MULTILINE)


class Shown:
    """What ``display`` returns."""

    def update(self, value: Any) -> None:
        """Draw it, as the page does."""
        assert value._repr_svg_().startswith("<svg")


def display(value: Any, display_id: bool = False) -> Shown:
    """In place of the page's."""
    shown = Shown()
    shown.update(value)
    return shown


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
        shown = capsys.readouterr().out if panel == "explain" else value.html()
        assert len(shown) > 100, panel
