"""The examples in docstrings: they run, and print what they say; the names that programs use most have one."""

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import minigrad as mg
from minigrad import nn

ROOT = Path(__file__).parents[2]
NAMES = {"mg": mg, "nn": nn, "F": nn.functional}  # what every example finds imported
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> Iterator[tuple[str, str, int]]:
    """Docstrings with examples: their place, their text, and the line that they begin in."""
    for path in sorted((ROOT / "minigrad").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ">>>" in text else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstring = ast.get_docstring(node) or ""
                if ">>>" in docstring:
                    place = f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'name', '')}"
                    yield place, docstring, node.body[0].lineno


EXAMPLES = list(examples())


def test_examples_print_what_they_say() -> None:
    wrong: list[str] = []
    for place, docstring, line in EXAMPLES:
        mg.manual_seed(0)
        test = doctest.DocTestParser().get_doctest(docstring, dict(NAMES), place, place.partition(":")[0], line - 1)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=wrong.append)
    assert not wrong, "".join(wrong)


def test_the_names_that_programs_use_most_have_an_example() -> None:
    """docs/pytorch.md counts what 29 public programs use. Names that are one op each show their formula instead."""
    assert len(EXAMPLES) >= 150
    rows = re.findall(r"^\| `torch\.([\w.]+)`[^|]*\| (\d+) \| yes", (ROOT / "docs/pytorch.md").read_text("utf-8"), re.M)
    ranking = [name for name, _ in sorted(rows, key=lambda row: -int(row[1]))]
    shown = {place.rpartition(":")[2] for place, _, _ in EXAMPLES}
    elsewhere = {"zeros", "ones", "long", "float", "is_available"}  # made for many names at once; dtypes; of a GPU
    assert not [name for name in ranking[:40] if name.rpartition(".")[2] not in shown | elsewhere]
