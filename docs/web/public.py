"""The public names of a module: those in ``__all__``, or else the names that its file defines and re-exports."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .documents import ROOT


def names(module: str) -> dict[str, Any]:
    """The public names of a module and their values, without modules."""
    loaded, table = import_module(module), import_module("minigrad.compat.names").NAMES
    sources = table.get(module.removeprefix("minigrad").removeprefix("."), {})
    defined = ("compat.functions:", "compat.nn.", "compat.optim.")  # new definitions, rather than only other spellings
    above = (name for name, source in sources.items() if source.startswith(defined))
    listed = {*(getattr(loaded, "__all__", None) or _exported(module)), *above}
    values = {name: getattr(loaded, name) for name in sorted(listed) if not name.startswith("_")}
    return {name: value for name, value in values.items() if not isinstance(value, ModuleType)}


def _exported(module: str) -> Iterator[str]:
    """Functions and classes that a module without ``__all__`` defines, or imports under the same name or with ``*``."""
    loaded, file = import_module(module), ROOT / file_of(module)
    text = file.read_text(encoding="utf-8")
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for other in re.findall(r"^from \.(\w+) import \*", text, re.MULTILINE):
        yield from names(f"{package}.{other}")
    for name in [*lines(file_of(module)), *re.findall(r"\b(\w+) as \1\b", text)]:
        value = getattr(loaded, name, None)
        if inspect.isroutine(value) or inspect.isclass(value):
            yield name


@cache
def lines(file: str) -> dict[str, int]:
    """The lines where a file first binds its names and its classes' members: "Linear", "Linear.forward"."""
    numbers: dict[str, int] = {}
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        for name in _bound(node):
            numbers.setdefault(name, node.lineno)
        if isinstance(node, ast.ClassDef):
            numbers |= {f"{node.name}.{name}": member.lineno for member in node.body for name in _bound(member)}
    return numbers


def _bound(node: ast.stmt) -> list[str]:
    """The names that a definition or an assignment binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = getattr(node, "targets", [node.target] if isinstance(node, ast.AnnAssign) else [])
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def file_of(module: str) -> str:
    """The path of a module's file in the repository."""
    return Path(str(import_module(module).__file__)).resolve().relative_to(ROOT.resolve()).as_posix()


def place(name: str, value: Any, module: str) -> tuple[str, int]:
    """The file and line that define a name of a public module: in the value's own file if possible, or the module's."""
    function = inspect.unwrap(value) if callable(value) else value
    own = str(getattr(function, "__module__", None))
    for candidate in [own, module] if own.startswith("minigrad.") else [module]:
        for candidate_name in (getattr(function, "__qualname__", name), name):
            if line := lines(file_of(candidate)).get(candidate_name):
                return file_of(candidate), line
    if code := getattr(function, "__code__", None):
        path = Path(code.co_filename).resolve()
        if path.is_relative_to(ROOT.resolve()):
            return path.relative_to(ROOT.resolve()).as_posix(), int(code.co_firstlineno)
    return file_of(module), 1
