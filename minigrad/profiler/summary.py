"""``minigrad.summary``: a model as a table of its modules, with what a call of it takes."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

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

WIDE = 120  # characters, where there is no terminal to ask
_NARROWEST = 14  # of the first column
_EXACT = 10**9  # numbers are written out up to here
_DROPPED = ("input", "class", "kept", "output")  # columns that go first where there is no room
_GAP = 2


@dataclass
class Row:
    """A module. Its numbers are those of a call of the whole model, with all modules inside it.

    Attributes:
        path: its full name, "" for the model. kind: its class. depth: how many modules are around it.
        calls: how often it ran; None where the model was not called.
        inputs, outputs: the shapes of the tensors of its first call.
        parameters, trainable: how many numbers; those that several modules share are the first one's. shared: whether
            others had counted all its parameters before.
        multiply_adds: of the products of matrices that ran in it; elementwise ops are not counted.
        kept: bytes of memory that ops in it keep for the backward pass, parameters and inputs of the model left out.
    """

    path: str
    kind: str
    depth: int
    calls: int | None = None
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    parameters: int = 0
    trainable: int = 0
    shared: bool = False
    multiply_adds: int = 0
    kept: int = 0
    children: list[Row] = field(default_factory=list, repr=False)

    def all(self) -> Iterator[Row]:
        """It and all below it, each before those inside it."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Total:
    """The whole model. Bytes are of the parameters, of the buffers, of the inputs, and kept for the backward pass."""

    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    multiply_adds: int
    input_bytes: int
    kept: int


class _Line(NamedTuple):
    """A row of the table: the module's own name, or "0 … 11" of several that are alike, and its row's numbers."""

    name: str
    times: int  # how many modules are in it
    row: Row


def _lines(row: Row, times: int, depth: int | None, name: str = "") -> Iterator[_Line]:
    yield _Line(name or row.path.rpartition(".")[2] or row.kind, times, row)
    if depth is not None and row.depth >= depth:
        return
    # Neighbours that may be one line: numbered modules of the same structure, shapes and numbers.
    keys = {id(r): _structure(r) if r.path.rpartition(".")[2].isdigit() else id(r) for r in row.children}
    for rows in ([*group] for _, group in groupby(row.children, lambda r: keys[id(r)])):
        own = [child.path.rpartition(".")[2] for child in rows]
        yield from _lines(_mean(rows), len(rows), depth, f"{own[0]} … {own[-1]}" if len(rows) > 1 else "")


def _mean(rows: list[Row]) -> Row:
    """The first of rows that are alike, with the mean of what each keeps: what two share, the first of them keeps."""
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


def _parameters(row: Row) -> str:
    if row.shared:
        return "shared"
    if row.parameters and row.trainable < row.parameters:
        return f"{row.parameters:,} {'partly ' if row.trainable else ''}frozen"
    return f"{row.parameters:,}" if row.parameters else "--"


def _count(number: int) -> str:
    return f"{number:,}" if 0 < number < _EXACT else f"{number / 1e9:,.3f} G" if number else "--"


_COLUMNS: dict[str, Callable[[_Line], str]] = {
    "class": lambda line: f"{line.times} × {line.row.kind}" if line.times > 1 else line.row.kind,
    "input": lambda line: _shapes(line.row.inputs),
    "output": lambda line: _shapes(line.row.outputs),
    "parameters": lambda line: _parameters(line.row),
    "multiply-adds": lambda line: _count(line.row.multiply_adds),
    "kept": lambda line: format_bytes(line.row.kept) if line.row.kept else "--",
}
_OF_CALL = ("input", "output", "multiply-adds", "kept")


