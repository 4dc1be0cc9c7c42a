"""Builds graphs of existing tensors, and of calls that are recorded while they run. The nodes on the tape, the leaves
that they read, their modules and their memory are converted to plain data."""

from __future__ import annotations

import linecache
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ...autograd.mode import enable_grad
from ...autograd.origin import WeakValue, is_changed, there
from ...autograd.tape import RETAINED, Lost, Node, Variable, node_of, wrap
from ...autograd.tracebacks import at, user_frame, user_frames
from ...autograd.walk import nodes_behind
from ...backend import ARRAY_TYPES, of
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...ops.op import REGISTRY
from ...profiler.watched import memory_of
from . import graph_data as data, graph_names as naming
from .belonging import modules_of
from .graph_data import Edge, Graph, Kind, Saved, outline, value_of, ways
from .observe import Arrays, Observation, Shown, by_kind, place_in, watch_backward
from .replay import Changes, arguments_of, computed_again, copied, kept_arguments, other_arguments, run_again

MOST = 1_000_000  # limit on the elements that ops read; above it, a view does not keep the tape for changes
HOW = "viz.graph(function, inputs) calls a function and shows all that it computes"
_GONE = f"The program has freed this constant with its numbers: keep it in a variable. Or {HOW}."
_OTHERWISE = {"input": "leaf", "parameter": "parameter", "constant": "constant"}  # names of unnamed leaves
_NOW = "in place, since it was read: these are its current numbers"


