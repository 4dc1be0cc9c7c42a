"""``minigrad.summary``: a model as a table of its modules, with what a call of it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from .summary_table import Row, Shape, Table, Total
from .watched import ModuleNames, Within, around_calls, memory_of, untouched


def summary(
    model: Module,
    /,
    *inputs: Any,
    input_size: Sequence[Any] | None = None,
    input_data: Any = None,
    dtypes: Any = None,
    depth: int | None = None,
    fold: bool = True,
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
        input_data: in their place, as torchinfo takes them: a tensor, a list of inputs, or a dictionary of named ones.
        dtypes: of ``input_size``: one for all shapes, or one for each; the default dtype if None.
        depth: how many nested levels the table shows; all if None.
        fold: whether repeated modules are one row, "0 … 11".

    Returns:
        What shows itself as a table in a terminal and in a notebook, and has the numbers in ``rows`` and ``total``.

    Raises:
        TypeError: no module, or inputs given in two ways. ValueError: a shape, dtype or depth that is none.
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary takes a module (nn.Module), not {type(model).__name__}")
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be a number of levels, 0 or more, or None for all of them, not {depth}")
    if input_size is None and len(inputs) == 1 and isinstance(inputs[0], tuple) and _is_shape(inputs[0]):
        input_size, inputs = inputs[0], ()
    if (bool(inputs or named)) + (input_size is not None) + (input_data is not None) > 1:
        raise TypeError("summary takes the inputs themselves, input_size or input_data, and only one of these")
    with untouched(model):
        if input_size is not None:
            inputs = _made(model, input_size, dtypes)
        elif isinstance(input_data, Mapping):
            named = dict(input_data)
        elif input_data is not None:
            inputs = tuple(input_data) if isinstance(input_data, list | tuple) else (input_data,)
        measured = _Measured(model)
        if inputs or named:
            measured.run(inputs, named)
    return Summary(measured.rows(), measured.total(inputs, named), depth, fold)


@dataclass(frozen=True, repr=False)
class Summary:
    """A model's modules; ``minigrad.summary`` makes it."""

    root: Row
    total: Total
    depth: int | None = None
    fold: bool = True

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
        """The table, at most ``width`` characters wide where that can be; by default the terminal's width."""
        return Table(self.root, self.total, self.depth, self.fold).text(width)

    def html(self) -> str:
        """The table for a page."""
        return Table(self.root, self.total, self.depth, self.fold).html()

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


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


def _shapes(values: Iterable[Any]) -> tuple[Shape, ...]:
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
        self.shapes.setdefault(path, (_shapes([*args, *kwargs.values()]), _shapes([result])))

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
