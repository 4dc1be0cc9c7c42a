"""Calling a module with other values for its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...autograd.mode import at_end
from ...autograd.tracebacks import border_functions
from ...backend.dtype import shown
from ...nn.module import Module
from ...tensor import Tensor

MISSING: Any = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other tensors as its parameters, buffers and attributes, by full name.

    A name that the module lacks is an attribute during the call. None leaves a parameter out. A buffer that the call
    replaces (``self.count = self.count + 1``) is afterwards in the dict, and not in the module.

    Args:
        parameter_and_buffer_dicts: one dict, or several to merge.
        args: a tuple, or the only argument.
        tie_weights: use the tensor for one name of a tied parameter for all its names.
        strict: refuse names that are no parameter's and no buffer's, and missing ones.

    Raises:
        RuntimeError: with ``strict``, a name is unexpected or missing.
        ValueError: two dicts have the same name, or the names of a tied parameter have different tensors.
        TypeError: a value, or the attribute that it would replace, is no tensor. AttributeError: no such submodule.

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
        if strict:
            _check_names(module, values, tensors)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before: list[tuple[str, Module, str, Any]] = []
    with at_end(_put_back, before, dicts) as end, end:
        for full_name, value in values.items():
            path, _, name = full_name.rpartition(".")
            owner = module.get_submodule(path)
            old = getattr(owner, name, MISSING)
            _check_tensor("", value)
            _check_tensor(f"attribute `{name}`: ", old)
            before.append((full_name, owner, name, old))
            swap(owner, name, value)
        return module(*args, **(kwargs or {}))


def _tied(values: dict[str, Tensor], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The values, with that for one name of a tied tensor under its other names."""
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


def _check_names(module: Module, values: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    differences = {"Unexpected": values.keys() - tensors.keys(), "Missing": tensors.keys() - values.keys()}
    lines = [f"{kind} key(s): {', '.join(map(repr, sorted(names)))}." for kind, names in differences.items() if names]
    if lines:
        raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {module._get_name()}:", *lines]))


def _check_tensor(what: str, value: Any) -> None:
    if not (value is None or value is MISSING or isinstance(value, Tensor)):
        raise TypeError(f"{what}{value!r} is not an instance of {shown('Tensor')}")


def swap(module: Module, name: str, value: Any) -> None:
    """Put a tensor, or None, in a module's place for a name, whatever its class; ``MISSING`` removes the name."""
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
    """Undo the exchange. A caller's dict gets the tensors by which the module replaced its values."""
    while before:
        full_name, owner, name, old = before[-1]
        now = getattr(owner, name, MISSING)
        if isinstance(dicts, dict) and full_name in dicts and now is not old and now is not MISSING:
            dicts[full_name] = now
        swap(owner, name, old)
        before.pop()


border_functions(globals())
