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
from .names import Modules, argument_text, function_text, input_name, is_array, readable
from .observe import Observation
from .rules import op_info
from .values import outline, value_of

Named = list[tuple[str, Variable]]


class Builder:
    """All nodes that lead to a tensor, in the order of creation, each after the leaves that it reads; with what
    was observed of the call, if somebody watched."""

    def __init__(self, root: Variable, modules: Modules, named: Named, seen: Observation | None = None) -> None:
        self.root, self.modules, self.seen = root, modules, seen
        self.tape = tape_of(root)
        self.number: dict[Node | int, int] = {}  # in the graph, by node or by a leaf's id
        self._names = _Names(modules, named, seen)
        self._modules = modules_of(self.tape, self._names.parameters) if seen is None else {}
        self._nodes: list[data.Node] = []
        self._edges: list[Edge] = []
        self._of_edge: dict[tuple[Node, int], Edge] = {}
        self._leaves: dict[int, Any] = {}  # by number
        self._ops: dict[str, OpInfo] = {}
        self._op_keys: dict[int, str] = {}  # by the op's id
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
        """The whole, with the gradients of a backward pass, if one has run."""
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
        modules = self.modules.infos({node.module for node in self._nodes})
        backward: Any = "done" if gradients.ran else "none"
        return Graph(title, self._nodes, self._edges, modules, self._ops, output.id, backward)

    def _add(self, node: Node) -> None:
        """A node of the tape, after the leaves that it reads."""
        seen = self.seen.seen.get(node) if self.seen else None
        module = seen.module if seen else self._modules.get(node, "")
        reads = [
            (name, self._source(edge[0], module, name), edge[1])
            for name, edge in zip((input_name(node, i) for i in node.plan.inputs), node.edges, strict=True)
        ]
        kept = [] if seen else [(i, input_name(node, i), value) for i, value in _kept(node)]
        constants = seen.others if seen else [(n, v) for i, n, v in kept if i not in node.plan.inputs and is_array(v)]
        others = [(name, self._constant(value, module, name), getattr(value, "_slot", 0)) for name, value in constants]
        number = self.number[node] = len(self._nodes)
        added = data.Node(number, "op", self._op_key(node), self._names.result(node) or node.op.name, module)
        if seen:
            added.place, added.code = seen.place, seen.code
            added.attributes, added.value = seen.attributes, seen.value
            added.forward_seconds = seen.seconds
        else:
            added.place, added.code = _noted(node)
            plain = ((name, value) for _, name, value in kept if value is not None and not is_array(value))
            added.attributes = {name: argument_text(value) for name, value in plain}
            added.value = self._results.value(node)
        added.attributes |= _hooks(*(node.hooks or {}).values())
        self._nodes.append(added)
        for position, (name, source, slot) in enumerate(reads):
            self._of_edge[node, position] = Edge(source, number, name, slot)
            self._edges.append(self._of_edge[node, position])
        self._edges += [Edge(source, number, name, slot) for name, source, slot in others]

    def _op_key(self, node: Node) -> str:
        """The key of a node's op: its name, numbered where Functions have the same name."""
        op = node.op
        if id(op) not in self._op_keys:
            key, count = op.name, 2
            while key in self._ops:
                key, count = f"{op.name} {count}", count + 1
            self._op_keys[id(op)] = key
            self._ops[key] = op_info(op, self.root.array)
        return self._op_keys[id(op)]

    def _source(self, target: Any, module: str, name: str) -> int:
        """The number of a node, or of a leaf, which is added where it is new."""
        known = self.number.get(target if isinstance(target, Node) else id(target))
        return self._add_leaf(target, "input", module, name) if known is None else known

    def _constant(self, value: Any, module: str, name: str) -> int:
        """The same of an argument that wants no gradient."""
        known = self._place(value) if isinstance(value, Variable) else None
        known = self.number.get(id(value)) if known is None else known
        return self._add_leaf(value, "constant", module, name) if known is None else known

    def _add_leaf(self, leaf: Any, kind: Kind, module: str, read_as: str) -> int:
        number = self.number[id(leaf)] = len(self._nodes)
        self._leaves[number] = leaf
        added = self._names.leaf(number, leaf, kind, module, read_as)
        added.attributes |= _hooks(getattr(leaf, "_hooks", None) or {})
        seen = self.seen.leaves.get(id(leaf)) if self.seen else None
        added.value = seen or value_of(leaf.array if isinstance(leaf, Variable) else leaf)
        self._nodes.append(added)
        return number

    def _add_memory(self) -> None:
        """Note what nodes keep alive now."""
        memory = Memory([leaf.array for i, leaf in self._leaves.items() if self._nodes[i].kind == "parameter"])
        for node in self.tape:
            added = self._nodes[self.number[node]]
            added.saved, added.released = memory.of(node, self._place), node.saved is None
            if isinstance(node.saved, Lost):
                added.attributes["checkpoint"] = "computed again in backward"

    def _place(self, result: Any) -> int | None:
        """The number of a node, or of the node whose result a tensor is."""
        if isinstance(result, Node):
            return self.number.get(result)
        return self.number.get(result._node if result._node is not None else id(result))


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
        """The names of those of a node's results that have one, or ""."""
        slots = range(len(node.results or (None,)))
        return ", ".join(name for slot in slots if (name := self.results.get((node, slot))))

    def leaf(self, number: int, leaf: Any, kind: Kind, module: str, read_as: str) -> data.Node:
        """A leaf's node: named by its module, as an argument, as a variable, or as what first reads it."""
        names = self.parameters.get(id(leaf), [])
        if kind == "input" and (names or isinstance(leaf, Parameter)):
            kind = "parameter"
        if names:
            all_names = {"names": ", ".join(names)} if len(names) > 1 else {}
            return data.Node(number, kind, "", names[0], names[0].rpartition(".")[0], attributes=all_names)
        argument = self.arguments.get(id(leaf), "")
        name = argument or self.variables.get(id(leaf), "") or self._of_view(leaf) or read_as
        return data.Node(number, kind, "", name, "" if argument else module)

    def _of_view(self, leaf: Any) -> str:
        """The name of what a leaf is a view of."""
        base = getattr(leaf, "_base", None)
        names = [] if base is None else [*self.parameters.get(id(base), []), self.arguments.get(id(base), "")]
        return f"{names[0]} (a view)" if names and names[0] else ""


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
            for target, slot, shape, dtype in node.edges:
                self.shapes[target, slot] = shape, dtype
            if any(version[0] != noted for version, noted in node.versions):
                continue
            if node.out is not None:
                self.alive.setdefault((node, 0), node.out)
            for _, value in _kept(node):
                if isinstance(value, Variable) and "array" in vars(value):
                    self.alive.setdefault((value._node, value._slot), value.array)

    def value(self, node: Node) -> Value | None:
        """Of a node's first result."""
        if (array := self.alive.get((node, 0))) is not None:
            return value_of(array)
        return outline(*self.shapes[node, 0], self.device) if (node, 0) in self.shapes else None


def _noted(node: Node) -> tuple[str, str]:
    """The line that called a node's op and its text, where anomaly mode has noted it."""
    file, _, line = (node.place or "").rpartition(":")
    return (f"{readable(file)}:{line}", linecache.getline(file, int(line)).strip()) if file else ("", "")


def _hooks(*tables: Mapping[int, Callable[..., Any]]) -> dict[str, str]:
    """An attribute that names the program's functions through which a gradient goes: what arrives is then not
    the sum of what was passed. (``retain_grad`` only looks.)"""
    hooks = [hook for table in tables for key, hook in table.items() if key != RETAINED]
    return {"hooks": ", ".join(map(function_text, hooks))} if hooks else {}


def _kept(node: Node) -> list[tuple[int, Any]]:
    """The arguments that a node of an op keeps, by position."""
    if not isinstance(node.saved, list) or node.op.backward is not None:
        return []
    return list(zip(node.plan.keep, node.saved, strict=True))
