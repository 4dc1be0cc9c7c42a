"""An example of each public name: the line of a document, or of a program in the repository, that calls it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .documents import ROOT, documents

PROGRAMS = ("docs/web/examples", "examples")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LONGEST = 110  # characters of a line that is an example; longer ones tell of other things
PART_OF_MORE = ("return ", "yield ", "if ", "elif ", "for ", "while ", "with ", "@")


class Use(NamedTuple):
    """A line that calls something."""

    code: str
    file: str
    line: int


def example(name: str) -> Use | None:
    """The first example of a name, given with its module: "minigrad.nn.Linear"."""
    return uses().get(name)


@cache
def uses() -> dict[str, Use]:
    """An example of each name that is called somewhere: documents before programs, each from its beginning; a line
    that is part of something larger only where there is no other."""
    found: dict[str, Use] = {}
    parts: dict[str, Use] = {}
    for file, blocks in sources():
        aliases: dict[str, str] = {}  # a document's blocks go on from each other
        for first, code in blocks:
            for name, use in _calls(code, file, first, aliases):
                (parts if use.code.startswith(PART_OF_MORE) else found).setdefault(name, use)
    return {**parts, **found}


def sources() -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Files of the repository, and their programs: the line of the file that comes before, and the text."""
    for file in documents():
        text = (ROOT / file).read_text(encoding="utf-8")
        if file.endswith(".ipynb"):
            cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
            yield file, [(0, "".join(cell["source"])) for cell in cells]
        else:
            yield file, [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]
    for folder in PROGRAMS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), [(0, path.read_text(encoding="utf-8"))]


def _calls(code: str, file: str, before: int, aliases: dict[str, str]) -> Iterator[tuple[str, Use]]:
    """The names that a program calls, each with the line of the call; what it imports is added to the aliases."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a notebook's commands
        return
    rows = code.splitlines()
    nodes = list(ast.walk(tree))
    for node in nodes:
        aliases.update(_imported(node))
    for node in sorted((node for node in nodes if isinstance(node, ast.Call)), key=lambda node: node.lineno):
        name = _dotted(node.func, aliases)
        row = rows[node.lineno - 1].strip()
        if name and node.lineno == node.end_lineno and len(row) <= LONGEST and _stands(row):
            yield name, Use(row, file, before + node.lineno)


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that an import of minigrad's binds, and what they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == "minigrad":
                yield (alias.asname, alias.name) if alias.asname else ("minigrad", "minigrad")
    elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "minigrad":
        yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """The whole name of what is called; "" if it is not minigrad's."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return ""
    return ".".join([aliases[node.id], *reversed(parts)])


def _stands(row: str) -> bool:
    """Whether a line means something by itself: no part of a longer statement."""
    if row.endswith(","):
        return False
    try:
        ast.parse(row if not row.endswith(":") else f"{row} ...")
    except SyntaxError:
        return False
    return True
