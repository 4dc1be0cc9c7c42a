"""Hooks: functions that a module calls before and after its forward, and when gradients pass it.

Each module keeps its own hooks; the tables here hold the hooks of all modules (``register_module_…_hook``).
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
    with_kwargs: bool = False  # whether it takes the keyword arguments, too
    always: bool = False  # whether it is also called if forward fails

    def __call__(self, module: Any, args: Args, kwargs: Kwargs, *result: Any) -> Any:
        arguments = (args, kwargs) if self.with_kwargs else (args,)
        return self.function(module, *arguments, *result)


Table = dict[int, Any]
ALL_FORWARD_PRE: Table = {}
ALL_FORWARD: Table = {}
ALL_BACKWARD_PRE: Table = {}
ALL_BACKWARD: Table = {}
ALL_REGISTRATION: dict[str, Table] = {"parameter": {}, "buffer": {}, "module": {}}
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
    """Call ``hook(module, name, parameter)`` when one is registered; a result replaces the parameter."""
    return register(ALL_REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when one is registered; a result replaces the buffer."""
    return register(ALL_REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when one is registered; a result replaces the submodule."""
    return register(ALL_REGISTRATION["module"], hook)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """The value to register, after the hooks for its kind have seen it."""
    for hook in ALL_REGISTRATION[kind].values():
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


class Call:
    """One call of a module with hooks around it."""

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
        self._run_before()
        border = Border(self.module)
        is_watched = bool(border.hooks or border.pre_hooks)
        if is_watched:
            self.args = border.enter(self.args)
        self.result = self.module.forward(*self.args, **self.kwargs)
        while self.after:
            replacement = self._run_next()
            self.result = self.result if replacement is None else replacement
        if is_watched:
            self.result = border.leave(self.result)

    def _run_next(self) -> Any:
        hook = self.after.pop(next(iter(self.after)))
        return hook(self.module, self.args, self.kwargs, self.result)

    def _run_before(self) -> None:
        for hook in list({**ALL_FORWARD_PRE, **self.module._forward_pre_hooks}.values()):
            replacement = hook(self.module, self.args, self.kwargs)
            if replacement is None:
                continue
            if not hook.with_kwargs:
                self.args = replacement if isinstance(replacement, tuple) else (replacement,)
            elif isinstance(replacement, tuple) and len(replacement) == 2:
                self.args, self.kwargs = replacement
            else:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), got {replacement}"
                )

    def _run_always(self) -> None:
        """After an error: the remaining hooks with ``always_call``."""
        self.after = {key: hook for key, hook in self.after.items() if hook.always}
        while self.after:
            try:
                self._run_next()
            except Exception as error:
                warnings.warn(
                    f"a forward hook with always_call=True raised an exception, silenced as another "
                    f"error came first: {error}",
                    stacklevel=4,
                )


class _Through(Function):
    """The identity; ``seen`` gets the gradients that pass, and its result goes on."""

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
        """The result of ``seen``."""
        return (None, None, *ctx.seen(grads))


class Border:
    """Where gradients enter and leave a module: identities around its positional arguments and results."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.hooks: Table = {**ALL_BACKWARD, **module._backward_hooks}
        self.pre_hooks: Table = {**ALL_BACKWARD_PRE, **module._backward_pre_hooks}
        self.argument_count = self.result_count = 0
        self.inputs: list[int] | None = None  # positions of the tensors; None if none requires a gradient
        self.outputs: list[int] = []
        self.grad_outputs: Args | None = None

    def enter(self, args: Args) -> Args:
        """The arguments, tied to this border."""
        self.argument_count = len(args)
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
        results = result if isinstance(result, tuple) else (result,)
        self.result_count = len(results)
        tied, positions = _tied(results, self._passed_output, False)
        self.outputs = positions or []
        return tied if isinstance(result, tuple) else tied[0]

    def _passed_output(self, grads: Args) -> Args:
        """The gradients of the results have arrived."""
        grad_output = _spread(grads, self.outputs, self.result_count)
        for hook in list(self.pre_hooks.values()):
            grad_output = _replaced(hook(self.module, grad_output), grad_output, "grad_output")
        self.grad_outputs = grad_output
        if self.inputs is None:
            self._call_without_inputs(grad_output)
        return tuple(grad_output[i] for i in self.outputs)

    def _call_without_inputs(self, grad_output: Args) -> None:
        """Call the hooks at once: no input requires a gradient that they could wait for."""
        grad_input = (None,) * self.argument_count
        for hook in list(self.hooks.values()):
            replacement = hook(self.module, grad_input, grad_output)
            if replacement is not None and not (isinstance(replacement, tuple) and set(replacement) <= {None}):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return "
                    "None or None for all gradients."
                )
        self.grad_outputs = None

    def _passed_input(self, grads: Args) -> Args:
        """The gradients of the arguments are complete."""
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one: the gradient came "
                "to the module's input without passing its output. Make the loss depend on the output"
            )
        inputs = self.inputs or []
        grad_input = _spread(grads, inputs, self.argument_count)
        for hook in list(self.hooks.values()):
            grad_input = _replaced(hook(self.module, grad_input, self.grad_outputs), grad_input, "grad_input")
        self.grad_outputs = None
        return tuple(grad_input[i] for i in inputs)


def _tied(values: Args, seen: Callable[[Args], Args], zeros: bool) -> tuple[Args, list[int] | None]:
    """The values, with the tensors passed through an identity, and the tensors' positions.

    Args:
        zeros: ``seen`` gets zeros, and not None, for a tensor whose gradient does not arrive.
    """
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[i].requires_grad for i in positions):
        return values, None
    through = _Through.apply(seen, zeros, *(values[i] for i in positions))
    if not any(t.requires_grad for t in through):  # nothing is recorded here
        return values, None
    tied = list(values)
    for i, tensor in zip(positions, through, strict=True):
        tied[i] = tensor
    return (tuple(tied) if type(values) is tuple else type(values)(*tied)), positions


def _spread(grads: Args, positions: list[int], count: int) -> Args:
    """Gradients in their positions among ``count`` values, the others None."""
    by_position = dict(zip(positions, grads, strict=True))
    return tuple(by_position.get(i) for i in range(count))


def _replaced(replacement: Any, grads: Args, what: str) -> Args:
    """A hook's result as gradients; None stands for those before."""
    if replacement is None:
        return grads
    replacement = replacement if isinstance(replacement, tuple) else (replacement,)
    if len(replacement) != len(grads):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(replacement)}, but expected {len(grads)}"
        )
    return replacement
