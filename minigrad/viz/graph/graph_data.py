"""What is known of a compute graph: plain data, which every picture of it is made from.

A graph has nodes (an op's application, or a tensor that no recorded op made), edges from a node to one that reads its
result, and modules, nested by their paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Any, Literal

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
