"""Saving a module's state to a dict and loading it.

Loading checks everything before copying anything, so an error leaves the module unchanged unless a submodule overrides
``_load_from_state_dict`` or has a hook.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..autograd import no_grad
from ..autograd.tracebacks import warn
from ..backend.device import NO_DATA
from ..tensor import RemovableHandle, Tensor
from . import hooks
from .parameter import Parameter

EXTRA = "_extra_state"


class _IncompatibleKeys(NamedTuple("_Keys", [("missing_keys", list[str]), ("unexpected_keys", list[str])])):
    """The names that only the module has, and the names that only the state dict has."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class Stateful:
    """The part of Module that saves and loads its state."""

    _version: int = 1  # the state dict format; _load_from_state_dict gets the saved version
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, tuple[Callable[..., Any], bool]]  # the bool: whether its result replaces the dict
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by full name. A tied parameter appears under each of its names.

        Args:
            destination: a dict to add to. prefix: prepended to every name.
            keep_vars: return the parameters themselves instead of detached tensors. Either way, they share the module's
                memory; ``copy.deepcopy`` the result to keep the values.

        >>> {name: tuple(value.shape) for name, value in nn.Linear(3, 2).state_dict().items()}
        {'weight': (2, 3), 'bias': (2,)}
        """
        positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        state: Any = positional.get("destination", destination)
        prefix, keep_vars = positional.get("prefix", prefix), positional.get("keep_vars", keep_vars)
        if state is None:
            state = OrderedDict()
            state._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = local_metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, may_replace in list(self._state_dict_hooks.values()):
            replacement = hook(self, state, prefix, local_metadata)
            if replacement is not None and not may_replace:
                raise RuntimeError("state_dict post-hook must return None")
            state = state if replacement is None else replacement
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state dict's values into the parameters and buffers, which keep their dtypes and devices.

        Args:
            state_dict: tensors by full name.
            strict: raise an error for missing or unexpected names, instead of only returning them.
            assign: replace the module's tensors with the dict's, including dtypes and devices, without copying.

        Returns the missing and the unexpected names. Raises a RuntimeError that lists all mismatched names and shapes.

        >>> one, other = nn.Linear(2, 2), nn.Linear(2, 2)
        >>> other.load_state_dict(one.state_dict())
        <All keys matched successfully>
        >>> mg.equal(one.weight, other.weight)
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        plan = _Plan(metadata or {}, assign)
        plan.load(self, state, "")
        for kind, names in (("Unexpected", plan.keys.unexpected_keys), ("Missing", plan.keys.missing_keys)):
            if strict and names:
                quoted = ", ".join(f'"{name}"' for name in names)
                plan.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if plan:
            missing, unexpected = plan.keys
            for longer, shorter, change in (
                (unexpected, missing, "remove it with {name.removeprefix(%r): value for name, value in state.items()}"),
                (missing, unexpected, "add it with {%r + name: value for name, value in state.items()}"),
            ):
                prefix = longer[0].removesuffix(shorter[0]) if longer and shorter else ""
                if prefix and {prefix + name for name in shorter} == set(longer):
                    whose = "state dict's" if longer is unexpected else "module's"
                    plan.append(f"The {whose} names begin with {prefix!r}, but the others do not: {change % prefix}")
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(plan))
        plan.carry_out()
        return plan.keys

    # For one module, without its submodules. Subclasses may override these methods ----------------------------

    def get_extra_state(self) -> Any:
        """State other than tensors. Subclasses with such state override this method and ``set_extra_state``."""
        raise RuntimeError(f"{type(self).__name__} does not override get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that ``get_extra_state`` returned."""
        raise RuntimeError(f"{type(self).__name__} does not override set_extra_state()")

    def _saved_tensors(self) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._saved_tensors():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's state from a dict with full names, which begin with ``prefix``, and add problems to the
        three lists. ``local_metadata`` was saved with the state. ``strict``: report missing and unexpected names."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        plan = error_msgs if isinstance(error_msgs, _Plan) else _Plan({}, assign)
        for name, tensor in self._saved_tensors():
            key = prefix + name
            if key not in state_dict:
                missing_keys.extend([key] if strict else [])
                continue
            value, error = _fit(key, tensor, state_dict[key], assign)
            if error:
                error_msgs.append(error)
            elif assign:
                plan.steps.append(partial(_replace, self, name, tensor, value, plan.replaced))
            else:
                plan.steps.append(partial(tensor.copy_, value))
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if prefix + EXTRA in state_dict:
                plan.steps.append(partial(self.set_extra_state, state_dict[prefix + EXTRA]))
            elif strict:
                missing_keys.append(prefix + EXTRA)
        if strict:
            unexpected_keys += [key for key in state_dict if _is_unexpected(self, key, prefix)]
        if plan is not error_msgs or type(self)._load_from_state_dict is not Stateful._load_from_state_dict:
            plan.carry_out()

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` collects this module's state."""
        return hooks.register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after saving; it may modify the dict in place."""
        return hooks.register(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like ``register_state_dict_post_hook``, but a result other than None replaces the dict."""
        return hooks.register(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` before this module's state is loaded. The hook may modify these arguments in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Like ``register_load_state_dict_pre_hook``, but pass the module to the hook only if ``with_module``."""
        bound = partial(hook, self) if with_module else hook
        return hooks.register(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading. The hook may modify both key lists in place."""
        return hooks.register(self._load_state_dict_post_hooks, hook)


class _Plan(list[str]):
    """A plan for loading a state dict: a list of error messages, and the steps to run if there are no errors."""

    def __init__(self, metadata: Mapping[str, Any], assign: bool) -> None:
        super().__init__()
        self.metadata, self.assign, self.keys = metadata, assign, _IncompatibleKeys([], [])
        self.steps: list[Callable[[], Any]] = []
        self.replaced: dict[int, Tensor] = {}  # new tensors by the ids of the old ones, so that tied weights stay tied

    def carry_out(self) -> None:
        steps, self.steps = self.steps, []
        if not self:
            with no_grad():
                for step in steps:
                    step()

    def load(self, module: Stateful, state_dict: dict[str, Any], prefix: str) -> None:
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(state_dict, prefix, local_metadata, True, *self.keys, self)
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state_dict.items() if key.startswith(inner)}, inner)
        for hook in list(module._load_state_dict_post_hooks.values()):
            self.carry_out()
            if hook(module, self.keys) is not None:
                kind = "Hooks registered with register_load_state_dict_post_hook"
                raise AssertionError(f"{kind} are not expected to return new values: modify incompatible_keys instead")


def _is_unexpected(module: Stateful, key: str, prefix: str) -> bool:
    """Whether a full name does not exist in a module or its submodules."""
    if not key.startswith(prefix):
        return False
    first, dot, _ = key[len(prefix) :].partition(".")
    if dot:
        return first not in module._modules
    if first == EXTRA:
        return type(module).set_extra_state is Stateful.set_extra_state
    return all(first != name for name, _ in module._saved_tensors())


def _fit(name: str, tensor: Tensor, value: Any, assign: bool) -> tuple[Any, str]:
    """Reshape a value to fit the tensor that it replaces or is copied to. Returns it and an error message or ""."""
    copying = f'While copying the parameter named "{name}", '
    if not isinstance(value, Tensor):
        return value, f"{copying}expected a Tensor from checkpoint but received {type(value)}"
    if tensor.array.shape == () and value.array.shape == (1,):
        value = value[0]
    if tensor.array.shape != value.array.shape:
        param = f"copying a param with shape {value.shape} from checkpoint"
        return value, f"size mismatch for {name}: {param}, the shape in current model is {tensor.shape}."
    if value.is_meta and not (tensor.is_meta or assign):
        shapes = f"in the model are {tensor.shape} and whose dimensions in the checkpoint are {value.shape}"
        return value, f"{copying}whose dimensions {shapes}, an exception occurred : ({NO_DATA!r},)."
    if tensor.is_meta and not (value.is_meta or assign):
        warn(
            f"for {name}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
            f"model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to "
            f"their corresponding key in the module instead of copying them in place?)"
        )
    return value, ""


def _replace(module: Stateful, name: str, tensor: Tensor, value: Tensor, replaced: dict[int, Tensor]) -> None:
    """Replace a tensor with a value, converted to a Parameter if the tensor is one."""
    if id(tensor) not in replaced:
        if isinstance(tensor, Parameter):
            value = value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
            value.requires_grad_(tensor.requires_grad)
        replaced[id(tensor)] = value
    setattr(module, name, replaced[id(tensor)])
