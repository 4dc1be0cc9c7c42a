"""Activation checkpointing: a part of the forward pass runs twice to save memory.

The forward pass records its nodes as usual, but frees saved values immediately (Chen et al. 2016, "Training Deep Nets
with Sublinear Memory Cost"). When the backward pass reaches the first of these nodes, it runs the function a second
time on the same inputs, with the same random numbers. The n-th node of the second run has the values freed in the n-th
node of the first run. The graph itself remains intact, so ``grad``, hooks and second derivatives work as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any

from .. import cuda
from ..autograd import enable_grad, is_grad_enabled
from ..autograd.mode import at_end, states, within
from ..autograd.observer import Observer, observed
from ..autograd.tape import Lost, Node
from ..autograd.tracebacks import border_functions
from ..backend.random import default_generator
from ..ops.op import Op, watch
from ..tensor import Tensor

__all__ = ["checkpoint", "checkpoint_sequential", "get_device_states", "set_device_states"]

Function = Callable[..., Any]
Flag = bool | None
Context = AbstractContextManager[Any]


def checkpoint(
    function: Function,
    *args: Any,
    use_reentrant: Flag = None,
    context_fn: Callable[[], tuple[Context, Context]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call ``function(*args, **kwargs)`` without saving values for the backward pass, which runs the function again.

    Gradients and dropout masks are unaffected. Checkpoints may be nested, and may be differentiated twice.

    Args:
        function: a module or another deterministic callable.
        use_reentrant: ignored. minigrad always behaves like PyTorch with ``False``; the results are the same.
        context_fn: returns two context managers, one for the first run and one for the second.
        determinism_check, debug, early_stop: ignored. The ops of both runs are always compared.
        preserve_rng_state: draw the same random numbers in the second run as in the first.

    Raises RuntimeError in the backward pass if the second run applies different ops."""
    if not is_grad_enabled():
        return function(*args, **kwargs)
    if is_in_first_run():  # inside an outer checkpoint, whose second run turns this call into a region
        with within(states()):
            return function(*args, **kwargs)
    region = Region(lambda: function(*args, **kwargs), preserve_rng_state)
    first, region.second = context_fn() if context_fn is not None else (nullcontext(), nullcontext())
    with within(region.around, first), observed(region):
        result = function(*args, **kwargs)
    region.complete = True
    return result


class Region(Observer):
    """A function call whose nodes do not save values."""

    second: Context  # the context for the second run
    complete = False  # whether the first run has ended

    def __init__(self, function: Callable[[], Any], preserve_rng_state: bool) -> None:
        self.function = function  # repeats the call; takes no arguments
        self.random = default_generator.get_state() if preserve_rng_state else None
        self.around = states()
        self.names: list[str] = []  # the names of the first run's ops
        self.remaining = 0  # the number of nodes whose values have not been restored
        self.again: list[tuple[Node, Node]] = []  # the second run's nodes, each with a copy of its saved values

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        """Free the saved values of a first-run node."""
        if node is not None:
            node.free()
            node.saved = _Kept(self, len(self.names))
            self.names.append(op.name)
            self.remaining += 1

    def twin(self, number: int) -> Node:
        """A node of the second run. The first call of this method starts that run."""
        if not self.again:
            self.again = self._run_again()
        node, copy = self.again[number]
        self.remaining -= 1
        if not self.remaining:
            self.again = []
        return copy if node.saved is None else node

    def _run_again(self) -> list[tuple[Node, Node]]:
        again: list[tuple[Node, Node]] = []
        # Nodes of this run do not belong to other regions.
        others = (o for o in watch.observers if not isinstance(o, (Region, _Recorded)))
        random: Any = nullcontext()
        if self.random is not None:
            random = at_end(default_generator.set_state, default_generator.get_state())
        with random, random:
            if self.random is not None:
                default_generator.set_state(self.random)
            with within(self.around, enable_grad(), self.second), observed(*others, _Recorded(again), exclusive=True):
                self.function()
        names = [node.op.name for node, _ in again]
        if not self.complete:  # the function itself computes gradients during its first run
            names = names[: len(self.names)]
        if names != self.names:
            pairs = enumerate(zip(self.names, names, strict=False))
            numbers = f"{len(self.names)} ops, then {len(names)}"
            other = next((f"op {i} was {a} and is now {b}" for i, (a, b) in pairs if a != b), numbers)
            raise RuntimeError(f"checkpoint: the function recorded different ops when rerun: {other}")
        return again


class _Recorded(Observer):
    def __init__(self, nodes: list[tuple[Node, Node]]) -> None:
        self.nodes = nodes

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        if node is not None:
            copy = Node()  # a backward pass inside the function may free the node's values
            copy.op, copy.saved, copy.residual = op, node.saved, node.residual
            copy.out, copy.versions = node.out, node.versions
            self.nodes.append((node, copy))


class _Kept(Lost):
    """A placeholder for the freed values of a first-run node. The second-run node with this number supplies them."""

    def __init__(self, region: Region, number: int) -> None:
        self.region, self.number = region, number

    def restore(self, node: Node) -> None:
        twin = self.region.twin(self.number)
        node.saved, node.residual, node.out, node.versions = twin.saved, twin.residual, twin.out, twin.versions


def is_in_first_run() -> bool:
    """Whether a checkpoint is in its first run, in which no node saves values."""
    return any(isinstance(o, Region) for o in watch.observers)


def checkpoint_sequential(
    functions: Sequence[Function],
    segments: int,
    input: Any,
    use_reentrant: Flag = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Run a chain of functions (or an ``nn.Sequential``) in ``segments`` parts, checkpointing all except the last.
    Raises ValueError unless ``segments`` is between 1 and the number of functions."""
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 0 < segments <= len(chain):
        raise ValueError(f"cannot split {len(chain)} functions into {segments} segments")
    size = len(chain) // segments
    run: Function = lambda part, x: reduce(lambda value, function: function(value), part, x)
    for i in range(segments - 1):
        input = checkpoint(run, chain[i * size : (i + 1) * size], input, preserve_rng_state=preserve_rng_state)
    return run(chain[size * (segments - 1) :], input)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the GPUs that hold tensors in ``args``, and the states of their generators."""
    devices = sorted({x.get_device() for x in args if isinstance(x, Tensor) and x.is_cuda})
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Restore the states from ``get_device_states``."""
    for device, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, device)


border_functions(globals())
