"""What is known of a compute graph: plain data, which every picture of it is made from.

A graph has nodes (an op's application, or a tensor that no recorded op made), edges from a node to one that
reads its result, and modules, nested by their paths. All of it turns into JSON by ``dataclasses.asdict``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["op", "parameter", "input", "constant"]


@dataclass(frozen=True)
class Value:
    """An array as it can be shown.

    Attributes:
        shape, dtype, device: as the tensor has them. bytes: of its elements.
        table: all its elements where they are few, row by row of the last axis: (rows, columns).
        statistics: of a larger one: min, max, mean, std, norm, zeros (how many), nan (how many not finite).
        heat: of a larger one, (rows, columns): means over cells of equal size, a row of the first axes each.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int
    table: list[list[float]] | None = None
    statistics: dict[str, float] | None = None
    heat: list[list[float]] | None = None


@dataclass(frozen=True)
class Source:
    """A piece of Python: its text, and where it stands (a path as short as can be: names.readable)."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class OpInfo:
    """A primitive, told once for all its nodes.

    Attributes:
        name: "matmul". formula: the first line of its docstring. forward: its definition.
        rules: the gradient rule of each input that has one, by the input's name. Of a fused op, whose kernel
            has its own backward: the kernel's, under "kernel", and the plain definition under "plain". Of a
            user's Function its backward, under "backward".
        helpers: the functions that rules leave work to, by their names: "_power_slope".
    """

    name: str
    formula: str
    forward: Source | None
    rules: dict[str, Source] = field(default_factory=dict)
    helpers: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved:
    """Something that a node keeps for the backward pass.

    Attributes:
        name: of the input, "out", or "kernel" for what a kernel keeps. bytes: of the memory that stays alive
            for it (0 where it is a parameter's, which lives anyhow). node: the node whose result it is.
    """

    name: str
    bytes: int
    node: int | None = None


@dataclass
class Node:
    """An application of an op, or a tensor that no recorded op made.

    Attributes:
        id: from 0, in order of creation: a node's inputs have smaller numbers.
        kind: "op"; "parameter" and "input" are leaves, with and without a module's name; "constant" is a
            tensor that wants no gradient.
        op: the key in Graph.ops; "" for a leaf.
        name: what the program calls it: a parameter's path, a variable's name, or the op's name.
        module: the path of the module that it belongs to, "" for none.
        place, code: the line of the user's program that made it, "file:line", and its text.
        attributes: the op's arguments that are no tensors, as text; "names" of a parameter that has several;
            "hooks" on its gradient; where there is something to say of them, "backward" and "checkpoint".
        value: of the result (of several, the first). gradient: what arrives at it in backward, summed.
        forward_seconds, backward_seconds: None where it was not timed.
        saved: what it keeps alive.
        released: whether a backward has freed what it kept.
    """

    id: int
    kind: Kind
    op: str
    name: str
    module: str = ""
    place: str = ""
    code: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    value: Value | None = None
    gradient: Value | None = None
    forward_seconds: float | None = None
    backward_seconds: float | None = None
    saved: list[Saved] = field(default_factory=list)
    released: bool = False


@dataclass
class Edge:
    """A result that is read.

    Attributes:
        source, target: nodes. input: the name of the target's input that reads it ("x", "weight"; of a
            variadic op "xs 2"). slot: which of the source's results it is.
        gradient: what the target's rule gives back for this input, before it is summed with others';
            None where no backward has run, or where the input wants none.
    """

    source: int
    target: int
    input: str
    slot: int = 0
    gradient: Value | None = None


@dataclass(frozen=True)
class ModuleInfo:
    """A module whose nodes are in the graph: its path ("" is the root), its class, and its own text
    (``extra_repr``). ``alike`` is equal for modules of the same structure: these may be folded together."""

    path: str
    kind: str
    told: str = ""
    alike: str = ""


@dataclass
class Graph:
    """All of it.

    Attributes:
        title: what it is a graph of. nodes, edges, modules, ops: see there. output: the node it leads to.
        backward: "none" (no backward has run: there are no gradients, which are not zero), or "done".
    """

    title: str
    nodes: list[Node]
    edges: list[Edge]
    modules: dict[str, ModuleInfo]
    ops: dict[str, OpInfo]
    output: int
    backward: Literal["none", "done"] = "none"
