"""MultiheadAttention with PyTorch's arguments and PyTorch's numbers, weights and gradients included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.nn.attention import SDPBackend, sdpa_kernel
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import compare_gradients, pair, twinned

rng = np.random.default_rng(3)
B, T, S, D, H = 3, 5, 6, 8, 2

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch_first": {"batch_first": True},
    "no bias": {"bias": False},
    "other widths": {"kdim": 6, "vdim": 10},
    "other widths, no bias": {"kdim": 6, "vdim": 10, "bias": False, "batch_first": True},
    "add_bias_kv": {"add_bias_kv": True},
    "add_zero_attn": {"add_zero_attn": True, "batch_first": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True},
}
CAUSAL = np.triu(np.ones((T, S), bool), 1)
PADDING = np.arange(S)[None] >= np.array([[6], [4], [1]])
MASKS: dict[str, dict[str, Any]] = {
    "no mask": {},
    "bool attn_mask": {"attn_mask": CAUSAL},
    "float attn_mask": {"attn_mask": rng.standard_normal((T, S))},
    "attn_mask a head": {"attn_mask": np.concatenate([CAUSAL[None]] * B * H) & (rng.random((B * H, T, S)) < 0.5)},
    "padding": {"key_padding_mask": PADDING},
    "float padding": {"key_padding_mask": np.where(PADDING, -1.5, 0.0)},
    "bool and padding": {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
    "mixed": {"attn_mask": rng.standard_normal((T, S)), "key_padding_mask": PADDING},
}


def made(device: str, **options: Any) -> tuple[Any, Any]:
    return twinned(nn.MultiheadAttention(D, H, **options), torch.nn.MultiheadAttention(D, H, **options), device)


def inputs(layer: Any, device: str, same: str = "none", batch: bool = True) -> tuple[list[Any], list[Any], list[Any]]:
    """(query, key, value) of each library, and the pairs of leaves behind them."""
    lengths, widths = (S if same == "all" else T, S, S), (D, layer.kdim, layer.vdim)

    def leaf(i: int) -> tuple[Any, Any]:
        shape = (B, lengths[i], widths[i]) if layer.batch_first else (lengths[i], B, widths[i])
        return pair(rng.standard_normal(shape if batch else (lengths[i], widths[i])), device, requires_grad=True)

    leaves = [leaf(0)] + ([leaf(1)] if same != "all" else []) + ([leaf(2)] if same == "none" else [])
    order = {"none": (0, 1, 2), "key is value": (0, 1, 1), "all": (0, 0, 0)}[same]
    return [leaves[i][0] for i in order], [leaves[i][1] for i in order], leaves


def compare(mine: Any, other: Any, results: Any, expected: Any, leaves: list[Any], device: str) -> None:
    for found, wanted in zip(results, expected, strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            assert_close(found, wanted)
    g, tg = pair(rng.standard_normal(host(results[0]).shape), device)
    total, ttotal = (results[0] * g).sum(), (expected[0] * tg).sum()
    if results[1] is not None:  # gradients through the weights, too
        total, ttotal = total + results[1].square().sum(), ttotal + expected[1].square().sum()
    total.backward()
    ttotal.backward()
    for leaf, other_leaf in leaves:
        assert_close(leaf.grad, other_leaf.grad)
    compare_gradients(mine, other)


def tensors(masks: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    pairs = {name: pair(array, device) for name, array in masks.items()}
    return {n: a for n, (a, _) in pairs.items()}, {n: b for n, (_, b) in pairs.items()}


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("options", CONFIGURATIONS)
@pytest.mark.filterwarnings("ignore:Support for mismatched")
def test_configurations_and_masks(options: str, masks: str, need_weights: bool, device: str) -> None:
    mine, other = made(device, **CONFIGURATIONS[options])
    x, tx, leaves = inputs(mine, device)
    m, tm = tensors(MASKS[masks], device)
    results = mine(*x, need_weights=need_weights, **m)
    compare(mine, other, results, other(*tx, need_weights=need_weights, **tm), leaves, device)


@pytest.mark.parametrize("same", ["key is value", "all"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_inputs_that_are_one_tensor(same: str, average: bool, batch_first: bool, device: str) -> None:
    mine, other = made(device, batch_first=batch_first)
    x, tx, leaves = inputs(mine, device, same)
    results = mine(*x, average_attn_weights=average)
    compare(mine, other, results, other(*tx, average_attn_weights=average), leaves, device)


@pytest.mark.parametrize("same", ["none", "all"])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_without_a_batch(same: str, need_weights: bool, batch_first: bool, device: str) -> None:
    mine, other = made(device, batch_first=batch_first)
    x, tx, leaves = inputs(mine, device, same, batch=False)
    length = S if same == "all" else T
    masks = {"key_padding_mask": PADDING[1], "attn_mask": np.triu(np.ones((length, S), bool), 1)}
    m, tm = tensors(masks, device)
    results = mine(*x, need_weights=need_weights, **m)
    compare(mine, other, results, other(*tx, need_weights=need_weights, **tm), leaves, device)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("options", ["plain", "both"])
def test_is_causal(need_weights: bool, padded: bool, options: str, device: str) -> None:
    mine, other = made(device, **CONFIGURATIONS[options])
    x, tx, leaves = inputs(mine, device, "all")
    square = np.triu(np.ones((S, S), bool), 1)
    m, tm = tensors({"attn_mask": square, **({"key_padding_mask": PADDING} if padded else {})}, device)
    expected = other(*tx, need_weights=need_weights, **tm)
    alone = mine(*x, need_weights=need_weights, **{**m, "attn_mask": None}, is_causal=True)
    assert_close(alone[0], expected[0])
    compare(mine, other, mine(*x, need_weights=need_weights, **m, is_causal=True), expected, leaves, device)


def test_names_and_order_of_parameters() -> None:
    for options in CONFIGURATIONS.values():
        mine, other = nn.MultiheadAttention(D, H, **options), torch.nn.MultiheadAttention(D, H, **options)
        assert [n for n, _ in mine.named_parameters()] == [n for n, _ in other.named_parameters()]
        assert list(mine.state_dict()) == list(other.state_dict())


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_fully_masked_row_gives_zeros(need_weights: bool, device: str) -> None:
    layer = nn.MultiheadAttention(D, H, bias=False, batch_first=True).to(device)
    x = ours(rng.standard_normal((1, T, D)).astype(np.float32), True, device)
    mask = np.zeros((T, T), bool)
    mask[1] = True
    out, weights = layer(x, x, x, attn_mask=ours(mask, device=device), need_weights=need_weights)
    assert not host(out)[0, 1].any() and host(out)[0, 0].any()
    out.sum().backward()
    assert np.isfinite(host(x.grad)).all()
    assert weights is None or not host(weights)[0, 1].any()


def test_dropout_is_for_training(device: str) -> None:
    layer = nn.MultiheadAttention(D, H, dropout=0.5).to(device)
    x = minigrad.randn(T, B, D, device=device)
    assert layer(x, x, x)[0].tolist() != layer(x, x, x)[0].tolist()
    assert layer(x, x, x, need_weights=False)[0].tolist() != layer(x, x, x, need_weights=False)[0].tolist()
    layer.eval()
    np.testing.assert_allclose(host(layer(x, x, x)[0]), host(layer(x, x, x, need_weights=False)[0]), atol=1e-6)


def test_errors_are_told_in_terms_of_the_layer() -> None:
    layer = nn.MultiheadAttention(D, H, batch_first=True)
    x = minigrad.ones(B, T, D)
    with pytest.raises(AssertionError, match=r"query, key and value must be \(8, 8, 8\) wide"):
        layer(minigrad.ones(B, T, 4), x, x)
    with pytest.raises(RuntimeError, match=r"attn_mask must have shape \(5, 5\) or \(6, 5, 5\), not \(4, 5\)"):
        layer(x, x, x, attn_mask=minigrad.ones(4, 5).bool())
    with pytest.raises(AssertionError, match=r"key_padding_mask must have shape \(3, 5\), not \(5, 3\)"):
        layer(x, x, x, key_padding_mask=minigrad.ones(T, B).bool())
    with pytest.raises(AssertionError, match="only bool and floating types of attn_mask are supported"):
        layer(x, x, x, attn_mask=minigrad.ones(T, T).long())
    with pytest.raises(AssertionError, match="batches must be equal"):
        layer(x, minigrad.ones(2, T, D), minigrad.ones(2, T, D))
    with pytest.raises(AssertionError, match=r"inputs must be \(B, T, D\)"):
        layer(x, x, minigrad.ones(1, B, T, D))
    with pytest.raises(AssertionError, match="must be divisible by num_heads, did get embed_dim=8 and num_"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(ValueError, match="must be greater than 0"):
        nn.MultiheadAttention(8, 0)


@pytest.mark.parametrize("options", CONFIGURATIONS)
@pytest.mark.parametrize("static", [False, True])
def test_the_function(options: str, static: bool, device: str) -> None:
    """F.multi_head_attention_forward with the parameters of a layer, and with keys projected elsewhere."""
    how = {**CONFIGURATIONS[options], "batch_first": False}
    mine, other = made(device, **how)
    x, tx, leaves = inputs(mine, device)
    fixed = pair(rng.standard_normal((B * H, S, D // H)), device)
    results = []
    if static and mine.bias_k is not None:
        pytest.skip("a bias cannot be added to keys that are given")
    for layer, values, functional, at in ((mine, x, F, 0), (other, tx, torch.nn.functional, 1)):
        results.append(
            functional.multi_head_attention_forward(
                *values,
                D,
                H,
                layer.in_proj_weight,
                layer.in_proj_bias,
                layer.bias_k,
                layer.bias_v,
                layer.add_zero_attn,
                0.0,
                layer.out_proj.weight,
                layer.out_proj.bias,
                use_separate_proj_weight=layer.in_proj_weight is None,
                q_proj_weight=layer.q_proj_weight,
                k_proj_weight=layer.k_proj_weight,
                v_proj_weight=layer.v_proj_weight,
                static_k=fixed[at] if static else None,
                static_v=fixed[at] if static else None,
                average_attn_weights=False,
            )
        )
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected)
    if not static:
        compare(mine, other, *results, leaves, device)


def test_choosing_a_kernel_changes_nothing() -> None:
    q = minigrad.randn(2, 3, 4)
    expected = F.scaled_dot_product_attention(q, q, q).tolist()
    for chosen in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        with sdpa_kernel(chosen):
            assert F.scaled_dot_product_attention(q, q, q).tolist() == expected
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("math"):  # type: ignore[arg-type]
        pass
    names = ("ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
    theirs = torch.nn.attention.SDPBackend
    assert [int(SDPBackend[n]) for n in names] == [int(getattr(theirs, n)) for n in names]
