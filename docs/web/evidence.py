"""What stands behind a public function: the ops that it applies, with their gradient rules, and tests that name it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CellType
from typing import Any

from .documents import ROOT

MOST_OPS, MOST_TESTS = 4, 2


@cache
def index() -> Any:
    """docs/generate_index.py, which writes of every op its rules, cases and kernels."""
    sys.path.insert(0, str(ROOT))
    return import_module("docs.generate_index")


@cache
def registry() -> dict[str, Any]:
    """All ops by name."""
    found: dict[str, Any] = index().registry()
    return found


def rules(value: Any) -> str:
    """The gradient rules of the ops that a function applies, as Markdown; "" where there are none."""
    return "\n\n".join(part for op in list(ops(value))[:MOST_OPS] for part in _of_op(op))


def _of_op(op: Any) -> Iterator[str]:
    rows = [f"- {rule}" for rule in index()._rules(op)]
    yield f"**Gradient rules of the op `{op.name}`**" if rows else f"The op `{op.name}` is not differentiable."
    if rows:
        yield "\n".join(rows)
    case, kernels = index()._test(op.name), list(index()._kernels(op))
    facts = [*([f"tested by {case}"] if case else ()), *([f"kernels: {', '.join(kernels)}"] if kernels else ())]
    if facts:
        yield f"The op `{op.name}`: {'; '.join(facts)}\n{{: .places }}"


def ops(value: Any) -> Iterator[Any]:
    """The ops that a function's own text applies."""
    function = inspect.unwrap(value) if callable(value) else None
    code = getattr(function, "__code__", None)
    if function is None or code is None:
        return
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]  # an empty one has none
    found = {id(op): op for op in [*cells, *_named(code, function.__globals__)] if _is_op(op)}
    yield from found.values()


def _named(code: Any, names: dict[str, Any]) -> Iterator[Any]:
    """What the names in a function mean, attributes of modules included."""
    for node in ast.walk(_definition(code.co_filename, code.co_firstlineno) or ast.Module([], [])):
        if isinstance(node, ast.Name):
            yield names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield getattr(names.get(node.value.id), node.attr, None)


def _definition(file: str, line: int) -> ast.FunctionDef | None:
    return _definitions(file).get(line)


@cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first line, decorators included."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min([f.lineno, *(d.lineno for d in f.decorator_list)]): f for f in functions}


def _is_op(value: Any) -> bool:
    return type(value).__name__ == "Op" and value.builtin and registry().get(value.name) is value


# Tests ---------------------------------------------------------------------------------------------------


def tests(name: str, area: str, source: str) -> list[tuple[str, int]]:
    """Files and lines of tests that name something, at most two: those of its area first, then those that name it most.

    Args:
        name: the last part of a public name. area: what is tested there, as "nn": tests/nn, tests/test_nn.py.
        source: the file that defines it; tests of the same name come first, too.
    """
    found = mentions().get(name, {})
    near = [file for file in found if file.startswith((f"tests/{area}/", f"tests/test_{area}."))]
    if area == "functions" and not near:  # NumPy has many of these names, too
        found = {file: count for file, count in found.items() if file.startswith(("tests/test_", "tests/autograd/"))}
    called = {name.lower().rstrip("_"), Path(source).stem}
    best = sorted(near or found, key=lambda file: (_subject(file) not in called, -found[file][1], file))
    return [(file, found[file][0]) for file in best[:MOST_TESTS]]


def _subject(file: str) -> str:
    return Path(file).stem.removeprefix("test_")


@cache
def mentions() -> dict[str, dict[str, tuple[int, int]]]:
    """Of each name in the tests the files that have it: the first line, and how often."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _mentioned(node):
                files = found.setdefault(name, {})
                line, count = files.get(file, (node.lineno, 0))  # type: ignore[attr-defined]
                files[file] = min(line, node.lineno), count + 1  # type: ignore[attr-defined]
    return found


def _mentioned(node: ast.AST) -> Iterator[str]:
    """An attribute, a name, and a name in quotes, as tables of tests have it."""
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield node.value
