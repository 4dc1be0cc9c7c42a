"""Hooks: functions that a module calls before and after its forward, and when gradients pass it.

A module keeps its own in tables by number; the tables here hold for all modules (``register_module_…_hook``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd import Function
from ..tensor import RemovableHandle, Tensor

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Hook(NamedTuple):
    """A function to call around forward."""

    function: Callable[..., Any]
    with_kwargs: bool = False  # whether it wants the keyword arguments, too
    always: bool = False  # whether it is also called where forward fails

    def __call__(self, module: Any, args: Args, kwargs: Kwargs, *result: Any) -> Any:
        given = (args, kwargs) if self.with_kwargs else (args,)
        return self.function(module, *given, *result)


Table = dict[int, Any]
ALL_FORWARD_PRE: Table = {}
ALL_FORWARD: Table = {}
ALL_BACKWARD_PRE: Table = {}
ALL_BACKWARD: Table = {}
ALL_REGISTRATION: dict[str, Table] = {"parameter": {}, "buffer": {}, "module": {}}
AROUND_CALLS = (ALL_FORWARD_PRE, ALL_FORWARD, ALL_BACKWARD_PRE, ALL_BACKWARD)


def register(hooks: Table, hook: Any, prepend: bool = False) -> RemovableHandle:
    """Put a hook last, or first, among ``hooks``; the handle takes it out again."""
    others = dict(hooks) if prepend else {}
    for other in others:
        del hooks[other]
    handle = RemovableHandle(hooks, hook)
    hooks.update(others)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return register(ALL_FORWARD_PRE, Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, result)`` after the forward of every module."""
    return register(ALL_FORWARD, Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when the gradient reaches the results of any module."""
    return register(ALL_BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradient has passed any module."""
    return register(ALL_BACKWARD, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` for each that is registered; a result takes its place."""
    return register(ALL_REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for each that is registered; a result takes its place."""
    return register(ALL_REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` for each that is registered; a result takes its place."""
    return register(ALL_REGISTRATION["module"], hook)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What to register, after the hooks for that kind of value have seen it."""
    for hook in ALL_REGISTRATION[kind].values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


class Call:
    """One call of a module that has hooks, or while there are hooks for all modules."""

    def __init__(self, module: Any, args: Args, kwargs: Kwargs) -> None:
        self.module, self.args, self.kwargs, self.result = module, args, kwargs, None
        self.after: Table = {**ALL_FORWARD, **module._forward_hooks}

    def run(self) -> Any:
        """The result of forward, with all hooks around it.

        Raises:
            RuntimeError: a hook with keyword arguments returned neither None nor (args, kwargs).
        """
        try:
            self._run()
        except Exception:
            self._run_always()
            raise
        return self.result

    def _run(self) -> None:
        module = self.module
        self._run_before()
        border = Border(module)
        if border.hooks or border.pre_hooks:
            self.args = border.enter(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        while self.after:
            changed = self._next()
            if changed is not None:
                self.result = changed
        if border.hooks or border.pre_hooks:
            self.result = border.leave(self.result)

    def _next(self) -> Any:
        hook = self.after.pop(next(iter(self.after)))
        return hook(self.module, self.args, self.kwargs, self.result)

    def _run_before(self) -> None:
        for hook in list({**ALL_FORWARD_PRE, **self.module._forward_pre_hooks}.values()):
            changed = hook(self.module, self.args, self.kwargs)
            if changed is None:
                continue
            if not hook.with_kwargs:
                self.args = changed if isinstance(changed, tuple) else (changed,)
            elif isinstance(changed, tuple) and len(changed) == 2:
                self.args, self.kwargs = changed
            else:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), got {changed}"
                )

    def _run_always(self) -> None:
        """After a failure: the hooks that want to be called all the same, and have not been."""
        self.after = {key: hook for key, hook in self.after.items() if hook.always}
        while self.after:
            try:
                self._next()
            except Exception as error:
                warnings.warn(
                    f"a forward hook with always_call=True raised an exception, silenced as another "
                    f"error came first: {error}",
                    stacklevel=4,
                )


class _Through(Function):
    """The identity, which tells ``seen`` the gradients as they pass; what that returns goes on."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[[Args], Args], zeros: bool, *tensors: Tensor) -> Args:
        """The same tensors."""
        ctx.seen = seen
        ctx.set_materialize_grads(zeros)
        out = tuple(t.detach() for t in tensors)
        ctx.mark_non_differentiable(*(o for o, t in zip(out, tensors, strict=True) if not t.requires_grad))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Args:
        """What ``seen`` makes of the gradients."""
        return (None, None, *ctx.seen(grads))


class Border:
    """Where gradients enter and leave a module: identities around its positional arguments and results."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.hooks: Table = {**ALL_BACKWARD, **module._backward_hooks}
        self.pre_hooks: Table = {**ALL_BACKWARD_PRE, **module._backward_pre_hooks}
        self.count = 0  # arguments of forward
        self.inputs: list[int] | None = None  # those that are tensors; None if none wants a gradient
        self.outputs: list[int] = []
        self.results = 0
        self.grad_outputs: Args | None = None

    def enter(self, args: Args) -> Args:
        """The arguments, tied to this border."""
        self.count = len(args)
        tied, self.inputs = _tied(args, self._passed_input, True)
        return tied

    def leave(self, result: Any) -> Any:
        """The result or results, tied to this border."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"received {type(result)}",
                stacklevel=4,
            )
            return result
        several = result if isinstance(result, tuple) else (result,)
        self.results = len(several)
        tied, at = _tied(several, self._passed_output, False)
        self.outputs = at or []
        return tied if isinstance(result, tuple) else tied[0]

    def _passed_output(self, grads: Args) -> Args:
        """The gradients of the results have arrived."""
        given = _spread(grads, self.outputs, self.results)
        for hook in list(self.pre_hooks.values()):
            given = _replaced(hook(self.module, given), given, "grad_output")
        self.grad_outputs = given
        if self.inputs is None:
            nothing = (None,) * self.count
            for hook in list(self.hooks.values()):
                changed = hook(self.module, nothing, given)
                if changed is not None and not (isinstance(changed, tuple) and set(changed) <= {None}):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return "
                        "None or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(given[i] for i in self.outputs)

    def _passed_input(self, grads: Args) -> Args:
        """The gradients of the arguments are complete."""
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one: the gradient came "
                "to the module's input without passing its output. Make the loss depend on the output"
            )
        inputs = self.inputs or []
        given = _spread(grads, inputs, self.count)
        for hook in list(self.hooks.values()):
            given = _replaced(hook(self.module, given, self.grad_outputs), given, "grad_input")
        self.grad_outputs = None
        return tuple(given[i] for i in inputs)


def _tied(values: Args, seen: Callable[[Args], Args], zeros: bool) -> tuple[Args, list[int] | None]:
    """The values, those that are tensors put through an identity, and where these stand.

    Args:
        zeros: ``seen`` gets zeros, and not None, for a tensor whose gradient does not arrive.
    """
    at = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[i].requires_grad for i in at):
        return values, None
    through = _Through.apply(seen, zeros, *(values[i] for i in at))
    if not any(t.requires_grad for t in through):  # nothing is recorded here
        return values, None
    listed = list(values)
    for i, tensor in zip(at, through, strict=True):
        listed[i] = tensor
    return (tuple(listed) if type(values) is tuple else type(values)(*listed)), at


def _spread(grads: Args, at: list[int], count: int) -> Args:
    """Gradients in their places among ``count`` values, the others None."""
    places: list[Any] = [None] * count
    for i, grad in zip(at, grads, strict=True):
        places[i] = grad
    return tuple(places)


def _replaced(changed: Any, given: Args, what: str) -> Args:
    """What a hook returned in place of the gradients, if anything."""
    if changed is None:
        return given
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(given):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(changed)}, but expected {len(given)}"
        )
    return changed
