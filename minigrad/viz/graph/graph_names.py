"""Finds the names of parameters, arguments, variables, modules and source lines in a program. Also reads an op's
formulas, definition and gradient rules from the source."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from textwrap import dedent
from traceback import walk_stack
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ...autograd.tape import Node, Variable
from ...autograd.tracebacks import at, cell
from ...backend import of
from ...backend.dtype import Array
from ...nn.module import Module
from ...ops.op import Op
from ...profiler.watched import ModuleNames
from ..vector import cut
from .graph_data import ModuleInfo, OpInfo, Source

PACKAGE = __name__.split(".")[0]
_PACKAGE = Path(__file__).parents[2]
_INSTALLED = "site-packages"
Named = list[tuple[str, Variable]]
_MOST = 1000  # maximum number of tensors named after one container
_LONGEST = 60  # maximum characters in an expression
_REFERENCES = 3  # the reference count of a dict that only a call, a variable and an argument refer to


def readable(file: str) -> str:
    """A short, readable path: "minigrad/ops/linear.py", "~/a.py", or "cell 5" for a notebook cell."""
    if number := cell(file):
        return number
    if (parts := Path(file).parts).count(_INSTALLED):
        return "/".join(parts[parts.index(_INSTALLED) + 1 :])
    for name, folder in ((PACKAGE, _PACKAGE.resolve), ("", Path.cwd), ("~", Path.home)):
        try:
            return (name / Path(file).relative_to(folder())).as_posix()
        except (ValueError, OSError, RuntimeError):  # the file is elsewhere, or the folder does not exist
            continue
    return file


def variables(frame: FrameType) -> dict[str, Any]:
    """A function's current variables. Before Python 3.13, reading ``f_locals`` creates a dict that keeps all values
    alive until the call returns. This dict is cleared, unless the program uses it or it is a module's namespace."""
    read = frame.f_locals
    copied = dict(read)
    if type(read) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(read) <= _REFERENCES:
        read.clear()
    return copied


def variables_of(*frames: FrameType) -> tuple[Named, dict[str, Module]]:
    """Tensors and modules in functions' variables, innermost function first, and tensors in that one's containers."""
    tensors, modules, holders = Named(), dict[str, Module](), dict[str, Any]()
    for frame in frames:
        both = [*variables(frame).items(), *frame.f_globals.items()]
        for name, value in sorted(both, key=lambda pair: pair[0].startswith("_")):  # a notebook's _1 is last
            if isinstance(value, Variable):
                tensors.append((name, value))
            elif isinstance(value, Module):
                modules.setdefault(name, value)
            if frame is frames[0] and not isinstance(value, Variable):
                holders.setdefault(name, value)
    for name, value in holders.items():
        tensors += islice(held_in(value, name), _MOST)
    return tensors, modules


def held_in(value: Any, name: str, depth: int = 2) -> Iterator[tuple[str, Variable]]:
    """The tensors in one of the program's containers or objects, with expressions such as "layers[0].w"."""
    if isinstance(value, Variable):
        yield name, value
    elif isinstance(value, Module):  # its parameters already have paths
        yield from ((f"{name}.{key}", inner) for key, inner in vars(value).items() if isinstance(inner, Variable))
    elif depth and type(value) is dict:
        for key, inner in islice(value.items(), _MOST):
            yield from held_in(inner, f"{name}[{key!r}]", depth - 1)
    elif depth and type(value) in (list, tuple):
        for i, inner in enumerate(islice(value, _MOST)):
            yield from held_in(inner, f"{name}[{i}]", depth - 1)
    elif depth:
        package = type(value).__module__.partition(".")[0]
        file = getattr(sys.modules.get(package), "__file__", None) or ""
        if package in sys.stdlib_module_names or package == PACKAGE or _INSTALLED in file:
            return
        for key, inner in list(getattr(value, "__dict__", {}).items()):
            yield from held_in(inner, f"{name}.{key}", depth - 1)


def name_in(frame: FrameType, tensor: Any) -> str:
    """A function's name for a tensor: a variable, or an expression for part of one; "" if unnamed."""
    named_values = [(name, value) for name, value in variables(frame).items() if name.isidentifier()]
    parts = (pair for name, value in named_values for pair in islice(held_in(value, name), _MOST))
    return next((name for name, value in chain(named_values, parts) if value is tensor), "")


def expression(code: CodeType, offset: int) -> str:
    """The source expression of a bytecode instruction, on one line; "" if it cannot be read or belongs to minigrad."""
    if Path(code.co_filename).is_relative_to(_PACKAGE):
        return ""
    line, end, begin, stop = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    lines = linecache.getlines(code.co_filename)[(line or 1) - 1 : end]
    if line is None or begin is None or stop is None or not lines:
        return ""
    lines[-1] = lines[-1].encode()[:stop].decode(errors="ignore")  # columns are counted in bytes
    lines[0] = lines[0].encode()[begin:].decode(errors="ignore")
    return cut(" ".join(" ".join(lines).split()), _LONGEST)


