"""torch.distributed's names: in a world of one rank, which needs nothing installed, and the functions behind them."""

import functools
import importlib
import operator
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.compat import as_torch
from minigrad.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from minigrad.distributed.launch import TORCHRUN_VARIABLES
from tests.support import ranks
from tests.support.cases import raises

ROOT = Path(__file__).parents[2]
untyped: Any = dist  # mypy does not see the names from the tables


@pytest.fixture
def world() -> Iterator[None]:
    dist.init_process_group(backend="gloo", init_method="env://", rank=0, world_size=1, device_id=mg.device("cpu"))
    yield
    dist.destroy_process_group()


def test_before_initialization() -> None:
    assert dist.is_available() and not dist.is_initialized()
    for ask in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(mg.ones(1))):
        raises(ValueError, "has not been initialized", ask)
    raises(AssertionError, None, dist.destroy_process_group)
    raises(ValueError, "no rank 1 in a world of size 1", lambda: dist.init_process_group("gloo", world_size=1, rank=1))
    assert not dist.is_initialized()


def test_one_process_needs_no_mpi(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["mpi4py"] = None
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
x = torch.arange(3.0)
dist.all_reduce(x)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
model(x).sum().backward()
print(dist.get_rank(), dist.get_world_size(), model.module.weight.grad.tolist())
dist.destroy_process_group()
"""
    path = ranks.written(program, tmp_path)
    ran = ranks.finished(ranks.begun([sys.executable, "-m", "minigrad", "compat", path], tmp_path))
    assert (ran.status, ran.out, ran.err) == (0, "0 1 [[0.0, 1.0, 2.0]]\n", "")


@pytest.mark.usefixtures("world")
def test_a_world_of_one() -> None:
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    raises(ValueError, "twice", lambda: dist.init_process_group("gloo"))
    group = dist.new_group([0])
    assert isinstance(group, dist.ProcessGroup) and group.size() == 1
    x, text = mg.ones(1), r"rank 1 is not in the group|from 0 to 0"
    for call in (dist.broadcast, dist.send, dist.recv):
        raises(ValueError, text, functools.partial(call, x, 1))
    raises(ValueError, text, lambda: dist.new_group([0, 1]))
    raises(ValueError, "cannot send to itself", lambda: dist.send(mg.ones(1), 0))


@pytest.mark.usefixtures("world")
def test_collectives_give_the_tensor_or_the_object_itself() -> None:
    x = mg.arange(3)
    for op in dist.ReduceOp:
        assert dist.all_reduce(x, op=op) is None
    work = dist.all_reduce(x, op=dist.ReduceOp.SUM, async_op=True)
    assert work is not None and work.wait() and work.is_success()
    assert work.get_future().then(lambda f: "over").wait() == "over" and work.get_future().done()
    dist.broadcast(x, src=0)
    dist.reduce(x, dst=0)
    dist.barrier()
    assert x.tolist() == [0, 1, 2]
    outputs = [mg.zeros_like(x) for _ in range(8)]
    dist.all_gather(outputs[:1], x)
    dist.gather(x, outputs[1:2])
    dist.all_to_all(outputs[2:3], [x])
    dist.all_gather_into_tensor(outputs[3], x)
    dist.reduce_scatter(outputs[4], [x])
    dist.reduce_scatter_tensor(outputs[5], x)
    dist.scatter(outputs[6], [x], src=0)
    dist.all_to_all_single(outputs[7], x)
    assert [output.tolist() for output in outputs] == [[0, 1, 2]] * 8
    everywhere, gathered = ([None] for _ in range(2))
    dist.all_gather_object(everywhere, {"a": 1})
    dist.broadcast_object_list(everywhere, src=0)
    dist.gather_object({"a": 1}, gathered)
    assert everywhere == gathered == [{"a": 1}]


@pytest.mark.usefixtures("world")
def test_collectives_that_gradients_flow_through() -> None:
    from minigrad.distributed import nn

    x = mg.arange(3.0, requires_grad=True)
    (gathered,) = nn.functional.all_gather(x)
    (nn.all_reduce(x) * gathered).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 2, 4]


@pytest.mark.usefixtures("world")
def test_groups_and_private_names_that_programs_ask_for() -> None:
    from minigrad.distributed import distributed_c10d as c10d
    from minigrad.distributed.utils import _sync_module_states

    world = c10d._get_default_group()
    assert world is dist.group.WORLD
    assert (dist.get_global_rank(world, 0), dist.get_process_group_ranks(world)) == (0, [0])
    assert not c10d._rank_not_in_group(world) and c10d._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER)
    own, groups = untyped.new_subgroups(1)
    assert groups == [own] and own.ranks == [0]
    raises(ValueError, "1 ranks cannot be split into groups of 2", lambda: untyped.new_subgroups(2))
    raises(ValueError, "must be disjoint", lambda: untyped.new_subgroups_by_enumeration([[0], [0]]))
    _sync_module_states(mg.nn.BatchNorm1d(2), world, 2**20, src=0, params_and_buffers_to_ignore=())
    output = mg.zeros(2)
    untyped._all_gather_base(output, mg.ones(2))
    assert output.tolist() == [1, 1]


def test_paths_lead_to_the_functions() -> None:
    from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    from minigrad.distributed.elastic.multiprocessing.errors import record
    from minigrad.distributed.optim import ZeroRedundancyOptimizer
    from minigrad.distributed.run import main
    from minigrad.multiprocessing.spawn import ProcessRaisedException, start_processes
    from minigrad.nn.parallel.distributed import GradBucket

    assert default_hooks.__name__ == "minigrad.distributed.hooks"
    assert ZeroRedundancyOptimizer is mg.optim.zero_redundancy.ZeroRedundancyOptimizer
    assert main.__module__ == "minigrad.distributed.launch"
    assert mg.multiprocessing.spawn is dist.spawn.spawn is start_processes
    assert mg.multiprocessing.ProcessRaisedException is ProcessRaisedException
    assert mg.multiprocessing.cpu_count() == os.cpu_count() and not hasattr(mg.multiprocessing, "nonesuch")
    assert untyped.GradBucket is GradBucket and record(main) is main
    assert issubclass(RuntimeError, untyped.DistBackendError) and issubclass(TimeoutError, untyped.DistStoreError)


def test_placements_can_be_written_down() -> None:
    tensor: Any = importlib.import_module("minigrad.distributed.tensor")
    assert tensor.Shard(0) == tensor.placement_types.Shard(0) != tensor.Shard(1)
    assert tensor.Replicate() in {tensor.Replicate(), tensor.Partial()}
    assert not isinstance(mg.ones(1), tensor.DTensor)
    raises(NotImplementedError, "DistributedDataParallel", lambda: tensor.distribute_tensor(mg.ones(1)))


def test_spawn_calls_in_processes(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpiexec starts the processes")
    mg.multiprocessing.spawn(_write, args=(tmp_path,), nprocs=2)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}
    with pytest.raises(mg.multiprocessing.ProcessRaisedException, match="ZeroDivisionError"):
        mg.multiprocessing.spawn(operator.truediv, args=(0,), nprocs=1)


def _write(number: int, folder: Path) -> None:
    (folder / str(number)).touch()


def test_mpiexec_s_ranks_get_torchrun_s_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    hydra = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}
    cases = [({}, (None,) * 4), (hydra, ("3", "4", "1", None)), ({**hydra, "RANK": "7"}, ("7", None, None, None))]
    for more, expected in cases:
        with monkeypatch.context() as patch:
            for name in (*TORCHRUN_VARIABLES, *hydra):
                patch.setenv(name, "")  # so that monkeypatch restores it
                patch.delenv(name)
            for name, value in more.items():
                patch.setenv(name, value)
            with as_torch(replace=True):
                assert tuple(map(os.environ.get, TORCHRUN_VARIABLES)) == expected


# Futures and hooks ------------------------------------------------------------------------------------------


def test_a_future_waits_for_its_value_and_passes_it_on() -> None:
    future: Any = mg.futures.Future()
    doubled, values = future.then(lambda f: f.value() * 2), []
    future.add_done_callback(lambda f: values.append(f.value()))
    assert not future.done() and not doubled.done()
    raises(RuntimeError, "not complete", future.value)
    threading.Timer(0.05, lambda: future.set_result(3)).start()
    assert (doubled.wait(), future.wait(), values) == (6, 3, [3])
    assert future.then(lambda f: f.value() + 1).wait() == 4
    raises(Exception, "FINISHED", lambda: future.set_result(4))
    assert mg.Future is mg.futures.Future
    parts: list[Any] = [mg.futures.Future(), mg.futures.Future()]
    every = mg.futures.collect_all(parts)
    parts[1].set_exception(ValueError("no"))
    assert not every.done()
    parts[0].set_result(1)
    assert every.wait() == parts and mg.futures.collect_all([]).wait() == []


def test_a_future_passes_errors_on() -> None:
    future: Any = mg.futures.Future()
    following = future.then(lambda f: f.value())
    handled = future.then(lambda f: "caught")
    future.set_exception(KeyError("a"))
    for each in (future, following):
        raises(KeyError, None, each.wait)
    assert handled.wait() == "caught"


# torch.distributed.checkpoint.state_dict --------------------------------------------------------------------


def test_state_dicts_with_options() -> None:
    model = mg.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert list(get_model_state_dict(model)) == ["weight", "bias"]
    assert list(get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))) == ["weight"]
    raises(RuntimeError, "bias", lambda: set_model_state_dict(model, {"weight": mg.ones(2, 2)}))
    keys = set_model_state_dict(model, {"weight": mg.ones(2, 2)}, options=StateDictOptions(strict=False))
    assert keys.missing_keys == ["bias"] and model.weight.tolist() == [[1, 1], [1, 1]]


@pytest.mark.usefixtures("world")
def test_state_dicts_of_a_wrapped_model_equal_the_models() -> None:
    model = mg.nn.parallel.DistributedDataParallel(mg.nn.Linear(2, 2))
    options = StateDictOptions(full_state_dict=True, cpu_offload=True, broadcast_from_rank0=True)
    state = {name: mg.ones_like(value) for name, value in get_model_state_dict(model, options=options).items()}
    assert list(state) == ["weight", "bias"]
    assert set_model_state_dict(model, state, options=options).missing_keys == []
    assert model.module.bias.tolist() == [1, 1]


SPAWNED = """
import multiprocessing
import sys

import torch

def main(rank):
    open(str(rank), "w").write(torch.version.project)

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    children = [multiprocessing.Process(target=main, args=(rank,)) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
"""


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_a_program_get_minigrad_for_torch(method: str, tmp_path: Path) -> None:
    path = ranks.written(SPAWNED, tmp_path)
    ran = ranks.finished(ranks.begun([sys.executable, "-m", "minigrad", "compat", path, method], tmp_path))
    assert (ran.status, ran.err) == (0, "")
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == [mg.version.project] * 2
