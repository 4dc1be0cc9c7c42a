"""DistributedSampler: PyTorch's parts, for every rank."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad
from minigrad.utils.data import DistributedSampler
from tests.support.parity import torch


@pytest.mark.parametrize("size", [0, 2, 10, 23])
@pytest.mark.parametrize("replicas", [1, 3, 7])
@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"shuffle": False}, {"seed": 5}], ids=str)
def test_parts_are_pytorchs(size: int, replicas: int, options: dict[str, Any]) -> None:
    def parts(library: Any) -> list[Any]:
        found = []
        for rank in range(replicas):
            make = library.utils.data.distributed.DistributedSampler
            sampler = make(range(size), replicas, rank, **options)
            found.append(len(sampler))
            for epoch in range(2):
                sampler.set_epoch(epoch)
                found.append(list(sampler))
        return found

    assert parts(minigrad) == parts(torch)


def test_without_a_process_group_there_is_one_process() -> None:
    sampler = DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and (sampler.num_replicas, sampler.rank) == (1, 0)
    with pytest.raises(ValueError, match="Invalid rank 2"):
        DistributedSampler(range(5), num_replicas=2, rank=2)
