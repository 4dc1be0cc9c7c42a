"""Nodes of the tape turned into those of a graph, with the leaves that they read."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any

from ...autograd.tape import RETAINED, Lost, Node, Variable
from ...backend.dtype import Array
from ...nn.parameter import Parameter
from . import data
from .belonging import modules_of
from .data import Edge, Graph, Kind, OpInfo, Value
from .gradients import Shown, tape_of
from .memory import Memory
from .names import Modules, function_told, input_name, readable, told
from .observe import Observation
from .rules import op_info
from .values import outline, value_of

Named = list[tuple[str, Variable]]


class Builder:
    """All nodes that lead to a tensor, in the order of creation, each after the leaves that it reads.

    Args:
        root: the tensor. modules: known by name. named: tensors by what the program calls them.
        seen: what was observed of the call; None where nobody watched.

    Attributes:
        tape: the nodes. number: their numbers in the graph, by node or by a leaf's id.
    """

    def __init__(self, root: Variable, modules: Modules, named: Named, seen: Observation | None = None) -> None:
        self.root, self.modules, self.seen = root, modules, seen
        self.tape = tape_of(root)
        self.number: dict[Node | int, int] = {}
        self._names = _Names(modules, named, seen)
        self._modules = modules_of(self.tape, self._names.parameters) if seen is None else {}
        self._nodes: list[data.Node] = []
        self._edges: list[Edge] = []
        self._of_edge: dict[tuple[Node, int], Edge] = {}
        self._leaves: dict[int, Any] = {}  # by number
        self._ops = _Ops(root.array)
        self._results = _Results(root, self.tape)
        for node in self.tape:
            self._add(node)
        self._add_memory()

    def leaves(self) -> list[Variable]:
        """The tensors that no recorded op made, and that want a gradient."""
        return [leaf for i, leaf in self._leaves.items() if self._nodes[i].kind != "constant"]

    def is_released(self) -> bool:
        """Whether a backward has freed what nodes kept."""
        return any(node.saved is None for node in self.tape)

    def graph(self, title: str, gradients: Shown) -> Graph:
        """The whole, with what a backward pass gave, if one has run."""
        for key, number in self.number.items():
            node = self._nodes[number]
            node.gradient = gradients.first(key)
            if isinstance(key, Node):
                node.backward_seconds = gradients.seconds.get(key)
        for place, edge in self._of_edge.items():
            edge.gradient = gradients.edges.get(place)
        source = self.root._source()[0]
        assert source is not None
        output = self._nodes[self.number[source]]
        if gradients.ran and self.root.array.size != 1:
            output.attributes["backward"] = "begins with its sum"
        modules = self.modules.told({node.module for node in self._nodes})
        return Graph(
            title, self._nodes, self._edges, modules, self._ops.infos, output.id, "done" if gradients.ran else "none"
        )

    def _add(self, node: Node) -> None:
        """A node of the tape, after the leaves that it reads."""
        seen = self.seen.seen.get(node) if self.seen else None
        module = seen.module if seen else self._modules.get(node, "")
        reads = [
            (input_name(node, i), self._source(edge[0], module, input_name(node, i)), edge[1])
            for i, edge in zip(node.plan.inputs, node.edges, strict=True)
        ]
        others = [
            (name, self._constant(value, module, name), getattr(value, "_slot", 0))
            for name, value in self._others(node)
        ]
        number = self.number[node] = len(self._nodes)
        made = data.Node(number, "op", self._ops.key(node), self._names.result(node) or node.op.name, module)
        if seen and self.seen:
            made.place, made.code = seen.place, seen.code
            made.attributes, made.value = seen.attributes, seen.value
            made.forward_seconds = self.seen.seconds(node)
        else:
            made.place, made.code = _noted(node)
            made.attributes = {
                input_name(node, i): told(value)
                for i, value in _kept(node)
                if value is not None and not _is_array(value)
            }
            made.value = self._results.value(node)
        made.attributes |= _hooks(*(node.hooks or {}).values())
        self._nodes.append(made)
        for position, (name, source, slot) in enumerate(reads):
            self._of_edge[node, position] = Edge(source, number, name, slot)
            self._edges.append(self._of_edge[node, position])
        self._edges += [Edge(source, number, name, slot) for name, source, slot in others]

    def _others(self, node: Node) -> list[tuple[str, Any]]:
        """The arguments that are arrays and want no gradient: all, or where nobody watched those kept."""
        if self.seen and node in self.seen.seen:
            return self.seen.seen[node].others
        return [
            (input_name(node, i), value) for i, value in _kept(node) if i not in node.plan.inputs and _is_array(value)
        ]

    def _source(self, target: Any, module: str, name: str) -> int:
        """The number of a node, or of a leaf, which is added where it is new."""
        known = self.number.get(target if isinstance(target, Node) else id(target))
        return self._add_leaf(target, "input", module, name) if known is None else known

    def _constant(self, value: Any, module: str, name: str) -> int:
        """The same of an argument that no gradient is wanted of."""
        known = self._place(value) if isinstance(value, Variable) else None
        known = self.number.get(id(value)) if known is None else known
        return self._add_leaf(value, "constant", module, name) if known is None else known

    def _add_leaf(self, leaf: Any, kind: Kind, module: str, read_as: str) -> int:
        number = self.number[id(leaf)] = len(self._nodes)
        self._leaves[number] = leaf
        made = self._names.leaf(number, leaf, kind, module, read_as)
        made.attributes |= _hooks(getattr(leaf, "_hooks", None) or {})
        seen = self.seen.leaves.get(id(leaf)) if self.seen else None
        made.value = seen or value_of(leaf.array if isinstance(leaf, Variable) else leaf)
        self._nodes.append(made)
        return number

    def _add_memory(self) -> None:
        """Note what nodes keep alive now."""
        parameters = [leaf.array for i, leaf in self._leaves.items() if self._nodes[i].kind == "parameter"]
        memory = Memory(parameters)
        for node in self.tape:
            made = self._nodes[self.number[node]]
            made.saved, made.released = memory.of(node, self._place), node.saved is None
            if isinstance(node.saved, Lost):
                made.attributes["checkpoint"] = "computed again in backward"

    def _place(self, made: Any) -> int | None:
        """The number of a node, or of the node whose result a tensor is."""
        if isinstance(made, Node):
            return self.number.get(made)
        return self.number.get(made._node if made._node is not None else id(made))


class _Names:
    """What leaves and results are called."""

    def __init__(self, modules: Modules, named: Named, seen: Observation | None) -> None:
        self.parameters = modules.parameters()
        self.arguments: dict[int, str] = {}
        self.variables = dict(seen.leaf_names) if seen else {}
        self.results = dict(seen.variables.names) if seen else {}
        for name, tensor in named:
            self.arguments.setdefault(id(tensor), name)
            source, slot = tensor._source()
            if source is not None:
                self.results.setdefault((source, slot), name)

    def result(self, node: Node) -> str:
        """Of a node's results those that have names, or ""."""
        slots = range(len(node.results or (None,)))
        return ", ".join(name for slot in slots if (name := self.results.get((node, slot))))

    def leaf(self, number: int, leaf: Any, kind: Kind, module: str, read_as: str) -> data.Node:
        """A leaf's node: named by its module, as an argument, as a variable, or as what first reads it."""
        names = self.parameters.get(id(leaf), [])
        if kind == "input" and (names or isinstance(leaf, Parameter)):
            kind = "parameter"
        if names:
            return data.Node(
                number,
                kind,
                "",
                names[0],
                names[0].rpartition(".")[0],
                attributes={"names": ", ".join(names)} if len(names) > 1 else {},
            )
        argument = self.arguments.get(id(leaf), "")
        name = argument or self.variables.get(id(leaf), "") or self._of_view(leaf) or read_as
        return data.Node(number, kind, "", name, "" if argument else module)

    def _of_view(self, leaf: Any) -> str:
        """The name of what a leaf is a view of."""
        base = leaf._base if isinstance(leaf, Variable) else None
        names = [] if base is None else [*self.parameters.get(id(base), []), self.arguments.get(id(base), "")]
        return f"{names[0]} (a view)" if names and names[0] else ""


