"""Module: the base of every layer and model. It keeps parameters, buffers and submodules by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..autograd import no_grad
from ..backend import dtype as dt
from ..backend.device import Device
from ..tensor import RemovableHandle, Tensor
from . import hooks
from .parameter import Parameter
from .state import IncompatibleKeys, entries, load

T = TypeVar("T", bound="Module")
M = TypeVar("M", bound=Tensor)
Convert = Callable[[Tensor], Tensor]


class Module:
    """A function with parameters. Derive from it, assign layers in ``__init__``, write ``forward``.

    An attribute that is a Parameter or a Module is registered under its name; a Tensor is a plain attribute,
    unless ``register_buffer`` makes it a part of the state.

    Attributes:
        training: whether the module is in training mode (dropout is active); see ``train`` and ``eval``.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _forward_hooks: dict[int, hooks.Hook]
    _forward_pre_hooks: dict[int, hooks.Hook]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set(),
            _forward_hooks={}, _forward_pre_hooks={},
        )  # fmt: skip

    def _no_forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward: Callable[..., Any] = _no_forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks:
            args, kwargs = hooks.run_before(self._forward_pre_hooks, self, args, kwargs)
            return hooks.run_after(self._forward_hooks, self, args, kwargs, self.forward(*args, **kwargs))
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
            self.register_module(name, value)
        elif name in own.get("_parameters", ()):
            self._put("_parameters", "parameter", name, value, "Parameter or None")
        elif name in own.get("_modules", ()):
            self._put("_modules", "child module", name, value, "Module or None")
        elif name in own.get("_buffers", ()):
            self._put("_buffers", "buffer", name, value, "Tensor or None")
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

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
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as {told} '{name}' ({expected} expected)"
            )
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
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (Parameter or None "
                "required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}': make a Parameter of its .detach()"
            )
        self._parameters[name] = param

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
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name (None keeps the name for later)."""
        self._check_ready("module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

    add_module = register_module

    def _check_name(self, name: Any, told: str, held: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{told} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in held:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{told} name can\'t contain "." (got {name!r})')
        if name == "":
            raise KeyError(f'{told} name can\'t be empty string ""')

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:  # fmt: skip
        """Call ``hook(module, args)`` before forward; what it returns replaces them, unless None."""
        return hooks.register(self._forward_pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                              with_kwargs: bool = False, always_call: bool = False
                              ) -> RemovableHandle:  # fmt: skip
        """Call ``hook(module, args, result)`` after forward; what it returns replaces it, unless None."""
        if always_call:
            raise NotImplementedError(
                "always_call=True (hooks that also run when forward fails) is not provided"
            )
        return hooks.register(self._forward_hooks, hook, prepend, with_kwargs)

    # What it holds ------------------------------------------------------------------------------------------

    def named_modules(self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Module]]:  # fmt: skip
        """(full name, module) of this module and all below it, each module once unless asked otherwise."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

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

    def _named_tensors(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else iter([(prefix, self)])
        seen: set[int] = set()
        for owner_name, owner in modules:
            for name, tensor in owner.__dict__[kind].items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield (f"{owner_name}.{name}" if owner_name else name), tensor

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                         ) -> Iterator[tuple[str, Parameter]]:  # fmt: skip
        """(full name, parameter) of all parameters; one with several names comes once, under its first."""
        return self._named_tensors("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters("", recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Tensor]]:  # fmt: skip
        """(full name, buffer) of all buffers."""
        return self._named_tensors("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers("", recurse):
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

    def state_dict(self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Any]:  # fmt: skip
        """All parameters and persistent buffers by their full names, a tied one under each of its names.

        Args:
            destination: a dict to add to. prefix: put before every name.
            keep_vars: give the parameters themselves, not tensors detached from them. Either way the memory
                is the module's own: copy it (``copy.deepcopy``) to keep the values of a moment.
        """
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        found = given.get("destination", destination)
        found = {} if found is None else found
        prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        for name, _, _, tensor in entries(self, recurse=False):
            found[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:  # by the module's own method, which a subclass may have replaced
                module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
                        ) -> IncompatibleKeys:  # fmt: skip
        """Copy a state dict's values into the parameters and buffers, in their dtypes and on their devices.

        Args:
            state_dict: tensors by full name.
            strict: refuse missing and unexpected names; else they are only returned.
            assign: put the given tensors in the old ones' places (also in dtype and device), without a copy.

        Returns:
            The missing and the unexpected names.

        Raises:
            RuntimeError: names or shapes do not fit; the text lists them all, and nothing has been changed.
        """
        return load(self, state_dict, strict, assign)

    # Modes, devices and dtypes ------------------------------------------------------------------------------

    def train(self: T, mode: bool = True) -> T:
        """Training mode for this module and all below it: dropout drops."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
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

    def _convert(self: T, convert: Convert) -> T:
        """Change every tensor by ``convert``: parameters in place, so that optimisers and ties keep them."""
        changed: dict[int, Tensor] = {}
        with no_grad():
            for module in self.modules():
                for parameter in module._parameters.values():
                    if parameter is not None and id(parameter) not in changed:
                        changed[id(parameter)] = _change(parameter, convert)
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        if id(buffer) not in changed:
                            changed[id(buffer)] = convert(buffer)
                        module._buffers[name] = changed[id(buffer)]
        return self

    def to(self: T, *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False) -> T:
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
        return self._convert(lambda t: t.to(device=where, dtype=dtype if t.is_floating_point() else None))

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
        lines = (extra.split("\n") if extra else []) + self._child_lines()
        if len(lines) <= 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {body}\n)"


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
