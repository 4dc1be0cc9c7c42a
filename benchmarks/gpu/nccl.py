"""Checks NCCL through PyTorch's names. It uses one rank, since a single GPU does not allow more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.nn.parallel import DistributedDataParallel

from .place import Place

KINDS = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex64")


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The collectives, as a single item."""
    return {"collectives": lambda: checked(place.device)}


def checked(device: str) -> None:
    """Check that all_reduce over one rank returns its input for every dtype, that tensors arrive unchanged, and that
    DistributedDataParallel computes the same gradients as the model. Raises AssertionError otherwise."""
    dist.init_process_group("nccl", rank=0, world_size=1)
    for dtype in KINDS:
        numbers = (np.arange(6).reshape(2, 3) % 3).astype(dtype)
        for later in (False, True):
            x = mg.tensor(numbers, device=device)
            work = dist.all_reduce(x, async_op=later)
            if work is not None:
                work.wait()
            np.testing.assert_array_equal(x.cpu().numpy(), numbers)
    x = mg.arange(6.0, device=device).reshape(2, 3)
    dist.broadcast(x, 0)
    parts = [mg.zeros(2, 3, device=device)]
    dist.all_gather(parts, x)
    dist.barrier()
    assert mg.equal(parts[0].cpu(), mg.arange(6.0).reshape(2, 3))
    model: Any = nn.Linear(3, 2).to(device)
    gradients = []
    for module in (model, DistributedDataParallel(model)):
        model.zero_grad()
        module(x).square().sum().backward()
        gradients.append([p.grad.cpu() for p in model.parameters()])
    assert all(mg.allclose(a, b, rtol=1e-6) for a, b in zip(*gradients, strict=True))
    dist.destroy_process_group()
