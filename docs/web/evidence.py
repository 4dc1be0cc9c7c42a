"""What stands behind a public function: the ops that it applies, with their gradient rules."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import CellType
from typing import Any

from .documents import ROOT

MOST_OPS = 4


@cache
def index() -> Any:
    """docs/generate_index.py, which writes of every op its rules, cases and kernels."""
    sys.path.insert(0, str(ROOT))
    return import_module("docs.generate_index")


@cache
def registry() -> dict[str, Any]:
    """All ops by name."""
    ops: dict[str, Any] = index().registry()
    return ops


def rules(value: Any) -> str:
    """The gradient rules of the ops that a function applies, as Markdown; "" where there are none."""
    return "\n\n".join(part for op in ops(value)[:MOST_OPS] for part in _of_op(op))


def _of_op(op: Any) -> Iterator[str]:
    rows = [f"- {rule}" for rule in index()._rules(op)]
    yield f"**Gradient rules of the op `{op.name}`**" if rows else f"The op `{op.name}` is not differentiable."
    if rows:
        yield "\n".join(rows)
    case, kernels = index()._test(op.name), list(index()._kernels(op))
    facts = [*([f"tested by {case}"] if case else ()), *([f"kernels: {', '.join(kernels)}"] if kernels else ())]
    if facts:
        yield f"The op `{op.name}`: {'; '.join(facts)}\n{{: .places }}"


def ops(value: Any) -> list[Any]:
    """The ops that a function's own text applies: of all that its names mean, attributes of modules included."""
    function = inspect.unwrap(value) if callable(value) else None
    code = getattr(function, "__code__", None)
    if function is None or code is None:
        return []
    values = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]  # an empty one has none
    values += _named(code, function.__globals__)
    return list({id(value): value for value in values if _is_op(value)}.values())


def _named(code: Any, names: dict[str, Any]) -> Iterator[Any]:
    """What the names in a function, and in those within it, mean, attributes of modules included."""
    for one, following in pairwise(dis.get_instructions(code)):
        if one.opname == "LOAD_GLOBAL":
            yield names.get(one.argval)
            if following.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                yield getattr(names.get(one.argval), following.argval, None)
        elif hasattr(one.argval, "co_code"):
            yield from _named(one.argval, names)


def _is_op(value: Any) -> bool:
    return type(value).__name__ == "Op" and value.builtin and registry().get(value.name) is value
