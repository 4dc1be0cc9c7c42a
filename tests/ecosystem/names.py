"""Lists the PyTorch names that the table's libraries use and minigrad has, sorted, in ``names.txt``.

    python -m tests.ecosystem.names FOLDER ...

reads the packages in folders such as an environment's ``site-packages``, and rewrites the file. A test of the default
tier looks up every name, so that no name on which a library's import depends can get lost.
"""

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import minigrad
from minigrad.compat.absent import is_absent

FILE = Path(__file__).with_name("names.txt")
OTHERS = {"functorch", "minigrad", "minigrad_models", "torch", "torchgen"}


def used(source: str) -> Iterator[str]:
    """The dotted names of torch in a program: its imports, and their attributes."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    yield alias.name
                    names[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in names:
            yield ".".join((names[node.id], *parts))


def is_there(name: str) -> bool:
    """Whether minigrad has a name, as an attribute or as a module."""
    value: Any = minigrad
    parts = ["minigrad", *name.split(".")[1:]]
    try:
        for number, part in enumerate(parts[1:], 2):
            value = getattr(value, part) if hasattr(value, part) else import_module(".".join(parts[:number]))
    except (ImportError, NotImplementedError):
        return False
    return not is_absent(value)


def main() -> None:
    """Write the file."""
    sources = (p for folder in sys.argv[1:] for p in Path(folder).glob("*/**/*.py"))
    files = (p for p in sources if not OTHERS & set(p.parts) and "tests" not in p.parts)
    names = {name for path in files for name in used(path.read_text(encoding="utf-8", errors="replace"))}
    lines = sorted(name for name in names if "*" not in name and is_there(name))
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
