"""ZeroRedundancyOptimizer: each rank keeps the optimiser's state of its share of the parameters alone.

Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1. All ranks have
all gradients (of DistributedDataParallel); each updates its share, and sends the new weights to the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..backend import of
from ..distributed import collectives, objects
from ..distributed.group import the_group
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params

Shares = dict[int, list[tuple[int, int, dict[str, Any]]]]  # by parameter: from, to, and the state of these elements


@dataclass(frozen=True)
class Piece:
    """The elements ``start`` to ``end`` of a group's parameter, and the rank that updates them."""

    place: int  # of the parameter in its group
    parameter: Tensor
    start: int
    end: int
    rank: int

    def view(self) -> Any:
        """These elements, flat; the parameter's own array if they are all."""
        array = self.parameter.array
        return array if self.is_whole() else array.reshape(-1)[self.start : self.end]

    def of(self, array: Any) -> Any:
        """The same elements of an array of the parameter's shape."""
        return array if self.is_whole() else array.reshape(-1)[self.start : self.end]

    def is_whole(self) -> bool:
        """Whether it is the whole parameter."""
        return self.end - self.start == self.parameter.array.size


class ZeroRedundancyOptimizer(Optimizer):
    """Updates a share of the parameters by another optimiser, and gets the others from the ranks that update them.

    The elements are cut into equal shares where the rule is elementwise (Adam, SGD and their like): a rank's state is
    1/N of the whole. Rules that need whole matrices (Muon, Adafactor), and those from elsewhere, get whole parameters,
    the largest first, each for the rank that has least.

    Args:
        params: as of any optimiser, the same on all ranks.
        optimizer_class: the optimiser of each share.
        process_group: None for all ranks.
        parameters_as_bucket_view: no effect: weights are sent from where they are.
        overlap_with_ddp: only False.
        defaults: the options of ``optimizer_class``.

    Attributes:
        optim: the optimiser of this rank's share.

    Raises:
        ValueError: ``init_process_group`` was not called. TypeError: ``optimizer_class`` is no optimiser.
        NotImplementedError: ``overlap_with_ddp=True``.
    """

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
        given: Any = optimizer_class
        if not (isinstance(given, type) and issubclass(given, Optimizer)):
            raise TypeError(f"optimizer_class must be a class of optimisers, not {optimizer_class!r}")
        self.process_group = the_group(process_group)
        self._class, self._options = optimizer_class, defaults
        self._pieces: list[list[Piece]] = []  # of each group
        self._whole: dict[str, Any] | None = None
        self.optim: Optimizer | None = None
        super().__init__(params, defaults)
        self._state = optimizer_class._state  # type: ignore[misc]
        shares = [self._share(number) for number in range(len(self.param_groups))]
        self.optim = optimizer_class(shares, **defaults)
        self.defaults = self.optim.defaults
        for group, share in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in share.items():
                group.setdefault(name, value)
        self.state = self.optim.state

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own; all ranks do so."""
        super().add_param_group(param_group)
        params = self.param_groups[-1]["params"]
        cut = _equal_shares if getattr(self._class, "_elementwise", False) else _whole_parameters
        self._pieces.append(cut(params, self.process_group.size()))
        if self.optim is not None:
            self.optim.add_param_group(self._share(len(self.param_groups) - 1))
            for name, value in self.optim.param_groups[-1].items():
                param_group.setdefault(name, value)

    def _own(self, number: int) -> list[Piece]:
        return [piece for piece in self._pieces[number] if piece.rank == self.process_group.number]

    def _share(self, number: int) -> Group:
        """This rank's part of a group, for ``optim``."""
        options = {k: v for k, v in self.param_groups[number].items() if k not in ("params", "param_names")}
        shards: list[Tensor] = []
        for piece in self._own(number):
            shard: Tensor = wrap(piece.view())
            shards.append(shard.requires_grad_(piece.parameter.requires_grad))
        return {**options, "params": shards}

    def step(self, closure: Any = None) -> Any:
        """Update this rank's share, and get the others; all ranks call it. ``closure`` as in any optimiser."""
        assert self.optim is not None
        loss = None if closure is None else closure()
        for number, group in enumerate(self.optim.param_groups):
            group.update({k: v for k, v in self.param_groups[number].items() if k not in ("params", "param_names")})
            for piece, shard in zip(self._own(number), group["params"], strict=True):
                shard.array = piece.view()  # the parameter may have a new array
                grad = piece.parameter.grad
                shard.grad = None if grad is None else wrap(piece.of(grad.array))
        self.optim.step()
        for group in self.optim.param_groups:
            for shard in group["params"]:
                shard.grad = None
        self._send()
        return loss

    def _send(self) -> None:
        """Give all ranks the new weights, from where they are to where they belong."""
        works = []
        for piece in (piece for pieces in self._pieces for piece in pieces):
            if piece.parameter.grad is not None:
                data: Tensor = wrap(piece.view())
                works.append(collectives.broadcast(data, group=self.process_group, async_op=True, group_src=piece.rank))
                note_change(piece.parameter._changes, "step", "ZeroRedundancyOptimizer.step()")
        for work in works:
            if work is not None:
                work.wait()

    # State ----------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all shares on rank ``to`` of the group; all ranks call it. Then ``state_dict()`` has it
        there."""
        number = self.process_group.number_of(self.process_group.ranks[to])
        own = self._own_state()
        if self.process_group.number != number:
            self._whole = None
            objects.send_object_list([own], group=self.process_group, group_dst=number)
            return
        shares = [own]
        for other in range(self.process_group.size()):
            if other != number:
                room: list[Any] = [None]
                objects.recv_object_list(room, group=self.process_group, group_src=other)
                shares.append(room[0])
        self._whole = self._joined(shares)

    def _own_state(self) -> Shares:
        """The state of this rank's share, in NumPy's arrays."""
        assert self.optim is not None
        shares: Shares = {}
        for number, group in enumerate(self.optim.param_groups):
            before = sum(len(g["params"]) for g in self.param_groups[:number])
            for piece, shard in zip(self._own(number), group["params"], strict=True):
                values = self.optim.state.get(shard, {})
                there = {k: v.numpy(force=True) if isinstance(v, Tensor) else v for k, v in values.items()}
                if there:
                    shares.setdefault(before + piece.place, []).append((piece.start, piece.end, there))
        return shares

    def _joined(self, shares: list[Shares]) -> dict[str, Any]:
        """The whole state, as the optimiser itself would have it."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        pieces: defaultdict[int, list[Any]] = defaultdict(list)
        for share in shares:
            for number, parts in share.items():
                pieces[number] += parts
        state = {number: _whole_state(parameters[number], pieces[number]) for number in sorted(pieces)}
        return {"state": state, "param_groups": self._numbered_groups()}

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as ``optimizer_class`` has it without shares, on the rank that has it.

        Raises:
            RuntimeError: ``consolidate_state_dict`` was not called on all ranks before, or gave it to another rank.
        """
        if self._whole is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to=...)` "
                f"on all ranks beforehand if you meant to save the global state. (This is rank "
                f"{self.process_group.number}.)"
            )
        for hook in self._hooks["state_pre"].values():
            hook(self)
        return self._passed("state_post", self._whole)

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over a whole state, of any number of ranks or of ``optimizer_class`` itself: each rank takes its share.

        Raises:
            ValueError: as of any optimiser; nothing changes.
        """
        assert self.optim is not None
        loaded = self._passed("load_pre", dict(state_dict))
        saved = list(loaded["param_groups"])
        if [len(group["params"]) for group in saved] != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("the state dict doesn't match the number or the sizes of the optimizer's groups")
        state: dict[int, Any] = {}
        groups: list[Group] = []
        count = 0
        for number, group in enumerate(saved):
            options = {k: v for k, v in group.items() if k not in ("params", "param_names")}
            own = self._own(number)
            for i, piece in enumerate(own, count):
                if values := loaded["state"].get(group["params"][piece.place]):
                    state[i] = {name: _part(value, piece) for name, value in values.items()}
            groups.append({**options, "params": list(range(count, count + len(own)))})
            count += len(own)
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        for group, options in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update({k: v for k, v in options.items() if k != "params"})
        self.state, self._whole = self.optim.state, None
        for hook in self._hooks["load_post"].values():
            hook(self)

    def __repr__(self) -> str:
        return f"ZeroRedundancyOptimizer of {self.optim!r}"


