"""Activation checkpointing: a part of the forward pass runs twice to save memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import cuda
from ..autograd import is_grad_enabled
from ..autograd.recompute import Contexts, Region, is_in_first_run, states, within
from ..autograd.tracebacks import border_functions, warn
from ..tensor import Tensor

Function = Callable[..., Any]
Flag = bool | None


def checkpoint(
    function: Function,
    *args: Any,
    use_reentrant: Flag = None,
    context_fn: Contexts | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which the backward pass keeps nothing: it runs the function again.

    Gradients, and dropout masks, are those of a call without checkpoint. Checkpoints may be nested, and
    differentiated twice.

    Args:
        function: a module or another callable that does the same each time.
        use_reentrant: without effect: the one way here is PyTorch's ``False``, which does what ``True`` does.
        context_fn: returns two contexts, for the first run and the second.
        determinism_check: "default" compares the ops of both runs, "none" only their number.
        debug, early_stop: without effect.
        preserve_rng_state: the second run draws the random numbers of the first.

    Raises RuntimeError: in the backward pass, if the second run applies other ops than the first.
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check must be 'default' or 'none', not {determinism_check!r}")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    if is_in_first_run():  # of a checkpoint around this one, which is a region only when that runs again
        with within(states()):
            return function(*args, **kwargs)
    region = Region(function, args, kwargs, preserve_rng_state, context_fn, determinism_check == "default")
    return region.run()


def checkpoint_sequential(
    functions: Sequence[Function],
    segments: int,
    input: Any,
    use_reentrant: Flag = None,
    preserve_rng_state: bool = True,
) -> Any:
    """A chain of functions (or an ``nn.Sequential``) in ``segments`` parts, all but the last checkpointed. Raises
    ValueError for more segments than functions, or fewer than one."""
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 0 < segments <= len(chain):
        raise ValueError(f"{segments} segments cannot be made of {len(chain)} functions")
    size = len(chain) // segments
    parts = [chain[i * size : (i + 1) * size] for i in range(segments - 1)]
    for part in parts:
        input = checkpoint(_run, part, input, preserve_rng_state=preserve_rng_state)
    return _run(chain[size * (segments - 1) :], input)


def _run(functions: Sequence[Function], input: Any) -> Any:
    for function in functions:
        input = function(input)
    return input


# For functions that run a part of the forward pass again themselves ----------------------------------------


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple as leaves, with the same ``requires_grad``; other values as they are."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: a tuple is needed, not {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warn if no tensor among the inputs requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The GPUs of the tensors among ``args``, by number, and the states of their generators."""
    devices = sorted({x.get_device() for x in args if isinstance(x, Tensor) and x.is_cuda})
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Restore the states from ``get_device_states``."""
    for device, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, device)


border_functions(globals())
