"""Builds models from checkpoints without trusting the sizes that a file claims."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from minigrad import Tensor, device, empty, nn
from minigrad.functions.random import undrawn

from ..schema import check

Model = TypeVar("Model", bound=nn.Module)


def configured(kind: Any, arguments: dict[str, Any]) -> Any:
    """A model's configuration (an instance of ``kind``) from a checkpoint. Raises ValueError if it is invalid."""
    check(arguments, kind, "its model")
    if "vocabulary" not in arguments or any(type(value) is int and value < 1 for value in arguments.values()):
        raise ValueError("the sizes of its model are missing or below 1")
    return kind(**arguments)


def size(kind: Callable[[Any], nn.Module], config: Any) -> int:
    """The number of weights in a model, without biases and norms. All layers after the first have the same size."""
    with device("meta"):  # without allocating memory
        few = [kind(replace(config, layers=layers)).parameters() for layers in (1, 2)]
    one, two = (sum(p.numel() for p in parameters if p.ndim > 1) for parameters in few)
    return one + (config.layers - 1) * (two - one)


def build(kind: Callable[[Any], Model], config: Any, device: str = "cpu") -> Model:
    """A new model. Raises ValueError if it is too large for the machine's memory."""
    check_memory(size(kind, config), device)
    return kind(config).to(device)


def restored(kind: Callable[[Any], Model], config: Any, weights: dict[str, Any]) -> Model:
    """A model with the weights from a checkpoint. Raises ValueError if they do not match."""
    check(weights, dict[str, Tensor], "its weights")
    with device("meta"):
        own = kind(config).state_dict() if config.layers <= len(weights) else {}  # a file may claim any number
    there, needed = ({name: weight.shape for name, weight in state.items()} for state in (weights, own))
    if there != needed:
        raise ValueError("its weights do not match the sizes of its model")
    with undrawn():  # random initialisation takes longer than reading the file
        model = kind(config)
    model.load_state_dict(weights)
    return model


def check_device(device: str) -> None:
    """Raise RuntimeError before a program begins if a device is unknown or unavailable (no CuPy or no GPU)."""
    empty(0, device=device)


def check_memory(size: int, device: str) -> None:
    """Raise ValueError if the machine has too little memory for the weights, their gradients and Adam's averages."""
    if not device.startswith("cpu") or not hasattr(os, "sysconf"):
        return
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    needed = 4 * 4 * size / 2**30
    if needed > machine:
        takes = f"{needed:,.0f} GiB to train (weights, gradients and Adam's averages)"
        advice = "choose fewer layers, or smaller ones (--d-model, --d-ff)"
        raise ValueError(f"a model of {size:,} weights needs {takes}, but this machine has {machine:.0f}: {advice}")