class Builder:
    """Builds a graph of all nodes that contribute to a tensor, oldest first, each after the leaves that it reads."""

    def __init__(
        self, title: str, root: Variable, modules: naming.Modules, pairs: naming.Named, call: Observation | None = None
    ) -> None:
        self.root, self.modules, self._seen = root, modules, call
        self.tape = nodes_behind((root,))
        self.number: dict[Node | int, int] = {}  # indices in the graph, by node or by a leaf's id
        self.edges: dict[tuple[Node, int], Edge] = {}  # the edges that carry gradients, by node and position
        self._ops_seen, self._leaves_seen = (call.ops, call.leaves) if call else ({}, {})
        self._parameters = modules.parameters()  # names, by id
        self._arguments: dict[int, str] = {}  # names, by id
        self._results = dict(call.variables.names) if call else {}  # names, by node and slot
        for name, tensor in pairs:
            self._arguments.setdefault(id(tensor), name)
            source, slot = tensor._source()
            if source is not None:
                self._results.setdefault((source, slot), name)
        self._modules = {} if call else modules_of(self.tape, self._parameters, modules.by_path)
        self._graph = Graph(title, [], [], {}, {}, 0)
        self.leaf_of: dict[int, Any] = {}  # tensors without a recorded op, by index
        self._op_keys: dict[int, str] = {}  # by the op's id
        unseen = [node for node in self.tape if node not in self._ops_seen]
        self._known, self._missing = computed_again(unseen, _alive([root, *(tensor for _, tensor in pairs)], self.tape))
        self._shapes = {edge[:2]: edge[2:] for node in self.tape for edge in node.edges}
        for node in self.tape:
            self._add(node)
        self._known = {}  # frees the results
        count = Counter[str]()
        for leaf in self._graph.nodes:
            if leaf.kind != "op":
                count[name := leaf.name] += 1
                leaf.name = f"{name} ({count[name]})" if count[name] > 1 else name
        self._add_memory()

    def leaves(self) -> list[Variable]:
        """The tensors without a recorded op that require a gradient."""
        nodes = self._graph.nodes
        return [leaf for i, leaf in self.leaf_of.items() if nodes[i].kind in ("input", "parameter")]

    def is_released(self) -> bool:
        return any(node.saved is None for node in self.tape)

    def is_large(self) -> bool:
        """Whether the data needed to recompute the graph would take too much memory."""
        shapes = [edge[2] for node in self.tape for edge in node.edges]
        shapes += [getattr(leaf, "array", leaf).shape for leaf in self.leaf_of.values()]
        return sum(map(math.prod, shapes)) > MOST

    def changed(self, changes: Changes) -> Graph:
        """The same graph with changed numbers in some nodes. Raises UnknownError if an op cannot run again."""
        alive = {number: leaf for number, leaf in self.leaf_of.items() if not isinstance(leaf, WeakValue)}
        leaves = {number: copied(leaf, changes.get(number, ())) for number, leaf in alive.items()}
        results: dict[Node, tuple[Any, ...]] = {}

        def result(source: Any, slot: int) -> Any:
            return results[source][slot]

        def leaf(value: Any) -> Any:
            number = place_in(self.number, value) if isinstance(value, (Variable, *ARRAY_TYPES)) else None
            if number is None:
                return value
            return leaves[number] if number in leaves else wrap(result(*value._source()).array)  # from a result

        with enable_grad():
            for node in self.tape:
                args = arguments_of(node, result, leaf)
                results[node] = run_again(node, args, changes.get(self.number[node], ()))
        again: dict[Node, Any] = {node: node_of(results[node]) for node in self.tape}
        gradients = Shown(list(again.values()))
        if self._graph.backward == "done":
            watch_backward(result(*self.root._source()), gradients)
        values = {self.number[node]: value_of(results[node][0].array) for node in self.tape}
        values |= {number: value_of(leaf.array) for number, leaf in leaves.items()}
        arrived = {self.number[node]: gradients.first(again[node]) for node in self.tape}
        arrived |= {number: gradients.first(id(leaf)) for number, leaf in leaves.items()}
        nodes = [replace(node, gradient=arrived.get(node.id)) for node in self._graph.nodes]
        nodes = [replace(n, value=values[n.id], missing="") if n.id in values else n for n in nodes]
        back = {id(edge): gradients.edges.get((again[node], i)) for (node, i), edge in self.edges.items()}
        edges = [replace(edge, gradient=back.get(id(edge))) for edge in self._graph.edges]
        return replace(self._graph, nodes=nodes, edges=edges)

    def drawn(self, run: bool) -> Graph:
        """The graph, with all gradients if ``run`` is true. If it was freed, only the gradients of leaves are known."""
        gradients = Shown(self.tape)
        if self.is_released():
            gradients.take(self.leaves())
        elif run:
            watch_backward(self.root, gradients)
        return self.graph(gradients)

    def graph(self, gradients: Shown) -> Graph:
        """The whole graph, with the gradients of a backward pass, if one has run."""
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
        paths = {""}.union(*(ways(node.module) for node in graph.nodes))
        graph.modules = {path: self.modules.info(path) for path in sorted(paths)}
        return graph

    def _add(self, node: Node) -> None:
        added, others = self._ops_seen.get(node) or self._unseen(node)
        names = [naming.input_name(node, i) for i in node.plan.inputs]
        added.op = node.op.name  # leaves may be named after the op
        pairs = zip(node.edges, names, strict=True)
        sources = [self._read(edge[0], "input", added, name, node.order) for edge, name in pairs]
        constants = [self._read(value, "constant", added, name, node.order) for name, value in others]
        added.id = self.number[node] = len(self._graph.nodes)
        names_of = [self._results.get((node, slot)) for slot in range(len(node.results or (None,)))]
        op = node.op
        if id(op) not in self._op_keys:  # its name, numbered if Functions share it
            same = sum(info.name == op.name for info in self._graph.ops.values())
            self._op_keys[id(op)] = f"{op.name} {same + 1}" if same else op.name
            self._graph.ops[self._op_keys[id(op)]] = naming.op_info(op, self.root.array)
        added.op, added.name = self._op_keys[id(op)], ", ".join(filter(None, names_of)) or op.name
        added.attributes |= _hooks(*(node.hooks or {}).values())
        self._graph.nodes.append(added)
        for position, (name, source) in enumerate(zip(names, sources, strict=True)):
            edge = self.edges[node, position] = Edge(source, added.id, name, node.edges[position][1])
            self._graph.edges.append(edge)
        for (name, value), source in zip(others, constants, strict=True):
            self._graph.edges.append(Edge(source, added.id, name, getattr(value, "_slot", 0)))

    def _unseen(self, node: Node) -> tuple[data.Node, Arrays]:
        """The data of an op that was not observed: its saved values, and the line that anomaly mode recorded."""
        file, _, line = (node.place or "").rpartition(":")
        place = at(naming.readable(file), line) if file else ""
        code = linecache.getline(file, int(line)).strip() if file else ""
        attributes, others = by_kind((naming.input_name(node, i), there(value)) for i, value in other_arguments(node))
        added = data.Node(-1, "op", "", "", self._modules.get(node, ""), place, code, attributes)
        if (node, 0) in self._known:
            added.value = value_of(self._known[node, 0])
            return added, others
        freed = ", and a backward pass has freed the graph" if self.is_released() else ""
        added.missing = f"Its numbers were not kept{freed}: {self._missing.get(node, '')}. {HOW}."
        if (node, 0) in self._shapes:
            added.value = outline(*self._shapes[node, 0], str(self.root.device))  # type: ignore[attr-defined]
        return added, others

    def _read(self, value: Any, kind: Kind, reader: data.Node, name: str, since: int) -> int:
        """The index of a value that an op of order ``since`` reads as ``name``. A new leaf is added if necessary."""
        if (existing := place_in(self.number, value)) is not None:
            return existing
        number = self.number[id(value)] = len(self._graph.nodes)
        self.leaf_of[number] = value
        leaf = self._leaf(number, value, kind, reader, name)
        leaf.attributes |= _hooks(getattr(value, "_hooks", None) or {})
        self._graph.nodes.append(leaf)
        if observed := self._leaves_seen.get(id(value)):
            leaf.value = observed[0]
        elif isinstance(value, WeakValue):
            leaf.value = outline(value.shape, value.dtype, str(self.root.device))  # type: ignore[attr-defined]
            leaf.missing = _GONE
        else:
            leaf.value = value_of(value.array if isinstance(value, Variable) else value)
            if isinstance(value, Variable) and is_changed(value._changes, since):
                leaf.attributes["changed"] = _NOW
        return number

    def _leaf(self, number: int, leaf: Any, kind: Kind, reader: data.Node, read_as: str) -> data.Node:
        """A leaf's node, named after a module, a variable, the base of a view, its line, or the op that reads it."""
        names = self._parameters.get(id(leaf), [])
        if kind == "input" and (names or isinstance(leaf, Parameter)):
            kind = "parameter"
        if names:
            all_names = {"names": ", ".join(names)} if len(names) > 1 else {}
            return data.Node(number, kind, "", names[0], names[0].rpartition(".")[0], attributes=all_names)
        made_of = self._seen.made_of(leaf) if self._seen else ""
        name = self._called(leaf) or self._viewed(leaf) or _made_by(leaf) or made_of
        if not name and not isinstance(leaf, Variable | WeakValue):
            name = f"{read_as} of {reader.op}"
        module = "" if id(leaf) in self._arguments else reader.module
        return data.Node(number, kind, "", name or _OTHERWISE[kind], module)

    def _called(self, tensor: Any) -> str:
        """The program's name for a tensor, as a parameter, an argument or a variable; "" if it has none."""
        parameter = next(iter(self._parameters.get(id(tensor), ())), "")
        variable = self._leaves_seen[id(tensor)][1] if id(tensor) in self._leaves_seen else ""
        return parameter or self._arguments.get(id(tensor), "") or variable

    def _viewed(self, leaf: Any) -> str:
        base = getattr(leaf, "_parent", None)
        name = "" if base is None else self._called(base) or self._viewed(base) or _made_by(base)
        return f"{name.removesuffix(' (a view)')} (a view)" if name else ""

    def _add_memory(self) -> None:
        """Record the bytes that nodes keep alive, without parameters. Shared memory counts towards the oldest node."""
        parameters = (leaf for i, leaf in self.leaf_of.items() if self._graph.nodes[i].kind == "parameter")
        counted = {id(memory) for leaf in parameters for memory in memory_of(leaf)}
        for node in self.tape:
            added = self._graph.nodes[self.number[node]]
            added.released = node.saved is None
            if isinstance(node.saved, Lost):
                added.attributes["checkpoint"] = "computed again in backward"
                continue
            for name, value, whose in _kept(node):
                if owners := memory_of(value):
                    new = {id(owner): int(owner.nbytes) for owner in owners if id(owner) not in counted}
                    counted |= set(new)
                    added.saved.append(Saved(name, sum(new.values()), place_in(self.number, whose)))


