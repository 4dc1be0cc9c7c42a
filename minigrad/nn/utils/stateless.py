"""A module called with other values for its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...tensor import Tensor
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
    """``module(*args, **kwargs)`` with the given tensors as its parameters and buffers, by full name.

    Args:
        parameter_and_buffer_dicts: one dict, or several that are joined.
        args: a tuple, or the only argument.
        tie_weights: a tensor for one name of a tied parameter stands for all its names.
        strict: refuse names that the module does not have, and names that are missing.

    Raises:
        RuntimeError: names that do not fit, with ``strict``; a name that is no tensor of the module.
    """
    dicts = parameter_and_buffer_dicts
    given = dict(dicts) if isinstance(dicts, Mapping) else {k: v for d in dicts for k, v in d.items()}
    own = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))  # type: ignore[arg-type]
    if tie_weights:
        by_id = {id(own[name]): value for name, value in given.items() if name in own}
        given = {**{name: by_id[id(t)] for name, t in own.items() if id(t) in by_id}, **given}
    unexpected, missing = sorted(given.keys() - own.keys()), sorted(own.keys() - given.keys())
    if unexpected or (strict and missing):
        raise RuntimeError(f"functional_call: unexpected names {unexpected}, missing names {missing}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given):
        return module(*args, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, given: Mapping[str, Tensor]) -> Iterator[None]:
    """Within it, the module holds other tensors."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for full_name, value in given.items():
            path, _, name = full_name.rpartition(".")
            owner = module.get_submodule(path)
            table: Any = owner._parameters if name in owner._parameters else owner._buffers
            before.append((table, name, table[name]))
            table[name] = value
        yield
    finally:
        for table, name, value in reversed(before):
            table[name] = value
