"""ZeroRedundancyOptimizer: each rank stores the optimiser state only for its share of the parameters.

Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1. All ranks have
all gradients (from DistributedDataParallel); each rank updates its share and sends the new weights to the others.
"""

from __future__ import annotations

from typing import Any

from ..autograd.mode import at_end
from ..autograd.origin import note_change
from ..distributed import collectives, objects
from ..distributed.group import the_group
from ..functions.shaping import cat
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params


class ZeroRedundancyOptimizer(Optimizer):
    """Updates a share of the parameters with another optimiser, and receives the rest from the other ranks. As in
    PyTorch, each parameter of a group, largest first, is assigned to the rank with the smallest share.

    Args:
        params: see ``Optimizer``; must be the same on all ranks.
        optimizer_class, defaults: the class and options of the optimiser for each share.
        process_group: the group of ranks; None means all ranks.
        parameters_as_bucket_view: ignored, as weights are sent directly. overlap_with_ddp: must be False.

    The attribute ``optim`` is the inner optimiser, which sees only the gradients of this rank's share. Raises
    ValueError if ``init_process_group`` was not called; TypeError if ``optimizer_class`` is not an optimiser;
    and NotImplementedError for ``overlap_with_ddp=True``."""

    def __init__(
        self,
        params: Params,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("overlap_with_ddp=True is not supported: call step() after backward()")
        kind: Any = optimizer_class
        if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
            raise TypeError(f"optimizer_class must be an Optimizer class, not {optimizer_class!r}")
        self.process_group = the_group(process_group)
        self._owners: dict[Tensor, int] = {}  # the rank of each parameter
        self._whole: dict[str, Any] | None = None
        self.optim: Any = kind(params, **defaults)
        self.defaults, self.state, self.param_groups = self.optim.defaults, self.optim.state, self.optim.param_groups
        self._state = optimizer_class._state  # type: ignore[misc]
        for group in self.param_groups:
            self._share(group["params"])

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group with its options. All ranks must call this method."""
        self.optim.add_param_group(param_group)
        self._share(param_group["params"])

    def _share(self, params: list[Tensor]) -> None:
        """Assign each parameter, largest first, to the rank with the smallest share."""
        loads = [0] * self.process_group.size()
        for p in sorted(params, key=lambda p: -p.array.size):
            self._owners[p] = rank = loads.index(min(loads))
            loads[rank] += p.array.size
            if rank != self.process_group.number:
                self.state.pop(p, None)  # some optimisers create the state immediately

    def step(self, closure: Any = None) -> Any:
        """Update this rank's share and receive the others. All ranks must call this. ``closure``: see ``Optimizer``."""
        loss = None if closure is None else closure()
        gradients = {p: p._grad for p, rank in self._owners.items() if rank != self.process_group.number}

        def put_back() -> None:
            for p, gradient in gradients.items():
                p._grad = gradient

        with at_end(put_back) as end, end:
            for p in gradients:
                p._grad = None
            self.optim.step()
        self._send()
        return loss

    def _send(self) -> None:
        """Broadcast the new weights of each rank, as one array per dtype and device."""
        shares: dict[Any, list[Tensor]] = {}
        for p, rank in self._owners.items():
            if p._grad is not None:
                shares.setdefault((rank, p.dtype, p.device), []).append(p.detach())
                note_change(p._changes, "step", "ZeroRedundancyOptimizer.step()")
        flat = [cat([weight.reshape(-1) for weight in weights]) for weights in shares.values()]
        for (rank, *_), whole in zip(shares, flat, strict=True):
            collectives.broadcast(whole, group=self.process_group, group_src=rank)
        for (rank, *_), weights, whole in zip(shares, shares.values(), flat, strict=True):
            if rank != self.process_group.number:
                for weight, part in zip(weights, whole.split([weight.numel() for weight in weights]), strict=True):
                    weight.array[...] = part.array.reshape(weight.shape)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all shares on rank ``to`` of the group, for ``state_dict()``. Call this on all ranks."""
        numbers, groups = self._numbered()
        state = {numbers[id(p)]: dict(values) for p, values in self.state.items() if values}
        is_here = self.process_group.number == to
        shares: list[Any] | None = [None] * self.process_group.size() if is_here else None
        objects.gather_object(state, shares, group=self.process_group, group_dst=to)
        values_by_number = {number: values for share in shares or () for number, values in share.items()}
        self._whole = {"state": dict(sorted(values_by_number.items())), "param_groups": groups} if is_here else None

    def state_dict(self) -> dict[str, Any]:
        """The whole state, in the format of ``optimizer_class``. Raises RuntimeError if ``consolidate_state_dict`` was
        not called on all ranks beforehand, or if it was called for another rank."""
        if self._whole is None:
            rank = self.process_group.number
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to=...)` "
                f"on all ranks beforehand if you meant to save the global state. (This is rank {rank}.)"
            )
        for hook in self._hooks["state_pre"].values():
            hook(self)
        return self._passed("state_post", self._whole)

    def load_state_dict(self, state_dict: Any) -> None:
        """Load a whole state, saved on any number of ranks or by ``optimizer_class``. Each rank keeps its share. Raises
        ValueError, without changing anything, in the same cases as ``Optimizer``."""
        loaded, own = self._passed("load_pre", dict(state_dict)), self.process_group.number
        pairs = zip(loaded["param_groups"], self.param_groups, strict=False)  # the inner optimiser compares them
        owners = {n: self._owners[p] for g, mine in pairs for n, p in zip(g["params"], mine["params"], strict=False)}
        state = {number: values for number, values in loaded["state"].items() if owners.get(number) == own}
        self.optim.load_state_dict({**loaded, "state": state})
        self.state, self.param_groups, self._whole = self.optim.state, self.optim.param_groups, None
        for hook in self._hooks["load_post"].values():
            hook(self)

    def __repr__(self) -> str:
        return f"ZeroRedundancyOptimizer of {self.optim!r}"
