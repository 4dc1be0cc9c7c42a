"""Nodes of the tape turned into those of a graph, with the leaves that they read, their modules and their memory."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...autograd.origin import Faint, is_changed, there
from ...autograd.tape import RETAINED, Lost, Node, Variable
from ...autograd.tracebacks import at
from ...autograd.walk import nodes_behind
from ...backend.storage import owner
from ...utils._pytree import tree_leaves
from . import graph_data as data
from .again import computed_again, kept_arguments
from .belonging import modules_of
from .graph_data import Edge, Graph, Kind, Saved
from .graph_names import Modules, Named, argument_text, function_text, input_name, is_array, readable
from .graph_values import outline, value_of
from .leaves import Names, distinct
from .observe import Arrays, Observation, Shown
from .rules import op_info

HOW = "viz.graph(function, inputs) calls a function and shows all it computes"
_GONE = f"The program has let this constant go, and its numbers with it: hold it in a variable. Or {HOW}."
_NOW = "in place, since it was read: these are its numbers now"


class Builder:
    """All nodes that lead to a tensor, in the order of creation, each after the leaves that it reads; with what
    was observed of the call, if somebody watched."""

    def __init__(
        self, title: str, root: Variable, modules: Modules, named: Named, seen: Observation | None = None
    ) -> None:
        self.root, self.modules = root, modules
        self.tape = nodes_behind((root,))
        self.number: dict[Node | int, int] = {}  # in the graph, by node or by a leaf's id
        self.edges: dict[tuple[Node, int], Edge] = {}  # those that a gradient goes back on, by node and position
        self._ops_seen, self.leaf_of_seen = (seen.ops, seen.leaves) if seen else ({}, {})
        self._names = Names(modules, named, seen)
        self._modules = {} if seen else modules_of(self.tape, self._names.parameters, modules.by_path())
        self._graph = Graph(title, [], [], {}, {}, 0)
        self.leaf_of: dict[int, Any] = {}  # by number: what no recorded op made
        self._op_keys: dict[int, str] = {}  # by the op's id
        unseen = [node for node in self.tape if node not in self._ops_seen]
        self._known, self._missing = computed_again(unseen, _alive([root, *(tensor for _, tensor in named)], self.tape))
        self._shapes = {edge[:2]: edge[2:] for node in self.tape for edge in node.edges}
        for node in self.tape:
            self._add(node)
        self._known = {}  # they need not live on
        distinct(node for node in self._graph.nodes if node.kind != "op")
        self._add_memory()

    def leaves(self) -> list[Variable]:
        """The tensors that no recorded op made, and that want a gradient."""
        nodes = self._graph.nodes
        return [leaf for i, leaf in self.leaf_of.items() if nodes[i].kind in ("input", "parameter")]

    def is_released(self) -> bool:
        """Whether a backward has freed what nodes kept."""
        return any(node.saved is None for node in self.tape)

    def graph(self, gradients: Shown) -> Graph:
        """The whole, with the gradients of a backward pass, if one has run."""
        graph = self._graph
        for key, number in self.number.items():
            node = graph.nodes[number]
            node.gradient = gradients.first(key)
            if isinstance(key, Node):
                node.backward_seconds = gradients.seconds.get(key)
        for place, edge in self.edges.items():
            edge.gradient = gradients.edges.get(place)
        graph.output = self.number[self.tape[-1]]
        graph.backward = "done" if gradients.ran else "none"
        if gradients.ran and self.root.array.size != 1:
            graph.nodes[graph.output].attributes["backward"] = "begins with its sum"
        graph.modules = self.modules.infos({node.module for node in graph.nodes})
        return graph

    def _add(self, node: Node) -> None:
        """A node of the tape, after the leaves that it reads."""
        added, others = self._ops_seen.get(node) or self._unseen(node)
        names = [input_name(node, i) for i in node.plan.inputs]
        added.op = node.op.name  # which leaves of it may be called after
        pairs = zip(node.edges, names, strict=True)
        sources = [self._read(edge[0], "input", added, name, node.order) for edge, name in pairs]
        constants = [self._read(value, "constant", added, name, node.order) for name, value in others]
        added.id = self.number[node] = len(self._graph.nodes)
        added.op, added.name = self._op_key(node), self._names.result(node) or node.op.name
        added.attributes |= _hooks(*(node.hooks or {}).values())
        self._graph.nodes.append(added)
        for position, (name, source) in enumerate(zip(names, sources, strict=True)):
            edge = self.edges[node, position] = Edge(source, added.id, name, node.edges[position][1])
            self._graph.edges.append(edge)
        for (name, value), source in zip(others, constants, strict=True):
            self._graph.edges.append(Edge(source, added.id, name, getattr(value, "_slot", 0)))

    def _unseen(self, node: Node) -> tuple[data.Node, Arrays]:
        """What is known of an op that nobody watched: what it keeps, and the line that anomaly mode has noted."""
        file, _, line = (node.place or "").rpartition(":")
        place, code = (at(readable(file), line), linecache.getline(file, int(line)).strip()) if file else ("", "")
        kept = dict(kept_arguments(node))
        read = [(i, kept.get(i, there(value))) for i, value in zip(node.plan.others, node.others, strict=True)]
        attributes, others = _sorted((input_name(node, i), value) for i, value in read)
        added = data.Node(-1, "op", "", "", self._modules.get(node, ""), place, code, attributes)
        if (node, 0) in self._known:
            added.value = value_of(self._known[node, 0])
            return added, others
        freed = ", and a backward pass has freed the graph" if self.is_released() else ""
        added.missing = f"Its numbers were not kept{freed}: {self._missing.get(node, '')}. {HOW}."
        if (node, 0) in self._shapes:
            added.value = outline(*self._shapes[node, 0], str(self.root.device))  # type: ignore[attr-defined]
        return added, others

    def _op_key(self, node: Node) -> str:
        """The key of a node's op: its name, numbered where Functions have the same name."""
        op = node.op
        if id(op) not in self._op_keys:
            same = sum(info.name == op.name for info in self._graph.ops.values())
            key = self._op_keys[id(op)] = f"{op.name} {same + 1}" if same else op.name
            self._graph.ops[key] = op_info(op, self.root.array)
        return self._op_keys[id(op)]

    def _read(self, value: Any, kind: Kind, reader: data.Node, name: str, since: int) -> int:
        """The number of what an op of that order reads as ``name``: of a leaf, which is added where it is new."""
        number = self.place(value)
        if number is None:
            number = self.number[id(value)] = len(self._graph.nodes)
            self.leaf_of[number] = value
            leaf = self._names.leaf(number, value, kind, reader, name)
            leaf.attributes |= _hooks(getattr(value, "_hooks", None) or {})
            self._tell_value(leaf, value, since)
            self._graph.nodes.append(leaf)
        return number

    def _tell_value(self, leaf: data.Node, value: Any, since: int) -> None:
        """Note the numbers of a tensor as an op of that order has read it, or that they are not known."""
        if seen := self.leaf_of_seen.get(id(value)):
            leaf.value = seen[0]
        elif isinstance(value, Faint):
            leaf.value = outline(value.shape, value.dtype, str(self.root.device))  # type: ignore[attr-defined]
            leaf.missing = _GONE
        else:
            leaf.value = value_of(value.array if isinstance(value, Variable) else value)
            if isinstance(value, Variable) and is_changed(value._changes, since):
                leaf.attributes["changed"] = _NOW

    def place(self, value: Any) -> int | None:
        """The number of a node, of the node whose result a tensor is, or of a leaf; None of others."""
        return place_in(self.number, value)

    def _add_memory(self) -> None:
        """Note the bytes that nodes keep alive now, each piece of memory once: the oldest node that keeps it pays.
        Arrays that live anyhow, as the parameters' do, are free, and so is what a checkpoint computes again."""
        parameters = (leaf for i, leaf in self.leaf_of.items() if self._graph.nodes[i].kind == "parameter")
        paid = {id(memory) for leaf in parameters for memory in _owners(leaf)}
        for node in self.tape:
            added = self._graph.nodes[self.number[node]]
            added.released = node.saved is None
            if isinstance(node.saved, Lost):
                added.attributes["checkpoint"] = "computed again in backward"
                continue
            for name, value, whose in _kept(node):
                if owners := _owners(value):
                    new = {id(owner): int(owner.nbytes) for owner in owners if id(owner) not in paid}
                    paid |= set(new)
                    added.saved.append(Saved(name, sum(new.values()), self.place(whose)))


