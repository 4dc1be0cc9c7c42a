"""``torch.func``: function transforms, which compute derivatives or map a function over a batch.

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)

They can be nested. Arguments and results are tensors in tuples, lists and dicts. ``vmap`` calls the function in a loop,
so its results equal those of one batched call, but it is slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..autograd import enable_grad, is_grad_enabled
from ..autograd.gradients import filled, pull, push, rows
from ..autograd.mode import at_end
from ..autograd.tape import Variable
from ..autograd.tracebacks import border_functions
from ..autograd.walk import nodes_behind
from ..backend.dtype import shown
from ..functions.random import get_rng_state, set_rng_state
from ..functions.shaping import stack
from ..nn.module import Module
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize"]
__all__ += ["stack_module_state", "vjp", "vmap"]

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]
Dims = Any  # an axis, None, or a structure of these that matches the arguments
MISSING: Any = object()
_RANDOM = ("error", "different", "same")


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of ``func``, whose result is a single number.

    Args:
        argnums: the index, or a tuple of indices, of the arguments with respect to which to differentiate.
        has_aux: whether ``func`` returns (result, aux). If so, the gradient function returns (gradient, aux).
    """

    def differentiate(*args: Any, **kwargs: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiate


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient and the result of ``func``: (gradient, result), or (gradient, (result, aux))
    if ``has_aux``. For ``argnums``, see ``grad``. Raises RuntimeError if the result is not a single number."""

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        if len(run.outputs) != 1 or run.outputs[0].numel() != 1:
            raise RuntimeError("grad: the function must return a single number, a tensor with one element")
        gradient = tree_unflatten(run.pull(run.outputs, [None]), run.inputs_form)
        return gradient, (run.result(), run.aux) if has_aux else run.result()

    return gradient_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return (func(*primals), f), where f multiplies cotangents by the Jacobian. With ``has_aux``, aux is a third
    element. f takes cotangents structured like the result, and returns a tuple with one product per primal."""
    run = _Run(func, primals, {}, None, has_aux)

    def pulled(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return tree_unflatten(run.pull(run.outputs, tree_flatten(cotangents)[0]), run.inputs_form)

    return (run.result(), pulled, run.aux) if has_aux else (run.result(), pulled)


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Return (func(*primals), the Jacobian times ``tangents``). With ``has_aux``, aux is a third element. The product
    takes two backward passes, because J v is the gradient of (uᵀ J) v with respect to u. ``tangents`` have the
    structure and shapes of ``primals``. ``strict`` is ignored."""
    run = _Run(func, primals, {}, None, has_aux)
    product = run.push(tree_flatten(tangents)[0])
    return (run.result(), product, run.aux) if has_aux else (run.result(), product)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return (func(*primals), f), where f multiplies the Jacobian by tangents."""
    run = _Run(func, primals, {}, None, has_aux=False)
    return run.result(), lambda *tangents: run.push(tree_flatten(tangents)[0])


def jacrev(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Function:
    """A function that returns the Jacobian of ``func``, using one backward pass per number in the result. It is
    structured like ``func``'s result, with a structure like the arguments' for each tensor. Its tensors have the
    result's shape and then the argument's. For ``argnums`` and ``has_aux``, see ``grad``. ``chunk_size`` is ignored."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = _Run(func, args, kwargs, argnums, has_aux)
        blocks = [tree_unflatten(run.rows(output), run.inputs_form) for output in run.outputs]
        whole = tree_unflatten(blocks, run.outputs_form)
        return (whole, run.aux) if has_aux else whole

    return jacobian


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """Equivalent to ``jacrev``, using the same backward passes."""
    return jacrev(func, argnums, has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that returns all second derivatives of ``func``: ``jacfwd(jacrev(func))``."""
    return jacfwd(jacrev(func, argnums), argnums)


class _Run:
    """A call of a function with copies of the inputs. Derivatives are with respect to these copies.

    Attributes:
        inputs, inputs_form: copies of the differentiated arguments' tensors, and the arguments' structure.
        outputs, outputs_form, aux: the result's tensors, its structure, and its second part if ``has_aux``.
        keep: whether to keep the graph after a backward pass. It is kept if ``argnums`` is None (all arguments).
        outer: whether results are differentiable because they also depend on other leaves.
    """

    def __init__(
        self, func: Function, args: Sequence[Any], kwargs: dict[str, Any], argnums: Argnums | None, has_aux: bool
    ) -> None:
        self.keep = argnums is None
        argnums = tuple(range(len(args))) if argnums is None else argnums
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        selection = args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)
        leaves, self.inputs_form = tree_flatten(selection)
        if wrong := [leaf for leaf in leaves if not isinstance(leaf, Tensor)]:
            raise RuntimeError(f"func: only tensors can be differentiated, not {type(wrong[0]).__name__}")
        recording = is_grad_enabled()
        with enable_grad():  # a copy's graph continues into its input's graph, if any
            self.inputs = [
                x.view(x.shape) if recording and x.requires_grad else x.detach().requires_grad_() for x in leaves
            ]
            doubles = tree_unflatten(self.inputs, self.inputs_form)
            places = dict(zip(numbers, (doubles,) if isinstance(argnums, int) else doubles, strict=True))
            result = func(*(places.get(i, a) for i, a in enumerate(args)), **kwargs)
        result, aux = result if has_aux else (result, None)
        self.aux: Any = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, aux)
        self.outputs, self.outputs_form = tree_flatten(result)
        if not all(isinstance(output, Tensor) for output in self.outputs):
            raise RuntimeError("func: the function must return tensors (in tuples, lists or dicts)")
        input_ids = set(map(id, self.inputs))
        ends = (edge[0] for node in nodes_behind(self.outputs) for edge in node.edges) if recording else ()
        self.outer = any(isinstance(end, Variable) and id(end) not in input_ids for end in ends)

    def pull(self, outputs: Sequence[Tensor], cotangents: Any, keep: bool = False) -> Sequence[Any]:
        """The gradients of the outputs, times cotangents, with respect to the inputs; zeros for unused inputs."""
        retain = keep or self.keep or self.outer
        return filled(pull(outputs, self.inputs, cotangents, self.outer, retain), self.inputs)

    def push(self, tangents: Sequence[Any]) -> Any:
        """The Jacobian times tangents, structured like the result."""
        with enable_grad():
            products = push(self.outputs, self.inputs, tangents, self.outer, filled)
        return self.result(filled(products, self.outputs))

    def rows(self, output: Tensor) -> Sequence[Any]:
        """For each input, an output's Jacobian, whose shape is the output's followed by the input's."""
        with enable_grad():
            return rows(output, self.inputs, lambda vector: self.pull([output], [vector], keep=True))

    def result(self, tensors: Sequence[Tensor] | None = None) -> Any:
        """The result, or ``tensors`` in its structure. They are detached unless they depend on other leaves."""
        tensors = self.outputs if tensors is None else tensors
        return tree_unflatten([x if self.outer else x.detach() for x in tensors], self.outputs_form)


def vmap(
    func: Function, in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Function:
    """A function that applies ``func`` to each slice of its arguments and stacks the results.

    Args:
        in_dims: the axis to slice along, one for all arguments or one for each (for an argument that is a tuple, list
            or dict, the same structure of axes). If it is None, an argument is not sliced. Keyword arguments never are.
        out_dims: the axis along which to stack results, one for all or one for each.
        randomness: "different" draws new random numbers for each slice, "same" uses the same numbers for all slices,
            and "error" rejects functions that draw random numbers. chunk_size: ignored.

    Raises ValueError if ``in_dims`` does not match the arguments, or if their numbers of slices differ or are 0.
    """
    if randomness not in _RANDOM:
        raise RuntimeError(f"vmap: randomness must be one of {_RANDOM}, not {randomness!r}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, form = tree_flatten(args)
        dims = _dims_of(args, in_dims)
        counts = {x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
        if len(counts) != 1:
            reason = "no argument is mapped" if not counts else f"they are {sorted(counts)}"
            raise ValueError(f"vmap: the mapped axes must have equal sizes: {reason}")
        rows, results_form = [], None
        state = get_rng_state()
        for i in range(counts.pop()):
            slices = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims, strict=True)]
            if randomness == "same":
                set_rng_state(state)
            row, results_form = tree_flatten(func(*tree_unflatten(slices, form), **kwargs))
            rows.append(row)
            if randomness == "error" and not bool((get_rng_state() == state).all()):
                raise RuntimeError("vmap: the function draws random numbers: pass randomness='different' or 'same'")
        return tree_unflatten(_stacked(rows, out_dims), results_form)  # type: ignore[arg-type]

    return mapped


def _dims_of(tree: Any, dims: Dims) -> list[int | None]:
    """The axis for each leaf of the arguments. An entry of ``dims`` may apply to all leaves below its position."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    parts: Sequence[Any] = ()
    if isinstance(tree, Mapping) and isinstance(dims, Mapping) and tree.keys() == dims.keys():
        parts = [(tree[key], dims[key]) for key in tree]
    elif isinstance(tree, (tuple, list)) and isinstance(dims, (tuple, list)) and len(tree) == len(dims):
        parts = list(zip(tree, dims, strict=True))
    if not parts:
        raise ValueError(f"vmap: the structure of in_dims, {dims!r}, does not match the arguments")
    return [d for part, its_dims in parts for d in _dims_of(part, its_dims)]


def _stacked(rows: Sequence[Sequence[Any]], out_dims: Dims) -> list[Tensor]:
    if not rows:
        raise ValueError("vmap: there are no slices, so the structure of the results is unknown")
    columns = list(zip(*rows, strict=True))
    dims = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(columns)
    if len(dims) != len(columns):
        raise ValueError(f"vmap: out_dims has {len(dims)} entries for {len(columns)} results")
    return [c[0] if d is None else stack(list(c), d) for c, d in zip(columns, dims, strict=True)]


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (parameters, buffers) of several modules, stacked by name, for ``vmap(functional_call)``. Raises
    RuntimeError if there are no modules, or if their classes or modes differ."""
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got 0")
    if len({type(m) for m in models}) > 1 or len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models to have the same class and training mode")

    def stacked(dicts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        rows = {name: stack([each[name].detach() for each in dicts]) for name in dicts[0]}
        return {name: row.requires_grad_(dicts[0][name].requires_grad) for name, row in rows.items()}

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call ``module(*args, **kwargs)`` with other tensors in place of its parameters, buffers and attributes. The dicts
    map full names to these tensors. ``args`` is a tuple, or a single argument.

    During the call, a name that the module lacks becomes an attribute, and None removes a parameter. If the call
    replaces a buffer (``self.count = self.count + 1``), the dict gets the new buffer, and the module keeps its own. If
    there are several dicts, each name may be in only one. With ``tie_weights``, the tensor for one name of a tied
    parameter replaces it under every name. With ``strict``, the names must match all parameters and buffers.

    Raises RuntimeError if, with ``strict``, a name is unexpected or missing; ValueError if a name is in two dicts, or
    if the names of a tied parameter have different tensors; TypeError if a value, or the attribute that it would
    replace, is not a tensor; and AttributeError if a submodule is missing.

    >>> layer = nn.Linear(2, 1)
    >>> mg.func.functional_call(layer, {"weight": mg.ones(1, 2), "bias": None}, mg.tensor([3.0, 4.0]))
    tensor([7.])
    """
    dicts = parameter_and_buffer_dicts
    items = [pair for each in ([dicts] if isinstance(dicts, Mapping) else dicts) for pair in each.items()]
    if twice := sorted(name for name, count in Counter(name for name, _ in items).items() if count > 1):
        raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    values = dict(items)
    if tie_weights or strict:
        tensors: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
        tensors.update(module.named_buffers(remove_duplicate=False))
        values = _tied(values, tensors) if tie_weights else values
        names = {"Unexpected": values.keys() - tensors.keys(), "Missing": tensors.keys() - values.keys()}
        lines = [f"{kind} key(s): {', '.join(map(repr, sorted(keys)))}." for kind, keys in names.items() if keys]
        if strict and lines:
            raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {module._get_name()}:", *lines]))
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before: list[tuple[str, Module, str, Any]] = []
    with at_end(_put_back, before, dicts) as end, end:
        for full_name, value in values.items():
            path, _, name = full_name.rpartition(".")
            owner = module.get_submodule(path)
            old = getattr(owner, name, MISSING)
            for what, tensor in (("", value), (f"attribute `{name}`: ", old)):
                if not (tensor is None or tensor is MISSING or isinstance(tensor, Tensor)):
                    raise TypeError(f"{what}{tensor!r} is not an instance of {shown('Tensor')}")
            before.append((full_name, owner, name, old))
            swap(owner, name, value)
        return module(*args, **(kwargs or {}))


def _tied(values: dict[str, Tensor], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The values, with the value of each tied tensor repeated under all names."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(values)
    for names in names_of.values():
        there = sorted(name for name in names if name in values)
        if len({id(values[name]) for name in there}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {there}, which are tied. "
                f"Consider using tie_weights=False"
            )
        result.update(dict.fromkeys(names, values[there[0]]) if there else {})
    return result


def swap(module: Module, name: str, value: Any) -> None:
    """Set a module's parameter, buffer or attribute to a tensor or None; ``MISSING`` removes the name."""
    for table in (module._parameters, module._buffers, vars(module)):
        if name in table:
            if value is MISSING:
                del table[name]
            else:
                table[name] = value
            return
    if value is not MISSING:
        setattr(module, name, value)


def _put_back(before: list[tuple[str, Module, str, Any]], dicts: Any) -> None:
    """Undo the swap. If the module replaced values, store the new tensors in the caller's dict."""
    while before:
        full_name, owner, name, old = before[-1]
        now = getattr(owner, name, MISSING)
        if isinstance(dicts, dict) and full_name in dicts and now is not old and now is not MISSING:
            dicts[full_name] = now
        swap(owner, name, old)
        before.pop()


border_functions(globals())
