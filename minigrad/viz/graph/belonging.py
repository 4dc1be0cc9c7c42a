"""Which module an op belongs to, where nobody watched the call: told from the parameters that ops read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby, islice
from typing import Any

from ...autograd.origin import Faint, there
from ...autograd.tape import Node, Variable
from ...nn.containers import ModuleDict, ModuleList, Sequential
from ...nn.module import Module
from ...ops.op import REGISTRY
from .graph_data import common, ways

_OPS = {  # of modules without parameters whose one op has another name
    "maxpool": "pick",
    "adaptivemaxpool": "pick",
    "flatten": "reshape",
    "unflatten": "reshape",
    "alphadropout": "mul",
}
_CONTAINERS = (Sequential, ModuleList, ModuleDict)  # their forward has no op of its own


def modules_of(
    tape: Sequence[Node], names: Mapping[int, Sequence[str]], modules: Mapping[str, Module] | None = None
) -> dict[Node, str]:
    """The path of a module for each op of a tape, from the names of parameters (by id) and the modules (by path).

    An op that reads parameters belongs to their module (but for one with several names). What runs between two such
    ops is in the innermost module around both: a relu between "layers.0.linear1" and "layers.0.linear2" in
    "layers.0". In a Sequential it belongs to the modules that stand between the two; and what adds a module's result
    to what that module has read belongs with it (a residual connection).
    """
    known: dict[Node, str] = {}
    for node in tape:
        read = (names.get(id(edge[0]), ()) for edge in node.edges)
        if paths := [name.rpartition(".")[0] for name, *others in filter(None, read) if not others]:
            known[node] = _around(paths)
    before, after = _last(tape, known), _last(tape[::-1], known)
    belongs = {node: known.get(node, _around((before[node], after[node]))) for node in tape}
    if modules:
        _Residuals(tape, belongs, known, modules)
        _add_between(tape, belongs, known, modules)
    return belongs


def _last(tape: Sequence[Node], known: Mapping[Node, str]) -> dict[Node, str]:
    modules = accumulate(tape, lambda module, node: known.get(node, module), initial="")
    return dict(zip(tape, islice(modules, 1, None), strict=True))


def _around(paths: Iterable[str]) -> str:
    """The innermost module around all of them."""
    return ".".join(common(path.split(".") for path in paths))


# Residual connections --------------------------------------------------------------------------------------


class _Residuals:
    """Puts what adds the result of a block's last part to what the block has read into the block: where the next op is
    not in it already, the module of a ModuleList, or one of a class that has such connections elsewhere.
    """

    def __init__(
        self, tape: Sequence[Node], belongs: dict[Node, str], known: Mapping[Node, str], modules: Mapping[str, Module]
    ) -> None:
        self.belongs, self.known, self.modules = belongs, known, modules
        self.readers: dict[Node | int, list[Node]] = {}
        for node in tape:
            for source in _sources(node):
                self.readers.setdefault(_key(source), []).append(node)
        sums = [(node, *pair) for node in tape if node not in known and (pair := self._branch(node))]
        classes = {type(self.modules[block]) for node, _, blocks in sums for block in self._certain(node, blocks)}
        for node, branch, blocks in sums:
            chosen = self._certain(node, blocks) or [path for path in blocks if type(self.modules[path]) in classes]
            if chosen:
                self._assign(node, branch, chosen[0])

    def _certain(self, node: Node, blocks: list[str]) -> list[str]:
        """The block of a connection where the modules around tell it, and nothing otherwise."""
        around = self.modules.get(self.belongs[node])
        if around is not None and not isinstance(around, _CONTAINERS):
            return blocks if blocks == [self.belongs[node]] else []
        return blocks[:1] if around is not None else []

    def _branch(self, node: Node) -> tuple[Node, list[str]] | None:
        """If an op adds what a module has computed to what the module has read: the op behind the one, and the modules
        that this can be said of, from the outside."""
        sources = _sources(node)
        if node.op.name not in ("add", "sub", "mul") or len(sources) != 2:
            return None
        first, second = sources
        for branch, skipped in ((second, first), (first, second)):
            if isinstance(branch, Node) and branch is not skipped and (path := self._within(branch, skipped)):
                paths = [way for way in ways(path) if len(way) >= len(self.belongs[node]) and way in self.modules]
                modules = [(way, self.modules[way]) for way in paths if not isinstance(self.modules[way], _CONTAINERS)]
                if blocks := [way for way, module in modules if any(True for _ in module.children())]:
                    return branch, blocks
        return None

    def _within(self, branch: Node, skipped: Node | Any) -> str:
        """The innermost module around all ops between the two; "" if the one was not computed from the other."""
        start = skipped.order if isinstance(skipped, Node) else -1
        inside: set[Node] = set()
        todo = [branch]
        while todo:
            node = todo.pop()
            if node not in inside and node.order > start:
                inside.add(node)
                todo += [edge[0] for edge in node.edges if isinstance(edge[0], Node)]
        reads = any(reader in inside for reader in self.readers.get(_key(skipped), ()))
        return _around(self.belongs[node] for node in inside if node in self.known) if reads else ""

    def _assign(self, node: Node, branch: Node | Variable, block: str) -> None:
        """Put an op into a block, with what runs at the end of its branch (a dropout)."""
        self.belongs[node] = block
        while isinstance(branch, Node) and branch not in self.known and self.readers[branch] == [node]:
            if len(self.belongs[branch]) < len(block):
                self.belongs[branch] = block
            if len(branch.edges) != 1:
                break
            node, branch = branch, branch.edges[0][0]


def _sources(node: Node) -> list[Node | Any]:
    """What an op reads: nodes, and tensors that no recorded op made (of those that are gone, what is remembered)."""
    constants = [a for a in map(there, node.others) if isinstance(a, Variable | Faint)]
    return [edge[0] for edge in node.edges] + constants


def _key(source: Node | Any) -> Node | int:
    return source if isinstance(source, Node) else id(source)


# Modules without parameters in a Sequential ----------------------------------------------------------------


def _add_between(
    tape: Sequence[Node], belongs: dict[Node, str], known: Mapping[Node, str], modules: Mapping[str, Module]
) -> None:
    """Give the ops that run between the modules of a Sequential to those without parameters that stand there."""
    chains = {path: list(module._modules) for path, module in modules.items() if isinstance(module, Sequential)}
    before, after = _last(tape, known), _last(tape[::-1], known)
    runs = groupby((node for node in tape if node not in known), lambda node: (before[node], after[node]))
    for (first, last), run in runs:
        nodes = list(run)
        for path in sorted(chains, key=len, reverse=True):
            begin, end = (_place(chains[path], path, inner) for inner in (first, last))
            if begin == end:  # both are None, or the same
                continue
            children = chains[path][0 if begin is None else begin + 1 : end]
            inner = [".".join(filter(None, (path, child))) for child in children]
            free = [(p, modules[p]) for p in inner if p in modules and not any(True for _ in modules[p].parameters())]
            matched = _matched([node.op.name for node in nodes], free, begin is not None and end is not None)
            if begin is None and len(matched) < len(nodes):  # some ran before the Sequential
                continue
            for node, module in zip(nodes, matched, strict=False):
                if len(module) > len(belongs[node]):
                    belongs[node] = module


def _place(children: list[str], path: str, inner: str) -> int | None:
    """Which of a Sequential's modules one is in, None if in none of them."""
    if path and not inner.startswith(f"{path}."):
        return None
    child = inner.removeprefix(f"{path}." if path else "").split(".")[0]
    return children.index(child) if child in children else None


def _matched(ops: Sequence[str], modules: Sequence[tuple[str, Module]], between: bool) -> list[str]:
    """The module of each op, in their order, as far as its class tells: a ReLU is a relu. ``between``: they are all of
    these modules, so that what is left is of those whose ops are not known."""
    kinds = [_op_of(module) for _, module in modules]
    matched: list[str] = []
    place, used = 0, False
    for op in map(_plain, ops):
        later = [i for i in range(place + used, len(kinds)) if kinds[i] == op]
        unknown = [i for i in range(place, len(kinds)) if kinds[i] is None] if between else []
        if unknown and later and unknown[0] < later[0] and not (used and unknown[0] == place):
            later = unknown
        chosen = (later or unknown)[:1]
        if not chosen:
            break
        place, used = chosen[0], True
        matched.append(modules[place][0])
    return matched


def _op_of(module: Module) -> str | None:
    """The op that a module without parameters is, by its class: "logsoftmax" of LogSoftmax; None if it is no one op."""
    name = re.sub(r"\dd$", "", type(module).__name__).lower()
    name = _OPS.get(name, name)
    return name if name in map(_plain, REGISTRY) else None


def _plain(op: str) -> str:
    return op.replace("_", "")
