"""Module, the base class of every layer and model. It stores parameters, buffers and submodules by name.

``hooks.py`` calls hooks; ``state.py`` saves and loads modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, Protocol, TypeVar

from ..autograd import no_grad
from ..autograd.observer import span
from ..autograd.tracebacks import border_methods, shorten
from ..backend import dtype as dt, memory
from ..backend.device import NO_DATA, Device
from ..functions.conversion import target_of
from ..functions.creation import empty_like
from ..ops.op import watch
from ..tensor import RemovableHandle, Tensor
from . import hooks
from .parameter import Buffer, Parameter
from .state import Stateful

T = TypeVar("T", bound="Module")
Arguments = ParamSpec("Arguments")
Result_co = TypeVar("Result_co", covariant=True)
Convert = Callable[[Tensor], Tensor]
Members = Callable[["Module"], Any]
_KINDS = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}  # attribute kinds and their tables


class Computes(Protocol[Arguments, Result_co]):
    """An object with a ``forward``, from which type checkers derive the signature of a module call."""

    @property
    def forward(self) -> Callable[Arguments, Result_co]: ...

    def _hooked_call(self, *args: Any, **kwargs: Any) -> Any: ...


class Module(Stateful):
    """A function with parameters. Subclass it, assign layers in ``__init__`` and define ``forward``:

        class Classifier(nn.Module):
            def __init__(self, width, classes):
                super().__init__()
                self.hidden = nn.Linear(width, width)
                self.out = nn.Linear(width, classes)

            def forward(self, x):  # (B, width) -> (B, classes)
                return self.out(self.hidden(x).relu())

    An attribute that is a Parameter, a Buffer or a Module is registered under its name. A plain Tensor is not; to make
    it part of the state, call ``register_buffer``. ``training`` enables dropout; see ``train`` and ``eval``.

    >>> class Block(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(4, 4)
    ...
    ...     def forward(self, x):
    ...         return x + self.linear(x).relu()
    >>> Block()(mg.zeros(2, 4)).shape
    minigrad.Size([2, 4])
    """

    call_super_init: bool = False  # whether __init__ passes its arguments to the next base class
    training: bool
    _modules: dict[str, Module | None]
    _forward_hooks: dict[int, Any]
    _forward_pre_hooks: dict[int, Any]
    _backward_hooks: dict[int, Callable[..., Any]]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            positional = f"takes 1 positional argument but {len(args) + 1} were given"
            error = f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else positional
            raise TypeError(f"{type(self).__name__}.__init__() {error}")
        self.__dict__.update(_empty_tables())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        border_methods(cls, "__init__")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**_empty_tables(), **state})

    def _no_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result. Every subclass defines this method."""
        problem = 'is missing the required "forward" function: write forward(self, ...)'
        raise NotImplementedError(f"Module [{type(self).__name__}] {problem}")

    forward: Callable[..., Any] = _no_forward

    def __call__(self: Computes[Arguments, Result_co], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result_co:
        try:
            if not watch.observers:
                return self._hooked_call(*args, **kwargs)
            with span(type(self).__name__, "module", self):
                return self._hooked_call(*args, **kwargs)
        except Exception as error:
            shorten(error, self)
            raise

    def _hooked_call(self, *args: Any, **kwargs: Any) -> Any:
        return hooks.call(self, args, kwargs) if self._has_hooks() else self.forward(*args, **kwargs)

    def _has_hooks(self) -> bool:
        forward = self._forward_hooks or self._forward_pre_hooks
        return bool(forward or self._backward_hooks or self._backward_pre_hooks or any(hooks.AROUND_CALLS))

    def __getattr__(self, name: str) -> Any:
        for kind in _KINDS.values():
            table = self.__dict__.get(kind)
            if table is not None and name in table:
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, Parameter):
            self._make_room(name, "parameter")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._make_room(name, "module")
            self._modules[name] = hooks.registered("module", self, name, value)
        elif name in attributes.get("_parameters", ()):
            _put(self._parameters, "parameter", name, value, None, "Parameter or None")
        elif name in attributes.get("_modules", ()):
            _put(self._modules, "child module", name, value, None, "Module or None")
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, *(() if value.persistent else (False,)))  # programs override this method
        elif name in attributes.get("_buffers", ()):
            _put(self._buffers, "buffer", name, value, Tensor, "Tensor or None")
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS.values():
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _check_ready(self, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            kinds = "parameters" if kind == "parameter" else kind
            remedy = f"begin {type(self).__name__}.__init__ with super().__init__()"
            raise AttributeError(f"cannot assign {kinds} before Module.__init__() call: {remedy}")

    def _make_room(self, name: str, kind: str) -> None:
        """Remove any attribute of another kind with this name."""
        self._check_ready(kind)
        self.__dict__.pop(name, None)
        for other, table in _KINDS.items():
            if other != kind:
                self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name. Raises TypeError or KeyError if the name or the value
        cannot be registered, and ValueError if the tensor is not a leaf."""
        if isinstance(param, Parameter) and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}': wrap its .detach() in a Parameter")
        self._register("parameter", name, param, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not a parameter. It moves with the module and gets no gradient.

        ``persistent``: whether it is part of ``state_dict``.

        >>> class Causal(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.register_buffer("mask", mg.ones(2, 2).tril())
        >>> list(Causal().state_dict())
        ['mask']
        """
        self._register("buffer", name, tensor, Tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; None reserves the name."""
        if module is not None and not isinstance(module, Module):
            advice = ": unpack it with *modules" if isinstance(module, list | tuple) else ""
            raise TypeError(f"{type(module).__name__} is not a Module subclass{advice}")
        self._register("module", name, module, Module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias for ``add_module``."""
        self.add_module(name, module)

    def _register(self, kind: str, name: Any, value: Any, expected: type[Any]) -> None:
        self._check_ready(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in self.__dict__[_KINDS[kind]]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "." (got {name!r})')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if value is not None and not isinstance(value, expected):
            actual, required = type(value).__name__, f"{expected.__name__} or None required"
            raise TypeError(f"cannot assign '{actual}' object to {kind} '{name}' ({required})")
        self.__dict__[_KINDS[kind]][name] = hooks.registered(kind, self, name, value)

    # Hooks, called in registration order (or first, with ``prepend``) until ``handle.remove()`` --------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; a result other than None replaces the arguments."""
        return hooks.register(self._forward_pre_hooks, hooks.entry(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after ``forward``; a return value other than None replaces the result.
        ``with_kwargs``: call ``hook(module, args, kwargs, result)``. ``always_call``: call it even after an error."""
        return hooks.register(self._forward_hooks, hooks.entry(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` with the outputs' gradients. A result other than None replaces them."""
        return hooks.register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once the gradients of the positional arguments are complete.
        Both are tuples, with None for non-tensors. A return value other than None replaces ``grad_input``."""
        return self._register_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Alias for ``register_full_backward_hook``. PyTorch's deprecated method reports only one op's gradients."""
        return self._register_backward_hook(hook, False, False)

    def _register_backward_hook(self, hook: Callable[..., Any], full: bool, prepend: bool) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            both = "both regular backward hooks and full backward hooks on a single Module"
            raise RuntimeError(f"Cannot use {both}. Please use only one of them.")
        self._is_full_backward_hook = full
        return hooks.register(self._backward_hooks, hook, prepend)

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (full name, module) for this module and all submodules, each only once if ``remove_duplicate``.

        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 2), nn.ReLU()).named_modules()]
        ['', '0', '1']
        """
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
        """This module and all its submodules."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for each direct submodule."""
        return self._named_members(lambda m: m._modules.items(), recurse=False)

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, get_members_fn: Members, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield (full name, value) for each (name, value) that ``get_members_fn`` returns for a module."""
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        yielded: set[int] = set()
        for owner_name, owner in modules:
            for name, value in get_members_fn(owner):
                if value is None or id(value) in yielded:
                    continue
                if remove_duplicate:
                    yielded.add(id(value))
                yield (f"{owner_name}.{name}" if owner_name else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (full name, parameter) for each parameter. Tied parameters appear once, under the first name.

        >>> [(name, tuple(p.shape)) for name, p in nn.Linear(3, 2).named_parameters()]
        [('weight', (2, 3)), ('bias', (2,))]
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once.

        >>> sum(p.numel() for p in nn.Linear(3, 2).parameters())
        8
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (full name, buffer) for each buffer."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The submodule named ``target``, such as "encoder.layers.0". Raises AttributeError if it is missing."""
        module: Module = self
        for name in target.split(".") if target else ():
            child = getattr(module, name, None)
            if not isinstance(child, Module):
                there = f"{module._get_name()} has no attribute `{name}`"
                problem = f"`{name}` is not an nn.Module" if hasattr(module, name) else there
                raise AttributeError(f"{problem} (of {target!r})")
            module = child
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the submodule named ``target``, which must exist if ``strict``. Raises ValueError or AttributeError."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the full name ``target``. Raises AttributeError if it is missing."""
        parameter: Parameter = self._get_tensor("parameter", target)
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the full name ``target``. Raises AttributeError if it is missing."""
        return self._get_tensor("buffer", target)

    def _get_tensor(self, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        tensor = owner.__dict__[_KINDS[kind]].get(name)
        if tensor is None:
            raise AttributeError(f"{type(owner).__name__} has no {kind} {name!r} (of {target!r})")
        return tensor

    def train(self: T, mode: bool = True) -> T:
        """Set training mode, in which dropout is active, for this module and all submodules.

        >>> nn.Dropout().eval().train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        if not mode:
            memory.keep_freed()  # inference begins
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Set evaluation mode. Autograd still records operations; use ``no_grad`` to prevent that.

        >>> nn.Dropout(0.9).eval()(mg.ones(3))
        tensor([1., 1., 1.])
        """
        return self.train(False)

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Call ``fn`` on every submodule, and then on this module.

        >>> def zero(module):
        ...     if isinstance(module, nn.Linear):
        ...         nn.init.zeros_(module.weight)
        >>> model = nn.Sequential(nn.Linear(2, 2)).apply(zero)
        >>> model[0].weight.sum().item()
        0.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set ``requires_grad`` on all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Delete the gradients of all parameters, or set them to zero.

        >>> layer = nn.Linear(2, 1)
        >>> layer(mg.ones(1, 2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def _apply(self: T, fn: Convert, recurse: bool = True) -> T:
        """Convert every tensor with ``fn``. Parameters change in place, so that optimisers and ties remain valid."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                for tensor in (parameter, None if parameter is None else parameter.grad):
                    if tensor is not None and (converted := fn(tensor)).array is not tensor.array:
                        tensor.array, tensor._changes = converted.array, converted._changes
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
        copy: bool = False,
        memory_format: Any = None,
    ) -> T:
        """Move all parameters and buffers to a device, or convert them to a floating-point or complex dtype, in place:
        ``to("cuda")``, ``to(float64)``, ``to("cuda", float16)``, ``to(tensor)``. Integer buffers keep their dtype.
        Raises TypeError for an integer or bool dtype or invalid arguments, and RuntimeError if ``copy`` is True.

        >>> nn.Linear(2, 1).to(mg.float64).weight.dtype == mg.float64
        True
        """
        dtype, device, _, copy = target_of(args, dtype, device, copy)
        if copy:
            raise RuntimeError(".to() does not accept copy argument: a module is converted in place")
        target = None if device is None else Device(device)
        if dtype is not None and not dt.has_gradient((dtype := dt.as_dtype(dtype)).numpy):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired {dtype=}")
        try:
            return self._apply(
                lambda t: t.to(
                    device=target,
                    dtype=dtype if dt.has_gradient(t.array.dtype) else None,
                    memory_format=memory_format if t.ndim in (4, 5) else None,
                )
            )
        except NotImplementedError as error:
            if str(error) != NO_DATA:
                raise
            empty, to = dt.shown("nn.Module.to_empty()"), dt.shown("nn.Module.to()")
            hint = f"Please use {empty} instead of {to} when moving module from meta to a different device."
            raise NotImplementedError(f"{NO_DATA} {hint}") from None

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to a device without copying the values, which become undefined."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self: T, dst_type: Any) -> T:
        """Convert all parameters and buffers, including integer ones, to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self: T) -> T:
        """Move to main memory."""
        return self.to("cpu")

    def cuda(self: T, device: Any = None) -> T:
        """Move to a GPU."""
        return self.to("cuda" if device is None else Device(device))

    def float(self: T) -> T:
        """Convert to float32."""
        return self.to(dt.float32)

    def double(self: T) -> T:
        """Convert to float64."""
        return self.to(dt.float64)

    def half(self: T) -> T:
        """Convert to float16."""
        return self.to(dt.float16)

    def bfloat16(self: T) -> T:
        """Convert floating-point parameters and buffers to bfloat16. Raises TypeError if ml_dtypes is missing."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self: T) -> T:
        """Not supported, as processes do not share memory. Raises NotImplementedError."""
        reason = "each process would train its own copy. Send state_dict() through a queue instead"
        raise NotImplementedError(f"Module.share_memory is not supported: {reason}")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing. This method exists for compatibility with PyTorch programs."""

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the parentheses of ``repr``. Subclasses override this method."""
        return ""

    def _child_lines(self) -> list[str]:
        return [f"({name}): {module!r}" for name, module in self._modules.items()]

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) <= 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += self._child_lines()
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {body}\n)"


border_methods(Module, "__setattr__", "register_parameter", "register_buffer", "add_module", "set_submodule", "to")
border_methods(Module, "get_parameter", "get_buffer", "_apply", "apply", "requires_grad_")
border_methods(Stateful, "load_state_dict", "state_dict")


def _empty_tables() -> dict[str, Any]:
    """The attributes of a new module: empty dicts for those declared as dicts, and three others."""
    declared = {**Stateful.__annotations__, **Module.__annotations__}
    tables: dict[str, Any] = {name: {} for name, kind in declared.items() if kind.startswith("dict")}
    return {**tables, "training": True, "_non_persistent_buffers_set": set(), "_is_full_backward_hook": None}


def _put(table: dict[str, Any], kind: str, name: str, value: Any, allowed: type[Any] | None, expected: str) -> None:
    """Assign None or a value of the allowed type to a registered name."""
    if value is not None and not (allowed is not None and isinstance(value, allowed)):
        raise TypeError(f"cannot assign '{type(value).__name__}' as {kind} '{name}' ({expected} expected)")
    table[name] = value


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Delete a gradient, or detach it and set it to zero."""
    if tensor.grad is not None:
        tensor.grad = None if set_to_none else tensor.grad.detach().zero_()