def function_text(function: Callable[..., Any]) -> str:
    """A function's name, and its location if known."""
    name, code = getattr(function, "__name__", type(function).__name__), getattr(function, "__code__", None)
    return name if code is None else f"{name} ({at(readable(code.co_filename), code.co_firstlineno)})"


class Variables:
    """Records the first name that the program binds each result to. ``look`` reads the variables of the functions that
    recorded earlier ops. A function's parameters do not name results of earlier ops."""

    def __init__(self) -> None:
        self.names: dict[tuple[Node, int], str] = {}  # names of results, by node and slot
        self._frames: dict[FrameType, int] = {}  # each with the order of the first node that it recorded

    def look(self, frame: FrameType | None = None, node: Node | None = None) -> None:
        """Read the functions' variables, forget functions that have returned, and add the function that ran an op."""
        for recorder, first in reversed(self._frames.items()):
            code = recorder.f_code
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for name, value in variables(recorder).items():
                source = value._node if isinstance(value, Variable) and name.isidentifier() else None
                if source is not None and (source.order >= first or name not in arguments):
                    self.names.setdefault((source, value._slot), name)
        running = {frame for frame, _ in walk_stack(frame)} if frame else set()
        self._frames = {frame: first for frame, first in self._frames.items() if frame in running}
        if frame and node:
            self._frames.setdefault(frame, node.order)


def tensors_within(value: Any, name: str = "") -> Iterator[tuple[str, Variable]]:
    """The tensors in a value, with names such as "batch", "batch 0" or "batch.mask"."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    value = value._asdict() if hasattr(value, "_asdict") else value  # a named tuple
    if isinstance(value, Variable):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():  # "batch.mask", or "batch['\\n']" if not an identifier
            plain = isinstance(key, str) and all(part.isidentifier() or part.isdigit() for part in key.split("."))
            within = key if plain else repr(key)
            if name:
                within = f"{name}.{key}" if plain else f"{name}[{key!r}]"
            yield from tensors_within(inner, within)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from tensors_within(inner, f"{name} {i}" if name else str(i))


def argument_names(function: Callable[..., Any], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Named:
    """The tensors in a call's arguments, named by the function's parameters."""
    target = function.forward if isinstance(function, Module) else function
    try:
        bound = inspect.signature(target).bind(*inputs, **kwargs).arguments
    except (TypeError, ValueError):  # the function is built in, or the call itself will fail
        bound = {"input": inputs, **kwargs} if len(inputs) > 1 else {"input": (*inputs, None)[0], **kwargs}
    return [pair for name, value in bound.items() for pair in tensors_within(value, name)]


class Modules(ModuleNames):
    """The called modules by path, and the names of their parameters."""

    def __init__(self, root: Module | None = None) -> None:
        self.by_path: dict[str, Module] = {}
        super().__init__(root)

    def _enter(self, module: Module, root: str) -> None:
        super()._enter(module, root)
        self.add(root, module)

    def add(self, path: str, module: Module) -> None:
        for name, inner in module.named_modules(remove_duplicate=False):
            self.by_path.setdefault(".".join(part for part in (path, name) if part), inner)

    def parameters(self) -> dict[int, list[str]]:
        """All names of each parameter and buffer, by id."""
        names: dict[int, list[str]] = {}
        for path, module in self.by_path.items():
            own = ((name, tensor) for name, tensor in vars(module).items() if isinstance(tensor, Variable))
            for name, tensor in (*module._parameters.items(), *module._buffers.items(), *own):
                if tensor is not None:
                    names.setdefault(id(tensor), []).append(f"{path}.{name}" if path else name)
        return names

    def info(self, path: str) -> ModuleInfo:
        module = self.by_path.get(path)
        if module is None:
            return ModuleInfo(path, "")
        structure: list[Any] = []  # of all modules in it: class, extra_repr, shapes and dtypes
        for name, inner in module.named_modules(remove_duplicate=False):
            state = {**inner._parameters, **inner._buffers}
            shapes = [(key, None if p is None else argument_text(p.array)) for key, p in state.items()]
            structure += [name, type(inner).__module__, type(inner).__qualname__, inner.extra_repr(), shapes]
        alike = hashlib.sha256(repr(structure).encode()).hexdigest()[:16]
        return ModuleInfo(path, type(module).__name__, module.extra_repr(), alike)


def input_name(node: Node, i: int) -> str:
    """An op's name for argument ``i``: "x", "xs 2" for a variadic op, or the parameter's name in a Function."""
    op = node.op
    function = getattr(op, "function", None)
    if function is not None:
        names = [p.name for p in inspect.signature(function.forward).parameters.values()]
        names = names[1:] if function.setup_context is None else names
        return names[i] if i < len(names) else op.param(i)
    return op.param(i) if i < op.arity else f"{op.variadic} {i - op.arity}"


def is_array(value: Any) -> bool:
    """Whether a value is a tensor or an array."""
    return hasattr(value, "dtype") and (isinstance(value, Variable) or hasattr(value, "strides"))


def argument_text(value: Any) -> str:
    """The text of a non-tensor argument. Slices look like an index; arrays show only dtype and shape."""
    return cut(_text(value), 200)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        index = any(isinstance(part, slice) or part is Ellipsis for part in value)
        inner = ", ".join(map(_text, value))
        return f"[{inner}]" if index else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, slice):
        start, stop, step = ("" if p is None else str(p) for p in (value.start, value.stop, value.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    if value is Ellipsis:
        return "..."
    if isinstance(value, np.dtype):
        return value.name
    if is_array(value):  # but not the array module, which is an argument of some ops
        return f"{value.dtype.name} {tuple(value.shape)}"
    return repr(value)


BACKWARD = "backward"  # the key of a Function's rule, which covers all inputs
_OPS = f"{PACKAGE}.ops."
Function = Callable[..., Any]
Definition = ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef


def op_info(op: Op, array: Array | None = None) -> OpInfo:
    """Describe an op or a user-defined Function, with its kernel for an array's backend (NumPy by default)."""
    function = getattr(op, "function", None)
    rules = {name: rule for name, (rule, _) in op.rules.items()} if function is None else {BACKWARD: function.backward}
    sources = {name: source for name, rule in rules.items() if (source := source_of(rule)) is not None}
    if function is not None:
        return OpInfo(op.name, _first_line(function), source_of(function.forward), sources)
    formulas = {name: text for name in rules if (text := op.formula(name))}
    helpers: dict[str, Source] = {}  # functions called by the rules, directly or indirectly
    todo = [rule for rule in rules.values() if isinstance(rule, FunctionType)]
    for rule in todo:  # the list grows
        for name in sorted(_names(rule.__code__) - helpers.keys()):
            helper: Any = rule.__globals__.get(name)
            of_ops = isinstance(helper, FunctionType) and helper.__module__.startswith((rule.__module__, _OPS))
            if of_ops and (source := source_of(helper)):
                helpers[name] = source
                todo.append(helper)
    kernel = next(iter(of(np.empty(0) if array is None else array).kernels(op.name)), None)
    accelerator = source_of(getattr(kernel, "backward", None) or getattr(kernel, "forward", None))
    forward = source_of(op.__wrapped__)
    return OpInfo(op.name, _first_line(op), forward, sources, helpers, formulas, accelerator)


