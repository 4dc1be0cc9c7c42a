"""Derivatives of functions of tensors in tuples, lists and dicts, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import grad as gradients
from ..autograd import is_grad_enabled
from ..autograd.mode import enable_grad
from ..functions.creation import zeros_like
from ..functions.shaping import stack
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that gives the gradient of ``func``, whose result is a single number.

    Args:
        argnums: for which argument, or for which ones; each may be tensors in tuples, lists and dicts.
        has_aux: ``func`` gives (result, something else), and the gradient's function (gradient, that).
    """
    with_value = grad_and_value(func, argnums, has_aux)

    def slope(*args: Any, **kwargs: Any) -> Any:
        found, value = with_value(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return slope


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that gives (gradient, result) of ``func``; with ``has_aux`` (gradient, (result, aux)).

    Args:
        argnums: see ``grad``.

    Raises:
        RuntimeError: the result is not a single number.
    """

    def slope_and_value(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        if len(run.outputs) != 1 or run.outputs[0].numel() != 1:
            raise RuntimeError("grad: the function must return a single number, a tensor with one element")
        found = tree_unflatten(run.pull(run.outputs, [None]), run.inputs_form)
        value = run.given_back(run.outputs)
        return found, (value, run.aux) if has_aux else value

    return slope_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), a function that multiplies cotangents by the Jacobian); with ``has_aux`` also aux.

    That function takes cotangents of the result's form, and gives a tuple with one product for each primal.
    """
    run = _Run(func, primals, {}, tuple(range(len(primals))), has_aux, keep=True)

    def pulled(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return tree_unflatten(run.pull(run.outputs, tree_flatten(cotangents)[0]), run.inputs_form)

    results = run.given_back(run.outputs), pulled
    return (*results, run.aux) if has_aux else results


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """(func(*primals), the Jacobian times ``tangents``); with ``has_aux`` also aux.

    It is taken backwards twice: J v is the gradient for u of (uᵀ J) v.

    Args:
        tangents: of the form and shapes of ``primals``.
        strict: taken for PyTorch's signature.
    """
    run = _Run(func, primals, {}, tuple(range(len(primals))), has_aux, keep=True)
    results = run.given_back(run.outputs), run.push(tree_flatten(tangents)[0])
    return (*results, run.aux) if has_aux else results


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """(func(*primals), a function that takes tangents and gives the Jacobian times them)."""
    run = _Run(func, primals, {}, tuple(range(len(primals))), False, keep=True)
    return run.given_back(run.outputs), lambda *tangents: run.push(tree_flatten(tangents)[0])


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """The function that gives all derivatives of ``func``, one walk back for each number of its result.

    Args:
        argnums, has_aux: see ``grad``.
        chunk_size: taken for PyTorch's signature.

    Returns:
        Gives, in the form of the result and in each of its places in that of the argument, tensors of the
        result's shape and then the argument's.
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        blocks = [tree_unflatten(run.rows(output), run.inputs_form) for output in run.outputs]
        found = tree_unflatten(blocks, run.outputs_form)
        return (found, run.aux) if has_aux else found

    return jacobian


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """``jacrev``: the numbers are the same, and the walk goes backwards here, too."""
    return jacrev(func, argnums, has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The function that gives all second derivatives of ``func``: ``jacfwd(jacrev(func))``."""
    return jacfwd(jacrev(func, argnums), argnums)


class _Run:
    """One call of a function on inputs of its own, whose derivatives are to be taken.

    Attributes:
        outputs, outputs_form: the tensors of the result, and the form they had.
        inputs_form: the form of the arguments that the derivatives are for.
        aux: what the function gave beside its result.
    """

    def __init__(
        self,
        func: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Argnums,
        has_aux: bool,
        keep: bool = False,
    ) -> None:
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        chosen = args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)
        leaves, self.inputs_form = tree_flatten(chosen)
        recording = is_grad_enabled()
        with enable_grad():
            self.inputs = [_own(leaf, recording) for leaf in leaves]
            own = tree_unflatten(self.inputs, self.inputs_form)
            places = dict(zip(numbers, (own,) if isinstance(argnums, int) else own, strict=True))
            result = func(*(places.get(i, a) for i, a in enumerate(args)), **kwargs)
        result, aux = result if has_aux else (result, None)
        self.aux: Any = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, aux)
        self.outputs, self.outputs_form = tree_flatten(result)
        if not all(isinstance(output, Tensor) for output in self.outputs):
            raise RuntimeError("func: the function must return tensors (in tuples, lists or dicts)")
        self.keep = keep
        self.outer = recording and _leads_elsewhere(self.outputs, self.inputs)

    def pull(self, outputs: Sequence[Tensor], cotangents: Sequence[Any], create: bool | None = None) -> list[Any]:
        """The gradients of outputs times cotangents for the inputs, 0 where there is no dependence."""
        create = self.outer if create is None else create
        wanted = [i for i, output in enumerate(outputs) if output.requires_grad]
        found: Any = (None,) * len(self.inputs)
        if wanted:
            found = gradients(
                [outputs[i] for i in wanted],
                self.inputs,
                [cotangents[i] for i in wanted],
                retain_graph=create or self.keep,
                create_graph=create,
                allow_unused=True,
            )
        return [zeros_like(x) if g is None else g for g, x in zip(found, self.inputs, strict=True)]

    def push(self, tangents: Sequence[Any]) -> Any:
        """The Jacobian times tangents, in the form of the result."""
        with enable_grad():
            us = [zeros_like(output).requires_grad_() for output in self.outputs]
            pulled = zip(self.pull(self.outputs, us, True), tangents, strict=True)
            reached = [(g, t) for g, t in pulled if g.requires_grad]
            found: Any = (None,) * len(us)
            if reached:
                found = gradients(
                    [g for g, _ in reached],
                    us,
                    [t for _, t in reached],
                    retain_graph=True,
                    create_graph=self.outer,
                    allow_unused=True,
                )
        filled = [zeros_like(u) if g is None else g for g, u in zip(found, us, strict=True)]
        return tree_unflatten([g if self.outer else g.detach() for g in filled], self.outputs_form)

    def rows(self, output: Tensor) -> list[Any]:
        """For each input the derivatives of all numbers of an output, in its shape and then the input's."""
        shape, self.keep = tuple(output.shape), True
        with enable_grad():
            numbers = output.reshape(-1)
            found = [self.pull([numbers[i]], [None]) for i in range(numbers.numel())]
            if not found:
                return [zeros_like(x).new_zeros((*shape, *x.shape)) for x in self.inputs]
            return [
                stack(list(column)).reshape(*shape, *x.shape)
                for column, x in zip(zip(*found, strict=True), self.inputs, strict=True)
            ]

    def given_back(self, outputs: Sequence[Tensor]) -> Any:
        """The result, without the graph where nothing outside can ask for it."""
        return tree_unflatten([o if self.outer else o.detach() for o in outputs], self.outputs_form)


def _own(leaf: Any, recording: bool) -> Tensor:
    """An input's double: derivatives are taken for it alone, and it leads on to where the input came from."""
    if not isinstance(leaf, Tensor):
        raise RuntimeError(f"func: derivatives are for tensors, not {type(leaf).__name__}")
    return leaf.view(leaf.shape) if recording and leaf.requires_grad else leaf.detach().requires_grad_()


def _leads_elsewhere(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Whether the outputs depend on a leaf that is not an input: results are then to be differentiable."""
    own = {id(x) for x in inputs}
    left, seen = [output.grad_fn for output in outputs if output.grad_fn is not None], set()
    while left:
        node: Any = left.pop()
        for before, _ in node.next_functions:
            if hasattr(before, "variable"):
                if id(before.variable) not in own:
                    return True
            elif id(before) not in seen:
                seen.add(id(before))
                left.append(before)
    return False
