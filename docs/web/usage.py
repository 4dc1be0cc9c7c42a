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
IMPORT = re.compile(r"^ *(?:from (minigrad[\w.]*) )?import (?:\(([^)]*)\)|(.+))", re.MULTILINE)
CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
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
    whole: dict[str, Use] = {}
    parts: dict[str, Use] = {}
    for file, blocks in sources():
        aliases: dict[str, str] = {}  # a document's blocks go on from each other
        for first, code in blocks:
            aliases.update(_imported(code))
            for number, row in enumerate(code.splitlines(), first + 1):
                use = Use(row.strip(), file, number)
                for name in _called(use.code, aliases):
                    (parts if use.code.startswith(PART_OF_MORE) else whole).setdefault(name, use)
    return {**parts, **whole}


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


def _imported(code: str) -> Iterator[tuple[str, str]]:
    """Names that imports of minigrad's bind, and what they stand for."""
    for module, several, one in IMPORT.findall(code):
        for part in re.split(r"\s*,\s*", (several or one.partition("#")[0]).strip(" \n,")):
            name, _, alias = part.partition(" as ")
            if module:
                yield alias or name, f"{module}.{name}"
            elif name.partition(".")[0] == "minigrad":
                yield (alias, name) if alias else ("minigrad", "minigrad")


def _called(row: str, aliases: dict[str, str]) -> Iterator[str]:
    """The whole names of what a line calls, if it means something by itself: no part of a longer statement."""
    heads = [(name.partition("."), name) for name in CALL.findall(row)]
    names = [f"{aliases[head]}{dot}{rest}" for (head, dot, rest), _ in heads if head in aliases]
    if not names or len(row) > LONGEST or row.startswith("#") or row.endswith(","):
        return
    try:
        ast.parse(f"{row} ..." if row.endswith(":") else row)
    except SyntaxError:
        return
    yield from names
