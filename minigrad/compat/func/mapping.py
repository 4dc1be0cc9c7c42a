"""Maps of functions over a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...autograd.tracebacks import border_functions
from ...functions.random import get_rng_state, set_rng_state
from ...functions.shaping import stack
from ...nn.module import Module
from ...tensor import Tensor
from ...utils._pytree import tree_flatten, tree_unflatten

Function = Callable[..., Any]
Dims = Any  # an axis, None, or these in the form of the arguments
_RANDOM = ("error", "different", "same")


def vmap(
    func: Function, in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Function:
    """The function that applies ``func`` to each slice of its arguments, and stacks the results.

    Args:
        in_dims: the axis of the slices: one for all arguments, or one for each (in the form of an argument
            that is a tuple, list or dict); None where an argument is not sliced. Keywords are not.
        out_dims: the axis along which results are stacked, for all or for each.
        randomness: "different" numbers for each slice, drawn one slice after the other, or the "same"; "error"
            refuses functions that draw any.
        chunk_size: without effect, for PyTorch's signature.

    Raises ValueError for no or unequal numbers of slices, and for ``in_dims`` that do not fit.
    """
    if randomness not in _RANDOM:
        raise RuntimeError(f"vmap: randomness must be one of {_RANDOM}, not {randomness!r}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, form = tree_flatten(args)
        dims = _dims_of(args, in_dims)
        count = _count(leaves, dims)
        rows, results_form = [], None
        state = get_rng_state()
        for i in range(count):
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
    """The axis for each leaf of the arguments; one of ``dims`` may stand for all leaves below its place."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    parts: Sequence[Any] = ()
    if isinstance(tree, Mapping) and isinstance(dims, Mapping) and tree.keys() == dims.keys():
        parts = [(tree[key], dims[key]) for key in tree]
    elif isinstance(tree, (tuple, list)) and isinstance(dims, (tuple, list)) and len(tree) == len(dims):
        parts = list(zip(tree, dims, strict=True))
    if not parts:
        raise ValueError(f"vmap: in_dims {dims!r} do not have the form of the arguments")
    return [d for part, its_dims in parts for d in _dims_of(part, its_dims)]


def _count(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    counts = {x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
    if len(counts) != 1:
        reason = "none of the arguments is sliced" if not counts else f"they are {sorted(counts)}"
        raise ValueError(f"vmap: one number of slices is needed along the mapped axes: {reason}")
    return int(counts.pop())


def _stacked(rows: Sequence[Sequence[Any]], out_dims: Dims) -> list[Tensor]:
    """The results of all slices, each stacked along its axis."""
    if not rows:
        raise ValueError("vmap: there are no slices, and without one the form of the results is unknown")
    columns = list(zip(*rows, strict=True))
    dims = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(columns)
    if len(dims) != len(columns):
        raise ValueError(f"vmap: out_dims has {len(dims)} entries for {len(columns)} results")
    return [c[0] if d is None else stack(list(c), d) for c, d in zip(columns, dims, strict=True)]


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of several modules, stacked by name: for ``vmap(functional_call)``.

    Raises RuntimeError for no modules, several classes of them, or several modes.
    """
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got 0")
    if len({type(m) for m in models}) > 1 or len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected models of one class, all in training or all not")
    every = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    parameters = {
        name: stack([model[name].detach() for model in every]).requires_grad_(p.requires_grad)
        for name, p in every[0].items()
    }
    return parameters, {name: stack([model[name] for model in buffers]) for name in buffers[0]}


border_functions(globals())
