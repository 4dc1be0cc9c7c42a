"""A compute graph as plain data, from which all images are drawn. It contains nodes (op calls, and tensors without a
recorded op), edges from each node to the ops that read its result, and modules."""

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
    """An array for display. A small array is stored as its elements, a larger one as statistics and a heat map."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int  # the size of all elements
    table: list[list[float]] | None = None  # all elements, row by row of the last axis
    statistics: dict[str, float] | None = None  # see ``numbers.statistics``
    heat: list[list[float]] | None = None  # means over cells; the leading axes are flattened into rows


@dataclass(frozen=True)
class Source:
    """A piece of Python code: its text, and its line in a file (a short path; see ``graph_names.readable``)."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class OpInfo:
    """An op, described once for all its nodes."""

    name: str
    formula: str  # of the forward pass, from the first line of its docstring
    forward: Source | None  # its definition
    rules: dict[str, Source] = field(default_factory=dict)  # by input name; a Function's rule is called "backward"
    helpers: dict[str, Source] = field(default_factory=dict)  # functions called by rules, by name
    gradients: dict[str, str] = field(default_factory=dict)  # the formula of each rule: "dW = gᵀ x"
    kernel: Source | None = None  # if the op has a kernel, it replaces the definition and rules


@dataclass(frozen=True)
class Saved:
    """A value that a node saves for the backward pass."""

    name: str  # the input's name, "out", or "kernel" for a kernel's values
    bytes: int  # of memory that it keeps alive; 0 for a parameter, which stays alive anyway
    node: int | None = None  # the node whose result this is


@dataclass
class Node:
    """A call of an op, or a leaf: a tensor without a recorded op."""

    id: int  # from 0, in order of creation: a node's inputs have smaller ids
    kind: Kind  # a "parameter" belongs to a module, an "input" does not; a "constant" requires no gradient
    op: str  # the key in Graph.ops; "" for a leaf
    name: str  # its name in the program: a parameter's path, a variable's name, or the op's name
    module: str = ""  # the path of its module, "" for none
    place: str = ""  # the program line that created it, "file:line",
    code: str = ""  # and its text
    # The op's non-tensor arguments as text; "names" if a parameter has several; "hooks" on its gradient; notes about
    # "backward" and "checkpoint", if any.
    attributes: dict[str, str] = field(default_factory=dict)
    value: Value | None = None  # of the result (the first of several)
    missing: str = ""  # why its numbers are unknown, and how to get them
    gradient: Value | None = None  # its gradient, summed over all readers
    forward_seconds: float | None = None  # None if not timed
    backward_seconds: float | None = None
    saved: list[Saved] = field(default_factory=list)  # the values saved for the backward pass
    released: bool = False  # whether a backward pass has freed its saved values


@dataclass
class Edge:
    """A connection from a result to its reader."""

    source: int
    target: int
    input: str  # the target's input: "x", "weight", or "xs 2" for a variadic op
    slot: int = 0  # the index of the source's result
    # The result of the target's rule for this input, before summation; None if no backward pass has run, or the input
    # requires no gradient.
    gradient: Value | None = None


@dataclass(frozen=True)
class ModuleInfo:
    """A module with nodes in the graph: its path ("" for the root), its class, and its text (``extra_repr``). ``alike``
    is equal for modules with the same structure, which may be folded together."""

    path: str
    kind: str
    text: str = ""
    alike: str = ""


@dataclass
class Graph:
    """All nodes and edges, with their modules and ops."""

    title: str  # the name of the recorded call or tensor
    nodes: list[Node]
    edges: list[Edge]
    modules: dict[str, ModuleInfo]
    ops: dict[str, OpInfo]
    output: int  # the index of the node that depends on all others
    backward: Literal["none", "done"] = "none"  # before a backward pass, gradients are missing (not zero)


def ways(path: str) -> list[str]:
    """The paths of a module and its parents, outermost first: "a", "a.b" and "a.b.c" for "a.b.c"; no paths for ""."""
    return list(accumulate(path.split("."), "{}.{}".format)) if path else []


def common(paths: Iterable[Iterable[Any]]) -> list[Any]:
    """The common prefix of several paths; empty if there are no paths."""
    return [steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, zip(*paths, strict=False))]


TABLE = 64  # the maximum number of elements to show individually
CELLS = 32  # the maximum number of rows, and of columns, in a heat map
HEAT_BYTES = 1_500_000  # for all heat maps on a page; if there are more, cells are merged
FEW = 16  # the maximum number of elements in a line of text
_UNKNOWN = 255  # the byte of a cell that is not finite


def value_of(array: Array) -> Value:
    """Summarise an array. Complex numbers become a table of real and imaginary parts, or statistics of moduli."""
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
    """The Value of an array whose numbers are unknown: only its shape, NumPy dtype and device name."""
    dtype = np.dtype(dtype)
    return Value(tuple(shape), dt.of_numpy(dtype).name, device, math.prod(shape) * dtype.itemsize)


def _matrix(array: Array) -> Array:
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.shape else 1)


@np.errstate(all="ignore")  # the mean of both infinities is NaN
def _heat(array: Array) -> list[list[float]]:
    """Means over cells of adjacent elements, rounded to three digits. No cell spans two ``blocks``."""
    matrix = _matrix(of(array).to_numpy(array))
    (rows, columns), count = matrix.shape, blocks(array.shape)
    high, wide = -(-(rows // count) // (CELLS // count)), -(-columns // CELLS)  # of cells; the last ones may be smaller
    tops = [top for first in range(0, rows, rows // count) for top in range(first, first + rows // count, high)]
    cells = cell_means(matrix, [*tops, rows], [*range(0, columns, wide), columns])
    return [[float(f"{cell:.3g}") for cell in row] for row in cells.tolist()]


def blocks(shape: tuple[int, ...]) -> int:
    """How many matrices (such as heads) an array's heat map separates: all if each can have a row of cells, else 1."""
    count = math.prod(shape[:-2])
    return count if 1 < count <= CELLS else 1


def summary(value: Value) -> str:
    """Describe a value by its shape and all its numbers or, if there are many, by statistics."""
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
    """All numbers in brackets: "[[1, 2], [3, 4]]", "[1+2j]"."""
    return f"[{', '.join(map(_nested, array))}]" if array.ndim else f"{array.item() + 0.0:.4g}"


class Stored:
    """All values on a page, without duplicates. Heat maps are coarser if there are many (HEAT_BYTES)."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._places: dict[str, int] = {}
        self._seen: dict[int, int] = {}  # indices by id, as the repr of a value is slow

    def encoded(self, data: Any) -> Any:
        """Prepare data for JSON: dataclasses become dicts, and values become indices into the page's list of values."""
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


@np.errstate(all="ignore")  # cells may contain infinities
def heat(cells: list[list[float]] | None, step: int = 1, blocks: int = 1) -> dict[str, Any] | None:
    """A heat map, one byte per cell, from 0 (``low``) to 254 (``high``). Averages ``step`` × ``step`` cells."""
    if not cells or not cells[0]:
        return None
    rows, columns = len(cells), len(cells[0])
    array = cell_means(np.array(cells), [*range(0, rows, step), rows], [*range(0, columns, step), columns])
    finite = array[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    scale = (254 / (high - low)) if high > low else 0.0
    shades = np.where(np.isfinite(array), np.rint((array - low) * scale), _UNKNOWN)
    sizes = {"rows": len(array), "columns": array.shape[1], "blocks": 1 if rows // blocks % step else blocks}
    return {**sizes, "low": low, "high": high, "cells": coded(shades, "u1")}
