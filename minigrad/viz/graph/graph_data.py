"""What is known of a compute graph: plain data, which every picture of it is made from. It has nodes (an op's
application, or a tensor that no recorded op made), edges from a node to one that reads its result, and modules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, is_dataclass
from functools import partial
from itertools import accumulate, takewhile
from typing import Any, Literal

import numpy as np

from ...backend import dtype as dt, of, xp
from ...backend.dtype import Array
from ..numbers import cell_means, coded, statistics

Kind = Literal["op", "parameter", "input", "constant"]


@dataclass(frozen=True)
class Value:
    """An array as it can be shown: a small one by its elements, a larger one by statistics and a heat map."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int  # of its elements
    table: list[list[float]] | None = None  # all elements, row by row of the last axis
    statistics: dict[str, float] | None = None  # see ``numbers.statistics``
    heat: list[list[float]] | None = None  # means over cells of equal size, a row of the first axes each


@dataclass(frozen=True)
class Source:
    """A piece of Python: its text, and where it stands (a path as short as can be: names.readable)."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class OpInfo:
    """A primitive, described once for all its nodes."""

    name: str
    formula: str  # of the forward: the first line of its docstring
    forward: Source | None  # its definition
    rules: dict[str, Source] = field(default_factory=dict)  # by the input's name; of a Function under "backward"
    helpers: dict[str, Source] = field(default_factory=dict)  # functions that rules call, by name
    gradients: dict[str, str] = field(default_factory=dict)  # the formula of each rule: "dW = gᵀ x"
    kernel: Source | None = None  # what runs in place of definition and rules, where the op has one


@dataclass(frozen=True)
class Saved:
    """Something that a node keeps for the backward pass."""

    name: str  # of the input, "out", or "kernel" for what a kernel keeps
    bytes: int  # of the memory that stays alive for it; 0 where it is a parameter's, which lives anyhow
    node: int | None = None  # the node whose result it is


@dataclass
class Node:
    """An application of an op, or a leaf: a tensor that no recorded op made."""

    id: int  # from 0, in order of creation: a node's inputs have smaller numbers
    kind: Kind  # a "parameter" has a module's name, an "input" has none; a "constant" wants no gradient
    op: str  # the key in Graph.ops; "" for a leaf
    name: str  # what the program calls it: a parameter's path, a variable's name, or the op's name
    module: str = ""  # the path of the module that it belongs to, "" for none
    place: str = ""  # the line of the program that made it, "file:line",
    code: str = ""  # and its text
    # The op's arguments that are no tensors, as text; "names" of a parameter that has several; "hooks" on its
    # gradient; where there is something to say of them, "backward" and "checkpoint".
    attributes: dict[str, str] = field(default_factory=dict)
    value: Value | None = None  # of the result (of several, the first)
    missing: str = ""  # why its numbers are not known, and what to do about it
    gradient: Value | None = None  # what arrives at it in backward, summed
    forward_seconds: float | None = None  # None where it was not timed
    backward_seconds: float | None = None
    saved: list[Saved] = field(default_factory=list)  # what it keeps alive
    released: bool = False  # whether a backward has freed what it kept


@dataclass
class Edge:
    """A result that is read."""

    source: int
    target: int
    input: str  # of the target: "x", "weight"; of a variadic op "xs 2"
    slot: int = 0  # which of the source's results it is
    # The target's rule's result for this input, before it is summed with others'; None where no backward has
    # run, or where the input wants none.
    gradient: Value | None = None


@dataclass(frozen=True)
class ModuleInfo:
    """A module whose nodes are in the graph: its path ("" is the root), its class, and its own text
    (``extra_repr``). ``alike`` is equal for modules of the same structure: these may be folded together."""

    path: str
    kind: str
    text: str = ""
    alike: str = ""


@dataclass
class Graph:
    """All nodes and edges, and what they refer to."""

    title: str  # what it is a graph of
    nodes: list[Node]
    edges: list[Edge]
    modules: dict[str, ModuleInfo]
    ops: dict[str, OpInfo]
    output: int  # the node that all lead to
    backward: Literal["none", "done"] = "none"  # where none has run, there are no gradients (they are not zero)


def ways(path: str) -> list[str]:
    """The paths to a module, from the outside: to "a.b.c" these are "a", "a.b" and "a.b.c"; none to ""."""
    return list(accumulate(path.split("."), "{}.{}".format)) if path else []


def common(paths: Iterable[Iterable[Any]]) -> list[Any]:
    """What several paths have in common, from their beginning on; of none, nothing."""
    return [steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, zip(*paths, strict=False))]


TABLE = 64  # the most elements that are shown one by one
CELLS = 32  # the most rows, and columns, of a heat map
HEAT_BYTES = 1_500_000  # of all heat maps of a page together; where they are more, their cells get larger
FEW = 16  # elements that a line of text has as numbers
_UNKNOWN = 255  # the cell of a number that is not finite


def value_of(array: Array) -> Value:
    """What is shown of an array; of complex numbers a table of both parts in turn, else of the moduli."""
    shape, device = tuple(int(n) for n in array.shape), str(of(array).device_of(array))
    value = partial(Value, shape, dt.of(array).name, device, int(array.nbytes))
    if array.size <= TABLE:
        host = np.ascontiguousarray(_matrix(of(array).to_numpy(array)))
        if host.dtype.kind in "bc":
            host = host.view(np.uint8 if host.dtype.kind == "b" else host.real.dtype)
        return value(host.tolist())
    real = xp(array).absolute(array) if array.dtype.kind == "c" else array
    return value(None, statistics(real), _heat(real))


def outline(shape: tuple[int, ...], dtype: Any, device: str) -> Value:
    """An array whose numbers are gone, or not there yet: its shape (NumPy's dtype, the device's name)."""
    dtype = np.dtype(dtype)
    return Value(tuple(shape), dt.of_numpy(dtype).name, device, math.prod(shape) * dtype.itemsize)


def _matrix(array: Array) -> Array:
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.shape else 1)


@np.errstate(all="ignore")  # of infinities of both signs the mean is NaN
def _heat(array: Array) -> list[list[float]]:
    """Means over cells of neighbours, in three digits; no cell has rows of two blocks."""
    matrix = _matrix(of(array).to_numpy(array))
    (rows, columns), count = matrix.shape, blocks(array.shape)
    high, wide = -(-(rows // count) // (CELLS // count)), -(-columns // CELLS)  # of a cell; the last may be smaller
    tops = [top for first in range(0, rows, rows // count) for top in range(first, first + rows // count, high)]
    cells = cell_means(matrix, [*tops, rows], [*range(0, columns, wide), columns])
    return [[float(f"{cell:.3g}") for cell in row] for row in cells.tolist()]


def blocks(shape: tuple[int, ...]) -> int:
    """How many matrices of an array, such as heads, stand apart in its heat map: all, if each has a row of cells."""
    count = math.prod(shape[:-2])
    return count if 1 < count <= CELLS else 1


def summary(value: Value) -> str:
    """Shape, and all of a few numbers; of more some statistics, and how many are not finite."""
    numbers = value.statistics
    if value.table is not None:
        array: Array = np.array(value.table, np.float64)
        array = (array.view(np.complex128) if value.dtype.startswith("complex") else array).reshape(value.shape)
        if array.size <= FEW:
            return f"{value.shape} = {_nested(array)}"
        numbers = statistics(np.absolute(array) if array.dtype.kind == "c" else array)
    if numbers is None:
        return str(value.shape)
    wrong = round(numbers["nan"])
    parts = [f"{name} {numbers[name]:.4g}" for name in ("min", "max", "norm") if wrong < math.prod(value.shape)]
    return f"{value.shape} with {', '.join(parts + [f'{wrong} not finite'] * (wrong > 0))}"


def _nested(array: Any) -> str:
    """All its numbers in brackets: "[[1, 2], [3, 4]]", "[1+2j]"."""
    return f"[{', '.join(map(_nested, array))}]" if array.ndim else f"{array.item() + 0.0:.4g}"


class Stored:
    """All values of a page, equal ones once. Heat maps get coarser where they are many (HEAT_BYTES)."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._places: dict[str, int] = {}
        self._seen: dict[int, int] = {}  # by id: to write a value out takes long

    def encoded(self, data: Any) -> Any:
        """Data for JSON: dataclasses as dictionaries, and values by their places among those of the page."""
        if isinstance(data, Value):
            if id(data) not in self._seen:
                place = self._seen[id(data)] = self._places.setdefault(repr(data), len(self.values))
                if place == len(self.values):
                    self.values.append(data)
            return self._seen[id(data)]
        if isinstance(data, list | tuple):
            return [self.encoded(inner) for inner in data]
        if isinstance(data, dict):
            return {key: self.encoded(inner) for key, inner in data.items()}
        return self.encoded(vars(data)) if is_dataclass(data) else data

    def packed(self) -> list[dict[str, Any]]:
        cells = sum(len(value.heat) * len(value.heat[0]) for value in self.values if value.heat)
        step = max(1, math.ceil(math.sqrt(cells / HEAT_BYTES)))
        return [{**vars(value), "heat": heat(value.heat, step, blocks(value.shape))} for value in self.values]


@np.errstate(all="ignore")  # cells may hold infinities
def heat(cells: list[list[float]] | None, step: int = 1, blocks: int = 1) -> dict[str, Any] | None:
    """A heat map, a byte a cell, from ``low`` (0) to ``high`` (254); means over ``step`` × ``step`` cells."""
    if not cells or not cells[0]:
        return None
    rows, columns = len(cells), len(cells[0])
    array = cell_means(np.array(cells), [*range(0, rows, step), rows], [*range(0, columns, step), columns])
    known = array[np.isfinite(array)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    scale = (254 / (high - low)) if high > low else 0.0
    shades = np.where(np.isfinite(array), np.rint((array - low) * scale), _UNKNOWN)
    sizes = {"rows": len(array), "columns": array.shape[1], "blocks": 1 if rows // blocks % step else blocks}
    return {**sizes, "low": low, "high": high, "cells": coded(shades, "u1")}
