"""Names that PyTorch keeps for itself and libraries call nevertheless."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import minigrad
from minigrad import nn
from minigrad.compat.internal import _DecoratorContextManager, swap_tensor
from minigrad.utils import _pytree
from tests.support.cases import raises


def test_a_context_that_decorates() -> None:
    events: list[str] = []

    class Noted(_DecoratorContextManager):
        def __enter__(self) -> None:
            events.append("in")

        def __exit__(self, *raised: object) -> None:
            events.append("out")

    @Noted()
    def call(x: int) -> int:
        events.append("call")
        return x + 1

    assert call(1) == 2 and events == ["in", "call", "out"]


def test_swap_tensor() -> None:
    layer: Any = nn.BatchNorm1d(2)
    weight, mean, other = layer.weight, layer.running_mean, minigrad.ones(2) * 3
    assert swap_tensor(layer, "weight", other) is weight and layer.weight is other
    assert swap_tensor(layer, "running_mean", other) is mean
    assert swap_tensor(layer, "new", other, allow_missing=True) is None and layer.new is other
    raises(AttributeError, None, lambda: swap_tensor(layer, "missing", other))


def test_nodes_of_lists_and_names() -> None:
    assert _pytree._list_unflatten(*_pytree._list_flatten([1, 2])) == [1, 2]
    (key, value), _ = _pytree._list_flatten_with_keys([5, 6])[0]
    assert (str(key), key.get([5, 6]), value) == ("[0]", 5, 5)
    assert _pytree.is_structseq_instance(time.localtime()) and not _pytree.is_structseq_instance((1, 2))


PROGRAM = """
from minigrad.compat import as_torch
as_torch()
import torch, functorch
from torch.autograd import forward_ad
from torch._C._functorch import is_batchedtensor
from torch.serialization import MAP_LOCATION
from torch.utils.data._utils.worker import _generate_state
assert functorch.vmap(torch.sin)(torch.zeros(2)).tolist() == [0, 0]
assert torch.torch is torch and not is_batchedtensor(torch.ones(1))
assert forward_ad.unpack_dual(torch.ones(1)).tangent is None
assert [int(n) for n in _generate_state(5, 0)][:1] == [SEED]
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    x.numpy()
"""


def test_as_torch() -> None:
    import numpy as np

    seed = int(np.random.SeedSequence([0, 5, 0, 0]).generate_state(4)[0])
    subprocess.run([sys.executable, "-c", PROGRAM.replace("SEED", str(seed))], check=True)
