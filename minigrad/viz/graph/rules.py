"""An op's formulas, its definition and its gradient rules, as they stand in the source.

A rule is a lambda in a decorator. The lines and columns of its compiled code say which lambda of its file it is.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import lru_cache
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ...backend import of
from ...backend.dtype import Array
from ...ops.op import Op
from .graph_data import OpInfo, Source
from .graph_names import PACKAGE, readable

BACKWARD = "backward"  # the key of a Function's rule, which is of all inputs
_OPS = f"{PACKAGE}.ops."
Function = Callable[..., Any]
Definition = ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef


def op_info(op: Op, array: Array | None = None) -> OpInfo:
    """What is known of an op, or of a user's Function; with the kernel of the backend of an array, or NumPy's."""
    function = getattr(op, "function", None)
    rules = {name: rule for name, (rule, _) in op.rules.items()} if function is None else {BACKWARD: function.backward}
    sources = {name: source for name, rule in rules.items() if (source := source_of(rule)) is not None}
    if function is not None:
        return OpInfo(op.name, _first_line(function), source_of(function.forward), sources)
    formulas = {name: text for name in rules if (text := op.formula(name))}
    kernel = next(iter(of(np.empty(0) if array is None else array).kernels(op.name)), None)
    accelerator = source_of(getattr(kernel, "backward", None) or getattr(kernel, "forward", None))
    forward = source_of(op.__wrapped__)
    return OpInfo(op.name, _first_line(op), forward, sources, _helpers(op), formulas, accelerator)


def _helpers(op: Op) -> dict[str, Source]:
    """The functions of ops that the rules call, and those that these call."""
    helpers: dict[str, Source] = {}
    todo = [rule for rule, _ in op.rules.values() if isinstance(rule, FunctionType)]
    for rule in todo:  # grows
        for name in sorted(_names(rule.__code__) - helpers.keys()):
            helper: Any = rule.__globals__.get(name)
            of_ops = isinstance(helper, FunctionType) and helper.__module__.startswith((rule.__module__, _OPS))
            if of_ops and (source := source_of(helper)):
                helpers[name] = source
                todo.append(helper)
    return helpers


def _names(code: CodeType) -> set[str]:
    """The global names in a function's code and in the functions within it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _first_line(thing: Any) -> str:
    return next(iter((thing.__doc__ or "").strip().splitlines()), "").strip()


def source_of(function: Function | None) -> Source | None:
    """The text of a function or lambda, dedented by its first line; None where there is none."""
    function = inspect.unwrap(function) if function is not None else None
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    node = _node_of(code, "".join(lines))
    return None if node is None else Source(_text(lines, node), readable(code.co_filename), _first(node))


def _text(lines: list[str], node: Definition) -> str:
    """What stands from a definition's beginning to its end, without the indentation of its first line."""
    taken = lines[_first(node) - 1 : node.end_lineno]
    if isinstance(node, ast.Lambda):
        indent = " " * (len(taken[0]) - len(taken[0].lstrip()))
        return (ast.get_source_segment("".join(lines), node) or "").replace(f"\n{indent}", "\n")
    return dedent("".join(taken)).rstrip()


def _node_of(code: CodeType, text: str) -> Definition | None:
    """The definition of some code: of lambdas of one line, the one whose expression begins where the code's does."""
    is_lambda = code.co_name == "<lambda>"
    begun = [n for n in _definitions(text).get(code.co_firstlineno, ()) if isinstance(n, ast.Lambda) == is_lambda]
    if len(begun) > 1 and is_lambda:
        positions: Any = code.co_positions()
        begin = min(((line, column) for line, _, column, end in positions if end), default=None)
        begun = [n for n in begun if isinstance(n, ast.Lambda) and (n.body.lineno, n.body.col_offset) == begin]
    return begun[-1] if begun else None


@lru_cache(64)
def _definitions(text: str) -> dict[int, list[Definition]]:
    """The functions and lambdas of a file by the lines in which they begin, decorators included."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file has changed since it was imported, or is no Python
        return {}
    by_line: dict[int, list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            by_line.setdefault(_first(node), []).append(node)
    return by_line


def _first(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
