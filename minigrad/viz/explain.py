"""Why a gradient is what it is: the chain of rules that made it, as text.

    print(explain(layer.weight))

tells which ops read the tensor, what the rule of each gave back, where the gradient came from that the rule
was given, and so on to the loss. Of a result that nothing reads, such as the loss, it tells the way down.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..autograd.tape import Variable
from .graph.data import Edge, Graph, Node, Source
from .graph.record import graph_of, last_result_of
from .graph.rules import BACKWARD, KERNEL, PLAIN
from .graph.told import called, described, one_line, row, told
from .graph.values import value_of

LINES = 12  # of a rule's source


@dataclass(frozen=True)
class Explanation:
    """A text that prints itself, and that a notebook shows."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def explain(tensor: Variable | str, depth: int = 4, of: Variable | Graph | None = None, run: bool = False
            ) -> Explanation:  # fmt: skip
    """The chain of rules that made the gradient of a tensor, with shapes, formulas, places and small numbers.

    Where no backward has run it says so, and tells the rules without the gradients.

    Args:
        tensor: a leaf, a result, or the name of one in a graph.
        depth: how many rules to follow.
        of: what it is the gradient of: a tensor, or a graph of ``record_call``, which knows all lines and
            numbers. By default the caller's variable that was computed from the tensor last.
        run: go back from there now, for the numbers. That touches no ``.grad``, and is done anyhow where a
            backward has run and kept the graph (``retain_graph=True``).

    Raises:
        RuntimeError: the tensor requires no gradient, or is no part of that graph.
        TypeError: a name, and no graph.
    """
    if isinstance(of, Graph):
        return Explanation(_Chain(of, depth).text(_number(of, tensor)))
    if not isinstance(tensor, Variable):
        raise TypeError(f"explain: {tensor!r} is a name, which needs a graph: explain(name, of=graph)")
    if not tensor._wanted():
        raise RuntimeError("explain: the tensor requires no gradient, so that no rule is run for it")
    root = last_result_of(tensor) if of is None else of
    if root is None:
        return Explanation(_alone(tensor))
    graph, number = graph_of(root, tensor, run)
    return Explanation(_Chain(graph, depth).text(number, tensor))


def _number(graph: Graph, name: Variable | str) -> int:
    """The youngest node of a name."""
    found = [node.id for node in graph.nodes if node.name == name] if isinstance(name, str) else []
    if not found:
        told = repr(name) if isinstance(name, str) else "a tensor (name it: a graph keeps names, not tensors)"
        raise RuntimeError(f"explain: there is no {told} in the graph of {graph.title}")
    return found[-1]


def _alone(tensor: Variable) -> str:
    """Of a leaf that no variable of the caller was computed from."""
    if tensor._grad is None:
        state = "No backward has run yet: .grad is None."
    else:
        state = f".grad has {told(value_of(tensor._grad.array))}."
    return (
        f"{state}\nNone of the variables here was computed from this tensor: tell what the gradient is of, "
        f"explain(tensor, of=loss)."
    )