def summary(
    model: Module,
    /,
    *inputs: Any,
    input_size: Sequence[Any] | None = None,
    dtypes: Any = None,
    depth: int | None = None,
    **named: Any,
) -> Summary:
    """A model's modules as a table: shapes, parameters, multiply-adds, and the memory that a backward pass needs.

        print(minigrad.summary(model, x))
        minigrad.summary(model, input_size=(1, 3, 32, 32))

    The model is called once, with gradients, in the mode that it is in; what is counted are the ops that run.
    Parameters, gradients, modes, buffers and random numbers are afterwards as before. Without inputs nothing is called,
    and the table has parameters alone.

    Args:
        model: any module.
        inputs, named: what the model is called with. A single tuple of integers is a shape.
        input_size: in their place a shape, the batch included, or a list of them: of random numbers, or zeros of an
            integer dtype.
        dtypes: of ``input_size``: one for all shapes, or one for each; the default dtype if None.
        depth: how many nested levels the table shows; all if None. Repeated modules are one row, "0 … 11".

    Returns:
        What prints itself as a table, and has the numbers in ``rows`` and ``total``.

    Raises TypeError: no module, or inputs given in two ways. ValueError: a shape, dtype or depth that is none.
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary takes a module (nn.Module), not {type(model).__name__}")
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be a number of levels, 0 or more, or None for all of them, not {depth}")
    if input_size is None and len(inputs) == 1 and isinstance(inputs[0], tuple) and _is_shape(inputs[0]):
        input_size, inputs = inputs[0], ()
    if input_size is not None and (inputs or named):
        raise TypeError("summary takes the inputs themselves or input_size, and only one of these")
    with untouched(model):
        if input_size is not None:
            inputs = _made(model, input_size, dtypes)
        measured = _Measured(model)
        if inputs or named:
            measured.run(inputs, named)
    return Summary(measured.rows(), measured.total(inputs, named), depth)


@dataclass(frozen=True, repr=False)
class Summary:
    """A model's modules; ``minigrad.summary`` makes it."""

    root: Row
    total: Total
    depth: int | None = None

    @property
    def rows(self) -> list[Row]:
        """All modules, each before those inside it; the first is the model."""
        return list(self.root.all())

    def __getitem__(self, path: str) -> Row:
        """The row of a module by its path. Raises KeyError."""
        row = next((row for row in self.root.all() if row.path == path), None)
        if row is None:
            raise KeyError(f"no module {path!r}: the model has {', '.join(r.path for r in self.rows[1:]) or 'none'}")
        return row

    def text(self, width: int | None = None) -> str:
        """The table, at most ``width`` characters wide where that can be; by default the terminal's width. Columns are
        left out and the first is cut where the lines would be too long."""
        width = shutil.get_terminal_size((WIDE, 24)).columns if width is None else width
        lines = list(_lines(self.root, 1, self.depth))
        names = [name for name in _COLUMNS if self.root.calls is not None or name not in _OF_CALL]
        columns = {name: [*map(_COLUMNS[name], lines)] for name in names}
        labels = [f"{'  ' * line.row.depth}{line.name}" for line in lines]
        first = max(map(len, ["module", *labels]))
        for dropped in ("", *_DROPPED):
            columns.pop(dropped, None)
            room = width - sum(max(map(len, [name, *texts])) + _GAP for name, texts in columns.items())
            if room >= min(first, 2 * _NARROWEST):
                break
        first = max(min(first, room), _NARROWEST)
        rows = list(zip((cut(label, first) for label in labels), *columns.values(), strict=True))
        return format_table(["module", *columns], rows, self._foot(), left=2 if "class" in columns else 1).rstrip("\n")

    def _foot(self) -> list[str]:
        total = self.total
        frozen = total.parameters - total.trainable
        share = f", {total.trainable:,} trainable and {frozen:,} frozen" if frozen else ""
        lines = [f"{total.parameters:,} parameters{share}: {format_bytes(total.parameter_bytes)}"]
        if total.buffer_bytes:
            lines.append(f"{format_bytes(total.buffer_bytes)} of buffers")
        if self.root.calls is not None:
            lines.append(f"{total.multiply_adds:,} multiply-adds in products of matrices")
            inputs = f"{format_bytes(total.input_bytes)} of inputs"
            lines.append(f"{format_bytes(total.kept)} kept for the backward pass, and {inputs}")
        return lines

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def _is_shape(value: Any) -> bool:
    numbers = isinstance(value, list | tuple) and all(isinstance(n, int) and not isinstance(n, bool) for n in value)
    return numbers and len(value) > 0 and min(value) >= 0


def _made(model: Module, sizes: Sequence[Any], dtypes: Any) -> tuple[Any, ...]:
    """Inputs of these shapes, on the device of the model."""
    shapes = [tuple(sizes)] if _is_shape(sizes) else list(sizes) if isinstance(sizes, list | tuple) else []
    if not shapes or not all(map(_is_shape, shapes)):
        raise ValueError(
            f"input_size must be a shape with the batch, such as (1, 3, 32, 32), or a list of shapes, not {sizes!r}"
        )
    kinds = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes] * len(shapes)
    if len(kinds) != len(shapes) or not all(kind is None or isinstance(kind, DType) for kind in kinds):
        raise ValueError(f"dtypes must be a dtype, or one for each of the {len(shapes)} shapes, not {dtypes!r}")
    device = next((p.device for p in model.parameters()), None)
    return tuple(
        randn(*shape, dtype=kind, device=device)
        if kind is None or kind.is_floating_point
        else zeros(*shape, dtype=kind, device=device)
        for shape, kind in zip(shapes, kinds, strict=True)
    )