def place_in(numbers: Mapping[Node | int, int], value: Any) -> int | None:
    """The number of a node, of the node whose result a tensor is, or of a leaf; None of others."""
    node = value if isinstance(value, Node) else getattr(value, "_node", None)
    number = None if node is None else numbers.get(node)
    return numbers.get(id(value)) if number is None else number


def _sorted(arguments: Iterable[tuple[str, Any]]) -> tuple[dict[str, str], Arrays]:
    """The arguments of an op that are no arrays, as text, and those that are, by name; without those that are None."""
    attributes, others = dict[str, str](), Arrays()
    for name, value in arguments:
        if is_array(value) or isinstance(value, Faint):
            others.append((name, value))
        elif value is not None:
            attributes[name] = argument_text(value)
    return attributes, others


def _alive(tensors: Iterable[Variable], tape: list[Node]) -> dict[Any, Any]:
    """The arrays of results that are still alive and that nobody has changed since, by node and slot: of the tensors
    that the program has, and of what nodes keep."""
    alive: dict[Any, Any] = {}
    for tensor in tensors:
        source = tensor._source()
        if source[0] is not None and getattr(tensor, "_seen", 0) == tensor._changes[0]:  # it has not changed since
            alive.setdefault(source, tensor.array)
    for node in tape:
        if any(version[0] != noted for version, noted in node.versions):
            continue
        if node.out is not None:
            for slot, array in enumerate(node.out if isinstance(node.out, tuple) else (node.out,)):
                alive.setdefault((node, slot), array)
        for _, value in kept_arguments(node):
            if isinstance(value, Variable) and hasattr(value, "array"):
                alive.setdefault((value._node, value._slot), value.array)
    return alive


