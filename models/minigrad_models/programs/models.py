"""Models of checkpoints: nothing is made in sizes that a file merely claims."""

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
    """A model's configuration, of a class ``kind``, from a checkpoint. Raises ValueError: it makes no sense."""
    check(arguments, kind, "its model")
    if "vocabulary" not in arguments or any(type(value) is int and value < 1 for value in arguments.values()):
        raise ValueError("its model has no sizes")
    return kind(**arguments)


def size(kind: Callable[[Any], nn.Module], config: Any) -> int:
    """The number of a model's weights, without biases and those of norms. Layers after the second are as large."""
    with device("meta"):  # where it takes no memory
        few = [kind(replace(config, layers=layers)).parameters() for layers in (1, 2)]
    one, two = (sum(p.numel() for p in parameters if p.ndim > 1) for parameters in few)
    return one + (config.layers - 1) * (two - one)


def build(kind: Callable[[Any], Model], config: Any, device: str = "cpu") -> Model:
    """A new model. Raises ValueError: it is too large for the machine's memory."""
    check_memory(size(kind, config), device)
    return kind(config).to(device)


def restored(kind: Callable[[Any], Model], config: Any, weights: dict[str, Any]) -> Model:
    """A model with the weights of a checkpoint. Raises ValueError: they do not fit."""
    check(weights, dict[str, Tensor], "its weights")
    with device("meta"):
        own = kind(config).state_dict() if config.layers <= len(weights) else {}  # a file may claim any number
    there, needed = ({name: weight.shape for name, weight in state.items()} for state in (weights, own))
    if there != needed:
        raise ValueError("its weights are not of the sizes that its model has")
    with undrawn():  # random numbers take longer than the file
        model = kind(config)
    model.load_state_dict(weights)
    return model


def check_device(device: str) -> None:
    """Raise RuntimeError if tensors cannot be there, before a program begins its work: no CuPy, no GPU, no device."""
    empty(0, device=device)


def check_memory(size: int, device: str) -> None:
    """Raises ValueError: the machine has no memory for so many weights, their gradients and Adam's two averages."""
    if not device.startswith("cpu") or not hasattr(os, "sysconf"):
        return
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    needed = 4 * 4 * size / 2**30
    if needed > machine:
        takes = f"{needed:,.0f} GiB to train (they, their gradients and Adam's averages)"
        advice = "choose fewer layers, or smaller ones (--d-model, --d-ff)"
        raise ValueError(f"a model of {size:,} weights takes {takes}, and this machine has {machine:.0f}: {advice}")