def _shapes_of(values: Iterable[Any]) -> tuple[Shape, ...]:
    return tuple(tuple(x.array.shape) for value in values for x in tree_leaves(value) if isinstance(x, Variable))


class _Measured(Within):
    """What is counted while a model runs, by the paths of its modules ("" is the model)."""

    def __init__(self, model: Module) -> None:
        super().__init__(ModuleNames(model))
        self.model = model
        self.calls: Counter[str] = Counter()
        self.shapes: dict[str, tuple[tuple[Shape, ...], tuple[Shape, ...]]] = {}
        self.adds: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.modules = dict(model.named_modules())  # by path; what no module has registered is added when it runs
        self.ran = False
        self._nodes: dict[Node, str] = {}

    def run(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        with enable_grad(), observed(self), around_calls(None, self._called):
            result = self.model(*inputs, **named)
        self.ran = True
        results = tuple(x for x in tree_leaves(result) if isinstance(x, Variable) and x._wanted())
        free = [*self.model.parameters(), *self.model.buffers(), *tree_leaves((inputs, named))]
        paid = {id(owner(x.array)) for x in free if isinstance(x, Variable)}
        for node in nodes_behind(results) if results else ():
            kept = vars(node.residual).values() if node.op.backward and node.residual else node.residual
            for memory in memory_of([node.out, node.saved if isinstance(node.saved, list) else None, kept]):
                if id(memory) not in paid:
                    paid.add(id(memory))
                    self.kept[self._nodes.get(node, "")] += int(memory.nbytes)
        self._nodes.clear()

    def _called(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        path = self.within[-1]
        self.calls[path] += 1
        self.shapes.setdefault(path, (_shapes_of([*args, *kwargs.values()]), _shapes_of([result])))

    def entered(self, name: str, kind: str, subject: Any) -> None:
        super().entered(name, kind, subject)
        if kind == "module":
            self.modules.setdefault(self.within[-1], subject)

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        self.running.pop()
        if node is not None:
            self._nodes[node] = self.within[-1]
        if not any(around.name in PRODUCTS for around in self.running):  # else that one is counted
            self.adds[self.within[-1]] += multiply_adds(op.name, result, args) or 0

    def rows(self) -> Row:
        """The row of the model, with all others in it."""
        rows: dict[str, Row] = {}
        counted: set[int] = set()
        for path, module in self.modules.items():
            row = rows[path] = Row(path, type(module).__name__, 0)
            held = [p for p in module._parameters.values() if p is not None]
            new = [p for p in {id(p): p for p in held}.values() if id(p) not in counted]
            counted.update(map(id, new))
            row.parameters = sum(map(_size, new))
            row.trainable = sum(_size(p) for p in new if p.requires_grad)
            row.shared = bool(held) and not new
            row.multiply_adds, row.kept = self.adds[path], self.kept[path]
            row.calls = self.calls[path] if self.ran else None
            row.inputs, row.outputs = self.shapes.get(path, ((), ()))
        for path, row in rows.items():
            if path:
                around = path.rpartition(".")[0]
                while around not in rows:
                    around = around.rpartition(".")[0]
                rows[around].children.append(row)
        _add_up(rows[""], 0)
        return rows[""]

    def total(self, inputs: Any, named: Any) -> Total:
        """What stands below the table."""
        parameters, buffers = list(self.model.parameters()), list(self.model.buffers())
        counts = sum(map(_size, parameters)), sum(_size(p) for p in parameters if p.requires_grad)
        of_inputs = _bytes(x for x in tree_leaves((inputs, named)) if isinstance(x, Variable))
        adds, kept = sum(self.adds.values()), sum(self.kept.values())
        return Total(*counts, _bytes(parameters), _bytes(buffers), adds, of_inputs, kept)


def _add_up(row: Row, depth: int) -> None:
    row.depth = depth
    for child in row.children:
        _add_up(child, depth + 1)
        row.parameters += child.parameters
        row.trainable += child.trainable
        row.multiply_adds += child.multiply_adds
        row.kept += child.kept


def _size(tensor: Any) -> int:
    return 0 if is_lazy(tensor) else prod(tensor.array.shape)


def _bytes(tensors: Iterable[Any]) -> int:
    """Of all of them, each once."""
    known = {id(x): x for x in tensors if not is_lazy(x)}
    return sum(int(x.array.nbytes) for x in known.values())
