"""The examples in docstrings print the output that they show, and the most used names have one."""

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import minigrad as mg
from minigrad import nn

ROOT = Path(__file__).parents[2]
NAMES = {"mg": mg, "nn": nn, "F": nn.functional}  # imported in every example
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> Iterator[tuple[str, str, int]]:
    """Docstrings with examples: their place, their text, and their first line."""
    for path in sorted(path for top in ("minigrad", "models") for path in (ROOT / top).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ">>>" in text else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstring = ast.get_docstring(node) or ""
                if ">>>" in docstring:
                    place = f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'name', '')}"
                    yield place, docstring, node.body[0].lineno


EXAMPLES = list(examples())


def test_examples_print_their_expected_output() -> None:
    wrong: list[str] = []
    for place, docstring, line in EXAMPLES:
        mg.manual_seed(0)
        test = doctest.DocTestParser().get_doctest(docstring, dict(NAMES), place, place.partition(":")[0], line - 1)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=wrong.append)
    assert not wrong, "".join(wrong)


def test_the_most_used_names_have_an_example() -> None:
    """docs/pytorch.md counts the names that 29 public programs use. Names of single ops show a formula instead."""
    assert len(EXAMPLES) >= 150
    rows = re.findall(r"^\| `torch\.([\w.]+)`[^|]*\| (\d+) \| yes", (ROOT / "docs/pytorch.md").read_text("utf-8"), re.M)
    ranking = [name for name, _ in sorted(rows, key=lambda row: -int(row[1]))]
    places = {place.rpartition(":")[2] for place, _, _ in EXAMPLES}
    elsewhere = {"zeros", "ones", "long", "float", "is_available"}  # shared by many names; dtypes; GPUs
    assert not [name for name in ranking[:40] if name.rpartition(".")[2] not in places | elsewhere]
