"""ZeroRedundancyOptimizer: each rank keeps the optimiser's state of its share of the parameters alone.

Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1. All ranks have
all gradients (of DistributedDataParallel); each updates its share, and sends the new weights to the others.
"""

from __future__ import annotations

from typing import Any

from ..autograd.origin import note_change
from ..distributed import collectives, objects
from ..distributed.group import the_group
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params


class ZeroRedundancyOptimizer(Optimizer):
    """Updates a share of the parameters by another optimiser, and gets the others from the ranks that update them.

    Each parameter of a group, the largest first, goes to the rank that has least, as in PyTorch.

    Args:
        params: as of any optimiser, the same on all ranks.
        optimizer_class: the optimiser of each share.
        process_group: None for all ranks.
        parameters_as_bucket_view: no effect: weights are sent from where they are.
        overlap_with_ddp: only False.
        defaults: the options of ``optimizer_class``.

    The optimiser of this rank's share is the attribute ``optim``. Raises ValueError: ``init_process_group`` was not
    called; TypeError: ``optimizer_class`` is no optimiser; NotImplementedError: ``overlap_with_ddp=True``.
    """

    optim: Optimizer

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
            raise NotImplementedError("overlap_with_ddp=True is not provided: call step() after backward()")
        kind: Any = optimizer_class
        if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
            raise TypeError(f"optimizer_class must be a class of optimisers, not {optimizer_class!r}")
        self.process_group = the_group(process_group)
        self._owners: list[list[int]] = []  # the rank of each parameter, by group
        self._whole: dict[str, Any] | None = None
        self._begin = lambda share: optimizer_class([share], **defaults)
        super().__init__(params, defaults)
        self.defaults, self.state = self.optim.defaults, self.optim.state
        self._state = optimizer_class._state  # type: ignore[misc]

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own; all ranks do so."""
        super().add_param_group(param_group)
        self._owners.append(_owners(self.param_groups[-1]["params"], self.process_group.size()))
        share = self._share(len(self.param_groups) - 1)
        if len(self.param_groups) == 1:
            self.optim = self._begin(share)
        else:
            self.optim.add_param_group(share)
        for name, value in self.optim.param_groups[-1].items():
            param_group.setdefault(name, value)

    def _own(self, number: int) -> list[int]:
        return [place for place, rank in enumerate(self._owners[number]) if rank == self.process_group.number]

    def _share(self, number: int) -> Group:
        group = self.param_groups[number]
        return {**_options(group), "params": [group["params"][place] for place in self._own(number)]}

    def step(self, closure: Any = None) -> Any:
        """Update this rank's share, and get the others; all ranks call it. ``closure`` as in any optimiser."""
        loss = None if closure is None else closure()
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            own.update(_options(group))
        self.optim.step()
        works = []
        for group, owners in zip(self.param_groups, self._owners, strict=True):
            for p, rank in zip(group["params"], owners, strict=True):
                if p.grad is not None:
                    new = p.detach()
                    works.append(collectives.broadcast(new, group=self.process_group, async_op=True, group_src=rank))
                    note_change(p._changes, "step", "ZeroRedundancyOptimizer.step()")
        for work in works:
            if work is not None:
                work.wait()
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all shares on rank ``to`` of the group, for ``state_dict()`` there; all ranks call it."""
        state, first = {}, 0
        for number, group in enumerate(self.param_groups):
            for place in self._own(number):
                if values := self.optim.state.get(group["params"][place]):
                    state[first + place] = dict(values)
            first += len(group["params"])
        is_here = self.process_group.number == to
        shares: list[Any] | None = [None] * self.process_group.size() if is_here else None
        objects.gather_object(state, shares, group=self.process_group, group_dst=to)
        known = {number: values for share in shares or () for number, values in share.items()}
        whole = {"state": dict(sorted(known.items())), "param_groups": self._numbered()[1]}
        self._whole = whole if is_here else None

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as ``optimizer_class`` has it without shares, on the rank that has it. Raises RuntimeError:
        ``consolidate_state_dict`` was not called on all ranks before, or gave it to another rank."""
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
        """Take over a whole state, of any number of ranks or of ``optimizer_class`` itself: each rank takes its share.
        Raises ValueError: as of any optimiser; nothing changes."""
        loaded = self._passed("load_pre", dict(state_dict))
        saved = list(loaded["param_groups"])
        if [len(group["params"]) for group in saved] != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("the state dict doesn't match the number or the sizes of the optimizer's groups")
        numbers = [[group["params"][place] for place in self._own(i)] for i, group in enumerate(saved)]
        own = [number for share in numbers for number in share]
        state = {number: loaded["state"][number] for number in own if number in loaded["state"]}
        groups = [{**_options(group), "params": share} for group, share in zip(saved, numbers, strict=True)]
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        for group, options in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update(_options(options))
        self.state, self._whole = self.optim.state, None
        for hook in self._hooks["load_post"].values():
            hook(self)

    def __repr__(self) -> str:
        return f"ZeroRedundancyOptimizer of {self.optim!r}"


def _options(group: Group) -> Group:
    return {name: value for name, value in group.items() if name not in ("params", "param_names")}


def _owners(params: list[Tensor], ranks: int) -> list[int]:
    """The rank of each parameter: the largest first, each goes to that which has least."""
    loads, owners = [0] * ranks, [0] * len(params)
    for place in sorted(range(len(params)), key=lambda i: -params[i].array.size):
        owners[place] = loads.index(min(loads))
        loads[owners[place]] += params[place].array.size
    return owners
