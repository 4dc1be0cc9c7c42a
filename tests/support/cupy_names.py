"""Writes ``cupy_names.json``, CuPy's functions and their keywords, for the strict stand-in.

python -m tests.support.cupy_names      (where CuPy can be imported; it needs no GPU)
"""

import inspect
import json
import textwrap
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("cupy_names.json")
_UFUNC = ["*", "out", "dtype", "casting"]  # the parameters of every CuPy ufunc


def parameters(function: Any) -> list[str]:
    """The names of a function's parameters; "*" and "**" stand for any positional ones, any keywords."""
    if type(function).__name__ == "ufunc":
        return _UFUNC
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # compiled code without a signature
        return ["*", "**"]
    return ["*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else p.name for p in kinds]


def collect(cupy: Any) -> dict[str, Any]:
    """Functions with their parameters, the names of constants and types, and the attributes of an array."""
    public = {name: getattr(cupy, name) for name in sorted(dir(cupy)) if not name.startswith("_")}
    functions = {n: parameters(v) for n, v in public.items() if callable(v) and not isinstance(v, type)}
    constants = [n for n, v in public.items() if n not in functions and not inspect.ismodule(v)]
    return {"functions": functions, "constants": constants, "array": dir(cupy.ndarray)}


def write(names: dict[str, Any]) -> None:
    """Save the names in readable lines."""
    FILE.write_text(textwrap.fill(json.dumps(names), 119, break_long_words=False, break_on_hyphens=False) + "\n")


if __name__ == "__main__":
    write(collect(__import__("cupy")))
