"""A module's state as a dict, and back. What is loaded is checked first and then copied: a failure changes
nothing, unless a module's own ``_load_from_state_dict`` or hooks stand in between."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..autograd import no_grad
from ..tensor import Tensor
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module

EXTRA = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The names that a module has and the state dict lacks, and those it has in excess."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def own_state(module: Module) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor) of a module's own parameters and persistent buffers."""
    for name, tensor in module._parameters.items():
        if tensor is not None:
            yield name, tensor
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            yield name, buffer


def get_no_extra_state(self: Module) -> NoReturn:
    """What a module's state holds besides tensors: write it, and ``set_extra_state``, to have something."""
    raise RuntimeError(f"{type(self).__name__} has no get_extra_state() of its own")


def set_no_extra_state(self: Module, state: Any) -> NoReturn:
    """Take what ``get_extra_state`` gave."""
    raise RuntimeError(f"{type(self).__name__} has no set_extra_state() of its own")


# Saving -----------------------------------------------------------------------------------------------------


def save(module: Module, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """See ``Module.state_dict``."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    local_metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook in list(module._state_dict_pre_hooks.values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:  # by the child's own method, which a subclass may have replaced
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook, may_replace in list(module._state_dict_hooks.values()):
        replacement = hook(module, destination, prefix, local_metadata)
        if replacement is not None and not may_replace:
            raise RuntimeError("state_dict post-hook must return None")
        destination = destination if replacement is None else replacement
    return destination


def save_own(self: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Put this module's own state, without that of its submodules, into a dict."""
    for name, tensor in own_state(self):
        destination[prefix + name] = tensor if keep_vars else tensor.detach()
    if type(self).get_extra_state is not get_no_extra_state:
        destination[prefix + EXTRA] = self.get_extra_state()


# Loading ----------------------------------------------------------------------------------------------------


class _Errors(list[str]):
    """What does not fit, and what to do once it is known that all fits."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Callable[[], None]] = []
        self.placed: dict[int, Tensor] = {}  # of a tensor that is replaced: one for all its names

    def carry_out(self) -> None:
        """Do what has been planned, unless there are errors."""
        steps, self.steps = self.steps, []
        if not self:
            with no_grad():
                for step in steps:
                    step()


def load(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """See ``Module.load_state_dict``."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    given: Any = OrderedDict(state_dict)
    if metadata is not None:
        given._metadata = metadata
    keys, errors = _IncompatibleKeys([], []), _Errors()
    _load(module, given, "", metadata or {}, assign, keys, errors)
    if strict:
        errors[:0] = _listed("Missing", keys.missing_keys) + _listed("Unexpected", keys.unexpected_keys)
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    errors.carry_out()
    return keys


def _load(
    module: Module,
    state_dict: dict[str, Any],
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    keys: _IncompatibleKeys,
    errors: _Errors,
) -> None:
    """A module and all below it, each by its own method, which a subclass may have replaced."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(state_dict, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(inner)}
            _load(child, part, inner, metadata, assign, keys, errors)
    for hook in list(module._load_state_dict_post_hooks.values()):
        errors.carry_out()
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with register_load_state_dict_post_hook are not expected to return new "
                "values: incompatible_keys is to be changed in place"
            )


def load_own(
    self: Module,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Take this module's own state, without that of its submodules, from a dict with full names.

    Args:
        prefix: of this module's names. local_metadata: what the saved state tells of it, as "version".
        strict: tell of names that are missing or unexpected.
        missing_keys, unexpected_keys, error_msgs: lists to add to.
    """
    for hook in list(self._load_state_dict_pre_hooks.values()):
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    errors = error_msgs if isinstance(error_msgs, _Errors) else _Errors()
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, tensor in own_state(self):
        key = prefix + name
        if key not in state_dict:
            missing_keys.extend([key] if strict else [])
            continue
        value, wrong = _fitting(key, tensor, state_dict[key])
        if wrong:
            error_msgs.append(wrong)
        elif assign:
            errors.steps.append(partial(_put, self, name, tensor, value, errors.placed))
        else:
            errors.steps.append(partial(_copy, tensor, value))
    _load_extra(self, state_dict, prefix + EXTRA, strict, missing_keys, errors)
    if strict:
        unexpected_keys += [key for key in state_dict if _unexpected(self, key, prefix)]
    if errors is not error_msgs or type(self)._load_from_state_dict is not load_own:
        errors.carry_out()


def _load_extra(
    module: Module, state_dict: dict[str, Any], key: str, strict: bool, missing: list[str], errors: _Errors
) -> None:
    if type(module).set_extra_state is set_no_extra_state:
        return
    if key in state_dict:
        errors.steps.append(lambda: module.set_extra_state(state_dict[key]))
    elif strict:
        missing.append(key)


def _unexpected(module: Module, key: str, prefix: str) -> bool:
    """Whether nothing at or below a module answers to a full name."""
    if not key.startswith(prefix):
        return False
    first, dot, _ = key[len(prefix) :].partition(".")
    if dot:
        return first not in module._modules
    if first == EXTRA:
        return type(module).set_extra_state is set_no_extra_state
    return all(first != name for name, _ in own_state(module))


def _listed(kind: str, names: list[str]) -> list[str]:
    quoted = ", ".join(f'"{name}"' for name in names)
    return [f"{kind} key(s) in state_dict: {quoted}. "] if names else []


def _fitting(name: str, own: Tensor, given: Any) -> tuple[Any, str]:
    """A given value in the form to take it in, and what is wrong with it, if anything is."""
    if not isinstance(given, Tensor):
        return given, (
            f'While copying the parameter named "{name}", expected a Tensor from checkpoint but received {type(given)}'
        )
    if own.array.shape == () and given.array.shape == (1,):
        given = given[0]
    if own.array.shape != given.array.shape:
        return given, (
            f"size mismatch for {name}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {own.shape}."
        )
    return given, ""


def _copy(tensor: Tensor, value: Tensor) -> None:
    tensor.copy_(value.to(device=tensor.device, dtype=tensor.dtype))


def _put(module: Module, name: str, tensor: Tensor, value: Tensor, placed: dict[int, Tensor]) -> None:
    """Put a value in a tensor's place; tied weights stay tied."""
    if id(tensor) not in placed:
        placed[id(tensor)] = _in_place_of(tensor, value)
    setattr(module, name, placed[id(tensor)])


def _in_place_of(tensor: Tensor, value: Tensor) -> Tensor:
    """A value in the role of the tensor it replaces: a Parameter stays one."""
    if not isinstance(tensor, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(tensor.requires_grad)
    return Parameter(value, tensor.requires_grad)