def _equal_shares(params: Iterable[Tensor], ranks: int) -> list[Piece]:
    """Cut all elements, one parameter after another, into as many equal shares as there are ranks. A parameter that is
    not contiguous stays whole, since its elements have no flat view."""
    listed = list(params)
    total = sum(p.array.size for p in listed)
    pieces, done = [], 0
    for place, p in enumerate(listed):
        start, size = 0, p.array.size
        while start < size:
            rank = min(done * ranks // max(total, 1), ranks - 1)
            border = -(-(rank + 1) * total // ranks)  # the first element of the next rank
            end = min(size, start + border - done) if p.array.flags.c_contiguous else size
            pieces.append(Piece(place, p, start, end, rank))
            done, start = done + end - start, end
    return pieces


def _whole_parameters(params: Iterable[Tensor], ranks: int) -> list[Piece]:
    """Give each parameter, the largest first, to the rank that has least."""
    listed = list(params)
    loads = [0] * ranks
    owners: dict[int, int] = {}
    for place in sorted(range(len(listed)), key=lambda i: -listed[i].array.size):
        owners[place] = loads.index(min(loads))
        loads[owners[place]] += listed[place].array.size
    return [Piece(place, p, 0, p.array.size, owners[place]) for place, p in enumerate(listed) if p.array.size]


def _whole_state(parameter: Tensor, pieces: list[tuple[int, int, dict[str, Any]]]) -> dict[str, Any]:
    """The state of a parameter from that of its pieces: arrays side by side, single numbers from the first."""
    pieces = sorted(pieces, key=lambda piece: piece[:2])
    start, end, first = pieces[0]
    state: dict[str, Any] = {}
    for name, value in first.items():
        if isinstance(value, np.ndarray) and value.size == end - start and value.ndim:
            whole = np.concatenate([values[name].reshape(-1) for _, _, values in pieces])
            shape = parameter.array.shape if whole.size == parameter.array.size else whole.shape
            array = of(parameter.array).asarray(whole.reshape(shape), of(parameter.array).device_of(parameter.array))
            state[name] = wrap(array)
        else:
            state[name] = wrap(value) if isinstance(value, np.ndarray) else value
    return state


def _part(value: Any, piece: Piece) -> Any:
    """What a piece has of a value of its parameter's state."""
    has_shape = isinstance(value, Tensor) and tuple(value.shape) == tuple(piece.parameter.shape) and value.ndim
    return wrap(piece.of(np.ascontiguousarray(value.numpy(force=True)))) if has_shape else value