def _alive(tensors: Iterable[Variable], tape: list[Node]) -> dict[Any, Any]:
    """The arrays of results that are still alive and unchanged, by node and slot."""
    alive: dict[Any, Any] = {}
    for tensor in tensors:
        source = tensor._source()
        if source[0] is not None and getattr(tensor, "_seen", 0) == tensor._changes[0]:  # unchanged since then
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
    """The program's hooks on a gradient, as an attribute. ``retain_grad``'s hook is omitted, as it only reads."""
    hooks = [hook for table in tables for key, hook in table.items() if key != RETAINED]
    return {"hooks": ", ".join(map(naming.function_text, hooks))} if hooks else {}


def _made_by(leaf: Any) -> str:
    """The program's expression that created a tensor, such as "mg.tensor(2.0)"; "" if unknown."""
    origin = leaf.origin if isinstance(leaf, WeakValue) else getattr(leaf, "_origin", None)
    return "" if origin is None else naming.expression(*origin)


def _kept(node: Node) -> Iterator[tuple[str, Any, Any]]:
    """The names and values that a node saves, each with the node, tensor or array that it comes from."""
    yield from ((naming.input_name(node, i), value, value) for i, value in kept_arguments(node))
    if node.op.backward is None:
        yield "out", node.out, node
        yield "kernel", node.residual, None
        return
    for i, value in enumerate(node.saved or ()):  # type: ignore[arg-type]  # a Function's
        is_result = not isinstance(value, Variable)  # a result is saved as a reference, or None
        array = getattr(value, "array", None) if is_result else value
        yield f"saved_tensors {i}", array, node if is_result else value
    for name, value in vars(node.residual).items() if node.residual else ():  # attributes set on ctx in its forward
        if not name.startswith("_"):
            yield f"ctx.{name}", value, value


