"""Checks of torch.distributed.algorithms that each rank runs: different numbers of batches, and DDP's hooks."""

import importlib.util
from typing import Any

import numpy as np

import minigrad
from minigrad.compat.join import Join, Joinable, JoinHook
from minigrad.distributed import ProcessGroup, ReduceOp, all_reduce, hooks
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer
from tests.compat.ddp_checks import BATCH, gradients, loss_of, near, part, wrapped
from tests.support.ranks import at_least, raised


class Count(Joinable):
    """The number of calls on all ranks."""

    def __init__(self, group: ProcessGroup) -> None:
        super().__init__()
        self.group, self.all, self.was_last = group, minigrad.zeros(1), None

    def __call__(self) -> None:
        Join.notify_join_context(self)
        self.add(1)

    def add(self, own: float) -> None:
        number = minigrad.ones(1) * own
        all_reduce(number, group=self.group)
        self.all += number

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return Follow(self, kwargs.get("weight", 0.0))

    @property
    def join_device(self) -> Any:
        return minigrad.device("cpu")

    @property
    def join_process_group(self) -> Any:
        return self.group


class Follow(JoinHook):
    def __init__(self, count: Count, weight: float) -> None:
        self.count, self.weight = count, weight

    def main_hook(self) -> None:
        self.count.add(self.weight)

    def post_hook(self, is_last_joiner: bool) -> None:
        self.count.was_last = is_last_joiner  # type: ignore[assignment]


def check_user_defined_objects(group: ProcessGroup) -> None:
    size, rank = group.size(), group.rank()
    calls = size * (size + 1) / 2
    first, second = Count(group), Count(group)
    with Join([first, second], weight=10):
        for _ in range(rank + 1):
            first()
            second()
    ended = size * size - calls  # how often a rank has followed the others
    for count in (first, second):
        assert count.all.item() == calls + 10 * ended, count.all
        assert count.was_last is (rank == size - 1)
    first()  # outside the context it has no effect
    assert first.all.item() == calls + 10 * ended + size


def check_a_model_an_optimiser_and_an_object(group: ProcessGroup) -> None:
    size, rank = group.size(), group.rank()
    for order in (0, 1):
        for divides_by_all in (True, False):
            model, alone = wrapped(group)
            shared = ZeroRedundancyOptimizer(model.parameters(), minigrad.optim.Adam, process_group=group, lr=0.1)
            optimizer, count = minigrad.optim.Adam(alone.parameters(), lr=0.1), Count(group)
            together: list[Any] = [model, shared, count] if order == 0 else [count, model, shared]
            with Join(together, divide_by_initial_world_size=divides_by_all):
                for _ in range(rank + 1):
                    if order:
                        count()
                    shared.zero_grad()
                    loss_of(model, part(group)).backward()
                    shared.step()
                    if not order:
                        count()
            length = BATCH // size
            for step in range(size):
                optimizer.zero_grad()
                parts = [loss_of(alone, slice(r * length, (r + 1) * length)) for r in range(step, size)]
                (sum(parts) / (size if divides_by_all else len(parts))).backward()  # type: ignore[union-attr]
                optimizer.step()
            near([p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()])
            assert count.all.item() == size * (size + 1) / 2
            assert model._joining is None


@at_least(2)
def check_the_first_end_stops_all(group: ProcessGroup) -> None:
    def loop() -> None:
        model, _ = wrapped(group)
        with Join([model], throw_on_early_termination=True):
            for _ in range(group.rank() + 1):
                loss_of(model, part(group)).backward()

    assert "exhausted inputs" in raised(RuntimeError, loop)
    ones = minigrad.ones(1)
    all_reduce(ones, ReduceOp.SUM, group)  # and no rank waits for another afterwards
    assert ones.item() == group.size()


def check_switched_off_and_refused(group: ProcessGroup) -> None:
    model, _ = wrapped(group)
    with Join([model], enable=False):
        loss_of(model, part(group)).backward()
    assert "at least one joinable" in raised(ValueError, lambda: Join([]))

    def loop() -> None:
        with Join([model]):
            raise KeyError("a program's own")

    raised(KeyError, loop)
    assert model._joining is None


def check_hooks_give_the_mean(group: ProcessGroup) -> None:
    kinds = [(hooks.allreduce_hook, 1e-5), (hooks.fp16_compress_hook, 1e-2)]
    if importlib.util.find_spec("ml_dtypes"):
        kinds += [(hooks.bf16_compress_hook, 5e-2)]
    for hook, rtol in kinds:
        for state in (None, group) if group.size() == minigrad.distributed.get_world_size() else (group,):
            model, alone = wrapped(group)
            model.register_comm_hook(state, hook)
            loss_of(model, part(group)).backward()
            loss_of(alone).backward()
            for actual, expected in zip(gradients(model), gradients(alone), strict=True):
                size = np.abs(expected).max()
                np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * size)
