"""The table of libraries: ``libraries.toml``, and for each row an example in ``libraries/``."""

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
FILE, EXAMPLES = HERE / "libraries.toml", HERE / "libraries"


class Library(NamedTuple):
    """A row."""

    name: str  # on PyPI
    version: str  # the tested release
    further: tuple[str, ...] = ()  # further requirements of the example
    sample: bool = False  # whether CI runs it
    differs: str = ""  # why it does not run or reproduce PyTorch's numbers; "" if it does

    @property
    def requirements(self) -> list[str]:
        """The packages to install for it."""
        return [f"{self.name}=={self.version}", *self.further]

    @property
    def example(self) -> str:
        """A description of its example: the first line of that program's docstring."""
        tree = ast.parse(self.program.read_text(encoding="utf-8"))
        return (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")

    @property
    def program(self) -> Path:
        """The file of its example."""
        return EXAMPLES / f"{self.name.replace('-', '_')}.py"


@cache
def libraries() -> dict[str, Library]:
    """All rows, by name."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Library(name, **{**row, "further": tuple(row.get("further", ()))}) for name, row in rows.items()}
