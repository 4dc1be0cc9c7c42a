"""Which module an op belongs to, where nobody watched the call: told from the parameters that ops read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby, islice, permutations
from typing import Any

from ...autograd.origin import Faint, there
from ...autograd.tape import Node, Variable
from ...nn.containers import ModuleDict, ModuleList, Sequential
from ...nn.module import Module
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
    """The path of a module for each op of a tape, from the names of parameters (by id) and the modules (by path). An op
    that reads parameters belongs to their module; what runs between two such ops to the innermost module around both,
    to the modules between them in a Sequential, or, if it is a residual connection, to the module of a list."""
    known: dict[Node, str] = {}
    for node in tape:
        read = (names.get(id(edge[0]), ()) for edge in node.edges)
        if paths := [name.rpartition(".")[0] for name, *others in filter(None, read) if not others]:
            known[node] = _around(paths)
    before, after = _last(tape, known), _last(tape[::-1], known)
    belongs = {node: known.get(node, _around((before[node], after[node]))) for node in tape}
    if modules:
        _add_residuals(tape, belongs, known, modules)
        _add_between(tape, belongs, known, modules)
    return belongs


def _last(tape: Sequence[Node], known: Mapping[Node, str]) -> dict[Node, str]:
    modules = accumulate(tape, lambda module, node: known.get(node, module), initial="")
    return dict(zip(tape, islice(modules, 1, None), strict=True))


def _around(paths: Iterable[str]) -> str:
    """The innermost module around all of them."""
    return ".".join(common(path.split(".") for path in paths))


# Residual connections --------------------------------------------------------------------------------------


def _add_residuals(
    tape: Sequence[Node], belongs: dict[Node, str], known: Mapping[Node, str], modules: Mapping[str, Module]
) -> None:
    """Put an op that adds the result of a list's module to what it has read into the module, with its branch's end."""
    readers: dict[Node | int, list[Node]] = {}
    for node in tape:
        for source in _sources(node):
            readers.setdefault(_key(source), []).append(node)
    for node in tape:
        sources = _sources(node) if node not in known and node.op.name in ("add", "sub", "mul") else []
        for branch, skipped in permutations(sources[::-1], 2) if len(sources) == 2 else ():
            inside = _between(branch, skipped)
            path = _around(belongs[each] for each in inside if each in known)
            blocks = [way for way in ways(path) if len(way) >= len(belongs[node]) and _is_block(way, modules)]
            if not blocks or inside.isdisjoint(readers[_key(skipped)]):
                continue
            belongs[node], reader = blocks[0], node
            while isinstance(branch, Node) and branch not in known and readers[branch] == [reader]:
                belongs[branch] = max(belongs[branch], blocks[0], key=len)
                if len(branch.edges) != 1:
                    break
                reader, branch = branch, branch.edges[0][0]
            break


def _between(branch: Any, skipped: Any) -> set[Node]:
    """The ops behind a branch that are younger than what it skips."""
    start = skipped.order if isinstance(skipped, Node) else -1
    inside: set[Node] = set()
    todo = [branch]
    while todo:
        node = todo.pop()
        if isinstance(node, Node) and node not in inside and node.order > start:
            inside.add(node)
            todo += [edge[0] for edge in node.edges]
    return inside


def _is_block(path: str, modules: Mapping[str, Module]) -> bool:
    """Whether a module of other modules stands in a list, and is no list itself."""
    module, around = modules.get(path), modules.get(path.rpartition(".")[0])
    if module is None or isinstance(module, _CONTAINERS):
        return False
    return isinstance(around, _CONTAINERS) and bool(module._modules)


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
            if len(free) == 1 and begin is not None and end is not None:
                matched = [free[0][0]] * len(nodes)
            else:
                matched = _matched([node.op.name for node in nodes], free)
            if begin is None and len(matched) < len(nodes):  # some ran before the Sequential
                continue
            for node, module in zip(nodes, matched, strict=False):
                belongs[node] = max(belongs[node], module, key=len)


def _place(children: list[str], path: str, inner: str) -> int | None:
    """Which of a Sequential's modules one is in, None if in none of them."""
    if path and not inner.startswith(f"{path}."):
        return None
    child = inner.removeprefix(f"{path}." if path else "").split(".")[0]
    return children.index(child) if child in children else None


def _matched(ops: Sequence[str], modules: Sequence[tuple[str, Module]]) -> list[str]:
    """The module of each op, in their order, as far as its class tells: a ReLU is a relu."""
    matched: list[str] = []
    rest = iter(modules)
    for op in ops:
        path = next((path for path, module in rest if _op_of(module) == op.replace("_", "")), None)
        if path is None:
            break
        matched.append(path)
    return matched


def _op_of(module: Module) -> str:
    """The op that a module without parameters may be, by its class: "logsoftmax" of LogSoftmax."""
    name = re.sub(r"\dd$", "", type(module).__name__).lower()
    return _OPS.get(name, name)
