"""Gradient clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...autograd import no_grad
from ...autograd.origin import note_change
from ...autograd.tracebacks import border_functions, warn
from ...backend import of
from ...backend.dtype import Array
from ...functions.creation import zeros
from ...functions.reduction import norm
from ...functions.shaping import stack
from ...tensor import Tensor, wrap
from ..init import renamed

Tensors = Tensor | Iterable[Tensor]
Flag = bool | None


def _listed(parameters: Tensors) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    listed = list(parameters)
    if not listed and not isinstance(parameters, (list, tuple)):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    return listed


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Flag = None
) -> Tensor:
    """The total norm of all tensors. With ``error_if_nonfinite``, raises RuntimeError if the norm is not finite."""
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return zeros(())
    norm_type, device = float(norm_type), listed[0].device
    kernel, many = _together(listed) if norm_type == 2 else (None, None)
    length = kernel.norm(many) if kernel else NotImplemented
    if length is not NotImplemented:
        total = wrap(length)
    else:
        total = norm(stack([norm(t.detach(), norm_type).to(device=device) for t in listed]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        problem = f"The total norm of order {norm_type} for gradients from `parameters` is non-finite"
        remedy = "To disable this error and scale the gradients by the non-finite norm anyway"
        raise RuntimeError(f"{problem}, so it cannot be clipped. {remedy}, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: Flag = None) -> None:
    """Scale all gradients, in place, by min(1, max_norm / total_norm)."""
    if total_norm.device.type == "cpu" and total_norm.item() + 1e-6 <= max_norm:  # on a GPU, this would synchronise
        return
    gradients = _gradients(parameters)
    kernel, many = _together(gradients)
    if kernel:
        kernel.clip(many, float(max_norm), total_norm.to(device=gradients[0].device).array)
        for gradient in gradients:
            note_change(gradient._changes, "mul_", "clip_grads_with_norm_()")
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient))


def scale_(tensors: list[Tensor], factor: float | Array) -> None:
    """Multiply all tensors in place by a number or a 0-D array on their device."""
    kernel, many = _together(tensors)
    if kernel:
        kernel.scale(many, factor)
    for t in tensors:
        note_change(t._changes, "mul_", "scale_()")
        if not kernel:
            array = t.array  # much faster than using the tensor if it is small
            array *= factor


def _together(tensors: list[Tensor]) -> tuple[Any, Any]:
    """The multi-array kernel and its argument; None for both if no kernel accepts all the arrays."""
    kernels: Any = of(tensors[0].array).kernels("clip_grad_norm") if tensors else ()
    many = kernels[0].Many([(t.array,) for t in tensors]) if kernels else None
    return (kernels[0], many) if many is not None and all(many.fits) else (None, None)


@no_grad()
def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Flag = None
) -> Tensor:
    """Scale all gradients in place so that their total norm is at most ``max_norm`` (Pascanu et al. 2013).

    Args:
        parameters: tensors with gradients. norm_type: the norm's order; inf means the maximum norm. foreach: ignored.

    Returns the norm before clipping, a 0-D tensor. Raises RuntimeError if ``error_if_nonfinite`` and it is not finite.

    >>> w = mg.ones(4, requires_grad=True)
    >>> (10 * w).sum().backward()
    >>> nn.utils.clip_grad_norm_([w], 1.0)
    tensor(20.)
    >>> w.grad
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    listed = _listed(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


clip_grad_norm = renamed(clip_grad_norm_, "nn.utils.{}")


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: Flag = None) -> None:
    """Clamp all elements of the gradients to ±``clip_value``, in place."""
    for gradient in _gradients(parameters):
        gradient.clamp_(-float(clip_value), float(clip_value))


border_functions(globals())
