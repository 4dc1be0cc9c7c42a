"""F.scaled_dot_product_attention against PyTorch, and against what attention means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import pair

rng = np.random.default_rng(2)
T, S, D, DV = 5, 6, 4, 3

LEADS: dict[str, tuple[int, ...]] = {
    "(T, D)": (),
    "(N, T, D)": (3,),
    "(B, H, T, D)": (2, 3),
    "(A, B, H, T, D)": (2, 2, 3),
}
MASKS: dict[str, Any] = {
    "none": lambda lead: None,
    "bool (T, S)": lambda lead: rng.random((T, S)) < 0.7,
    "bool (1, S)": lambda lead: rng.random((1, S)) < 0.7,
    "bool of all axes": lambda lead: rng.random((*lead, T, S)) < 0.7,
    "bool over heads": lambda lead: rng.random((*lead[:-1], 1, T, S)) < 0.7 if lead else rng.random((T, S)) < 0.7,
    "float (T, S)": lambda lead: rng.standard_normal((T, S)),
    "float of all axes": lambda lead: rng.standard_normal((*lead, T, S)),
}


def inputs(lead: tuple[int, ...], device: str) -> list[tuple[Any, Any]]:
    shapes = ((*lead, T, D), (*lead, S, D), (*lead, S, DV))
    return [pair(rng.standard_normal(shape), device, requires_grad=True) for shape in shapes]


def compare(pairs: list[tuple[Any, Any]], out: Any, expected: Any, device: str) -> None:
    assert_close(out, expected)
    g, tg = pair(rng.standard_normal(host(out).shape), device)
    out.backward(g)
    expected.backward(tg)
    for mine, other in pairs:
        assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_leading_axes(lead: tuple[int, ...], mask: str, device: str) -> None:
    array = MASKS[mask](lead)
    if array is not None and array.dtype == bool:
        array[..., 0] = True  # every query sees something
    pairs = inputs(lead, device)
    m, tm = (None, None) if array is None else pair(array, device, requires_grad=array.dtype != bool)
    out = F.scaled_dot_product_attention(*(a for a, _ in pairs), attn_mask=m)
    expected = torch.nn.functional.scaled_dot_product_attention(*(b for _, b in pairs), attn_mask=tm)
    compare(pairs + ([(m, tm)] if m is not None and m.requires_grad else []), out, expected, device)


@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
@pytest.mark.parametrize("scale", [None, 0.3])
def test_causal(lead: tuple[int, ...], scale: float | None, device: str) -> None:
    pairs = inputs(lead, device)
    out = F.scaled_dot_product_attention(*(a for a, _ in pairs), is_causal=True, scale=scale)
    expected = torch.nn.functional.scaled_dot_product_attention(*(b for _, b in pairs), is_causal=True, scale=scale)
    compare(pairs, out, expected, device)


def test_shared_heads(device: str) -> None:
    pairs = [pair(rng.standard_normal(shape), device, True) for shape in ((2, 6, T, D), (2, 2, S, D), (2, 2, S, DV))]
    out = F.scaled_dot_product_attention(*(a for a, _ in pairs), enable_gqa=True)
    expected = torch.nn.functional.scaled_dot_product_attention(*(b for _, b in pairs), enable_gqa=True)
    compare(pairs, out, expected, device)


def test_leading_axes_broadcast(device: str) -> None:
    pairs = [pair(rng.standard_normal(shape), device, True) for shape in ((2, 3, T, D), (3, S, D), (1, 3, S, DV))]
    out = F.scaled_dot_product_attention(*(a for a, _ in pairs))
    expected = torch.nn.functional.scaled_dot_product_attention(*(b for _, b in pairs))
    compare(pairs, out, expected, device)


def test_a_query_that_sees_nothing_gets_zeros(device: str) -> None:
    mask = np.ones((T, S), bool)
    mask[2] = False
    pairs = inputs((2, 3), device)
    out = F.scaled_dot_product_attention(*(a for a, _ in pairs), attn_mask=ours(mask, device=device))
    assert not host(out)[:, :, 2].any() and host(out)[:, :, 1].any()
    out.sum().backward()
    for mine, _ in pairs:
        assert np.isfinite(host(mine.grad)).all()
    assert not host(pairs[0][0].grad)[:, :, 2].any()


def test_a_token_changes_the_outputs_that_see_it_and_no_others(device: str) -> None:
    q, k, v = (rng.standard_normal((1, 2, T, D)) for _ in range(3))

    def run(*arrays: Any) -> Any:
        return host(F.scaled_dot_product_attention(*(ours(a, device=device) for a in arrays), is_causal=True))

    before = run(q, k, v)
    for changed in range(T):
        k2, v2 = k.copy(), v.copy()
        k2[:, :, changed] += 1
        v2[:, :, changed] -= 1
        differs = (run(q, k2, v2) != before).any(axis=(0, 1, 3))
        assert differs.tolist() == [i >= changed for i in range(T)]


def test_dropout_of_the_weights(device: str) -> None:
    q = minigrad.zeros(1, 1, 400, D, device=device)
    v = minigrad.ones(1, 1, 500, 1, device=device)
    k = minigrad.zeros(1, 1, 500, D, device=device)
    out = host(F.scaled_dot_product_attention(q, k, v, dropout_p=0.25))  # the share kept, over 1 - p
    assert abs(out.mean() - 1) < 0.01 and 0.01 < out.std() < 0.05
    minigrad.manual_seed(1)
    first = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25).tolist()
    minigrad.manual_seed(1)
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=0.25).tolist() == first


def test_float32_is_kept(device: str) -> None:
    q, k, v = (ours(rng.standard_normal((2, 3, 4, 4)).astype(np.float32), True, device) for _ in range(3))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=minigrad.zeros(4, 4, device=device))
    out.sum().backward()
    assert {out.dtype, *(t.grad.dtype for t in (q, k, v))} == {minigrad.float32}


def test_errors() -> None:
    q = minigrad.ones(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=minigrad.ones(3, 3).bool(), is_causal=True)
    with pytest.raises(RuntimeError, match=r"query \(\.\.\., T, Dh\), key .* do not fit: got \(1, 2, 3, 4\)"):
        F.scaled_dot_product_attention(q, minigrad.ones(1, 2, 3, 5), q)
    with pytest.raises(RuntimeError, match="expected input and value to have the same dtype"):
        F.scaled_dot_product_attention(q, q, q.double())
    with pytest.raises(RuntimeError, match=r"Expected attn_mask dtype to be bool or float.*\.bool\(\)"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=minigrad.ones(3, 3).long())
    with pytest.raises(RuntimeError, match="2 query heads cannot share 3"):
        F.scaled_dot_product_attention(q, minigrad.ones(1, 3, 3, 4), minigrad.ones(1, 3, 3, 4), enable_gqa=True)
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=2.0)
