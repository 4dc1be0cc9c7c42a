"""Which module an op belongs to, where nobody watched the call: that of the parameters that ops read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import accumulate, takewhile

from ...autograd.tape import Node, Variable


def modules_of(tape: Sequence[Node], names: Mapping[int, Sequence[str]]) -> dict[Node, str]:
    """The path of a module for each op, from the names of parameters by their ids.

    An op that reads parameters belongs to their module (but for one with several names). What runs between two
    such ops is in the innermost module around both: a relu between "layers.0.linear1" and "layers.0.linear2" in
    "layers.0".
    """
    known = [_owner(node, names) for node in tape]
    before, after = _last(known), _last(known[::-1])[::-1]
    return {
        node: _around(earlier, later) if owner is None else owner
        for node, owner, earlier, later in zip(tape, known, before, after, strict=True)
    }


def _owner(node: Node, names: Mapping[int, Sequence[str]]) -> str | None:
    """The module of the parameters that an op reads; None if there are none."""
    read = (names.get(id(edge[0]), ()) for edge in node.edges if isinstance(edge[0], Variable))
    owners = [name.rpartition(".")[0] for name, *others in filter(None, read) if not others]
    return reduce(_around, owners) if owners else None


def _last(known: Sequence[str | None]) -> list[str]:
    """At each place the last one known up to there, "" before the first."""
    return list(accumulate(known, lambda last, path: last if path is None else path, initial=""))[1:]


def _around(one: str, other: str) -> str:
    """The innermost module around two."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return ".".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
