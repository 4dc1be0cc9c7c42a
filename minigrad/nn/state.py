"""Loading a state dict: everything is checked first, then everything is copied; a failure changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd import no_grad
from ..tensor import Tensor
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """The names that a module has and the state dict lacks, and those it has in excess."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def entries(module: Module, recurse: bool = True) -> Iterator[tuple[str, Module, str, Tensor]]:
    """(full name, owner, own name, tensor) of all in a state dict; a tied tensor by each of its names."""
    modules = module.named_modules(remove_duplicate=False) if recurse else iter([("", module)])
    for prefix, owner in modules:
        dot = prefix + "." if prefix else ""
        for name, tensor in owner._parameters.items():
            if tensor is not None:
                yield dot + name, owner, name, tensor
        for name, buffer in owner._buffers.items():
            if buffer is not None and name not in owner._non_persistent_buffers_set:
                yield dot + name, owner, name, buffer


def load(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """See ``Module.load_state_dict``."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    own = list(entries(module))
    names = {entry[0] for entry in own}
    missing = [entry[0] for entry in own if entry[0] not in state_dict]
    unexpected = [name for name in state_dict if name not in names]
    errors = [error for name, _, _, tensor in own if name in state_dict
              for error in _misfit(name, tensor, state_dict[name])]  # fmt: skip
    if strict:
        errors = _listed("Missing", missing) + _listed("Unexpected", unexpected) + errors
    if errors:
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors)
        )
    _store(own, state_dict, assign)
    return IncompatibleKeys(missing, unexpected)


def _listed(kind: str, names: list[str]) -> list[str]:
    quoted = ", ".join(f'"{name}"' for name in names)
    return [f"{kind} key(s) in state_dict: {quoted}. "] if names else []


def _misfit(name: str, own: Tensor, given: Any) -> list[str]:
    """What is wrong with a given value, if anything is."""
    if not isinstance(given, Tensor):
        return [f'While copying the parameter named "{name}", expected a Tensor, not {type(given)}']
    if own.array.shape != given.array.shape:
        return [f"size mismatch for {name}: copying a param with shape {list(given.shape)} from checkpoint, "
                f"the shape in current model is {list(own.array.shape)}."]  # fmt: skip
    return []


def _store(own: list[tuple[str, Module, str, Tensor]], state_dict: Mapping[str, Any], assign: bool) -> None:
    """Copy the values, or put them in the tensors' places (one for each tensor: tied weights stay tied)."""
    placed: dict[int, Tensor] = {}
    with no_grad():
        for full_name, owner, name, tensor in own:
            if full_name not in state_dict:
                continue
            value = state_dict[full_name]
            if not assign:
                tensor.copy_(value.to(device=tensor.device, dtype=tensor.dtype))
                continue
            if id(tensor) not in placed:
                placed[id(tensor)] = _in_place_of(tensor, value)
            setattr(owner, name, placed[id(tensor)])


def _in_place_of(tensor: Tensor, value: Tensor) -> Tensor:
    """A value in the role of the tensor it replaces: a Parameter stays one."""
    if not isinstance(tensor, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(tensor.requires_grad)
    return Parameter(value, tensor.requires_grad)
