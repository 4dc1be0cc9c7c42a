"""``minigrad.summary``: a table of a model's modules and the cost of a call."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from typing import Any

from ..autograd import enable_grad
from ..autograd.observer import observed
from ..autograd.tape import Node, Variable
from ..autograd.walk import nodes_behind
from ..backend.dtype import DType
from ..backend.storage import owner
from ..functions.names import randn, zeros
from ..nn.module import Module
from ..nn.parameter import is_lazy
from ..ops.op import Op
from ..utils._pytree import tree_leaves
from .flops import PRODUCTS, multiply_adds
from .table import cut, format_bytes, format_table
from .watched import ModuleNames, Within, around_calls, memory_of, untouched

Shape = tuple[int, ...]

WIDE = 120  # the width in characters if there is no terminal
_NARROWEST = 14  # the first column's minimum width
_EXACT = 10**9  # larger numbers are abbreviated
_DROPPED = ("input", "class", "kept", "output")  # columns to drop, in this order, if the table is too wide
_GAP = 2


@dataclass
class Row:
    """A module's row. Its numbers come from a call of the whole model, and include all submodules."""

    path: str  # its path, "" for the model
    kind: str  # its class
    depth: int  # the number of enclosing modules
    calls: int | None = None  # the number of calls; None if the model was not called
    inputs: tuple[Shape, ...] = ()  # shapes of the tensors in its first call
    outputs: tuple[Shape, ...] = ()
    parameters: int = 0  # the number of elements; shared parameters count towards the first module
    trainable: int = 0
    shared: bool = False  # whether all its parameters belong to earlier modules
    multiply_adds: int = 0  # in its matrix products; elementwise ops are not counted
    kept: int = 0  # bytes that its ops save for the backward pass, excluding the model's parameters and inputs
    children: list[Row] = field(default_factory=list, repr=False)

    def all(self) -> Iterator[Row]:
        """This row and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Total:
    """Totals for the whole model: parameters, bytes, multiply-adds, and bytes saved for the backward pass."""

    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    multiply_adds: int
    input_bytes: int
    kept: int


def _lines(row: Row, depth: int | None, times: int = 1, name: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each line's name and column texts. A line shows a single row, or several equal rows as "0 … 11"."""
    parameters = f"{row.parameters:,}" if row.parameters else "--"
    if row.parameters and row.trainable < row.parameters:
        parameters += " partly frozen" if row.trainable else " frozen"
    adds = row.multiply_adds
    texts = {
        "class": f"{times} × {row.kind}" if times > 1 else row.kind,
        "input": _shapes(row.inputs),
        "output": _shapes(row.outputs),
        "parameters": "shared" if row.shared else parameters,
        "multiply-adds": f"{adds:,}" if 0 < adds < _EXACT else f"{adds / 1e9:,.3f} G" if adds else "--",
        "kept": format_bytes(row.kept) if row.kept else "--",
    }
    if row.calls is None:
        texts = {column: texts[column] for column in ("class", "parameters")}
    yield "  " * row.depth + (name or row.path.rpartition(".")[2] or row.kind), texts
    if depth is not None and row.depth >= depth:
        return
    # Adjacent rows that may share a line: numbered modules with the same structure, shapes and numbers.
    keys = {id(r): _structure(r) if r.path.rpartition(".")[2].isdigit() else id(r) for r in row.children}
    for rows in ([*group] for _, group in groupby(row.children, lambda r: keys[id(r)])):
        own = [child.path.rpartition(".")[2] for child in rows]
        yield from _lines(_mean(rows), depth, len(rows), f"{own[0]} … {own[-1]}" if len(rows) > 1 else "")


def _mean(rows: list[Row]) -> Row:
    """The first of several equal rows, with the mean of ``kept``, as shared memory counts towards only one of them."""
    children = [_mean(list(alike)) for alike in zip(*(row.children for row in rows), strict=True)]
    return replace(rows[0], kept=round(sum(row.kept for row in rows) / len(rows)), children=children)


def _structure(row: Row) -> tuple[Any, ...]:
    shapes = (row.calls, row.inputs, row.outputs)
    numbers = (row.parameters, row.trainable, row.shared, row.multiply_adds)
    inner = [(child.path.rpartition(".")[2], _structure(child)) for child in row.children]
    return (row.kind, *shapes, *numbers, *inner)


def _shapes(shapes: tuple[Shape, ...]) -> str:
    more = f" + {len(shapes) - 2}" if len(shapes) > 2 else ""
    return ", ".join(map(str, shapes[:2])) + more if shapes else "--"


