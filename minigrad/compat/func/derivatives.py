"""Functions that compute derivatives of functions, whose tensors may stand in tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd import enable_grad, is_grad_enabled
from ...autograd.gradients import filled, pull, push, rows
from ...autograd.tape import Variable
from ...autograd.tracebacks import border_functions
from ...autograd.walk import nodes_behind
from ...tensor import Tensor
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns the gradient of ``func``, whose result is a single number.

    Args:
        argnums: the argument, or the arguments, that the gradient is for; tensors in tuples, lists and dicts.
        has_aux: ``func`` returns (result, aux), and the gradient's function (gradient, aux).
    """
    with_value = grad_and_value(func, argnums, has_aux)

    def slope(*args: Any, **kwargs: Any) -> Any:
        gradient, value = with_value(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return slope


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns (gradient, result) of ``func``; with ``has_aux`` (gradient, (result, aux)).

    ``argnums``: see ``grad``. Raises RuntimeError for a result that is not a single number.
    """

    def slope_and_value(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        if len(run.outputs) != 1 or run.outputs[0].numel() != 1:
            raise RuntimeError("grad: the function must return a single number, a tensor with one element")
        gradient = tree_unflatten(run.pull(run.outputs, [None]), run.inputs_form)
        return gradient, (run.result(), run.aux) if has_aux else run.result()

    return slope_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), a function that multiplies cotangents by the Jacobian); with ``has_aux`` also aux.

    That function takes cotangents of the result's form, and returns a tuple with one product for each primal.
    """
    run = _Run(func, primals, {}, None, has_aux)

    def pulled(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return tree_unflatten(run.pull(run.outputs, tree_flatten(cotangents)[0]), run.inputs_form)

    return (run.result(), pulled, run.aux) if has_aux else (run.result(), pulled)


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """(func(*primals), the Jacobian times ``tangents``); with ``has_aux`` also aux.

    Two backward passes compute it: J v is the gradient for u of (uᵀ J) v. ``tangents`` have the form and shapes of
    ``primals``; ``strict`` has no effect.
    """
    run = _Run(func, primals, {}, None, has_aux)
    product = run.push(tree_flatten(tangents)[0])
    return (run.result(), product, run.aux) if has_aux else (run.result(), product)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """(func(*primals), a function that multiplies the Jacobian by tangents)."""
    run = _Run(func, primals, {}, None, has_aux=False)
    return run.result(), lambda *tangents: run.push(tree_flatten(tangents)[0])


def jacrev(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Function:
    """The function that returns the Jacobian of ``func``: one backward pass for each number of its result.

    Its result has the form of ``func``'s result, with the arguments' form in each of its places; the tensors there have
    the result's shape followed by the argument's. ``argnums``, ``has_aux``: see ``grad``; ``chunk_size`` has no effect.
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        blocks = [tree_unflatten(run.rows(output), run.inputs_form) for output in run.outputs]
        whole = tree_unflatten(blocks, run.outputs_form)
        return (whole, run.aux) if has_aux else whole

    return jacobian


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """``jacrev``: the same numbers, by the same backward passes."""
    return jacrev(func, argnums, has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The function that returns all second derivatives of ``func``: ``jacfwd(jacrev(func))``."""
    return jacfwd(jacrev(func, argnums), argnums)


class _Run:
    """One call of a function on doubles of its inputs, for which derivatives are computed.

    Attributes:
        inputs, inputs_form: the doubles of the chosen arguments' tensors, and the arguments' form.
        outputs, outputs_form: the tensors of the result, and its form.
        aux: the second part of the result, where ``has_aux``.
        keep: whether the graph outlives a backward pass, as it does if all arguments are chosen: by None.
        outer: whether results are differentiable, as they depend on other leaves, too.
    """

    def __init__(
        self, func: Function, args: Sequence[Any], kwargs: dict[str, Any], argnums: Argnums | None, has_aux: bool
    ) -> None:
        self.keep = argnums is None
        argnums = tuple(range(len(args))) if argnums is None else argnums
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        chosen = args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)
        leaves, self.inputs_form = tree_flatten(chosen)
        recording = is_grad_enabled()
        with enable_grad():
            self.inputs = [_double(leaf, recording) for leaf in leaves]
            doubles = tree_unflatten(self.inputs, self.inputs_form)
            places = dict(zip(numbers, (doubles,) if isinstance(argnums, int) else doubles, strict=True))
            result = func(*(places.get(i, a) for i, a in enumerate(args)), **kwargs)
        result, aux = result if has_aux else (result, None)
        self.aux: Any = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, aux)
        self.outputs, self.outputs_form = tree_flatten(result)
        if not all(isinstance(output, Tensor) for output in self.outputs):
            raise RuntimeError("func: the function must return tensors (in tuples, lists or dicts)")
        self.outer = recording and _leads_elsewhere(self.outputs, self.inputs)

    def pull(self, outputs: Sequence[Tensor], cotangents: Sequence[Any], keep: bool = False) -> Sequence[Any]:
        """The gradients of outputs times cotangents for the inputs; zeros where no output depends on one."""
        retain = keep or self.keep or self.outer
        return filled(pull(outputs, self.inputs, cotangents, self.outer, retain), self.inputs)

    def push(self, tangents: Sequence[Any]) -> Any:
        """The Jacobian times tangents, in the form of the result."""
        with enable_grad():
            products = push(self.outputs, self.inputs, tangents, self.outer, filled)
        return self.result(filled(products, self.outputs))

    def rows(self, output: Tensor) -> Sequence[Any]:
        """For each input the derivatives of all numbers of an output, in its shape and then the input's."""
        with enable_grad():
            return rows(output, self.inputs, lambda vector: self.pull([output], [vector], keep=True))

    def result(self, tensors: Sequence[Tensor] | None = None) -> Any:
        """The result, or tensors in its form, without a graph that nothing outside can ask for."""
        tensors = self.outputs if tensors is None else tensors
        return tree_unflatten([x if self.outer else x.detach() for x in tensors], self.outputs_form)


def _double(leaf: Any, recording: bool) -> Tensor:
    """An input's double: derivatives are for it alone, and its graph continues to the input's where that has one."""
    if not isinstance(leaf, Tensor):
        raise RuntimeError(f"func: derivatives are for tensors, not {type(leaf).__name__}")
    return leaf.view(leaf.shape) if recording and leaf.requires_grad else leaf.detach().requires_grad_()


def _leads_elsewhere(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Whether the outputs depend on a leaf that is not an input."""
    known = {id(x) for x in inputs}
    edges = (edge for node in nodes_behind(outputs) for edge in node.edges)
    return any(isinstance(edge[0], Variable) and id(edge[0]) not in known for edge in edges)


border_functions(globals())
