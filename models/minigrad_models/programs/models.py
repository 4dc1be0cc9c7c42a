"""Models of checkpoints: nothing is made in sizes that a file merely claims."""

from __future__ import annotations

import os
from typing import Any, get_type_hints

from minigrad import Tensor, empty, nn

from ..text.schema import check, short

Shapes = dict[str, tuple[int, ...]]


def configured(kind: Any, arguments: dict[str, Any]) -> Any:
    """A model's configuration, of a class ``kind``, from a checkpoint. Raises ValueError: it makes no sense."""
    hints = get_type_hints(kind.__init__)
    for argument, value in arguments.items():
        if argument not in hints:
            raise ValueError(f"its model has an entry {short(argument)}, which there is not")
        check(value, hints[argument], f"its model's {argument}")
    if "vocabulary" not in arguments or any(type(value) is int and value < 1 for value in arguments.values()):
        raise ValueError("its model has no sizes")
    return kind(**arguments)


def check_shapes(weights: dict[str, Any], shapes: Shapes) -> None:
    """Raise ValueError: weights that a model has by its configuration are not there, or of other shapes."""
    check(weights, dict[str, Tensor], "its weights")
    there = {name: tuple(weight.shape) for name, weight in weights.items()}
    if any(there.get(name) != shape for name, shape in shapes.items()):
        raise ValueError("its weights are not of the sizes that its model has")


def fill(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Give a model the weights of a checkpoint. Raises ValueError: they do not fit."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"its weights do not fit its model: {' '.join(str(error).split())}") from None


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
        raise ValueError(
            f"a model of {size:,} weights takes {needed:,.0f} GiB to train (they, their gradients and Adam's "
            f"averages), and this machine has {machine:.0f}: choose fewer layers, or smaller ones (--d-model, --d-ff)"
        )
