"""``viz.explain``: the chain of gradient rules behind a gradient, as text."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from typing import Any

from ..autograd.tape import Variable
from ..autograd.tracebacks import at
from .graph.graph_data import Edge, Graph, Node, OpInfo, Source, Value, summary, value_of
from .graph.graph_names import BACKWARD
from .graph.graph_record import built, last_result_of
from .numbers import similar
from .vector import cut

LINES = 12  # maximum lines of a rule's source
READS = 6  # the maximum number of readers shown for a tensor
WIDEST = 300  # maximum characters of a line, without its indentation
LONGEST = 80  # maximum characters of a name or a line of the program
Label = tuple[int, ...]


class Explanation(str):
    """Text that prints itself, including in a notebook."""

    __repr__ = str.__str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain(tensor: Variable | str, depth: int = 4, of: Any = None, run: bool = False) -> Explanation:
    """Explain the chain of rules behind a tensor's gradient, with shapes, formulas, source lines and small values. The
    text shows which ops read the tensor, the result of each op's rule, where the rule's incoming gradient comes from,
    and so on up to the loss. If no backward pass has run, the rules are shown without gradients.

        print(viz.explain(layer.weight))

    Args:
        tensor: a leaf, a result, or the name of a leaf or result in a graph.
        depth: how many rules to follow in sequence.
        of: the tensor to differentiate, or a result of ``viz.graph`` or ``viz.playback``. For a call, these contain all
            lines and numbers. By default, the caller's most recent variable that was computed from the tensor.
        run: run a backward pass from ``of`` now to compute gradients, without changing any ``.grad``. It always runs if
            an earlier backward pass kept the graph (``retain_graph=True``).

    Raises RuntimeError if the tensor requires no gradient or is not in the graph, and TypeError for a name without a
    graph, a graph without a name, an object that is not a tensor, or a depth that is not a number.
    """
    if isinstance(depth, Variable):
        raise TypeError("explain: depth is a number of rules; pass the tensor to differentiate as of=…")
    graph = getattr(of, "graph", of)
    if isinstance(graph, Graph):
        return Explanation(_Chain(graph, depth).text(_number(graph, tensor)))
    if not isinstance(tensor, Variable):
        raise TypeError(f"explain takes a tensor, or a name in a graph (of=viz.graph(model, x)), not {tensor!r:.60}")
    if not isinstance(of, Variable | None):
        raise TypeError(f"explain: of=… takes a tensor or a graph, not {type(of).__name__}")
    if not tensor._wanted():
        raise RuntimeError(
            "explain: the tensor does not require a gradient, so no rule runs for it: set requires_grad on "
            "it, or on the tensors that it is computed from, outside no_grad()"
        )
    root = last_result_of(tensor) if of is None else of
    if root is None:
        grad = tensor._grad
        now = "No backward pass yet: .grad is None" if grad is None else f".grad has {summary(value_of(grad.array))}"
        return Explanation(
            f"{now}.\nNo variable here was computed from this tensor: pass the differentiated tensor, "
            f"explain(tensor, of=loss)."
        )
    nodes, source = built("explain", root, (), {}), tensor._source()[0]
    number = nodes.number.get(id(tensor) if source is None else source)
    if number is None:
        raise RuntimeError("explain: the tensor is not in the graph: nothing was computed from it there")
    graph_to_show = nodes.drawn(run or any(leaf._grad is not None for leaf in nodes.leaves()))
    return Explanation(_Chain(graph_to_show, depth).text(number, tensor))


def _number(graph: Graph, name: Variable | str) -> int:
    if not isinstance(name, str):
        raise TypeError("explain: pass the tensor's name, as in explain('weight', of=graph): a graph keeps only names")
    numbers = [node.id for node in graph.nodes if node.name == name]
    if not numbers:
        hint = similar(name, dict.fromkeys(node.name for node in graph.nodes))
        raise RuntimeError(f"explain: there is no {name!r} in the graph of {_plain(cut(graph.title, LONGEST))}{hint}")
    return numbers[-1]


class _Chain:
    """Explains a gradient in a graph. A rule's label is the path to it: (1, 2) is the second rule after the first."""

    def __init__(self, graph: Graph, depth: int) -> None:
        self.graph, self.depth = graph, depth
        self.output = graph.nodes[graph.output]
        self.released = any(node.released for node in graph.nodes)
        self.several = {edge.source for edge in graph.edges if edge.slot}  # nodes with several results
        self.reads: list[list[Edge]] = [[] for _ in graph.nodes]  # for each node, the edges to it,
        self.readers: list[list[Edge]] = [[] for _ in graph.nodes]  # and the edges from it that have a rule
        for edge in graph.edges:
            self.reads[edge.target].append(edge)
            op = graph.ops[graph.nodes[edge.target].op]
            readable = _rule_of(op, edge.input) is not None or not op.rules  # in interactive code, none is readable
            if graph.nodes[edge.source].kind != "constant" and (edge.gradient is not None or readable):
                self.readers[edge.source].append(edge)
        self.places: dict[int, Label] = {}  # the rule after which a node's continuation appears

    def text(self, number: int, tensor: Variable | None = None) -> str:
        """The explanation of a node's gradient; ``tensor`` selects one of its results."""
        slot = 0 if tensor is None else tensor._source()[1]
        if slot:
            self.several.add(number)
        node = self.graph.nodes[number]
        first = [edge for edge in self.readers[number] if tensor is None or edge.slot == slot]
        name, value = _called(node), node.value
        if tensor is not None and number in self.several:
            name, value = self._called(number, slot), value_of(tensor.array)
        shape = f", {node.kind} {value.shape} {value.dtype}" if value else ""
        lines = [f"The gradient of {name}{shape} in {_called(self.output)}"]
        lines += [*self._state(node, slot, tensor), "", *self._rules(number, (), first)]
        if self.released:
            lines += ["", "backward(retain_graph=True) keeps intermediate gradients."]
        elif self.graph.backward == "none":
            lines += ["", "With run=True they are computed now; no .grad changes."]
        else:
            lines.append("")
        if not any(node.place for node in self.graph.nodes):
            lines.append("To see the line that calls each op, record within autograd.detect_anomaly(check_nan=False).")
        return "\n".join(map(_plain, lines)).rstrip()

    def _state(self, node: Node, slot: int, tensor: Variable | None) -> Iterator[str]:
        """The gradient itself and the state of ``.grad``, or why the gradient is missing."""
        gradient = self._gradient(node.id, slot)
        grad = None if tensor is None or tensor._grad is None else value_of(tensor._grad.array)
        if self.graph.backward == "none":
            yield "No backward pass has run yet, so there is no gradient. These are the rules that it will run."
        elif gradient is not None:
            yield summary(gradient)
        elif grad is not None:  # from retain_grad()
            yield f"{summary(grad)}, as stored in .grad"
        elif self.released and node.kind == "op":
            yield "It is gone: backward() has freed the graph, and keeps only the gradients of leaves."
        elif self.released:
            yield ".grad is None: no rule returned one, or it has been set to None since."
        elif any(edge.gradient is not None and edge.slot == slot for edge in self.readers[node.id]):
            yield "It is the sum of the results of the rules below."
        else:
            yield "It does not exist: no rule returns one."
        if hooks := node.attributes.get("hooks"):
            yield f"Hooks get the sum of the results of the rules below, and may change it: {_short(hooks)}."
        if tensor is None or gradient is None or self.released:
            return
        if grad is None:
            if node.kind != "op":
                yield ".grad is None: no backward() has added it yet."
        elif repr(grad) == repr(gradient):  # also for NaN
            yield ".grad has the same value."
        else:
            yield f".grad has {summary(grad)}: other backward passes added to it, or the program changed it."

    def _rules(self, number: int, label: Label, edges: list[Edge]) -> Iterator[str]:
        """The rules of a node's readers, each followed by the next rules unless they are already in the text."""
        indent = "  " * len(label)
        if edges and len(label) >= self.depth:
            yield f"{indent}… and so on to {_called(self.output)}: depth={self.depth} ends here"
            return
        if len(edges) > 1:
            rest = f" (the first {READS} of them)" if len(edges) > READS else ""
            alike = len({edge.slot for edge in edges}) == 1
            name = self._called(number, edges[0].slot) if alike else _called(self.graph.nodes[number])
            sums = "these gradients are summed" if alike else "for each result these gradients are summed"
            yield f"{indent}{name} is read {len(edges)} times, and {sums}{rest}:"
        for i, edge in enumerate(edges[:READS], 1):
            here, node = (*label, i), self.graph.nodes[edge.target]
            yield from self._rule(here, edge)
            if node is self.output:
                one = "ones" if node.value and node.value.shape else "1"
                yield f"{indent}  The backward pass begins at {_called(node)}, whose own gradient is {one}."
            elif node.id in self.places:
                yield f"{indent}  The gradient of {_called(node)}: see {_text(self.places[node.id])}."
            else:
                if len(here) < self.depth:
                    self.places[node.id] = here
                yield from self._rules(node.id, here, self.readers[node.id])

    def _rule(self, label: Label, edge: Edge) -> Iterator[str]:
        """An op's gradient for one of its inputs: the formula, the rule and the numbers."""
        indent = "  " * (len(label) - 1)
        node = self.graph.nodes[edge.target]
        op = self.graph.ops[node.op]
        result = "" if node.name == op.name else f"{_short(node.name)} = "
        where = f"    {node.place}" + (f": {_short(node.code)}" if node.code else "") if node.place else ""
        reads = f"{op.name}, its input {edge.input} is {self._called(edge.source, edge.slot)}"
        yield f"{indent}{_text(label)}  {result}{reads}{where}"
        indent += " " * (len(_text(label)) + 2)
        yield from (f"{indent}{heading:<9} {text}".rstrip() for heading, text in self._rows(edge, node, op))

    def _rows(self, edge: Edge, node: Node, op: OpInfo) -> Iterator[tuple[str, str]]:
        key, source = _rule_of(op, edge.input) or ("", None)
        if op.formula:
            yield "formula", op.formula
        if key in op.gradients:
            yield "gradient", op.gradients[key]
        yield from _source("backward" if key == BACKWARD else "rule", source, op)
        if op.kernel:
            yield "kernel", f"{at(op.kernel.file, op.kernel.line)} computes the same result"
        after = f", after hooks: {_short(hooks)}" if (hooks := node.attributes.get("hooks")) else ""
        for slot in sorted({read.slot for read in self.readers[node.id]} or {0}):
            gradient = self._gradient(node.id, slot)
            shape = node.value.shape if node.value and not slot else ""
            numbers = str(shape) if gradient is None else summary(gradient)
            yield "g", f"the gradient of {self._called(node.id, slot)} {numbers}{after}"
        for name in _parameters(source) if source and key != BACKWARD else ():
            if argument := self._argument(name, edge):
                yield name, argument
        if edge.gradient is not None:
            yield "gives", summary(edge.gradient)
        elif self.graph.backward == "done" and not self.released:
            yield "gives", "nothing"

    def _argument(self, name: str, edge: Edge) -> str:
        node, source = self.graph.nodes[edge.target], self.graph.nodes[edge.source]
        if name == "out":
            return f"{_called(node)} {summary(node.value)}" if node.value else ""
        if name == "shape":
            return str(source.value.shape) if source.value and not edge.slot else ""
        for other in self.reads[edge.target]:
            if other.input == name:
                value = None if other.slot else self.graph.nodes[other.source].value
                return f"{self._called(other.source, other.slot)} {summary(value) if value else ''}"
        return _short(node.attributes.get(name, ""))

    def _called(self, number: int, slot: int) -> str:
        which = f"result {slot + 1} of " if number in self.several else ""
        return which + _called(self.graph.nodes[number])

    def _gradient(self, number: int, slot: int) -> Value | None:
        """The gradient of a node's result, if known. It is always known for the first result that has one."""
        known_edges = [edge for edge in self.readers[number] if edge.gradient is not None]
        if slot == min((edge.slot for edge in known_edges), default=slot):
            return self.graph.nodes[number].gradient
        of_slot = [edge.gradient for edge in known_edges if edge.slot == slot]
        return of_slot[0] if len(of_slot) == 1 else None