def summary(
    model: Module,
    /,
    *inputs: Any,
    input_size: Sequence[Any] | None = None,
    dtypes: Any = None,
    depth: int | None = None,
    **kwargs: Any,
) -> Summary:
    """A table of a model's modules: shapes, parameters, multiply-adds, and the memory that a backward pass needs.

        print(minigrad.summary(model, x))
        minigrad.summary(model, input_size=(1, 3, 32, 32))

    The model is called once, with gradients, in its current mode, and its state is restored. Without inputs, it is not
    called, and the table shows only parameters. The result prints itself; ``rows`` and ``total`` contain its numbers.

    Args:
        inputs, kwargs: the arguments of the call. A single tuple of integers is a shape.
        input_size: a shape (including the batch dimension) or list of shapes to use instead of inputs. The inputs are
            then random numbers, or zeros for an integer dtype.
        dtypes: a dtype for all shapes in ``input_size``, or one for each; None means the default dtype.
        depth: the number of nested levels to show; None shows all. Repeated modules share a row, such as "0 … 11".

    Raises TypeError for a wrong model or for inputs with input_size, and ValueError for a wrong shape, dtype or depth.
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary takes a module (nn.Module), not {type(model).__name__}")
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be at least 0, or None for all levels, not {depth}")
    if input_size is None and len(inputs) == 1 and isinstance(inputs[0], tuple) and _is_shape(inputs[0]):
        input_size, inputs = inputs[0], ()
    if input_size is not None and (inputs or kwargs):
        raise TypeError("summary takes either inputs or input_size, not both")
    with untouched(model):
        if input_size is not None:
            inputs = _made(model, input_size, dtypes)
        measured = _Measured(model)
        if inputs or kwargs:
            measured.run(inputs, kwargs)
    return measured.summary(inputs, kwargs, depth)


@dataclass(frozen=True, repr=False)
class Summary:
    """The table of a model's modules that ``minigrad.summary`` returns."""

    root: Row
    total: Total
    depth: int | None = None

    @property
    def rows(self) -> list[Row]:
        """All modules, parents first, beginning with the model."""
        return list(self.root.all())

    def __getitem__(self, path: str) -> Row:
        """The row of a module, by its path. Raises KeyError for an unknown path."""
        row = next((row for row in self.root.all() if row.path == path), None)
        if row is None:
            raise KeyError(f"no module {path!r}: the model has {', '.join(r.path for r in self.rows[1:]) or 'none'}")
        return row

    def text(self, width: int | None = None) -> str:
        """The table, if possible at most ``width`` characters wide (by default, the terminal's width). If lines are too
        long, some columns are dropped and the first is truncated."""
        width = shutil.get_terminal_size((WIDE, 24)).columns if width is None else width
        labels, texts = zip(*_lines(self.root, self.depth), strict=True)
        columns = {name: [line[name] for line in texts] for name in texts[0]}
        first = max(map(len, ["module", *labels]))
        for dropped in ("", *_DROPPED):
            columns.pop(dropped, None)
            left = width - sum(max(map(len, [name, *texts])) + _GAP for name, texts in columns.items())
            if left >= min(first, 2 * _NARROWEST):
                break
        first = max(min(first, left), _NARROWEST)
        rows = list(zip((cut(label, first) for label in labels), *columns.values(), strict=True))
        total = self.total
        frozen = total.parameters - total.trainable
        share = f", {total.trainable:,} trainable and {frozen:,} frozen" if frozen else ""
        foot = [f"{total.parameters:,} parameters{share}: {format_bytes(total.parameter_bytes)}"]
        if total.buffer_bytes:
            foot.append(f"{format_bytes(total.buffer_bytes)} of buffers")
        if self.root.calls is not None:
            foot.append(f"{total.multiply_adds:,} multiply-adds in matrix products")
            inputs = f"{format_bytes(total.input_bytes)} of inputs"
            foot.append(f"{format_bytes(total.kept)} kept for the backward pass, and {inputs}")
        return format_table(["module", *columns], rows, foot, left=2 if "class" in columns else 1).rstrip("\n")

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def _is_shape(value: Any) -> bool:
    numbers = isinstance(value, list | tuple) and all(isinstance(n, int) and not isinstance(n, bool) for n in value)
    return numbers and len(value) > 0 and min(value) >= 0


