"""An op's formula, its definition and its gradient rules, as they stand in the source.

A rule is a lambda in a call such as ``tanh.gradient(x=lambda g, out: ...)``. Which one of its file it is, the
compiled code tells, which knows the lines and columns of its expression.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ...backend import of
from ...backend.dtype import Array
from ...ops.op import Op
from .data import OpInfo, Source
from .names import readable

KERNEL, PLAIN, BACKWARD = "kernel", "plain", "backward"  # rules that are of all inputs
Function = Callable[..., Any]
Definition = ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef


def op_info(op: Op, array: Array | None = None) -> OpInfo:
    """What there is to tell of an op, or of a user's Function.

    Args:
        array: one that it was applied to, as each backend has kernels of its own; NumPy's without.
    """
    function = getattr(op, "function", None)
    if function is not None:
        rules = {BACKWARD: source_of(function.backward)}
        made = OpInfo(op.name, _first_line(function), source_of(function.forward), _found(rules))
    else:
        rules = {name: source_of(rule) for name, (rule, _) in op.rules.items()}
        if op.kernel and not op.rules and op.differentiable:
            backward = getattr(of(array).kernel(op.kernel), "backward", None)
            rules = {KERNEL: source_of(backward), PLAIN: source_of(op.plain)}
        made = OpInfo(op.name, _first_line(op), source_of(op.plain), _found(rules), helpers_of(op, array))
    return made


def helpers_of(op: Op, array: Array | None = None) -> dict[str, Source]:
    """The functions that the rules leave work to: the private ones of a rule's (or a kernel's) file, and ops
    whose only purpose is that, such as ``softmax_gradient``. Those that helpers name are helpers as well."""
    rules: list[Any] = [rule for rule, _ in op.rules.values()]
    if op.kernel and not rules:
        rules = [getattr(of(array).kernel(op.kernel), "backward", None)]
    found: dict[str, Source] = {}
    todo = [rule for rule in rules if isinstance(rule, FunctionType)]
    for rule in todo:  # grows
        for name in sorted(_names(rule.__code__)):
            helper = rule.__globals__.get(name)
            plain = helper.plain if isinstance(helper, Op) and helper.kernel and helper is not op else helper
            private = plain is not helper or name.startswith("_")
            if name in found or not private or not isinstance(plain, FunctionType):
                continue
            if plain is helper and plain.__module__ != rule.__module__:
                continue
            source = source_of(plain)
            if source is not None:
                found[name] = source
                todo.append(plain)
    return found


def _names(code: CodeType) -> set[str]:
    """The global names in a function's code and in the functions within it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _found(rules: dict[str, Source | None]) -> dict[str, Source]:
    return {name: source for name, source in rules.items() if source is not None}


def _first_line(thing: Any) -> str:
    """Of a docstring; "" for none."""
    return next(iter((thing.__doc__ or "").strip().splitlines()), "").strip()


def source_of(function: Function | None) -> Source | None:
    """The text of a function or lambda, exactly, without the indentation that its first line has.

    None where there is none: built-in functions, and code that was typed in.
    """
    function = inspect.unwrap(function) if function is not None else None
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    node = _node_of(code, "".join(lines))
    if node is None:
        return None
    return Source(_text(lines, node), readable(code.co_filename), _first(node))


def _text(lines: list[str], node: Definition) -> str:
    """What stands from a definition's beginning to its end, dedented by its first line."""
    first = _first(node)
    taken = [line.rstrip("\r\n") for line in lines[first - 1 : node.end_lineno]]
    taken[-1] = taken[-1].encode()[: node.end_col_offset].decode()  # columns are counted in bytes
    indent = len(taken[0]) - len(taken[0].lstrip())
    column = node.col_offset if isinstance(node, ast.Lambda) else indent
    taken[0] = taken[0].encode()[column:].decode()
    rest = (line if line[:indent].strip() else line[indent:] for line in taken[1:])
    return "\n".join([taken[0], *rest])


def _node_of(code: CodeType, text: str) -> Definition | None:
    """The definition that was compiled to some code: of several lambdas that begin in one line, the smallest
    that all of the code's expressions lie in."""
    is_lambda = code.co_name == "<lambda>"
    begun = [
        node for node in _definitions(text).get(code.co_firstlineno, ()) if isinstance(node, ast.Lambda) == is_lambda
    ]
    if len(begun) > 1 and is_lambda:
        spans = _spans(code)
        begun = [node for node in begun if spans and _holds(node, spans)]
        begun.sort(key=lambda node: (node.lineno, node.col_offset))
    return begun[-1] if begun else None


@lru_cache(64)
def _definitions(text: str) -> dict[int, list[Definition]]:
    """The functions and lambdas of a file by the lines in which they begin, decorators included."""
    found: dict[int, list[Definition]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file has changed since it was imported, or is no Python
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            found.setdefault(_first(node), []).append(node)
    return found


def _first(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


def _spans(code: CodeType) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Beginning and end, as (line, column), of the expressions that a lambda was compiled from."""
    spans = []
    for line, end_line, column, end_column in code.co_positions():
        if line is not None and end_line is not None and column is not None and end_column:
            spans.append(((line, column), (end_line, end_column)))
    return spans


def _holds(node: Definition, spans: list[tuple[tuple[int, int], tuple[int, int]]]) -> bool:
    """Whether all spans lie in a lambda's expression."""
    body = node.body
    if isinstance(body, list):
        return False
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return all(begin <= first and last <= end for first, last in spans)
