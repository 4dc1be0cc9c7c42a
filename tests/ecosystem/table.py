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
    version: str  # the release that is tried
    further: tuple[str, ...] = ()  # requirements of the example beside the library
    sample: bool = False  # CI runs it
    differs: str = ""  # why it does not run, or not give PyTorch's numbers; "" for one that does

    @property
    def requirements(self) -> list[str]:
        """What is installed for it."""
        return [f"{self.name}=={self.version}", *self.further]

    @property
    def example(self) -> str:
        """What its example does: the first line of that program's docstring."""
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