def built(
    caller: str, obj: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any], modules: Mapping[str, Module] | None = None
) -> Builder:
    """The nodes of a tensor, or of a call that is made and observed now; see ``viz.graph``."""
    if isinstance(obj, Variable):
        if inputs or kwargs:
            raise TypeError(f"{caller} takes only a tensor, or a module or function and its inputs")
        if not obj._wanted() or obj._source()[0] is None:
            raise RuntimeError(
                "no recorded op created this tensor, so it has no graph: compute it from tensors that "
                "require a gradient, outside no_grad()"
            )
        variables, of_caller = naming.variables_of(*user_frames())
        module_names = naming.Modules()
        for name, module in (of_caller if modules is None else modules).items():
            module_names.add(name, module)
        title = next((name for name, variable in variables if variable is obj), "tensor")
        return Builder(title, obj, module_names, variables)
    if not callable(obj):
        raise TypeError(f"{caller} takes a tensor, a module or a function, not {type(obj).__name__}")
    owner = obj if isinstance(obj, Module) else getattr(obj, "__self__", None)
    module_names = naming.Modules(owner if isinstance(owner, Module) else None)
    arguments = naming.argument_names(obj, inputs, kwargs)
    for op in REGISTRY.values():  # import kernels first, so that no op's time includes an import
        of(np.empty(0)).kernels(op.name)
    with Observation(module_names, arguments) as observation:
        root = _start(obj(*inputs, **kwargs))
    title = type(obj).__name__ if isinstance(obj, Module) else getattr(obj, "__name__", "call")
    if root is None:
        raise RuntimeError(
            f"nothing that {title} returned requires a gradient, so no op was recorded: set "
            f"requires_grad on an input or a parameter, and call it outside no_grad()"
        )
    return Builder(title, root, module_names, arguments, observation)


def _start(result: Any) -> Variable | None:
    """The start of a call's backward pass: the result named "loss", or the sum of all scalars (if the first is one)."""
    within = naming.tensors_within(result)
    results = [(name, tensor) for name, tensor in within if tensor._wanted() and tensor._source()[0]]
    losses = [tensor for name, tensor in results if "loss" in re.split("[. ]", name)][:1]
    like_first = [tensor for _, tensor in results if (tensor.array.ndim == 0) == (results[0][1].array.ndim == 0)]
    roots: list[Any] = losses or like_first  # Tensors
    return reduce(operator.add, (x.sum() for x in roots)) if len(roots) > 1 else next(iter(roots), None)


def last_result_of(tensor: Variable) -> Variable | None:
    """The caller's most recent variable that was computed from a tensor (or the tensor, if it is a result)."""
    source, last = tensor._source()[0], -1
    youngest = None if source is None else tensor
    for _, variable in naming.variables_of(user_frame())[0]:
        node = variable._source()[0]
        if node is None or node.order <= last:
            continue
        tape = nodes_behind((variable,))
        if source in tape if source else any(edge[0] is tensor for n in tape for edge in n.edges):
            youngest, last = variable, node.order
    return youngest
