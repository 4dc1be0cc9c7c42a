"""Module: the base of every layer and model. It keeps parameters, buffers and submodules by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..autograd import no_grad
from ..autograd.observer import span
from ..backend import dtype as dt
from ..backend.device import Device
from ..functions.creation import empty_like
from ..ops.op import watch
from ..tensor import RemovableHandle, Tensor
from . import hooks, state
from .hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .parameter import Buffer, Parameter
from .state import _IncompatibleKeys

__all__ = [
    "Module",
    "clear_grad",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T", bound="Module")
Convert = Callable[[Tensor], Tensor]


class Module:
    """A function with parameters. Derive from it, assign layers in ``__init__``, write ``forward``.

    An attribute that is a Parameter or a Module is registered under its name; a Tensor is a plain attribute,
    unless ``register_buffer`` makes it a part of the state.

    Attributes:
        training: whether the module is in training mode (dropout is active); see ``train`` and ``eval``.
    """

    dump_patches: bool = False
    call_super_init: bool = False  # whether __init__ hands its arguments on to the next base class
    _version: int = 1  # of the form of its state dict; _load_from_state_dict is told the saved one
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _forward_hooks: dict[int, hooks.Hook]
    _forward_pre_hooks: dict[int, hooks.Hook]
    _backward_hooks: dict[int, Callable[..., Any]]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None
    _state_dict_hooks: dict[int, tuple[Callable[..., Any], bool]]  # and whether its result replaces the dict
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            told = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {told}")
        self.__dict__.update(_fresh())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**_fresh(), **state})

    def _no_forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Every subclass writes its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    forward: Callable[..., Any] = _no_forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not watch.observers:
            return self._call(*args, **kwargs)
        with span(type(self).__name__, "module", self):
            return self._call(*args, **kwargs)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """The result of ``forward``, with the hooks around it."""
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or any(hooks.AROUND_CALLS)
        ):
            return hooks.Call(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    # Attributes ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            held = own.get(kind)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._check_ready("parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._check_ready("module")
            self._forget(name, "_modules")
            self._modules[name] = hooks.registered("module", self, name, value)
        elif name in own.get("_parameters", ()):
            self._put("_parameters", "parameter", name, value, "Parameter or None")
        elif name in own.get("_modules", ()):
            self._put("_modules", "child module", name, value, "Module or None")
        elif isinstance(value, Buffer):
            self._check_ready("buffer")
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_buffers", ()):
            self._put("_buffers", "buffer", name, value, "Tensor or None")
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        held = {*self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in {*super().__dir__(), *held} if not name[:1].isdigit())

    def _check_ready(self, what: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _forget(self, name: str, but: str) -> None:
        """Remove a name that is about to become another kind of attribute."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != but:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _put(self, kind: str, told: str, name: str, value: Any, expected: str) -> None:
        """Assign to a name that is registered: None, or (of buffers) another tensor."""
        if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
            raise TypeError(f"cannot assign '{type(value).__name__}' as {told} '{name}' ({expected} expected)")
        self.__dict__[kind][name] = value

    # Registration -------------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name (None keeps the name for later).

        Raises:
            TypeError, KeyError: a name or a value that cannot be registered. ValueError: a tensor with a
                history.
        """
        self._check_ready("parameters")
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}': make a Parameter of its .detach()")
        self._parameters[name] = hooks.registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter: it moves with the module, no gradient is wanted of it.

        Args:
            persistent: whether it is part of ``state_dict``.
        """
        self._check_ready("buffer")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        self._buffers[name] = hooks.registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name (None keeps the name for later)."""
        self._check_ready("module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = hooks.registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """``add_module`` by another name."""
        self.add_module(name, module)

    def _check_name(self, name: Any, told: str, held: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{told} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in held:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{told} name can\'t contain "." (got {name!r})')
        if name == "":
            raise KeyError(f'{told} name can\'t be empty string ""')

    # Hooks: called in the order of registration (or first, with ``prepend``) until ``remove()`` of the handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces them, unless None."""
        return hooks.register(self._forward_pre_hooks, hooks.Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after forward; what it returns replaces it, unless None.

        Args:
            with_kwargs: call ``hook(module, args, kwargs, result)``.
            always_call: also where forward raises an error; the result is then None.
        """
        return hooks.register(self._forward_hooks, hooks.Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradient of the result, a tuple, has arrived; what it
        returns replaces it, unless None."""
        return hooks.register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of forward's positional arguments
        are complete: tuples, None for what is no tensor. What it returns replaces ``grad_input``."""
        return self._register_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``register_full_backward_hook``: PyTorch's deprecated form told the gradients of one inner op."""
        return self._register_backward_hook(hook, False, False)

    def _register_backward_hook(self, hook: Callable[..., Any], full: bool, prepend: bool) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = full
        return hooks.register(self._backward_hooks, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` collects this module's state."""
        return hooks.register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)``, which may change the dict in place."""
        return hooks.register(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``register_state_dict_post_hook``, but what the hook returns replaces the dict, unless None."""
        return hooks.register(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` before this module takes its state; it may change all of them in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """``register_load_state_dict_pre_hook`` for a hook that does not take the module, unless told."""
        bound = functools.partial(hook, self) if with_module else hook
        return hooks.register(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module has taken its state; the two lists of
        names may be changed in place."""
        return hooks.register(self._load_state_dict_post_hooks, hook)

    # What it holds ------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(full name, module) of this module and all below it, each module once unless asked otherwise."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules assigned to this one."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules assigned to this one."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """(full name, tensor) of the (name, tensor) that ``get_members_fn`` finds in each module."""
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for owner_name, owner in modules:
            for name, tensor in get_members_fn(owner):
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield (f"{owner_name}.{name}" if owner_name else name), tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(full name, parameter) of all parameters; one with several names comes once, under its first."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(full name, buffer) of all buffers."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The submodule of a full name, such as "encoder.layers.0".

        Raises:
            AttributeError: there is none of that name, or it is something else.
        """
        module: Module = self
        for name in target.split(".") if target else ():
            found = getattr(module, name, None)
            if not isinstance(found, Module):
                told = "is not an nn.Module" if hasattr(module, name) else "does not exist"
                raise AttributeError(f"{type(module).__name__}: {name!r} (of {target!r}) {told}")
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place of the one of a full name; ``strict``: only where there is one.

        Raises:
            ValueError: no name, or no module. AttributeError: the place does not exist, or holds no module.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def _get_tensor(self, kind: str, told: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if owner.__dict__[kind].get(name) is None:
            raise AttributeError(f"{type(owner).__name__} has no {told} {name!r} (of {target!r})")
        return owner.__dict__[kind][name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a full name. Raises AttributeError if there is none."""
        found: Parameter = self._get_tensor("_parameters", "parameter", target)
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a full name. Raises AttributeError if there is none."""
        found: Tensor = self._get_tensor("_buffers", "buffer", target)
        return found

    # State --------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by their full names, a tied one under each of its names.

        Args:
            destination: a dict to add to. prefix: put before every name.
            keep_vars: give the parameters themselves, not tensors detached from them. Either way the memory
                is the module's own: copy it (``copy.deepcopy``) to keep the values of a moment.
        """
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        return state.save(
            self, given.get("destination", destination), given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        )

    _save_to_state_dict = state.save_own
    _load_from_state_dict = state.load_own
    get_extra_state: Callable[..., Any] = state.get_no_extra_state
    set_extra_state: Callable[..., Any] = state.set_no_extra_state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state dict's values into the parameters and buffers, in their dtypes and on their devices.

        Args:
            state_dict: tensors by full name.
            strict: refuse missing and unexpected names; else they are only returned.
            assign: put the given tensors in the old ones' places (also in dtype and device), without a copy.

        Returns:
            The missing and the unexpected names.

        Raises:
            RuntimeError: names or shapes do not fit; the text lists them all, and nothing has been changed
                (but by modules with a ``_load_from_state_dict`` of their own).
        """
        return state.load(self, state_dict, strict, assign)

    # Modes, devices and dtypes ------------------------------------------------------------------------------

    def train(self: T, mode: bool = True) -> T:
        """Training mode for this module and all below it: dropout drops."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Evaluation mode. Gradients are recorded all the same: that is ``no_grad``'s matter."""
        return self.train(False)

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Call ``fn`` with every module below this one, and then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Ask for gradients of all parameters, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all parameters' gradients, or fill them with zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def _apply(self: T, fn: Convert, recurse: bool = True) -> T:
        """Change every tensor by ``fn``: parameters in place, so that optimisers and ties keep them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    _change(parameter, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(
        self: T,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> T:
        """Move all parameters and buffers to a device, or to a floating-point dtype, in place.

        ``to("cuda")``, ``to(float64)``, ``to("cuda", float16)``, ``to(tensor)``; integer buffers keep their
        dtype.

        Raises:
            TypeError: a dtype that is not a floating-point one.
        """
        for given in args:
            if isinstance(given, Tensor):
                device, dtype = given.device, given.dtype
            elif isinstance(given, dt.DType):
                dtype = given
            elif given is not None and not isinstance(given, bool):
                device = given
        where = None if device is None else Device(device)
        if dtype is not None and not dt.as_dtype(dtype).is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(device=where, dtype=dtype if t.is_floating_point() else None))

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to a device without the values: fill them in afterwards."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self: T, dst_type: Any) -> T:
        """All parameters and buffers, those of integers too, in a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self: T) -> T:
        """Move to main memory."""
        return self.to("cpu")

    def cuda(self: T, device: Any = None) -> T:
        """Move to a GPU."""
        return self.to("cuda" if device is None else Device(device))

    def float(self: T) -> T:
        """Parameters and buffers in float32."""
        return self.to(dt.float32)

    def double(self: T) -> T:
        """Parameters and buffers in float64."""
        return self.to(dt.float64)

    def half(self: T) -> T:
        """Parameters and buffers in float16."""
        return self.to(dt.float16)

    def bfloat16(self: T) -> T:
        """Parameters and buffers in bfloat16, where tensors have it."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self: T) -> T:
        """Refused: memory is not shared between processes.

        Raises:
            NotImplementedError: always. Send ``state_dict()`` to the other processes.
        """
        raise NotImplementedError(
            "Module.share_memory is not provided: processes would each learn a copy of their own. Send "
            "state_dict() through a queue instead"
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Taken for PyTorch's programs, and without effect: there is nothing to compile."""

    # How it shows itself ------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of ``repr``; subclasses write their own."""
        return ""

    def _child_lines(self) -> list[str]:
        """A line "(name): repr" for each submodule."""
        return [f"({name}): {module!r}" for name, module in self._modules.items()]

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) <= 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += self._child_lines()
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {body}\n)"


def _fresh() -> dict[str, Any]:
    """The attributes of a module that holds nothing."""
    own: dict[str, Any] = {name: {} for name in _TABLES}
    own.update(training=True, _non_persistent_buffers_set=set(), _is_full_backward_hook=None)
    return own


_TABLES = (
    "_parameters",
    "_buffers",
    "_modules",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Drop a gradient, or fill it with zeros (without the history it may have)."""
    if tensor.grad is not None:
        tensor.grad = None if set_to_none else tensor.grad.detach().zero_()


def _change(parameter: Parameter, convert: Convert) -> Parameter:
    """Give a parameter and its gradient the memory of their converted values. Called without recording."""
    for tensor in (parameter, parameter.grad):
        if tensor is not None:
            converted = convert(tensor)
            if converted.array is not tensor.array:
                tensor.array, tensor._version = converted.array, converted._version
    return parameter
