"""Derivatives of functions, by PyTorch's names: products with vectors, Jacobians, Hessians. All take a function of
Tensors and its inputs, one Tensor or a tuple of them, and answer in the same form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border_functions
from ..backend import xp
from ..utils._pytree import tree_unflatten
from .func import Run

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Pair = tuple[Any, Any]
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


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """A vector times the Jacobian: (outputs, vᵀ J).

    Args:
        func, inputs: a function of Tensors that returns a Tensor or a tuple of them; a Tensor or a tuple of them.
        v: of the outputs' form and shapes; None stands for 1 where the output is a single number.
        create_graph: keep the results differentiable.
        strict: refuse outputs that do not depend on an input (else their derivative is 0).

    Raises TypeError: something else than Tensors. RuntimeError: a v that does not fit; see ``strict``.
    """
    run = _Run("vjp", func, inputs, create_graph, strict)
    vectors = run.vectors(v, run.outputs, run.many, "user-provided function returns")
    return run.result(), tree_unflatten(run.pull(run.outputs, vectors), run.inputs_form)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """The Jacobian times a vector: J v, the derivative in a direction. See ``vjp``; v and the product are of the
    inputs' and the outputs' form."""
    run = _Run("jvp", func, inputs, create_graph, strict)
    return run.result(), run.push(run.vectors(v, run.inputs, run.several, _INPUT))


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """A vector times the Hessian of a function with a single number as result: vᵀ H. See ``vjp``; v and the product
    are of the inputs' form, and ``strict`` refuses a derivative that does not depend on an input."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """The Hessian of a function with a single number as result, times a vector: H v. H is symmetric: see ``vhp``."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool) -> Pair:
    run = _Run(name, func, inputs, create_graph, strict)
    vectors = run.vectors(v, run.inputs, run.several, _INPUT)
    slopes, run.unused = run.slopes(), f"{_UNUSED_TWICE}."
    return run.result(), tree_unflatten(run.pull(slopes, vectors), run.inputs_form)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs for the inputs, one walk back for each number of the outputs: a Tensor of the
    output's shape and then the input's; for a tuple of inputs a tuple of them; for a tuple of outputs a tuple of these.

    Args:
        func, inputs, create_graph, strict: see ``vjp``.
        vectorize: taken for PyTorch's signature, without effect.
        strategy: "reverse-mode", or with ``vectorize`` "forward-mode": the numbers are the same.

    Raises TypeError: something else than Tensors. RuntimeError: see ``strict``, which goes not with ``vectorize``.
    NotImplementedError: "forward-mode" without ``vectorize``.
    """
    return _jacobian("jacobian", func, inputs, create_graph, strict, vectorize, strategy)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function with a single number as result. See ``jacobian``. The result is a Tensor of
    the input's shape twice; for a tuple of inputs a tuple of tuples of them."""

    def slope(*points: Any) -> Any:
        slopes = _Run("hessian", func, points, True, strict).slopes()
        return tuple(slopes) if isinstance(inputs, tuple) else slopes[0]

    return _jacobian("hessian", slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _jacobian(
    name: str, func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool, strategy: str
) -> Any:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('strategy="forward-mode" is only implemented for `vectorize=True`')
    if strict and vectorize:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )
    run = _Run(name, func, inputs, create_graph, strict)
    blocks = []
    for number, output in enumerate(run.outputs):
        run.unused = _UNUSED.replace("The output", f"Output {number}")
        blocks.append(tree_unflatten(run.rows(output), run.inputs_form))
    return tree_unflatten(blocks, run.outputs_form)


class _Run(Run):
    """A run whose inputs and outputs are each a Tensor or a tuple of them (``several``, ``many``). ``unused`` is what
    ``strict`` says of an input on which nothing depends."""

    def __init__(self, name: str, func: Function, inputs: Any, create: bool, strict: bool) -> None:
        self.name, self.create, self.strict, self.unused, self.recording = name, create, strict, _UNUSED, create
        self.several = _check_tensors(inputs, "inputs", name)

        def call(points: Any) -> Any:
            outputs = func(*points) if self.several else func(points)
            self.many = _check_tensors(outputs, "outputs of the user-provided function", name)
            return outputs

        super().__init__(call, (inputs,), {}, 0, has_aux=False)
        self.keep, self.outer = True, create
        self.refuse_constant(self.outputs, _CONSTANT)

    def refuse_constant(self, values: Any, text: str) -> None:
        """If ``strict``, raise an error with ``text`` for a value that depends on nothing."""
        for i, value in enumerate(values):
            if self.strict and (value is None or not value.requires_grad):
                raise RuntimeError(text.format(i))

    def filled(self, gradients: Any, like: Any) -> Variables:
        """Gradients with zeros for None, which ``strict`` refuses, as it does what cannot be differentiated again."""
        for i, gradient in enumerate(gradients):
            if self.strict and like is self.inputs and gradient is None:
                raise RuntimeError(self.unused.format(i))
        if self.create:
            self.refuse_constant(gradients, f"{_UNUSED_TWICE} when create_graph=True.")
        return super().filled(gradients, like)

    def slopes(self) -> Any:
        """The differentiable gradients of the output, which must be a single number."""
        if self.many:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].array.size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        create, self.create, self.outer = self.create, False, True
        slopes = self.pull(self.outputs, None)
        self.create = self.outer = create
        self.refuse_constant(slopes, _LINEAR)
        return slopes

    def vectors(self, v: Any, like: Any, several: bool, what: str) -> Variables:
        """v as a tuple, checked; 1 for None."""
        if v is None:
            if len(like) != 1 or like[0].array.size != 1:
                raise RuntimeError(
                    f"The vector v can only be None if the {what} a single Tensor with a single element."
                )
            return (wrap(xp(like[0].array).ones_like(like[0].array)),)
        vectors = v if _check_tensors(v, "v", self.name) else (v,)
        if len(vectors) != len(like):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
                if several
                else "The given v should contain a single Tensor."
            )
        for vector, value in zip(vectors, like, strict=True):
            if vector.array.shape != value.array.shape:
                raise RuntimeError(f"v has invalid size: should be {value.shape} but got {vector.shape}.")
        return tuple(vectors)


_INPUT = "input to the user-provided function is"


def _check_tensors(value: Any, what: str, name: str) -> bool:
    """Whether a value is a tuple. Raises TypeError: it is neither a Tensor nor a tuple of them."""
    several = isinstance(value, tuple)
    for i, each in enumerate(value if several else (value,)):
        if not isinstance(each, Variable):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} "
                f"has type {type(each)}."
            )
    return several


border_functions(globals())
