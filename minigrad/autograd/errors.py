"""The errors of a walk about the values that its nodes keep."""

from __future__ import annotations

from typing import Any

from .places import spelled
from .tape import Node


def walked_twice(node: Node) -> RuntimeError:
    """A walk has freed the values that a node kept."""
    return RuntimeError(
        f"Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        f"been freed): {described(node)} freed them when the first backward() passed it. Specify retain_graph=True "
        f"when calling that one if you need a second"
    )


def changed(node: Node, version: list[Any], at_save: int) -> RuntimeError:
    """A value that a node keeps has been changed."""
    name, place, _ = version[1]
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {described(node)} keeps a value of version {at_save}; {name} at {spelled(place)} has "
        f"changed it since, and it is at version {version[0]}. Use the op without underscore there, "
        f"or clone() the value before"
    )


def described(node: Node) -> str:
    """A node's op, its rule, and the line that called it."""
    op, name = node.op, node.op.param(node.plan.inputs[0])
    where = (
        f"called at {spelled(node.place)}" if node.place else "autograd.detect_anomaly() names the line that called it"
    )
    return f"{op.name} (gradient rule at {spelled(op.rule_place(name))}; {where})"