class _Ops:
    """The ops of a graph, under keys: their names, or numbered ones of Functions with the same name."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.infos: dict[str, OpInfo] = {}
        self._keys: dict[int, str] = {}

    def key(self, node: Node) -> str:
        op = node.op
        if id(op) not in self._keys:
            key, count = op.name, 2
            while key in self.infos:
                key, count = f"{op.name} {count}", count + 1
            self._keys[id(op)] = key
            self.infos[key] = op_info(op, self.array)
        return self._keys[id(op)]


class _Results:
    """The results that nobody has noted: those still alive, and the shapes of others.

    Alive are the tensor that all lead to, and what nodes keep and nobody has changed since.
    """

    def __init__(self, root: Variable, tape: list[Node]) -> None:
        source, slot = root._source()
        self.device = str(root.device)  # type: ignore[attr-defined]
        self.alive: dict[Any, Array] = {(source, slot): root.array}
        self.shapes: dict[Any, tuple[tuple[int, ...], Any]] = {}
        for node in tape:
            changed = any(version[0] != noted for version, noted in node.versions)
            if node.out is not None and not changed:
                self.alive.setdefault((node, 0), node.out)
            for _, value in _kept(node):
                if isinstance(value, Variable) and not changed and "array" in vars(value):
                    self.alive.setdefault((value._node, value._slot), value.array)
            for target, slot, shape, dtype in node.edges:
                self.shapes[target, slot] = shape, dtype

    def value(self, node: Node) -> Value | None:
        """Of a node's first result."""
        array = self.alive.get((node, 0))
        if array is not None:
            return value_of(array)
        shape = self.shapes.get((node, 0))
        return None if shape is None else outline(*shape, self.device)


def _noted(node: Node) -> tuple[str, str]:
    """The line that made a node and its text, where anomaly mode has noted it."""
    file, _, line = (node.place or "").rpartition(":")
    return (f"{readable(file)}:{line}", linecache.getline(file, int(line)).strip()) if file else ("", "")


def _hooks(*tables: Mapping[int, Callable[..., Any]]) -> dict[str, str]:
    """An attribute that names the program's functions through which a gradient goes: what arrives is then not
    the sum of what was passed. (``retain_grad`` only looks.)"""
    hooks = [hook for table in tables for key, hook in table.items() if key != RETAINED]
    return {"hooks": ", ".join(map(function_told, hooks))} if hooks else {}


def _kept(node: Node) -> list[tuple[int, Any]]:
    """The arguments that a node of an op keeps, by position."""
    if not isinstance(node.saved, list) or node.op.backward is not None:
        return []
    return list(zip(node.plan.keep, node.saved, strict=True))


def _is_array(value: Any) -> bool:
    """Whether it is a tensor or an array."""
    return hasattr(value, "dtype") and (isinstance(value, Variable) or hasattr(value, "strides"))
