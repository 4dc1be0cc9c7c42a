"""Writes functions/names.pyi and autograd/methods.pyi: functions and methods, for type checkers and editors.

    python docs/generate_names.py            write them
    python docs/generate_names.py --check    fail if one is out of date

The names, signatures and docstrings come from the running library, where minigrad/functions/names.py and
minigrad/compat/functions collect them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_overloads

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 120
FUNCTIONS = '''\
"""The free functions, written by `python tasks.py index` from the names in names.py."""

from collections.abc import Sequence
from typing import Any

'''
METHODS = '''\
"""The methods of Tensor, written by `python tasks.py index` from the names in names.py."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from minigrad.autograd.views import Viewing
from minigrad.backend.random import Generator
from minigrad.backend.size import Size
from minigrad.backend.storage import TypedStorage, UntypedStorage
from minigrad.compat.functions import return_types
from minigrad.functions.arguments import Axis, Dims, Maybe, Operand, Scalar

Tensor = TypeVar("Tensor")

class Methods(Viewing, Generic[Tensor]):
    """The methods of a Tensor that functions and operators define."""
'''
IMPORTS = [  # names in the annotations of free functions
    ("backend.random", "Generator"),
    ("functions.arguments", "Dims, Maybe, Scalar"),
    ("tensor", "Tensor"),
]
SHADOWED = r"\b(bool|float|int)\b"  # methods of Tensor have these names


def write_stubs() -> dict[Path, str]:
    """The contents of both files."""
    names: Any = importlib.import_module("minigrad.functions.names")
    free = {name: getattr(names, name) for name in names.__all__}
    free |= importlib.import_module("minigrad.compat.functions").FREE
    functions = dict(sorted(free.items()))
    others = sorted({*importlib.import_module("minigrad.extension").layer().others("minigrad")} - set(functions))
    folder = ROOT / "minigrad"
    holder: Any = importlib.import_module("minigrad.autograd.methods").Methods
    listed = [definition(name, method, "    ") for name, method in methods(holder)]
    spellings = [name for name in others if not name.startswith("_")]
    return {
        folder / "functions" / "names.pyi": free_functions(functions, spellings),
        folder / "autograd" / "methods.pyi": "\n".join([METHODS, *listed]) + "\n",
    }


def free_functions(functions: dict[str, Any], spellings: list[str]) -> str:
    """The file of the free functions, and of the other names in ``minigrad``."""
    explicit = {name: f for name, f in functions.items() if is_written(name, f)}
    imports = [f"from minigrad.{module} import {name}\n" for module, name in IMPORTS]
    imports += [f"from {f.__module__} import {name} as {name}\n" for name, f in explicit.items()]
    parts = ["".join([FUNCTIONS, *sorted(imports, key=import_order)])]
    parts.append("\n".join(["__all__ = [", *(f'    "{name}",' for name in [*functions, *spellings]), "]\n"]))
    parts += [definition(name, f) for name, f in functions.items() if name not in explicit]
    parts += ["# Other spellings, which minigrad.compat supplies\n", *(f"{name}: Any" for name in spellings), ""]
    return "\n".join(parts)


def is_written(name: str, value: Any) -> bool:
    """Whether a name is defined or assigned in a file, rather than made by ``unary`` or ``creating``."""
    signed = inspect.unwrap(value, stop=lambda f: hasattr(f, "__signature__"))
    if not hasattr(sys.modules.get(value.__module__), name) or hasattr(signed, "__signature__"):
        return False
    return inspect.isclass(value) or inspect.unwrap(value).__code__.co_name == inspect.unwrap(value).__name__


def import_order(line: str) -> tuple[str, bool, str]:
    """ruff's order: by module, types before functions."""
    _, module, _, name, *_ = line.split()
    return module, not name[0].isupper(), name


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The attributes that a class adds to Viewing: names without underscores first."""
    variable: Any = importlib.import_module("minigrad.autograd.views").Viewing
    added = {name: value for c in cls.__mro__ if not issubclass(variable, c) for name, value in vars(c).items()}
    for name in sorted(added, key=lambda name: (name.startswith("_"), name)):
        if (inspect.isfunction(added[name]) and name != "apply") or isinstance(added[name], property):
            yield name, added[name]


def definition(name: str, value: Any, indent: str = "") -> str:
    """A function's signature and docstring; its overloads, if it has any."""
    function, doc = getattr(value, "fget", value), inspect.getdoc(value) or ""
    if overloads := get_overloads(inspect.unwrap(function)):
        return "\n".join(written_definition(name, o, doc, f"{indent}@overload\n", indent) for o in overloads)
    if not isinstance(value, property):
        return written_definition(name, function, doc, "", indent)
    getter = written_definition(name, function, doc, f"{indent}@property\n", indent)
    if value.fset is None:
        return getter
    return f"{getter}{indent}@{name}.setter\n{indent}def {name}(self, value: Any) -> None: ..."


def written_definition(name: str, function: Any, doc: str, decorator: str, indent: str) -> str:
    """A signature with its decorator and docstring."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if indent:
        first = "cls" if name == "__new__" else "self"
        parameters[0] = inspect.Parameter(first, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    sources = list(written_parameters(parameters))
    result = annotation(signature.return_annotation)
    if indent:
        sources = [re.sub(SHADOWED, r"builtins.\1", text) for text in sources]
        result = re.sub(SHADOWED, r"builtins.\1", result)
    head = f"{indent}def {name}({', '.join(sources)}) -> {result}:"
    if len(head) > WIDTH:
        inner = f"{indent}    {', '.join(sources)}"
        if len(inner) > WIDTH:
            inner = "\n".join(f"{indent}    {text}," for text in sources)
        head = f"{indent}def {name}(\n{inner}\n{indent}) -> {result}:"
    if name.startswith("__"):
        return f"{decorator}{head} ...{'  # type: ignore[override]' if name in ('__eq__', '__ne__') else ''}"
    return f"{decorator}{head}\n{docstring(doc, indent + '    ')}\n"


def docstring(text: str, indent: str) -> str:
    """A docstring with long lines wrapped and without its example, which is only in the source."""
    first, *rest = (part for part in f'"""{text}'.split("\n\n") if not part.lstrip().startswith(">>>"))
    paragraphs = [textwrap.fill(first, WIDTH - len(indent) - 3), *rest]
    end = f"\n{indent}" if rest else ""
    return textwrap.indent("\n\n".join(paragraphs), indent) + f'{end}"""'


def written_parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters as source text."""
    star = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            yield "*"
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        typed = "" if p.annotation is p.empty else f": {annotation(p.annotation)}"
        default = "" if p.default is p.empty else f"{' = ' if typed else '='}{default_of(p.default)}"
        yield f"{prefix}{p.name}{typed}{default}"


def annotation(value: Any) -> str:
    """An annotation as source text."""
    return value if isinstance(value, str) else getattr(value, "__name__", repr(value))


def default_of(value: Any) -> str:
    """A default as source text; an ellipsis if it has no such form."""
    return repr(value).replace("'", '"') if isinstance(value, (bool, int, float, str, tuple, type(None))) else "..."


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="Write the names for type checkers.")
    parser.add_argument("--check", action="store_true", help="only check whether the files are up to date")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT))  # this checkout, even if another one is installed
    stubs = write_stubs()
    if check:
        stale = [path.name for path, text in stubs.items() if not path.exists() or path.read_text("utf-8") != text]
        print(
            f"out of date: {', '.join(stale)}: python docs/generate_names.py" if stale else "the stubs are up to date"
        )
        return 1 if stale else 0
    for path, text in stubs.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    print("wrote functions/names.pyi and autograd/methods.pyi")
    return 0


if __name__ == "__main__":
    sys.exit(main())
