"""Writes docs/ops.md: every op with its formula, its gradient rules and their formulas, its test and its kernels.

    python docs/generate_index.py            write it
    python docs/generate_index.py --check    fail if it is out of date

The ops come from the registry of the running library, the text and line of a rule from its source, and the tests from
the table of cases.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from inspect import unwrap
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "ops.md"
CASES = ROOT / "tests" / "ops" / "cases.py"
KERNELS = ROOT / "minigrad" / "backend" / "kernels"
INTRODUCTION = """\
# All ops

Written by `python tasks.py index`; a test fails when it is out of date.

An op is a forward on arrays and one gradient rule for each input ([ops/op.py](../minigrad/ops/op.py) explains how to
read them). This page shows each rule as a formula, which links to its code, and as its text. In a formula g is the
gradient of the result y, and dx the gradient of the input x; in a rule `g` is the same, `out` the result and `shape`
the input's shape; its other names are arguments of the op. A *fused* op has a kernel in the backend, which computes the
same result faster.
"""
HEADER = """\
| op | computes | gradient rules | tested by | kernels |
|---|---|---|---|---|
"""


def registry() -> dict[str, Any]:
    """All ops by name, from the modules that use the op decorator."""
    sys.path.insert(0, str(ROOT))  # this checkout, even if another one is installed
    for path in sorted((ROOT / "minigrad").rglob("*.py")):
        if re.search(r"^@op\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    ops: dict[str, Any] = importlib.import_module("minigrad.compat.ops.registry").REGISTRY
    return {name: op for name, op in ops.items() if op.__module__.startswith("minigrad.")}


def write_index(ops: dict[str, Any]) -> str:
    """The whole page."""
    placed = sorted(ops.values(), key=lambda op: (_file(op), _line(op)))
    parts = [INTRODUCTION, f"{len(ops)} ops, {sum(bool(op.kernel) for op in placed)} of them fused.\n"]
    for file, group in groupby(placed, key=_file):
        rows = [_row(op) for op in group]
        parts.append(f"## {_link(file.removeprefix('minigrad/'), file)}\n\n{_summary(file)}\n")
        parts.append(HEADER + "".join(rows))
    return "\n".join(parts)


def _row(op: Any) -> str:
    cells = [
        _link(f"`{op.name}`", _file(op), _line(op)) + f"<br>({', '.join(_parameters(op))})",
        _formula(op),
        "<br>".join(_rules(op)) or "not differentiable",
        _test(op.name),
        "<br>".join(_kernels(op)),
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _parameters(op: Any) -> list[str]:
    return [*op.params, *([f"\\*{op.variadic}"] if op.variadic else [])]


def _formula(op: Any) -> str:
    """The first line of the docstring, without the final period."""
    lines = (op.__doc__ or "").strip().splitlines()
    return lines[0].rstrip(".").replace("*", "\\*").replace("<", "&lt;") if lines else ""


# Rules ---------------------------------------------------------------------------------------------------


def _rules(op: Any) -> Iterator[str]:
    """For each differentiable input, the formula of its rule, linked to the code, and the rule's text."""
    for name, (rule, _) in op.rules.items():
        source = importlib.import_module("minigrad.viz.graph.graph_names").source_of(rule)
        assert source is not None
        yield f"{_link(op.formula(name), _file(op), source.line)}: `{_expression(source.text)}`"


def _expression(rule: str) -> str:
    """The result of a rule in one line: a lambda's expression, or a function's call."""
    if rule.startswith("def "):
        function = ast.parse(rule).body[0]
        assert isinstance(function, ast.FunctionDef)
        return f"{function.name}({', '.join(a.arg for a in function.args.args)})"
    text = f"({rule}\n)"
    body = next(node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda))
    return " ".join((ast.get_source_segment(text, body) or "").split())


# Tests and kernels ---------------------------------------------------------------------------------------


def _test(name: str) -> str:
    """A link to the op's first case, and the number of cases; "" if it has none."""
    lines = _case_lines().get(name, [])
    count = f"{len(lines)} case{'s' if len(lines) > 1 else ''}"
    return _link(count, _relative(CASES), lines[0]) if lines else ""


@cache
def _case_lines() -> dict[str, list[int]]:
    """The lines of each op's cases."""
    lines: dict[str, list[int]] = {}
    for case in importlib.import_module("tests.ops.cases").CASES if CASES.exists() else ():
        lines.setdefault(case.op, []).append(case.ours.__code__.co_firstlineno)
    return lines


def _kernels(op: Any) -> Iterator[str]:
    """Links to the files of a fused op's kernels."""
    if not op.kernel:
        return
    kernels = importlib.import_module("minigrad.backend.kernels")
    for label, files in (("Numba", kernels.CPU_FILES), ("CUDA", kernels.CUDA_FILES)):
        if op.kernel in files:
            yield _link(label, _relative(KERNELS / f"{files[op.kernel]}.py"))
    for source in _cuda_sources(kernels.CUDA_FILES.get(op.kernel, "")):
        yield _link(source.name, _relative(source))


def _cuda_sources(file: str) -> list[Path]:
    """The CUDA sources that a launcher uses."""
    launcher = KERNELS / f"{file}.py"
    words = re.findall(r'"(\w+)"', launcher.read_text(encoding="utf-8")) if launcher.exists() else []
    paths = [KERNELS / f"{word}.cu" for word in dict.fromkeys(words)]
    return [path for path in paths if path.exists()]


# Places --------------------------------------------------------------------------------------------------


def _file(op: Any) -> str:
    return _relative(Path(unwrap(op.forward).__code__.co_filename))


def _line(op: Any) -> int:
    """The line of the op's lambda or of its ``def``, rather than of its decorator."""
    code = unwrap(op.forward).__code__
    first = int(code.co_firstlineno)
    if code.co_name == "<lambda>":
        return first
    lines = (ROOT / _file(op)).read_text(encoding="utf-8").splitlines()
    return next(n for n in range(first, len(lines) + 1) if lines[n - 1].startswith("def "))


def _summary(file: str) -> str:
    """The first line of a file's docstring."""
    doc = ast.get_docstring(ast.parse((ROOT / file).read_text(encoding="utf-8"))) or ""
    return doc.split("\n\n")[0].replace("\n", " ")


def _relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix()


def _link(label: str, file: str, line: int | None = None) -> str:
    return f"[{label}](../{file}{f'#L{line}' if line else ''})"


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description="Write docs/ops.md, the index of all ops.")
    parser.add_argument("--check", action="store_true", help="only check whether the page is up to date")
    check = parser.parse_args().check
    text = write_index(registry())
    if check:
        current = INDEX.exists() and INDEX.read_text(encoding="utf-8") == text
        print("docs/ops.md is up to date" if current else "docs/ops.md is out of date: python tasks.py index")
        return 0 if current else 1
    INDEX.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {_relative(INDEX)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
