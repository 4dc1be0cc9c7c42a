"""Keeping gradients small."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...autograd import no_grad
from ...functions.creation import zeros
from ...functions.reduction import norm
from ...functions.shaping import stack
from ...tensor import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in listed if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all tensors together, as if they were one vector: a tensor without axes.

    Raises:
        RuntimeError: it is not finite, and ``error_if_nonfinite``.
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return zeros(())
    device = listed[0].device
    total = norm(stack([norm(t.detach(), norm_type).to(device=device) for t in listed]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            f"cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
            "anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scale all gradients together, in place, so that their joint norm is at most ``max_norm`` (Pascanu et
    al. 2013).

    Returns:
        The norm before, a tensor without axes.

    Raises:
        RuntimeError: the norm is not finite, and ``error_if_nonfinite``.
    """
    gradients = _gradients(parameters)
    total = get_total_norm(gradients, float(norm_type), error_if_nonfinite)
    factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient))
    return total


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Hold every number of the gradients within ±``clip_value``, in place."""
    for gradient in _gradients(parameters):
        gradient.clamp_(-float(clip_value), float(clip_value))
