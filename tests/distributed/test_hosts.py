"""Ranks of two machines, which are network namespaces: what they say crosses a network, and no memory is shared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ranks import answers, begun, finished, written

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
pytestmark = pytest.mark.nightly
PROGRAM = """
import minigrad as mg, minigrad.distributed as dist
from tests.support.ranks import tell
dist.init_process_group()
model = mg.nn.parallel.DistributedDataParallel(mg.nn.Linear(1000, 1000))
(model(mg.ones(1, 1000)) * (dist.get_rank() + 1)).sum().backward()
large = mg.full((2_000_000,), float(dist.get_rank() + 1))
dist.all_reduce(large)
objects = [None] * dist.get_world_size()
dist.all_gather_object(objects, dist.get_rank())
local = dist.group.WORLD.data.is_local
tell([model.module.weight.grad[3, 4].item(), large.min().item(), large.max().item(), objects, local])
dist.barrier()
dist.destroy_process_group()
"""


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two namespaces with a cable between them; the first is 10.77.0.1."""
    names = [f"mg{os.getpid()}a", f"mg{os.getpid()}b"]
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip, which makes network namespaces")
    try:
        for name in names:
            _ip(f"netns add {name}")
        _ip(f"link add {names[0]} netns {names[0]} type veth peer name {names[1]} netns {names[1]}")
        for number, name in enumerate(names, 1):
            for words in (f"addr add 10.77.0.{number}/24 dev {name}", f"link set {name} up", "link set lo up"):
                _ip(f"-n {name} {words}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr.decode().strip()}")
    else:
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


EXPECTED = [2.5, 10.0, 10.0, [0, 1, 2, 3], False]


def test_two_ranks_on_each_of_two_hosts(hosts: list[str], tmp_path: Path) -> None:
    path, port = written(PROGRAM, tmp_path), "29555"
    several = ["--nodes", "2", "--master-addr", "10.77.0.1", "--master-port", port, "-n", "2"]
    command = [sys.executable, "-m", "minigrad.run", *several]
    processes = [
        begun(["ip", "netns", "exec", name, *command, "--node-rank", str(n), path], tmp_path, MINIGRAD_HOST=name)
        for n, name in enumerate(hosts)
    ]
    for process in processes:
        ran = finished(process)
        assert ran.status == 0, ran.err
    assert answers(4, tmp_path) == [EXPECTED] * 4
