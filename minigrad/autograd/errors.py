"""Errors of the backward pass: it cannot start, or a node's saved values were freed or changed."""

from __future__ import annotations

from typing import Any

from ..backend import dtype as dt, of
from ..backend.size import Size
from ..ops.op import Op, Traced
from .tape import Node
from .tracebacks import spelled


def check_start(i: int, root: Any, gradient: Any) -> None:
    """Raise an error if a backward pass cannot start at the i-th root with this gradient (or None)."""
    array = root.array
    if not root._wanted():
        raise RuntimeError(
            "the tensor does not require grad and no recorded op created it, so there is nothing to "
            "differentiate. Set requires_grad on its inputs and compute it outside no_grad()"
        )
    if gradient is None:
        text = "grad can be implicitly created only for scalar outputs"
        if array is None:
            raise RuntimeError(f"{text}: pass a gradient for the edge")
        if array.size != 1:
            how = "reduce it first (.sum(), .mean()), or pass a gradient of the same shape"
            raise RuntimeError(f"{text}, and this tensor has shape {tuple(array.shape)}: {how}")
        if dt.kind_of(array) == "f":
            return
        text = text.replace("scalar", "real scalar")
        raise RuntimeError(f"{text} but got {dt.of(array)}: take its .real or .abs(), or pass a gradient")
    if not isinstance(gradient, Traced):
        raise TypeError(f"gradients must be Tensors or None, not {type(gradient).__name__}")
    other: Any = gradient.array
    if other.shape != array.shape:
        shapes = [f"put[{i}] has a shape of {Size(x.shape)}" for x in (other, array)]
        raise RuntimeError(f"Mismatch in shape: grad_out{shapes[0]} and out{shapes[1]}.")
    if of(other).device_of(other) != (where := of(array).device_of(array)):
        raise RuntimeError(f"the gradient must be on the tensor's device, {where}: move it with .to('{where}')")
    if {dt.kind_of(other), dt.kind_of(array)} == {"c", "f"}:
        same = f"grad_output[{i}] and output[{i}] are required to have the same dtype"
        raise RuntimeError(f"{same}: they have {dt.of(other)} and {dt.of(array)}")


def walked_twice(node: Node) -> RuntimeError:
    """The error for a node whose saved values were freed by an earlier backward pass."""
    return RuntimeError(
        f"Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        f"been freed): {described(node)} freed them during the first backward(). Specify retain_graph=True "
        f"in that call if you need a second"
    )


def changed(node: Node, version: list[Any], at_save: int) -> RuntimeError:
    """The error for a saved value that was changed in place."""
    name, place, _ = version[1]
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{described(node)} saved version {at_save} of a value; {name} at {spelled(place)} has changed it since, and "
        f"it is now at version {version[0]}. Use the out-of-place op there, or clone() the value first"
    )


def no_rule(op: Op) -> RuntimeError:
    """The error for a gradient that reaches an op without gradient rules."""
    rules = ", ".join(f"{name}=lambda g, …" for name in (*op.params, op.variadic) if name)
    return RuntimeError(f"the op {op.name} has no gradient rule: define one for each input, @op({rules})")


def described(node: Node) -> str:
    """A description of a node: its op, its rule, and the line that called it."""
    op, name = node.op, node.op.param(node.plan.inputs[0])
    where = (
        f"called at {spelled(node.place)}" if node.place else "autograd.detect_anomaly() names the line that called it"
    )
    return f"{op.name} (gradient rule at {spelled(op.rule_place(name))}; {where})"