def _made(model: Module, sizes: Sequence[Any], dtypes: Any) -> tuple[Any, ...]:
    """Create inputs of these shapes on the model's device."""
    shapes = [tuple(sizes)] if _is_shape(sizes) else list(sizes) if isinstance(sizes, list | tuple) else []
    if not shapes or not all(map(_is_shape, shapes)):
        raise ValueError(f"input_size must be a shape, such as (1, 3, 32, 32), or a list of shapes, not {sizes!r}")
    kinds = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes] * len(shapes)
    if len(kinds) != len(shapes) or not all(kind is None or isinstance(kind, DType) for kind in kinds):
        raise ValueError(f"dtypes must be a dtype, or one for each of the {len(shapes)} shapes, not {dtypes!r}")
    device = next((p.device for p in model.parameters()), None)
    return tuple(
        (randn if kind is None or kind.is_floating_point else zeros)(*shape, dtype=kind, device=device)
        for shape, kind in zip(shapes, kinds, strict=True)
    )


def _shapes_of(values: Iterable[Any]) -> tuple[Shape, ...]:
    return tuple(tuple(x.array.shape) for value in values for x in tree_leaves(value) if isinstance(x, Variable))


class _Measured(Within):
    """Fills in the rows of a model's modules while the model runs."""

    def __init__(self, model: Module) -> None:
        super().__init__(ModuleNames(model))
        self.model = model
        self.modules = dict(model.named_modules())  # by path; unregistered modules are added when they run
        self.rows = {path: Row(path, type(module).__name__, 0) for path, module in self.modules.items()}
        self._nodes: dict[Node, Row] = {}

    def run(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for row in self.rows.values():
            row.calls = 0
        with enable_grad(), observed(self), around_calls(None, self._called):
            result = self.model(*inputs, **kwargs)
        results = tuple(x for x in tree_leaves(result) if isinstance(x, Variable) and x._wanted())
        free = [*self.model.parameters(), *self.model.buffers(), *tree_leaves((inputs, kwargs))]
        counted = {id(owner(x.array)) for x in free if isinstance(x, Variable)}
        for node in nodes_behind(results) if results else ():
            saved = vars(node.residual).values() if node.op.backward and node.residual else node.residual
            for memory in memory_of([node.out, node.saved if isinstance(node.saved, list) else None, saved]):
                if id(memory) not in counted:
                    counted.add(id(memory))
                    self._nodes.get(node, self.rows[""]).kept += int(memory.nbytes)
        self._nodes.clear()

    def _called(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        row = self.rows[self.within[-1]]
        if not row.calls:
            row.inputs, row.outputs = _shapes_of([*args, *kwargs.values()]), _shapes_of([result])
        row.calls = (row.calls or 0) + 1

    def entered(self, name: str, kind: str, subject: Any) -> None:
        super().entered(name, kind, subject)
        if (path := self.within[-1]) not in self.modules:
            self.modules[path], self.rows[path] = subject, Row(path, type(subject).__name__, 0, 0)

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        self.running.pop()
        row = self.rows[self.within[-1]]
        if node is not None:
            self._nodes[node] = row
        if not any(around.name in PRODUCTS for around in self.running):  # an op within a product is not counted again
            row.multiply_adds += multiply_adds(op.name, result, args) or 0

    def summary(self, inputs: Any, kwargs: Any, depth: int | None) -> Summary:
        counted, inside = set[int](), list[tuple[Row, Row]]()
        for path, row in self.rows.items():
            own = [p for p in self.modules[path]._parameters.values() if p is not None]
            new = [p for p in {id(p): p for p in own}.values() if id(p) not in counted]
            counted.update(map(id, new))
            row.parameters = sum(map(_size, new))
            row.trainable = sum(_size(p) for p in new if p.requires_grad)
            row.shared = bool(own) and not new
            around = path
            while around and (around := around.rpartition(".")[0]) not in self.rows:
                continue
            if path:
                inside.append((self.rows[around], row))
                self.rows[around].children.append(row)
                row.depth = self.rows[around].depth + 1
        for outer, row in reversed(inside):  # inner modules follow their parents
            outer.parameters += row.parameters
            outer.trainable += row.trainable
            outer.multiply_adds += row.multiply_adds
            outer.kept += row.kept
        root = self.rows[""]
        parameters, buffers = list(self.model.parameters()), list(self.model.buffers())
        counts = sum(map(_size, parameters)), sum(_size(p) for p in parameters if p.requires_grad)
        of_inputs = _bytes(x for x in tree_leaves((inputs, kwargs)) if isinstance(x, Variable))
        sizes = _bytes(parameters), _bytes(buffers), root.multiply_adds, of_inputs, root.kept
        return Summary(root, Total(*counts, *sizes), depth)


def _size(tensor: Any) -> int:
    return 0 if is_lazy(tensor) else prod(tensor.array.shape)


def _bytes(tensors: Iterable[Any]) -> int:
    """The total size of some tensors in bytes. Each tensor counts once."""
    by_id = {id(x): x for x in tensors if not is_lazy(x)}
    return sum(int(x.array.nbytes) for x in by_id.values())
