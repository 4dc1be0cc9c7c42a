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
    sides = _last(tape, known), _last(tape[::-1], known)
    between = {node: (sides[0][node], sides[1][node]) for node in tape}  # the modules known before and after it
    belongs = {node: known.get(node, _around(between[node])) for node in tape}
    if modules:
        _add_residuals(tape, belongs, known, modules)
        _add_between(tape, belongs, known, modules, between)
    return belongs


def _last(tape: Sequence[Node], known: Mapping[Node, str]) -> dict[Node, str]:
    modules = accumulate(tape, lambda module, node: known.get(node, module), initial="")
    return dict(zip(tape, islice(modules, 1, None), strict=True))


def _around(paths: Iterable[str]) -> str:
    """The innermost module around all of them."""
    return ".".join(common(path.split(".") for path in paths))


def _add_residuals(
    tape: Sequence[Node], belongs: dict[Node, str], known: Mapping[Node, str], modules: Mapping[str, Module]
) -> None:
    """Put what adds the result of a block's last part to what the block has read into the block: where the next op is
    not in it already, the module of a ModuleList, or one of a class that has such connections elsewhere."""
    readers: dict[Node | int, list[Node]] = {}
    for node in tape:
        for source in _sources(node):
            readers.setdefault(_key(source), []).append(node)

    def within(branch: Node, skipped: Any) -> str:
        """The innermost module around all ops between the two; "" if the one was not computed from the other."""
        start = skipped.order if isinstance(skipped, Node) else -1
        inside: set[Node] = set()
        todo = [branch]
        while todo:
            node = todo.pop()
            if node not in inside and node.order > start:
                inside.add(node)
                todo += [edge[0] for edge in node.edges if isinstance(edge[0], Node)]
        reads = not inside.isdisjoint(readers.get(_key(skipped), ()))
        return _around(belongs[node] for node in inside if node in known) if reads else ""

    sums: list[tuple[Node, Node, list[str], list[str]]] = []
    for node in tape:
        sources = _sources(node)
        if node in known or node.op.name not in ("add", "sub", "mul") or len(sources) != 2:
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
        if not (chosen := certain or [path for path in blocks if type(modules[path]) in classes]):
            continue
        belongs[node] = chosen[0]
        at: Any = start
        while isinstance(at, Node) and at not in known and readers[at] == [node]:  # a dropout at its end
            belongs[at] = max(belongs[at], chosen[0], key=len)
            if len(at.edges) != 1:
                break
            node, at = at, at.edges[0][0]


def _sources(node: Node) -> list[Any]:
    """What an op reads: nodes, and tensors that no recorded op made (of those that are gone, what is remembered)."""
    constants = [a for a in map(there, node.others) if isinstance(a, Variable | Faint)]
    return [edge[0] for edge in node.edges] + constants


def _key(source: Any) -> Node | int:
    return source if isinstance(source, Node) else id(source)


def _add_between(
    tape: Sequence[Node],
    belongs: dict[Node, str],
    known: Mapping[Node, str],
    modules: Mapping[str, Module],
    between: Mapping[Node, tuple[str, str]],
) -> None:
    """Give the ops that run between the modules of a Sequential to those without parameters that stand there."""
    chains = {path: list(module._modules) for path, module in modules.items() if isinstance(module, Sequential)}
    for ends, run in groupby((node for node in tape if node not in known), between.__getitem__):
        nodes = list(run)
        for path in sorted(chains, key=len, reverse=True):
            begin, end = (_place(chains[path], path, inner) for inner in ends)
            if begin == end:  # both are None, or the same
                continue
            children = chains[path][0 if begin is None else begin + 1 : end]
            inner = [".".join(filter(None, (path, child))) for child in children]
            free = [p for p in inner if p in modules and not any(True for _ in modules[p].parameters())]
            kinds = [_op_of(modules[p]) for p in free]
            matched = _matched([node.op.name for node in nodes], kinds, begin is not None and end is not None)
            if begin is None and len(matched) < len(nodes):  # some ran before the Sequential
                continue
            for node, place in zip(nodes, matched, strict=False):
                belongs[node] = max(belongs[node], free[place], key=len)


def _place(children: list[str], path: str, inner: str) -> int | None:
    """Which of a Sequential's modules one is in, None if in none of them."""
    if path and not inner.startswith(f"{path}."):
        return None
    child = inner.removeprefix(f"{path}." if path else "").split(".")[0]
    return children.index(child) if child in children else None


def _op_of(module: Module) -> str | None:
    """The op that a module without parameters is, by its class: "logsoftmax" of LogSoftmax; None if it is no one op."""
    name = re.sub(r"\dd$", "", type(module).__name__).lower()
    name = _OPS.get(name, name)
    return name if name in {op.replace("_", "") for op in REGISTRY} else None


def _matched(ops: Sequence[str], kinds: Sequence[str | None], between: bool) -> list[int]:
    """The place of each op's module, in their order, as far as its class tells: a ReLU is a relu. ``between``: they are
    all of these modules, so that what is left is of those whose ops are not known."""
    matched: list[int] = []
    place, used = 0, False
    for op in ops:
        later = [i for i in range(place + used, len(kinds)) if kinds[i] == op.replace("_", "")]
        unknown = [i for i in range(place, len(kinds)) if kinds[i] is None] if between else []
        if unknown and later and unknown[0] < later[0] and not (used and unknown[0] == place):
            later = unknown
        if not (chosen := later or unknown):
            break
        place, used = chosen[0], True
        matched.append(place)
    return matched