class _Chain:
    """The text about one graph.

    Args:
        depth: how many rules to follow.
    """

    def __init__(self, graph: Graph, depth: int) -> None:
        self.graph, self.depth = graph, depth
        self.output = graph.nodes[graph.output]
        self.released = any(node.released for node in graph.nodes)
        self.under: dict[int, str] = {}  # under which number a node's gradient was explained
        self.reads: list[list[Edge]] = [[] for _ in graph.nodes]  # of each node the edges to it,
        self.readers: list[list[Edge]] = [[] for _ in graph.nodes]  # and those from it that have a rule
        for edge in graph.edges:
            self.reads[edge.target].append(edge)
            if self._has_rule(edge):
                self.readers[edge.source].append(edge)

    def text(self, number: int, tensor: Variable | None = None) -> str:
        """The explanation of a node's gradient."""
        node = self.graph.nodes[number]
        ends = node is self.output
        lines = [f"The gradient of {described(node)} in {called(self.output)}"]
        lines += [*self._state(node, tensor), ""]
        lines += self._down(number, "", 0) if ends else self._up(number, "", 0)
        lines += ["", *self._hints()]
        return "\n".join(lines).rstrip()

    def _state(self, node: Node, tensor: Variable | None) -> Iterator[str]:
        """The gradient itself, and what ``.grad`` has of it; or that there is none yet."""
        if self.graph.backward == "none":
            yield "No backward has run yet, so that there is no gradient: this is what one will do."
        elif node.gradient is not None:
            yield told(node.gradient)
        elif tensor is not None and tensor._grad is not None:  # of retain_grad()
            yield f"{told(value_of(tensor._grad.array))}, as .grad has it"
        else:
            yield "It is gone: backward() has freed the graph, and keeps the gradients of leaves alone."
        if tensor is None or node.gradient is None or self.released:
            return
        if tensor._grad is None:
            if node.kind != "op":
                yield ".grad is None: no backward() has added it yet."
        elif value_of(tensor._grad.array) == node.gradient:
            yield ".grad holds the same."
        else:
            yield f".grad has {told(value_of(tensor._grad.array))}, as other backward passes added to it."

    def _hints(self) -> Iterator[str]:
        if self.released:
            yield "backward(retain_graph=True) keeps the numbers in between."
        elif self.graph.backward == "none":
            yield "With run=True they are computed now; no .grad is touched."
        if not any(node.place for node in self.graph.nodes):
            yield "Ops note the lines that call them within autograd.detect_anomaly(check_nan=False)."

    # The way up, to the loss --------------------------------------------------------------------------------

    def _up(self, number: int, label: str, level: int) -> Iterator[str]:
        """What a node's gradient is the sum of, and where that came from."""
        node, indent = self.graph.nodes[number], "  " * level
        edges = self.readers[number]
        if node is self.output:
            if not edges:
                yield f"{indent}Backward begins at {called(node)}, whose own gradient is 1."
                return
            yield f"{indent}Backward begins at {called(node)}: to the 1 is added:"
        if number in self.under:
            yield f"{indent}The gradient of {called(node)}: see {self.under[number]}."
            return
        self.under[number] = label or "above"
        if level >= self.depth:
            left = self._left(number)
            more = f"{left} more rule{'s' * (left > 1)}"
            yield f"{indent}… {more} to {called(self.output)}: depth={self.depth} ends here"
            return
        if len(edges) > 1:
            yield f"{indent}{called(node)} is read {len(edges)} times, and these gradients are summed:"
        for i, edge in enumerate(edges, 1):
            own = f"{label}{'.' if label else ''}{i}"
            yield from self._step(edge, own, indent)
            yield from self._up(edge.target, own, level + 1)

    def _left(self, number: int) -> int:
        """How many rules there are between a node and the output."""
        seen, todo = {number}, [number]
        while todo:
            targets = {edge.target for edge in self.readers[todo.pop()]} - seen
            seen |= targets
            todo += targets
        return len(seen) - 1

    # The way down, to the leaves ----------------------------------------------------------------------------

    def _down(self, number: int, label: str, level: int) -> Iterator[str]:
        """What a node's op gives back to its inputs, and what they do with it."""
        indent = "  " * level
        edges = [edge for edge in self.reads[number] if self._has_rule(edge)]
        if number in self.under and edges:
            yield f"{indent}On from {called(self.graph.nodes[number])}: see {self.under[number]}."
            return
        self.under[number] = label or "above"
        if level >= self.depth:
            if edges:
                yield f"{indent}… and on: depth={self.depth} ends here"
            return
        for i, edge in enumerate(edges, 1):
            own = f"{label}{'.' if label else ''}{i}"
            yield from self._step(edge, own, indent)
            yield from self._down(edge.source, own, level + 1)

    # One rule -----------------------------------------------------------------------------------------------

    def _has_rule(self, edge: Edge) -> bool:
        """Whether a gradient goes back along an edge."""
        op = self.graph.ops[self.graph.nodes[edge.target].op]
        constant = self.graph.nodes[edge.source].kind == "constant"
        return not constant and (edge.gradient is not None or self._rule(op.rules, edge.input) is not None)

    def _rule(self, rules: dict[str, Source], name: str) -> tuple[str, Source] | None:
        for key in (name, name.rpartition(" ")[0], PLAIN, KERNEL, BACKWARD):
            if key in rules:
                return key, rules[key]
        return None

    def _step(self, edge: Edge, label: str, indent: str) -> Iterator[str]:
        """What an op gives back for one of its inputs."""
        node, source = self.graph.nodes[edge.target], self.graph.nodes[edge.source]
        op = self.graph.ops[node.op]
        result = "" if node.name == op.name else f"{one_line(node.name)} = "
        where = f"    {node.place}" + (f": {one_line(node.code)}" if node.code else "") if node.place else ""
        yield f"{indent}{label}  {result}{op.name}, its input {edge.input} is {called(source)}{where}"
        inner = indent + " " * (len(label) + 2)
        if op.formula:
            yield row(inner, "formula", op.formula)
        found = self._rule(op.rules, edge.input)
        if found is None:
            yield row(inner, "rule", "its source cannot be read")
        else:
            yield from self._source(found, op.rules, inner)
            for name, helper in op.helpers.items():
                if re.search(rf"\b{name}\b", found[1].text):
                    yield row(inner, "", f"{name} stands at {helper.file}:{helper.line}")
        given = told(node.gradient) if node.gradient else node.value.shape if node.value else ""
        yield row(inner, "g", f"the gradient of {called(node)} {given}")
        for name in self._arguments(found, edge):
            argument = self._argument(name, edge)
            if argument:
                yield row(inner, name, argument)
        if edge.gradient is not None:
            yield row(inner, "gives", told(edge.gradient))

    def _source(self, found: tuple[str, Source], rules: dict[str, Source], indent: str) -> Iterator[str]:
        """A rule's text, and where it stands."""
        key, source = found
        lines = source.text.splitlines()
        shown = lines[:LINES] + (["…"] if len(lines) > LINES else [])
        place = f"{source.file}:{source.line}"
        heading = {PLAIN: "plain", BACKWARD: "backward"}.get(key, "rule")
        if key == PLAIN and KERNEL in rules:
            kernel = rules[KERNEL]
            yield row(indent, "rule", f"a kernel's: {kernel.file}:{kernel.line}; of this definition:")
        yield row(indent, heading, f"{shown[0]}    {place}" if len(shown) == 1 else place)
        if len(shown) > 1:
            yield from (row(indent, "", line) for line in shown)

    def _arguments(self, found: tuple[str, Source] | None, edge: Edge) -> list[str]:
        """The names of a rule's arguments after g; of a plain definition those that are tensors."""
        if found is not None and found[0] == PLAIN:
            return [other.input for other in self.reads[edge.target]]
        if found is None or not found[1].text.startswith("lambda"):
            return []
        tree = ast.parse(f"({found[1].text})", mode="eval").body
        return [a.arg for a in tree.args.args[1:]] if isinstance(tree, ast.Lambda) else []

    def _argument(self, name: str, edge: Edge) -> str:
        """The value of one of a rule's arguments."""
        node, source = self.graph.nodes[edge.target], self.graph.nodes[edge.source]
        if name == "out":
            return f"{called(node)} {told(node.value)}" if node.value else ""
        if name == "shape":
            return str(source.value.shape) if source.value else ""
        for other in self.reads[edge.target]:
            if other.input == name:
                value = self.graph.nodes[other.source]
                return f"{called(value)} {told(value.value)}" if value.value and not other.slot else ""
        return one_line(node.attributes.get(name, ""))
