"""With PyTorch's dropout stream, training follows PyTorch's from the same seed, mask by mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from tests.support.cases import cases, raises


@pytest.fixture(autouse=True)
def stream() -> Iterator[None]:
    before = minigrad.get_dropout_stream()
    minigrad.set_dropout_stream("pytorch")
    yield
    minigrad.set_dropout_stream(before)


def kept(t: Any, make: Any, p: float) -> Any:
    t.manual_seed(3)
    out = t.nn.functional.dropout(make(t.ones(3, 4, 5)), p)
    return (out != 0).numpy(), t.rand(1).item()


LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "permuted": lambda x: x.permute(1, 2, 0),
    "strided": lambda x: x[:, :, ::2].transpose(0, 1),
    "expanded": lambda x: x[:, :1].expand(3, 4, 5),
    "no elements": lambda x: x[:0],
    "a number": lambda x: x[0, 0, 0],
}


@cases("p", [0.0, 0.1, 0.5, 1.0])
@cases("layout", LAYOUTS)
def test_masks_are_pytorchs_and_so_is_the_number_after_them(layout: str, p: float) -> None:
    torch = pytest.importorskip("torch")
    ours, after = kept(minigrad, LAYOUTS[layout], p)
    theirs, expected = kept(torch, LAYOUTS[layout], p)
    np.testing.assert_array_equal(ours, theirs)
    assert after == expected


def losses(t: Any, batch_first: bool, norm_first: bool) -> list[float]:
    """20 steps of an encoder-decoder with dropout everywhere, from one seed."""
    t.manual_seed(0)
    model = t.nn.Transformer(16, 4, 2, 2, 32, dropout=0.2, batch_first=batch_first, norm_first=norm_first)
    rng = np.random.default_rng(0)
    source, target, weights = (rng.standard_normal(s).astype("f") for s in ((3, 5, 16), (3, 6, 16), 16))
    x, y, w = (t.tensor(a) for a in (source, target, weights))
    if not batch_first:
        x, y = x.transpose(0, 1), y.transpose(0, 1)
    optimizer = t.optim.Adam(model.parameters(), 1e-3)
    mask = model.generate_square_subsequent_mask(6)
    found = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (model(x, y, tgt_mask=mask) * w).exp().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@cases("batch_first", [False, True])
@cases("norm_first", [False, True])
def test_20_steps_with_dropout_follow_pytorch(batch_first: bool, norm_first: bool) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(
        losses(minigrad, batch_first, norm_first), losses(torch, batch_first, norm_first), rtol=1e-5
    )


def test_it_runs_on_every_device(device: str) -> None:
    x = minigrad.ones(100, device=device)
    minigrad.manual_seed(5)
    there = F.dropout(x, 0.3)
    minigrad.manual_seed(5)
    here = F.dropout(minigrad.ones(100), 0.3)
    assert there.device.type == minigrad.device(device).type
    assert there.cpu().equal(here)


def test_another_name_is_refused() -> None:
    raises(ValueError, "one of 'auto', 'fast', 'pytorch'", lambda: minigrad.set_dropout_stream("torch"))
    assert minigrad.get_dropout_stream() == "pytorch"
