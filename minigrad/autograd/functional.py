"""Derivatives of functions, by PyTorch's names: products with vectors, Jacobians, Hessians.

All take a function of Tensors and its inputs, one Tensor or a tuple of them, and answer in the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import xp
from ..ops.elementwise import clone
from ..ops.joining import stack
from .calls import apply
from .mode import enable_grad
from .tape import Variable, wrap
from .walk import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Variables = tuple[Any, ...]
_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {} is independent of the input. This is not allowed in strict mode; a linear function is."
)
_CONSTANT = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
_UNUSED = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
_UNUSED_TWICE = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode"
)


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A vector times the Jacobian: vᵀ J.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: where, a Tensor or a tuple of them.
        v: of the outputs' form and shapes; None stands for 1 where the output is a single number.
        create_graph: keep the results differentiable.
        strict: refuse outputs that do not depend on an input (else their derivative is 0).

    Returns:
        The outputs, and the product, of the inputs' form.

    Raises:
        TypeError: something else than Tensors. RuntimeError: a v that does not fit; see ``strict``.
    """
    with enable_grad():
        points, outputs, forms = _run("vjp", func, inputs, create_graph, strict)
        if v is None and (len(outputs) != 1 or outputs[0].array.size != 1):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element."
            )
        vectors = _vectors(v, outputs, forms[1])
        gradients = _gradients(outputs, points, vectors, create_graph)
        product = _filled(gradients, points, _UNUSED if strict else None, create_graph)
    return _given_back(outputs, create_graph, forms[1]), _given_back(product, create_graph, forms[0])


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Jacobian times a vector: J v, the derivative in a direction.

    It is taken backwards twice: J v is the gradient for u of (uᵀ J) v.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: where, a Tensor or a tuple of them.
        v: of the inputs' form and shapes; None stands for 1 where the input is a single number.
        create_graph: keep the results differentiable.
        strict: refuse outputs that do not depend on an input (else their derivative is 0).

    Returns:
        The outputs, and the product, of the outputs' form.

    Raises:
        TypeError: something else than Tensors. RuntimeError: a v that does not fit; see ``strict``.
    """
    with enable_grad():
        points, several = _as_tuple(inputs, "inputs", "jvp")
        vectors = _vectors_of_inputs(v, points, several)
        points, outputs, forms = _run("jvp", func, inputs, create_graph, strict)
        us = tuple(wrap(xp(o.array).zeros_like(o.array)).requires_grad_() for o in outputs)
        gradients = _gradients(outputs, points, us, True)
        pulled = _filled(gradients, points, _UNUSED if strict else None, create_graph)
        product = _filled(_gradients(pulled, us, vectors, create_graph), outputs, None, create_graph, strict)
    return _given_back(outputs, create_graph, forms[1]), _given_back(product, create_graph, forms[1])


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A vector times the Hessian of a function with a single number as result: vᵀ H.

    Args:
        func: takes Tensors, returns one with a single element.
        inputs: where, a Tensor or a tuple of them.
        v: of the inputs' form and shapes; None stands for 1 where the input is a single number.
        create_graph: keep the results differentiable.
        strict: refuse a result whose derivative does not depend on an input (else the product is 0).

    Returns:
        The function's result, and the product, of the inputs' form.

    Raises:
        TypeError: something else than Tensors. RuntimeError: a v that does not fit; not a single number; see
            ``strict``.
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Hessian of a function with a single number as result, times a vector: H v.

    H is symmetric: see ``vhp``.

    Args:
        func: see ``vhp``.
        inputs: see ``vhp``.
        v: see ``vhp``.
        create_graph: see ``vhp``.
        strict: see ``vhp``.
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs for the inputs, one walk back for each number of the outputs.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: where, a Tensor or a tuple of them.
        create_graph: keep the results differentiable.
        strict: refuse outputs that do not depend on an input (else their derivative is 0).
        vectorize: taken for PyTorch's signature, without effect.
        strategy: "reverse-mode", or with ``vectorize`` "forward-mode": the numbers are the same.

    Returns:
        A Tensor of the output's shape and then the input's; for a tuple of inputs a tuple of them; for a
        tuple of outputs a tuple of these.

    Raises:
        TypeError: something else than Tensors. RuntimeError: see ``strict``, which goes not with
            ``vectorize``. NotImplementedError: "forward-mode" without ``vectorize``.
    """
    _check_strategy(strategy, vectorize)
    if strict and vectorize:
        raise RuntimeError(
            "jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )
    with enable_grad():
        points, outputs, forms = _run("jacobian", func, inputs, create_graph, strict)
        unused = [_UNUSED.replace("The output", f"Output {i}") if strict else None for i in range(len(outputs))]
        rows = [_rows(out, points, text, create_graph) for out, text in zip(outputs, unused, strict=True)]
    blocks = tuple(_given_back(row, create_graph, forms[0]) for row in rows)
    return blocks if forms[1] else blocks[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function with a single number as result.

    Args:
        func: takes Tensors, returns one with a single element.
        inputs: where, a Tensor or a tuple of them.
        create_graph: keep the results differentiable.
        strict: refuse a result whose derivative does not depend on an input (else these are 0).
        vectorize, outer_jacobian_strategy: see ``jacobian``.

    Returns:
        A Tensor of the input's shape twice; for a tuple of inputs a tuple of tuples of them.

    Raises:
        TypeError: something else than Tensors. RuntimeError: not a single number; see ``strict``.
    """
    _check_strategy(outer_jacobian_strategy, vectorize)
    several = isinstance(inputs, tuple)

    def slope(*points: Any) -> Any:
        outputs, is_tuple = _as_tuple(func(*points), "outputs of the user-provided function", "hessian")
        _check_single(outputs, is_tuple, "hessian", strict)
        gradients = _gradients(outputs, points, None, True)
        slopes = _filled(gradients, points, _UNUSED if strict else None, False)
        _check_wanted(slopes, _LINEAR if strict else None)
        return slopes if several else slopes[0]

    return jacobian(slope, inputs, create_graph=create_graph, strict=strict)


# Parts of these -------------------------------------------------------------------------------------------


def _hessian_product(
    name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        points, several = _as_tuple(inputs, "inputs", name)
        vectors = _vectors_of_inputs(v, points, several)
        points, outputs, forms = _run(name, func, inputs, create_graph, strict)
        _check_single(outputs, forms[1], name, strict)
        slopes = _filled(_gradients(outputs, points, None, True), points, _UNUSED if strict else None, False)
        _check_wanted(slopes, _LINEAR if strict else None)
        gradients = _gradients(slopes, points, vectors, create_graph)
        product = _filled(gradients, points, f"{_UNUSED_TWICE}." if strict else None, create_graph)
    return _given_back(outputs, create_graph, forms[1]), _given_back(product, create_graph, several)


def _run(
    name: str, func: Function, inputs: Any, create_graph: bool, strict: bool
) -> tuple[Variables, Variables, tuple[bool, bool]]:
    """The inputs as nodes or leaves of a new graph, the outputs, and which of them were tuples."""
    points, several = _as_tuple(inputs, "inputs", name)
    points = tuple(
        apply(clone, (p,)) if create_graph and p.requires_grad else p.detach().requires_grad_() for p in points
    )
    outputs, many = _as_tuple(func(*points), "outputs of the user-provided function", name)
    _check_wanted(outputs, _CONSTANT if strict else None)
    return points, outputs, (several, many)


def _as_tuple(value: Any, what: str, name: str) -> tuple[Variables, bool]:
    """A tuple of Tensors, and whether it was one."""
    several = isinstance(value, tuple)
    for i, each in enumerate(value if several else (value,)):
        if not isinstance(each, Variable):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} "
                f"has type {type(each)}."
            )
    return value if several else (value,), several


def _vectors(v: Any, like: Variables, several: bool) -> Variables | None:
    """v as a tuple, checked; None stays None."""
    if v is None:
        return None
    vectors = v if isinstance(v, tuple) else (v,)
    if len(vectors) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for vector, value in zip(vectors, like, strict=True):
        if vector.array.shape != value.array.shape:
            raise RuntimeError(f"v has invalid size: should be {value.shape} but got {vector.shape}.")
    return vectors


def _vectors_of_inputs(v: Any, points: Variables, several: bool) -> Variables:
    if v is not None:
        return _vectors(v, points, several) or ()
    if len(points) != 1 or points[0].array.size != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a "
            "single Tensor with a single element."
        )
    return (wrap(xp(points[0].array).ones_like(points[0].array)),)


def _gradients(outputs: Variables, inputs: Variables, vectors: Variables | None, create_graph: bool) -> Variables:
    """vᵀ J for each input, None where nothing depends on it. The graph is kept."""
    used = [i for i, o in enumerate(outputs) if o.requires_grad]
    if not used:
        return (None,) * len(inputs)
    return grad(
        [outputs[i] for i in used],
        inputs,
        None if vectors is None else [vectors[i] for i in used],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def _filled(
    gradients: Variables, like: Variables, unused: str | None, create_graph: bool, strict: bool = False
) -> Variables:
    """Zeros for None; where ``unused`` is a text, an error with it instead."""
    for i, value in enumerate(gradients):
        if value is None and unused is not None:
            raise RuntimeError(unused.format(i))
    if create_graph and (strict or unused is not None):
        _check_wanted(gradients, f"{_UNUSED_TWICE} when create_graph=True.")
    return tuple(
        wrap(xp(p.array).zeros_like(p.array)) if value is None else value
        for value, p in zip(gradients, like, strict=True)
    )


def _rows(out: Any, inputs: Variables, unused: str | None, create_graph: bool) -> Variables:
    """The derivatives of one output, for each input."""
    lib, shape, size = xp(out.array), out.array.shape, out.array.size
    rows: list[Variables] = []
    for i in range(size):
        start = lib.zeros_like(out.array).reshape(-1)
        start[i] = 1
        gradients = _gradients((out,), inputs, (wrap(start.reshape(shape)),), create_graph)
        rows.append(_filled(gradients, inputs, unused, create_graph))
    if not rows:
        return tuple(wrap(xp(p.array).zeros((*shape, *p.array.shape), p.array.dtype)) for p in inputs)
    stacked = (apply(stack, (0, *column)) for column in zip(*rows, strict=True))
    return tuple(s.reshape((*shape, *p.array.shape)) for s, p in zip(stacked, inputs, strict=True))


def _check_wanted(values: Variables, text: str | None) -> None:
    """Raise an error with ``text``, if there is one, for a value that depends on nothing."""
    for i, value in enumerate(values):
        if text is not None and (value is None or not value.requires_grad):
            raise RuntimeError(text.format(i))


def _check_single(outputs: Variables, is_tuple: bool, name: str, strict: bool) -> None:
    _check_wanted(outputs, _CONSTANT if strict else None)
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def _check_strategy(strategy: str, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('strategy="forward-mode" is only implemented for `vectorize=True`')


def _given_back(values: Variables, create_graph: bool, several: bool) -> Any:
    """Values, without their history unless it is wanted; one or a tuple, as they came."""
    results = values if create_graph else tuple(v.detach() for v in values)
    return results if several else results[0]
