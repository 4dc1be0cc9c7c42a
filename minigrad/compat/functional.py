"""``torch.autograd.functional``: Jacobians and Hessians of functions, and their products with vectors.

Each takes a function of Tensors, and a Tensor or a tuple of Tensors as its inputs. Results have the same structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.calls import apply
from ..autograd.gradients import filled, pull, push, rows
from ..autograd.mode import enable_grad
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border_functions
from ..backend import xp
from ..ops.elementwise import clone

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Pair = tuple[Any, Any]
Variables = tuple[Any, ...]


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """Return (outputs, vᵀ J), where v is a vector and J is the Jacobian.

    Args:
        func: takes Tensors, and returns a Tensor or a tuple of Tensors. inputs: a Tensor or a tuple of Tensors.
        v: a vector structured and shaped like the outputs; None means 1 if the output is a single number.
        create_graph: whether the results are differentiable.
        strict: accepted for compatibility; must be False.

    Raises TypeError for non-Tensors, RuntimeError if v does not match, and NotImplementedError if ``strict`` is True.
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        vectors = _vectors("vjp", v, call.outputs, call.many, "user-provided function returns")
        product = filled(pull(call.outputs, call.inputs, vectors, create_graph), call.inputs)
    return call.result(call.outputs, call.many), call.result(product, call.several)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """Return (outputs, J v), where J v is the directional derivative. The arguments are as in ``vjp``, but v is
    structured like the inputs, and the product like the outputs."""
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        vectors = _vectors("jvp", v, call.inputs, call.several, _INPUT)
        product = filled(push(call.outputs, call.inputs, vectors, create_graph, filled), call.outputs)
    return call.result(call.outputs, call.many), call.result(product, call.many)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """Return (output, vᵀ H) for a function that returns a single number, where H is its Hessian. The arguments are as
    in ``vjp``, but v and the product are structured like the inputs."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """Return (output, H v) for a function that returns a single number. This equals ``vhp``, because H is symmetric."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs with respect to the inputs, using one backward pass per number in the outputs.
    Returns a Tensor whose shape is the output's followed by the input's. For several inputs, it returns a tuple of
    Tensors, and for several outputs, a tuple of such results.

    Args:
        func, inputs, create_graph, strict: see ``vjp``.
        vectorize: accepted for compatibility without effect.
        strategy: "reverse-mode", or, with ``vectorize``, "forward-mode", which returns the same numbers.

    Raises TypeError for non-Tensors, and NotImplementedError for ``strict`` or "forward-mode" without ``vectorize``.
    """
    return _jacobian("jacobian", func, inputs, create_graph, strict, vectorize, strategy)


def _jacobian(
    name: str, func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool, strategy: str
) -> Any:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('strategy="forward-mode" is only implemented for `vectorize=True`')
    with enable_grad():
        call = _Call(name, func, inputs, create_graph, strict)
        blocks = tuple(call.result(call.rows(number), call.several) for number in range(len(call.outputs)))
    return blocks if call.many else blocks[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function that returns a single number. The result is a Tensor whose shape is the
    input's shape repeated or, for several inputs, a tuple of tuples of Tensors. For the arguments, see ``jacobian``."""

    def gradient(*points: Any) -> Any:
        gradients = _Call("hessian", func, points, True, strict).gradients()
        return gradients if isinstance(inputs, tuple) else gradients[0]

    return _jacobian("hessian", gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _hessian_product(name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool) -> Pair:
    with enable_grad():
        call = _Call(name, func, inputs, create_graph, strict)
        vectors = _vectors(name, v, call.inputs, call.several, _INPUT)
        product = filled(pull(call.gradients(), call.inputs, vectors, create_graph), call.inputs)
    return call.result(call.outputs, False), call.result(product, call.several)


class _Call:
    """A call of a user's function: its outputs, and its inputs as nodes or leaves of a new graph. ``several`` says
    whether the inputs were a tuple, and ``many`` whether the outputs were."""

    def __init__(self, name: str, func: Function, inputs: Any, create: bool, strict: bool) -> None:
        if strict:
            raise NotImplementedError(f"{name}: strict=True is not supported; the gradients of unused inputs are 0")
        self.name, self.create = name, create
        points, self.several = _as_tuple(inputs, "inputs", name)
        self.inputs = tuple(
            apply(clone, (p,)) if create and p.requires_grad else p.detach().requires_grad_() for p in points
        )
        self.outputs, self.many = _as_tuple(func(*self.inputs), "outputs of the user-provided function", name)

    def gradients(self) -> Variables:
        """The differentiable gradients of the output, which must be a single number."""
        if self.many:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].array.size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return filled(pull(self.outputs, self.inputs, None, True), self.inputs)

    def rows(self, number: int) -> Variables:
        output = self.outputs[number]
        return rows(output, self.inputs, lambda v: filled(pull((output,), self.inputs, (v,), self.create), self.inputs))

    def result(self, values: Variables, several: bool) -> Any:
        results = values if self.create else tuple(v.detach() for v in values)
        return results if several else results[0]


def _as_tuple(value: Any, what: str, name: str) -> tuple[Variables, bool]:
    """A tuple of Tensors, and whether the value was a tuple."""
    several = isinstance(value, tuple)
    for i, each in enumerate(value if several else (value,)):
        if not isinstance(each, Variable):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} "
                f"has type {type(each)}."
            )
    return value if several else (value,), several


_INPUT = "input to the user-provided function is"


def _vectors(name: str, v: Any, like: Variables, several: bool, what: str) -> Variables:
    """Check v and convert it to a tuple. None means 1."""
    if v is None:
        if len(like) != 1 or like[0].array.size != 1:
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return (wrap(xp(like[0].array).ones_like(like[0].array)),)
    vectors = _as_tuple(v, "v", name)[0]
    if len(vectors) != len(like):
        length = f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
        raise RuntimeError(length if several else "The given v should contain a single Tensor.")
    for vector, value in zip(vectors, like, strict=True):
        if vector.array.shape != value.array.shape:
            raise RuntimeError(f"v has invalid size: should be {value.shape} but got {vector.shape}.")
    return vectors


border_functions(globals())
