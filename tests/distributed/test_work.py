"""Worlds that begin, end and begin again. The checks in ``programs`` test running worlds."""

from pathlib import Path

import pytest

from tests.support.ranks import told

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
WORLDS = """
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell
x = minigrad.ones(2)
for call in (lambda: dist.all_reduce(x), lambda: dist.barrier(), dist.get_rank, dist.get_world_size, dist.get_backend):
    assert "init_process_group" in raised(ValueError, call)
raised(AssertionError, dist.destroy_process_group)
raised(ValueError, lambda: dist.init_process_group("smoke"))
raised(ValueError, lambda: dist.init_process_group(init_method="http://localhost"))
raised(NotImplementedError, lambda: dist.init_process_group(store=object()))
assert not dist.is_initialized() and dist.group.WORLD is None
for backend in ("gloo", "cpu:gloo,cuda:nccl"):
    dist.init_process_group(backend)
    dist.all_reduce(x)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    raised(ValueError, dist.get_rank)
dist.init_process_group()
tell(x.tolist())
works = [dist.all_reduce(x.clone(), async_op=True) for _ in range(4)]
"""


def test_a_world_begins_and_ends_and_begins_again(tmp_path: Path) -> None:
    """The program ends while calls are under way."""
    assert told(WORLDS, 2, tmp_path) == [[4, 4], [4, 4]]