def _source(heading: str, source: Source | None, op: OpInfo) -> Iterator[tuple[str, str]]:
    if source is None:
        yield heading, "its source cannot be read"
        return
    lines, place = source.text.expandtabs(4).splitlines(), at(source.file, source.line)
    if len(lines) == 1:
        yield heading, f"{lines[0]}    {place}"
    else:
        yield heading, place
        yield from (("", line) for line in lines[:LINES] + ["…"] * (len(lines) > LINES))
    for name, helper in op.helpers.items():
        if re.search(rf"\b{name}\b", source.text):
            yield "", f"{name} is at {at(helper.file, helper.line)}"


def _parameters(source: Source) -> list[str]:
    """The names of a rule's parameters after the gradient."""
    text = f"({source.text})" if source.text.startswith("lambda") else source.text
    rules = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda | ast.FunctionDef))
    return [argument.arg for argument in next(rules).args.args[1:]]


def _rule_of(op: OpInfo, name: str) -> tuple[str, Source] | None:
    """The key and the source of an input's rule. The key is "xs" for variadic inputs, and BACKWARD for a Function."""
    keys = (name, name.rpartition(" ")[0], BACKWARD)
    return next(((key, op.rules[key]) for key in keys if key in op.rules), None)


def _called(node: Node) -> str:
    return f"the result of {node.op}" if node.kind == "op" and node.name == node.op else _short(node.name)


def _text(label: Label) -> str:
    return ".".join(map(str, label))


def _short(name: str) -> str:
    return cut(name, LONGEST)


def _plain(line: str) -> str:
    """Replace the control characters in a line, and truncate its text (after the indentation) if too long."""
    text = "".join(c if c.isprintable() else "�" for c in line)
    return cut(text, len(text) - len(text.lstrip()) + WIDEST)
