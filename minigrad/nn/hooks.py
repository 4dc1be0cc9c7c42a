"""Hooks: functions that a module calls before and after its forward, and when gradients pass it.

Each module keeps its own hooks; the tables here hold the hooks of all modules (``register_module_…_hook``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd import Function
from ..autograd.tracebacks import warn
from ..tensor import RemovableHandle, Tensor

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Hook(NamedTuple):
    """A function to call around forward."""

    function: Callable[..., Any]
    with_kwargs: bool = False  # whether it takes the keyword arguments, too
    always: bool = False  # whether it is also called if forward fails

    def __call__(self, module: Any, args: Args, kwargs: Kwargs, *result: Any) -> Any:
        arguments = (args, kwargs) if self.with_kwargs else (args,)
        return self.function(module, *arguments, *result)

    def replaced(self, replacement: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The arguments of forward, after this hook has returned ``replacement``."""
        if replacement is None:
            return args, kwargs
        if not self.with_kwargs:
            return (replacement if isinstance(replacement, tuple) else (replacement,)), kwargs
        if isinstance(replacement, tuple) and len(replacement) == 2:
            return replacement
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), got {replacement}")


def entry(function: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> Any:
    """What a table holds: the function itself, which programs look for there, unless it is called in another way."""
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
    """Add a hook at the end of a table, or at its beginning; the handle removes it."""
    others = dict(hooks) if prepend else {}
    for other in others:
        del hooks[other]
    handle = RemovableHandle(hooks, hook)
    hooks.update(others)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return register(ALL_FORWARD_PRE, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, result)`` after the forward of every module."""
    return register(ALL_FORWARD, entry(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the gradients of every module's inputs are computed."""
    return register(ALL_BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of a module's inputs are there."""
    return register(ALL_BACKWARD, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any is registered; a result replaces the parameter."""
    return register(ALL_REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any is registered; a result replaces the buffer."""
    return register(ALL_REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any is registered; a result replaces the submodule."""
    return register(ALL_REGISTRATION["module"], hook)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """The value to register, after the hooks for its kind have seen it."""
    for hook in ALL_REGISTRATION[kind].values():
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def call(module: Any, args: Args, kwargs: Kwargs) -> Any:
    """The result of ``module.forward(*args, **kwargs)``, with all hooks around it."""
    after, result = deque(map(_hook, [*ALL_FORWARD.values(), *module._forward_hooks.values()])), None
    try:
        for hook in map(_hook, [*ALL_FORWARD_PRE.values(), *module._forward_pre_hooks.values()]):
            args, kwargs = hook.replaced(hook(module, args, kwargs), args, kwargs)
        border = Border(module)
        args = border.enter(args)
        result = module.forward(*args, **kwargs)
        while after:
            replacement = after.popleft()(module, args, kwargs, result)
            result = result if replacement is None else replacement
        return border.leave(result)
    except Exception:
        for hook in after:
            try:
                if hook.always:
                    hook(module, args, kwargs, result)
            except Exception as error:
                problem = "raised an exception, silenced as another error came first"
                warn(f"a forward hook with always_call=True {problem}: {error}")
        raise


class _Through(Function):
    """The identity; ``visit`` gets the gradients that pass, and its result goes on."""

    @staticmethod
    def forward(ctx: Any, visit: Callable[[Args], Args], zeros: bool, *tensors: Tensor) -> Args:
        ctx.visit = visit
        ctx.set_materialize_grads(zeros)
        out = tuple(t.detach() for t in tensors)
        ctx.mark_non_differentiable(*(o for o, t in zip(out, tensors, strict=True) if not t.requires_grad))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Args:
        return (None, None, *ctx.visit(grads))


class Border:
    """Where gradients enter and leave a module: identities around its positional arguments and results."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.hooks = [*ALL_BACKWARD.values(), *module._backward_hooks.values()]
        self.pre_hooks = [*ALL_BACKWARD_PRE.values(), *module._backward_pre_hooks.values()]
        self.is_watched = bool(self.hooks or self.pre_hooks)
        self.argument_count, self.has_inputs = 0, False  # has_inputs: some argument requires a gradient
        self.grad_outputs: Args | None = None

    def enter(self, args: Args) -> Args:
        """The arguments, tied to this border if there are hooks."""
        if not self.is_watched:
            return args
        tied = _tied(args, self._passed_input, True)
        self.argument_count, self.has_inputs = len(args), tied is not args
        return tied

    def leave(self, result: Any) -> Any:
        """The result or results, tied to this border if there are hooks."""
        if self.is_watched and isinstance(result, tuple):
            return _tied(result, self._passed_output, False)
        if self.is_watched and isinstance(result, Tensor):
            return _tied((result,), self._passed_output, False)[0]
        if self.is_watched:
            expected = "module output should be a Tensor or a tuple of Tensors"
            warn(f"For backward hooks to be called, {expected} but received {type(result)}")
        return result

    def _passed_output(self, grads: Args) -> Args:
        """The gradients of the results have arrived."""
        for hook in self.pre_hooks:
            grads = _replaced(hook(self.module, grads), grads, "grad_output")
        if self.has_inputs:
            self.grad_outputs = grads
            return grads
        for hook in self.hooks:  # now: there is no gradient that they could wait for
            replacement = hook(self.module, (None,) * self.argument_count, grads)
            if replacement is not None and not (isinstance(replacement, tuple) and set(replacement) <= {None}):
                where = "for Modules where no input requires gradient"
                raise RuntimeError(f"Backward hook {where} should always return None or None for all gradients.")
        return grads

    def _passed_input(self, grads: Args) -> Args:
        """The gradients of the arguments are complete."""
        if self.grad_outputs is None:  # it came without passing the results, as in second order
            return grads
        for hook in self.hooks:
            grads = _replaced(hook(self.module, grads, self.grad_outputs), grads, "grad_input")
        self.grad_outputs = None
        return grads


def _tied(values: Args, visit: Callable[[Args], Args], zeros: bool) -> Args:
    """The values, with the tensors passed through an identity; the same tuple if none requires a gradient. ``visit``
    gets the gradients in the places of the tensors, and None in the others'. With ``zeros``, it gets zeros, and not
    None, for a gradient that does not arrive."""
    tensors = {i: value for i, value in enumerate(values) if isinstance(value, Tensor)}
    if not any(tensor.requires_grad for tensor in tensors.values()):
        return values

    def spread(grads: Args) -> Args:
        by_place = dict(zip(tensors, grads, strict=True))
        passed = visit(tuple(by_place.get(i) for i in range(len(values))))
        return tuple(passed[i] for i in tensors)

    through = _Through.apply(spread, zeros, *tensors.values())
    if not any(tensor.requires_grad for tensor in through):  # nothing is recorded here
        return values
    replaced = dict(zip(tensors, through, strict=True))
    tied = tuple(replaced.get(i, value) for i, value in enumerate(values))
    return tied if type(values) is tuple else type(values)(*tied)


def _replaced(replacement: Any, grads: Args, what: str) -> Args:
    """A hook's result as gradients; None stands for those before."""
    if replacement is None:
        return grads
    replacement = replacement if isinstance(replacement, tuple) else (replacement,)
    if len(replacement) != len(grads):
        numbers = f"got {len(replacement)}, but expected {len(grads)}"
        raise RuntimeError(f"Backward hook returned an invalid number of {what}, {numbers}")
    return replacement
