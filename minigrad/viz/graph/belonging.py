"""Infers the module of each op in a call that was not recorded, from the parameters that the ops read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby, islice
from typing import Any

from ...autograd.origin import WeakValue, there
from ...autograd.tape import Node, Variable
from ...nn.containers import ModuleDict, ModuleList, Sequential
from ...nn.module import Module
from ...ops.op import REGISTRY
from .graph_data import common, ways

_OPS = {  # modules without parameters whose op has a different name
    "maxpool": "pick",
    "adaptivemaxpool": "pick",
    "flatten": "reshape",
    "unflatten": "reshape",
    "alphadropout": "mul",
}
_CONTAINERS = (Sequential, ModuleList, ModuleDict)  # modules that run no ops except those of their children


def modules_of(
    tape: Sequence[Node], names: Mapping[int, Sequence[str]], modules: Mapping[str, Module] | None = None
) -> dict[Node, str]:
    """The module path of each op on a tape, given parameter names (by id) and modules (by path).

    An op that reads parameters belongs to their module (unless they have several names). Ops between two such ops
    belong to the innermost module that contains both: a relu between "layers.0.linear1" and "layers.0.linear2" is in
    "layers.0". In a Sequential, they belong to the modules in between. An op that adds a module's result to the
    module's input (a residual connection) belongs to that module.
    """
    certain: dict[Node, str] = {}
    for node in tape:
        read = (names.get(id(edge[0]), ()) for edge in node.edges)
        if paths := [name.rpartition(".")[0] for name, *others in filter(None, read) if not others]:
            certain[node] = _around(paths)
    sides = _last(tape, certain), _last(tape[::-1], certain)
    between = {node: (sides[0][node], sides[1][node]) for node in tape}  # the known modules before and after each op
    belongs = {node: certain.get(node, _around(between[node])) for node in tape}
    if modules:
        _add_residuals(tape, belongs, certain, modules)
        _add_between(tape, belongs, certain, modules, between)
    return belongs


def _last(tape: Sequence[Node], certain: Mapping[Node, str]) -> dict[Node, str]:
    modules = accumulate(tape, lambda module, node: certain.get(node, module), initial="")
    return dict(zip(tape, islice(modules, 1, None), strict=True))


def _around(paths: Iterable[str]) -> str:
    """The innermost module that contains all paths."""
    return ".".join(common(path.split(".") for path in paths))


def _add_residuals(
    tape: Sequence[Node], belongs: dict[Node, str], certain_modules: Mapping[Node, str], modules: Mapping[str, Module]
) -> None:
    """Move residual additions (ops that add the result of a block's last module to the block's input) into the block.
    The next op must be in the block, the block must be in a ModuleList, or this must hold for one of the same class."""
    readers: dict[Node | int, list[Node]] = {}
    for node in tape:
        for source in _sources(node):
            readers.setdefault(_key(source), []).append(node)

    def within(branch: Node, skipped: Any) -> str:
        """The innermost module that contains all ops between the two; "" if none of them reads ``skipped``."""
        start = skipped.order if isinstance(skipped, Node) else -1
        inside: set[Node] = set()
        todo = [branch]
        while todo:
            node = todo.pop()
            if node not in inside and node.order > start:
                inside.add(node)
                todo += [edge[0] for edge in node.edges if isinstance(edge[0], Node)]
        reads = not inside.isdisjoint(readers.get(_key(skipped), ()))
        return _around(belongs[node] for node in inside if node in certain_modules) if reads else ""

    sums: list[tuple[Node, Node, list[str], list[str]]] = []
    for node in tape:
        sources = _sources(node)
        if node in certain_modules or node.op.name not in ("add", "sub", "mul") or len(sources) != 2:
            continue
        for branch, skipped in (sources[::-1], sources):
            if not isinstance(branch, Node) or branch is skipped or not (path := within(branch, skipped)):
                continue
            paths = [way for way in ways(path) if len(way) >= len(belongs[node]) and way in modules]
            paths = [way for way in paths if not isinstance(modules[way], _CONTAINERS)]
            if blocks := [way for way in paths if any(True for _ in modules[way].children())]:
                around = modules.get(belongs[node])
                certain = blocks[:1] if isinstance(around, _CONTAINERS) else []
                if around is not None and not certain and blocks == [belongs[node]]:
                    certain = blocks
                sums.append((node, branch, blocks, certain))
                break
    classes = {type(modules[block]) for *_, certain in sums for block in certain}
    for node, start, blocks, certain in sums:
        if not (candidates := certain or [path for path in blocks if type(modules[path]) in classes]):
            continue
        belongs[node] = candidates[0]
        at: Any = start
        while isinstance(at, Node) and at not in certain_modules and readers[at] == [node]:  # dropout at a block's end
            belongs[at] = max(belongs[at], candidates[0], key=len)
            if len(at.edges) != 1:
                break
            node, at = at, at.edges[0][0]


def _sources(node: Node) -> list[Any]:
    """The inputs of an op: nodes, and tensors without a recorded op (a WeakValue for a freed one)."""
    constants = [a for a in map(there, node.others) if isinstance(a, Variable | WeakValue)]
    return [edge[0] for edge in node.edges] + constants


def _key(source: Any) -> Node | int:
    return source if isinstance(source, Node) else id(source)


def _add_between(
    tape: Sequence[Node],
    belongs: dict[Node, str],
    certain: Mapping[Node, str],
    modules: Mapping[str, Module],
    between: Mapping[Node, tuple[str, str]],
) -> None:
    """Assign ops between two modules of a Sequential to the parameterless modules between them."""
    chains = {path: list(module._modules) for path, module in modules.items() if isinstance(module, Sequential)}
    for ends, run in groupby((node for node in tape if node not in certain), between.__getitem__):
        nodes = list(run)
        for path in sorted(chains, key=len, reverse=True):
            begin, end = (_place(chains[path], path, inner) for inner in ends)
            if begin == end:  # both are None, or the same module
                continue
            children = chains[path][0 if begin is None else begin + 1 : end]
            inner = [".".join(filter(None, (path, child))) for child in children]
            free = [p for p in inner if p in modules and not any(True for _ in modules[p].parameters())]
            kinds = [_op_of(modules[p]) for p in free]
            matched = _matched([node.op.name for node in nodes], kinds, begin is not None and end is not None)
            if begin is None and len(matched) < len(nodes):  # some ops ran before the Sequential
                continue
            for node, place in zip(nodes, matched, strict=False):
                belongs[node] = max(belongs[node], free[place], key=len)


def _place(children: list[str], path: str, inner: str) -> int | None:
    """The index of the Sequential's child that contains a module; None if no child does."""
    if path and not inner.startswith(f"{path}."):
        return None
    child = inner.removeprefix(f"{path}." if path else "").split(".")[0]
    return children.index(child) if child in children else None


def _op_of(module: Module) -> str | None:
    """The op of a module without parameters, such as "logsoftmax" for LogSoftmax; None if it is not a single op."""
    name = re.sub(r"\dd$", "", type(module).__name__).lower()
    name = _OPS.get(name, name)
    return name if name in {op.replace("_", "") for op in REGISTRY} else None


def _matched(ops: Sequence[str], kinds: Sequence[str | None], between: bool) -> list[int]:
    """The index of each op's module, in order, as far as classes determine it: a relu comes from a ReLU. If ``between``
    is true, all ops come from these modules, so the remaining ops belong to modules with unknown ops."""
    matched: list[int] = []
    place, is_used = 0, False
    for op in ops:
        later = [i for i in range(place + is_used, len(kinds)) if kinds[i] == op.replace("_", "")]
        unknown = [i for i in range(place, len(kinds)) if kinds[i] is None] if between else []
        if unknown and later and unknown[0] < later[0] and not (is_used and unknown[0] == place):
            later = unknown
        if not (candidates := later or unknown):
            break
        place, is_used = candidates[0], True
        matched.append(place)
    return matched