def _hooks(*tables: Mapping[int, Callable[..., Any]]) -> dict[str, str]:
    """An attribute that names the program's functions through which a gradient goes: what arrives is then not
    the sum of what was passed. (``retain_grad`` only looks.)"""
    hooks = [hook for table in tables for key, hook in table.items() if key != RETAINED]
    return {"hooks": ", ".join(map(function_text, hooks))} if hooks else {}


# What nodes keep ------------------------------------------------------------------------------------------


def _kept(node: Node) -> Iterator[tuple[str, Any, Any]]:
    """Names and values of all that a node keeps, and what leads to the node whose results they are."""
    yield from ((input_name(node, i), value, value) for i, value in kept_arguments(node))
    if node.op.backward is None:
        yield "out", node.out, node
        yield "kernel", node.residual, None
        return
    for i, value in enumerate(node.saved or ()):  # type: ignore[arg-type]  # a Function's
        is_result = not isinstance(value, Variable)  # then it is a reference, or None
        array = getattr(value, "array", None) if is_result else value
        yield f"saved_tensors {i}", array, node if is_result else value
    for name, value in vars(node.residual).items() if node.residual else ():  # what its forward noted on ctx
        if not name.startswith("_"):
            yield f"ctx.{name}", value, value


def _owners(value: Any) -> list[Any]:
    """The arrays whose memory a value, and all that it holds, keeps alive."""
    owners = []
    for leaf in tree_leaves(value):
        array: Any = getattr(leaf, "array", None) if isinstance(leaf, Variable) else leaf
        if hasattr(array, "nbytes") and hasattr(array, "strides"):
            owners.append(owner(array))
    return owners
