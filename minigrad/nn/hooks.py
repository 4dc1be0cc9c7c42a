"""Hooks: functions that a module calls before and after ``forward``, and when gradients flow through it.

Each module stores its own hooks. The tables here contain the hooks for all modules (``register_module_…_hook``).
``compat/backward_hooks.py`` calls the gradient hooks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd.tracebacks import warn
from ..extension import layer
from ..tensor import RemovableHandle

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Hook(NamedTuple):
    """A function to call before or after ``forward``."""

    function: Callable[..., Any]
    with_kwargs: bool = False  # whether to pass the keyword arguments as well
    always: bool = False  # whether to call it even if ``forward`` fails

    def __call__(self, module: Any, args: Args, kwargs: Kwargs, *result: Any) -> Any:
        arguments = (args, kwargs) if self.with_kwargs else (args,)
        return self.function(module, *arguments, *result)

    def replaced(self, replacement: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The arguments for ``forward`` after this hook has returned ``replacement``."""
        if replacement is None:
            return args, kwargs
        if not self.with_kwargs:
            return (replacement if isinstance(replacement, tuple) else (replacement,)), kwargs
        if isinstance(replacement, tuple) and len(replacement) == 2:
            return replacement
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), got {replacement}")


def entry(function: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> Any:
    """A table entry. Without options, it is the function itself, because programs look for the function there."""
    return Hook(function, with_kwargs, always) if with_kwargs or always else function


def _hook(entry: Any) -> Hook:
    return entry if isinstance(entry, Hook) else Hook(entry)


Table = dict[int, Any]
ALL_FORWARD_PRE: Table = {}
ALL_FORWARD: Table = {}
ALL_BACKWARD_PRE: Table = {}
ALL_BACKWARD: Table = {}
ALL_REGISTRATION: dict[str, Table] = {"parameter": {}, "buffer": {}, "module": {}}
_global_parameter_registration_hooks = ALL_REGISTRATION["parameter"]  # PyTorch's name
AROUND_CALLS = (ALL_FORWARD_PRE, ALL_FORWARD, ALL_BACKWARD_PRE, ALL_BACKWARD)


def register(hooks: Table, hook: Any, prepend: bool = False) -> RemovableHandle:
    """Add a hook at the end of a table, or at its start if ``prepend``. Returns a handle that can remove it."""
    others = dict(hooks) if prepend else {}
    for other in others:
        del hooks[other]
    handle = RemovableHandle(hooks, hook)
    hooks.update(others)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's ``forward``."""
    return register(ALL_FORWARD_PRE, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, result)`` after every module's ``forward``."""
    return register(ALL_FORWARD, entry(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before computing the gradients of any module's inputs."""
    return register(ALL_BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` once the gradients of any module's inputs are computed."""
    return register(ALL_BACKWARD, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any parameter is registered; the hook may return a replacement."""
    return register(ALL_REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any buffer is registered; the hook may return a replacement."""
    return register(ALL_REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any submodule is registered; the hook may return a replacement."""
    return register(ALL_REGISTRATION["module"], hook)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """The value to register, after calling the hooks for its kind."""
    for hook in ALL_REGISTRATION[kind].values():
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def call(module: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call ``module.forward(*args, **kwargs)`` with all hooks, and return the result."""
    after, result = deque(map(_hook, [*ALL_FORWARD.values(), *module._forward_hooks.values()])), None
    try:
        for hook in map(_hook, [*ALL_FORWARD_PRE.values(), *module._forward_pre_hooks.values()]):
            args, kwargs = hook.replaced(hook(module, args, kwargs), args, kwargs)
        is_watched = ALL_BACKWARD or ALL_BACKWARD_PRE or module._backward_hooks or module._backward_pre_hooks
        border = layer().Border(module) if is_watched else None
        args = border.enter(args) if border else args
        result = module.forward(*args, **kwargs)
        while after:
            replacement = after.popleft()(module, args, kwargs, result)
            result = result if replacement is None else replacement
        return border.leave(result) if border else result
    except Exception:
        for hook in after:
            try:
                if hook.always:
                    hook(module, args, kwargs, result)
            except Exception as error:
                warn(f"an exception in a forward hook with always_call=True was suppressed by an earlier one: {error}")
        raise
