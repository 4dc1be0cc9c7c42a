"""What leaves and results are called: by their modules, by the program's variables, or by the lines that made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...autograd.origin import Faint
from ...autograd.tape import Node, Variable
from ...nn.parameter import Parameter
from . import graph_data as data
from .graph_data import Kind
from .graph_names import Modules, Named, expression
from .observe import Observation

_OTHERWISE = {"input": "leaf", "parameter": "parameter", "constant": "constant"}  # where there is no name at all


class Names:
    """What leaves and results are called."""

    def __init__(self, modules: Modules, named: Named, seen: Observation | None) -> None:
        self._seen = seen
        self.parameters = modules.parameters()
        self.arguments: dict[int, str] = {}
        self.variables = {i: name for i, (_, name, _) in seen.leaves.items()} if seen else {}
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

    def called(self, tensor: Any) -> str:
        """What the program calls a tensor: as a parameter, as an argument, as a variable; "" if it has no name."""
        parameter = next(iter(self.parameters.get(id(tensor), ())), "")
        return parameter or self.arguments.get(id(tensor), "") or self.variables.get(id(tensor), "")

    def leaf(self, number: int, leaf: Any, kind: Kind, reader: data.Node, read_as: str) -> data.Node:
        """A leaf's node: named by its module, by a variable, as a view of what has such a name, or by the line that
        made it; an array that the library made, by the op that reads it."""
        names = self.parameters.get(id(leaf), [])
        if kind == "input" and (names or isinstance(leaf, Parameter)):
            kind = "parameter"
        if names:
            all_names = {"names": ", ".join(names)} if len(names) > 1 else {}
            return data.Node(number, kind, "", names[0], names[0].rpartition(".")[0], attributes=all_names)
        made_of = self._seen.made_of(leaf) if self._seen else ""
        name = self.called(leaf) or self._viewed(leaf) or made_by(leaf) or made_of
        if not name and not isinstance(leaf, Variable | Faint):
            name = f"{read_as} of {reader.op}"
        module = "" if id(leaf) in self.arguments else reader.module
        return data.Node(number, kind, "", name or _OTHERWISE[kind], module)

    def _viewed(self, leaf: Any) -> str:
        base = getattr(leaf, "_parent", None)
        name = "" if base is None else self.called(base) or self._viewed(base) or made_by(base)
        return f"{name.removesuffix(' (a view)')} (a view)" if name else ""


def made_by(leaf: Any) -> str:
    """The expression that made a tensor, as it stands in the program: "mg.tensor(2.0)"; "" where it is not known."""
    origin = leaf.origin if isinstance(leaf, Faint) else getattr(leaf, "_origin", None)
    return "" if origin is None else expression(*origin)


def distinct(leaves: Iterable[data.Node]) -> None:
    """Number the leaves of the same name: "x", "x (2)"."""
    leaves = list(leaves)
    taken = {leaf.name for leaf in leaves}
    count = Counter[str]()
    for leaf in leaves:
        name = leaf.name
        count[name] += 1
        if count[name] == 1:
            continue
        while (numbered := f"{name} ({count[name]})") in taken:
            count[name] += 1
        leaf.name = numbered
        taken.add(numbered)
