"""Gradient hooks of modules, implemented by identity ops around a module's arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.tracebacks import warn
from ..nn import hooks
from ..tensor import Tensor
from .function import Function

Args = tuple[Any, ...]


class _Through(Function):
    """The identity. ``visit`` receives the gradients that pass through and returns replacements."""

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
    """The points where gradients enter and leave a module: identity ops around its positional arguments and results."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.hooks = [*hooks.ALL_BACKWARD.values(), *module._backward_hooks.values()]
        self.pre_hooks = [*hooks.ALL_BACKWARD_PRE.values(), *module._backward_pre_hooks.values()]
        self.argument_count, self.has_inputs = 0, False  # has_inputs: some argument requires a gradient
        self.grad_outputs: Args | None = None

    def enter(self, args: Args) -> Args:
        tied = _tied(args, self._passed_input, True)
        self.argument_count, self.has_inputs = len(args), tied is not args
        return tied

    def leave(self, result: Any) -> Any:
        if isinstance(result, (tuple, Tensor)):
            tied = _tied(result if isinstance(result, tuple) else (result,), self._passed_output, False)
            return tied if isinstance(result, tuple) else tied[0]
        expected = "module output should be a Tensor or a tuple of Tensors"
        warn(f"For backward hooks to be called, {expected} but received {type(result)}")
        return result

    def _passed_output(self, grads: Args) -> Args:
        for hook in self.pre_hooks:
            grads = _replaced(hook(self.module, grads), grads, "grad_output")
        if self.has_inputs:
            self.grad_outputs = grads
            return grads
        for hook in self.hooks:  # call it now, as there is no input gradient to wait for
            replacement = hook(self.module, (None,) * self.argument_count, grads)
            if replacement is not None and not (isinstance(replacement, tuple) and set(replacement) <= {None}):
                where = "for Modules where no input requires gradient"
                raise RuntimeError(f"Backward hook {where} should always return None or None for all gradients.")
        return grads

    def _passed_input(self, grads: Args) -> Args:
        if self.grad_outputs is None:  # the pass bypassed the results, as for second derivatives
            return grads
        for hook in self.hooks:
            grads = _replaced(hook(self.module, grads, self.grad_outputs), grads, "grad_input")
        self.grad_outputs = None
        return grads


def _tied(values: Args, visit: Callable[[Args], Args], zeros: bool) -> Args:
    """Pass the tensors in a tuple through an identity op. Returns the same tuple if no tensor requires a gradient.
    ``visit`` gets the gradients at the tensors' positions, and None at the others. With ``zeros``, it gets zeros
    instead of None for a missing gradient."""
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
    """The gradients that a hook returned, or the previous gradients if it returned None."""
    if replacement is None:
        return grads
    replacement = replacement if isinstance(replacement, tuple) else (replacement,)
    if len(replacement) != len(grads):
        numbers = f"got {len(replacement)}, but expected {len(grads)}"
        raise RuntimeError(f"Backward hook returned an invalid number of {what}, {numbers}")
    return replacement
