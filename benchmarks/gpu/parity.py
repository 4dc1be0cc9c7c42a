"""Compares losses, gradients and three Adam steps in minigrad and PyTorch, on one GPU.

The ``parity-torch`` stage writes PyTorch's numbers, and ``parity`` compares minigrad's with them. There is no dropout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..process import Differ, Missing
from ..workloads import TINY, WORK, build, loss_function, optimizer
from .place import Place

STEPS = 3
EXACT = {"float64": 1e-9, "float32": 1e-4}  # relative (for gradients, to the norm of all gradients)


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each workload in each dtype."""
    function = numbers if place.library == "torch" else compared
    pairs = [(name, dtype) for dtype in EXACT for name in place.choose(WORK, TINY)]
    return {f"{name} {dtype}": partial(function, place, name, dtype) for name, dtype in pairs}


def numbers(place: Place, name: str, dtype: str) -> dict[str, Any]:
    """The losses before each step and after the last step, and the norm of each parameter's first gradient."""
    torch, work, device = place.module(), place.choose(WORK, TINY)[name], place.named()
    torch.set_float32_matmul_precision("highest")
    model = build(torch, work, 0.0).to(device)
    model = model.double() if dtype == "float64" else model
    loss_of, adam = loss_function(torch, work, device=device), optimizer(torch, work, model)
    losses: list[float] = []
    norms: list[float] = []
    for _ in range(STEPS):
        adam.zero_grad()
        loss = loss_of(model)
        loss.backward()
        losses.append(float(loss.item()))
        norms = norms or [0.0 if p.grad is None else float(p.grad.norm().item()) for p in model.parameters()]
        adam.step()
    return {"losses": [*losses, float(loss_of(model).item())], "norms": norms}


def compared(place: Place, name: str, dtype: str) -> dict[str, Any]:
    """How much minigrad's numbers differ from PyTorch's. Raises Differ if they differ by more than EXACT, and Missing
    if there are no numbers from PyTorch."""
    theirs = place.earlier("parity-torch").get(f"{name} {dtype}")
    if theirs is None:
        raise Missing("PyTorch's numbers, which the stage parity-torch writes")
    ours = numbers(place, name, dtype)
    whole = math.sqrt(sum(norm * norm for norm in theirs["norms"]))
    losses = [abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"], strict=True)]
    norms = max(abs(a - b) / whole for a, b in zip(ours["norms"], theirs["norms"], strict=True))
    row = {"step": name, "in": dtype, "loss differs by": losses[0], "gradients": norms, "after 3 × Adam": losses[-1]}
    worst = max(*losses, norms)
    if not worst <= EXACT[dtype]:
        raise Differ(f"the largest difference is {worst:.1e}, with {EXACT[dtype]:g} allowed: {row}")
    return row
