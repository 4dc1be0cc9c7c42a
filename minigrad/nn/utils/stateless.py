"""Calling a module with other values for its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...autograd.mode import at_end
from ...tensor import Tensor
from ...tracebacks import border_functions
from ..module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other tensors as its parameters and buffers, by full name.

    Args:
        parameter_and_buffer_dicts: one dict, or several to merge.
        args: a tuple, or the only argument.
        tie_weights: use the tensor for one name of a tied parameter for all its names.
        strict: also refuse missing names.

    Raises:
        RuntimeError: the module has no tensor of a name; with ``strict``, a name is missing.
    """
    dicts = parameter_and_buffer_dicts
    values = dict(dicts) if isinstance(dicts, Mapping) else {k: v for d in dicts for k, v in d.items()}
    tensors: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    tensors.update(module.named_buffers(remove_duplicate=False))
    if tie_weights:
        by_id = {id(tensors[name]): value for name, value in values.items() if name in tensors}
        values = {**{name: by_id[id(t)] for name, t in tensors.items() if id(t) in by_id}, **values}
    unexpected, missing = sorted(values.keys() - tensors.keys()), sorted(tensors.keys() - values.keys())
    if unexpected or (strict and missing):
        raise RuntimeError(f"functional_call: unexpected names {unexpected}, missing names {missing}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before: list[tuple[dict[str, Any], str, Any]] = []
    with at_end(_put_back, before) as end, end:
        for full_name, value in values.items():
            path, _, name = full_name.rpartition(".")
            owner = module.get_submodule(path)
            table: Any = owner._parameters if name in owner._parameters else owner._buffers
            before.append((table, name, table[name]))
            table[name] = value
        return module(*args, **(kwargs or {}))


def _put_back(before: list[tuple[dict[str, Any], str, Any]]) -> None:
    for table, name, value in reversed(before):
        table[name] = value


border_functions(globals())
