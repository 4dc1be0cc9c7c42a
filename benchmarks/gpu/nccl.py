"""NCCL with one rank, under PyTorch's names: as much as one GPU can show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.nn.parallel import DistributedDataParallel

from .place import Place

KINDS = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex64")


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The collectives; a group of one rank is made for each."""
    checks = {"all_reduce": reduced, "broadcast and all_gather": moved, "DistributedDataParallel": in_parallel}
    return {name: partial(in_a_group, place, check) for name, check in checks.items()}


def in_a_group(place: Place, check: Callable[[str], Any]) -> Any:
    """Run a check in a group."""
    dist.init_process_group("nccl", rank=0, world_size=1)
    try:
        return check(place.device)
    finally:
        dist.destroy_process_group()


def _numbers(dtype: str) -> Any:
    return (np.arange(6).reshape(2, 3) % 3).astype(dtype)


def reduced(device: str) -> None:
    """The sum of one rank is its own number, of every dtype, at once and later."""
    for dtype in KINDS:
        for later in (False, True):
            x = mg.tensor(_numbers(dtype), device=device)
            work = dist.all_reduce(x, async_op=later)
            if work is not None:
                work.wait()
            np.testing.assert_array_equal(x.cpu().numpy(), _numbers(dtype))


def moved(device: str) -> None:
    """Tensors arrive as they were sent."""
    x = mg.tensor(_numbers("float32"), device=device)
    dist.broadcast(x, 0)
    parts = [mg.zeros(2, 3, device=device)]
    dist.all_gather(parts, x)
    dist.barrier()
    np.testing.assert_array_equal(parts[0].cpu().numpy(), _numbers("float32"))


def in_parallel(device: str) -> None:
    """The gradients of a model whose ranks are one are those of the model."""
    mg.manual_seed(0)
    model: Any = nn.Linear(3, 2).to(device)
    x = mg.tensor(_numbers("float32"), device=device)
    model(x).square().sum().backward()
    expected = [p.grad.cpu().numpy() for p in model.parameters()]
    model.zero_grad()
    DistributedDataParallel(model)(x).square().sum().backward()
    for parameter, want in zip(model.parameters(), expected, strict=True):
        np.testing.assert_allclose(parameter.grad.cpu().numpy(), want, rtol=1e-6)
