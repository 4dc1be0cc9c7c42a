"""torch.distributed and multiprocessing as a world of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import minigrad as mg
from minigrad.compat import distributed as dist


@pytest.fixture
def world() -> Iterator[None]:
    where = mg.device("cpu")
    dist.init_process_group(backend="nccl", init_method="env://", rank=0, world_size=1, device_id=where)
    yield
    dist.destroy_process_group()


def test_names_are_importable() -> None:
    import minigrad.distributed as named
    from minigrad.distributed import ReduceOp

    assert named is dist
    assert ReduceOp.SUM is mg.distributed.ReduceOp.SUM


def test_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not dist.is_available()
    assert not dist.is_initialized()
    for ask in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(mg.ones(1))):
        with pytest.raises(ValueError, match="has not been initialized"):
            ask()
    with pytest.raises(AssertionError):
        dist.destroy_process_group()
    for wrong in ({"world_size": 2, "rank": 0}, {"world_size": 1, "rank": 1}):
        with pytest.raises(NotImplementedError, match="one device"):
            dist.init_process_group("gloo", **wrong)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(NotImplementedError, match="world of 4"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("RANK", "0")
    dist.init_process_group()
    dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.usefixtures("world")
def test_a_world_of_one() -> None:
    assert dist.is_initialized()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "nccl")
    assert dist.group.WORLD is not None
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    assert dist.new_group([0]).size() == 1
    for call in (
        lambda: dist.broadcast(mg.ones(1), 1),
        lambda: dist.new_group([0, 1]),
        lambda: dist.send(mg.ones(1), 1),
        lambda: dist.recv(mg.ones(1), 1),
    ):
        with pytest.raises(ValueError, match="no rank 1"):
            call()


@pytest.mark.usefixtures("world")
def test_collectives_give_the_tensor_itself() -> None:
    x = mg.arange(3.0)
    for op in dist.ReduceOp:
        assert dist.all_reduce(x, op=op) is None
    work = dist.all_reduce(x, op=dist.ReduceOp.SUM, async_op=True)
    assert work is not None
    assert work.wait()
    dist.broadcast(x, src=0)
    dist.reduce(x, dst=0)
    dist.barrier()
    assert x.tolist() == [0, 1, 2]
    for gather in (dist.all_gather, dist.gather):
        into = [mg.zeros(3)]
        call: Any = gather
        call(*((into, x) if gather is dist.all_gather else (x, into)))
        assert into[0].tolist() == [0, 1, 2]
    for output in (mg.zeros(3), mg.zeros(1, 3)):
        dist.all_gather_into_tensor(output, x)
        assert output.flatten().tolist() == [0, 1, 2]
    output = mg.zeros(3)
    dist.reduce_scatter(output, [x])
    dist.scatter(output, [x], src=0)
    dist.all_to_all([output], [x])
    assert output.tolist() == [0, 1, 2]
    objects: list[Any] = [None]
    dist.all_gather_object(objects, {"a": 1})
    dist.broadcast_object_list(objects, src=0)
    assert objects == [{"a": 1}]


def test_spawn_calls_in_this_process() -> None:
    seen = []
    mg.multiprocessing.spawn(lambda rank, size: seen.append((rank, size)), args=(1,), nprocs=1, join=True)
    assert seen == [(0, 1)]
    with pytest.raises(NotImplementedError, match="nprocs=2"):
        mg.multiprocessing.spawn(print, nprocs=2)
    import multiprocessing as python

    import minigrad.multiprocessing as multiprocessing

    assert multiprocessing.Queue == python.Queue
    assert mg.multiprocessing.cpu_count() == python.cpu_count()
    assert not hasattr(multiprocessing, "nonesuch")


@pytest.mark.usefixtures("world")
def test_collectives_that_gradients_flow_through() -> None:
    from minigrad.distributed import nn

    x = mg.arange(3.0, requires_grad=True)
    (gathered,) = nn.functional.all_gather(x)
    (nn.all_reduce(x) * gathered).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 2, 4]


@pytest.mark.usefixtures("world")
def test_objects_ranks_and_what_else_programs_ask_a_world_for() -> None:
    into: list[Any] = [None]
    dist.scatter_object_list(into, [{"a": 1}], src=0)
    assert into == [{"a": 1}]
    world = mg.distributed.distributed_c10d._get_default_group()
    assert (mg.distributed.get_global_rank(world, 0), mg.distributed.get_process_group_ranks(world)) == (0, [0])
    assert not mg.distributed.distributed_c10d._rank_not_in_group(world)
    with pytest.raises(ValueError, match="to send to"):
        mg.distributed.batch_isend_irecv([])


def test_state_dicts_of_one_process() -> None:
    from minigrad.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict

    model = mg.nn.Linear(2, 2)
    model.bias.requires_grad_(False)  # type: ignore[union-attr]
    assert list(get_model_state_dict(model)) == ["weight", "bias"]
    assert list(get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))) == ["weight"]
    with pytest.raises(RuntimeError, match="bias"):
        set_model_state_dict(model, {"weight": mg.ones(2, 2)})
    keys = set_model_state_dict(model, {"weight": mg.ones(2, 2)}, options=StateDictOptions(strict=False))
    assert keys.missing_keys == ["bias"]
    assert model.weight.tolist() == [[1, 1], [1, 1]]
