"""The tensors of a batch on the device of a training."""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor


def moved(device: str, *tensors: Tensor) -> list[Tensor]:
    """Tensors on the CPU, of one dtype, on a device: one copy moves them together. Raises TypeError: they have several
    dtypes."""
    if mg.device(device).type == "cpu":
        return list(tensors)
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise TypeError(f"one copy moves tensors of one dtype, not of {', '.join(str(t.dtype) for t in tensors)}")
    parts = mg.cat([tensor.flatten() for tensor in tensors]).to(device).split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