def _names(code: CodeType) -> set[str]:
    """The global names used by a function and its inner functions."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _first_line(thing: Any) -> str:
    return next(iter((thing.__doc__ or "").strip().splitlines()), "").strip()


def source_of(function: Function | None) -> Source | None:
    """The source of a function or lambda, dedented as its first line; None if it is not available. A rule is
    a lambda in a decorator; it is located in its file by the lines and columns of its compiled code."""
    function = inspect.unwrap(function) if function is not None else None
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    text, is_lambda = "".join(lines), code.co_name == "<lambda>"
    nodes = [n for n in _definitions(text).get(code.co_firstlineno, ()) if isinstance(n, ast.Lambda) == is_lambda]
    if len(nodes) > 1 and is_lambda:  # find the one whose expression begins where the code does
        positions: Any = code.co_positions()
        begin = min(((line, column) for line, _, column, end in positions if end), default=None)
        nodes = [n for n in nodes if isinstance(n, ast.Lambda) and (n.body.lineno, n.body.col_offset) == begin]
    if not nodes:
        return None
    node, first = nodes[-1], _first(nodes[-1])
    source_lines = lines[first - 1 : node.end_lineno]
    if isinstance(node, ast.Lambda):
        indent = " " * (len(source_lines[0]) - len(source_lines[0].lstrip()))
        result = (ast.get_source_segment(text, node) or "").replace(f"\n{indent}", "\n")
    else:
        result = dedent("".join(source_lines)).rstrip()
    return Source(result, readable(code.co_filename), first)


@lru_cache(64)
def _definitions(text: str) -> dict[int, list[Definition]]:
    """The functions and lambdas in a file, by first line (including decorators)."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file has changed since its import, or is not Python
        return {}
    by_line: dict[int, list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            by_line.setdefault(_first(node), []).append(node)
    return by_line


def _first(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
