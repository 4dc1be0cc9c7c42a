"""The names of PyTorch's that libraries mention and minigrad lacks: ``python tests/ecosystem/names.py FOLDER``.

FOLDER is a site-packages. Every source in it is parsed, none is run: imports and chains of attributes that begin at
torch ("torch.nn.functional.pad", "F.pad") are names. A name that minigrad refuses with a reason is not lacking.
"""

from __future__ import annotations

import argparse
import ast
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad.compat.absent import AbsentModule, _Absent

NOT_LIBRARIES = {"minigrad", "torchgen", "functorch", "torch"}  # torch itself, where there is one


class Names(ast.NodeVisitor):
    """The names below torch that a source mentions: ``found``, each with whether it is tried only (``try``, ``if``)."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        """``import torch.nn as nn``"""
        for name in node.names:
            if name.name.partition(".")[0] == "torch":
                self.aliases[name.asname or "torch"] = name.name if name.asname else "torch"
                self.found.add(name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from torch.nn import functional as F``"""
        module = node.module or ""
        if node.level == 0 and module.partition(".")[0] == "torch":
            self.found.add(module)
            for name in node.names:
                if name.name != "*":
                    self.aliases[name.asname or name.name] = f"{module}.{name.name}"
                    self.found.add(f"{module}.{name.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """``F.pad``"""
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.aliases:
            self.found.add(".".join([self.aliases[inner.id], *reversed(parts)]))
        else:
            self.generic_visit(node)


def names_in(source: str) -> set[str]:
    """The names below torch that a source mentions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    names = Names()
    for node in ast.walk(tree):  # imports first, wherever they stand
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.visit(node)
    names.visit(tree)
    return names.found


def sources(folder: Path) -> Iterator[tuple[str, Path]]:
    """Each source below a site-packages with its library's name, tests left out."""
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).parts
        library = parts[0].removesuffix(".py")
        if library not in NOT_LIBRARIES and not {"tests", "test", "testing"} & set(parts):
            yield library, path


def lacking(name: str) -> str:
    """The beginning of a name that is as long as minigrad lacks it; "" if it has the name or refuses it."""
    value: Any = import_module("minigrad")
    parts = name.split(".")[1:]
    for count, part in enumerate(parts, 1):
        if isinstance(value, (AbsentModule, _Absent)):
            return ""
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = import_module(".".join(["minigrad", *parts[:count]]))
            except ImportError:
                return ".".join(["torch", *parts[:count]])
        except ImportError:  # an extra that is not installed
            return ""
        if not hasattr(value, "__path__") and not isinstance(value, type):
            return ""  # attributes of a function or a value are not names of PyTorch's
    return ""


def mentions(folder: Path) -> dict[str, set[str]]:
    """The names below torch, each with the libraries that mention it."""
    mentioned = defaultdict(set)
    for library, path in sources(folder):
        text = path.read_text("utf-8", errors="replace")
        if "torch" in text:
            try:
                found = names_in(text)
            except SyntaxError:  # a template
                continue
            for name in found:
                mentioned[name].add(library)
    return mentioned


def survey(mentioned: dict[str, set[str]]) -> dict[str, set[str]]:
    """The names that are lacking, each with the libraries that mention it."""
    missing = defaultdict(set)
    for name, libraries in mentioned.items():
        if prefix := lacking(name):
            missing[prefix] |= libraries
    return missing


def main() -> None:
    """Print what is lacking, what most libraries mention first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a site-packages")
    mentioned = mentions(parser.parse_args().folder)
    missing = survey(mentioned)
    print(f"{len(mentioned)} names in {len(set().union(*mentioned.values()))} libraries, {len(missing)} lacking")
    for name, libraries in sorted(missing.items(), key=lambda row: (-len(row[1]), row[0])):
        print(f"{len(libraries):4} {name}  {' '.join(sorted(libraries))}")


if __name__ == "__main__":
    main()
