"""MultiheadAttention with PyTorch's arguments and numbers, including weights and gradients."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.compat.backends import SDPBackend, sdpa_kernel
from minigrad.nn import functional as F
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import check_twins, pair, twinned

B, T, S, D, H = 3, 5, 6, 8, 2
CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"batch_first": True},
    {"bias": False},
    {"kdim": 6, "vdim": 10},
    {"kdim": 6, "vdim": 10, "bias": False, "batch_first": True},
    {"add_bias_kv": True},
    {"add_zero_attn": True, "batch_first": True},
    {"add_bias_kv": True, "add_zero_attn": True},
]
CAUSAL = np.triu(np.ones((T, S), bool), 1)
SQUARE = np.triu(np.ones((S, S), bool), 1)
PADDING = np.arange(S)[None] >= np.array([[6], [4], [1]])
NUMBERS = np.random.default_rng(3).standard_normal((T, S))
OF_HEADS = np.concatenate([CAUSAL[None]] * B * H) & (np.random.default_rng(3).random((B * H, T, S)) < 0.5)
MASKS: list[dict[str, Any]] = [
    {},
    {"attn_mask": CAUSAL},
    {"attn_mask": NUMBERS},
    {"attn_mask": OF_HEADS},
    {"key_padding_mask": PADDING},
    {"key_padding_mask": np.where(PADDING, -1.5, 0.0)},
    {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
    {"attn_mask": NUMBERS, "key_padding_mask": PADDING},
]


def check(
    options: dict[str, Any], masks: dict[str, Any], device: str, same: str = "", batch: bool = True, **how: Any
) -> None:
    """Compare a layer in both libraries; ``same`` says which of query, key and value are one tensor."""
    lengths, widths = (S if same == "all" else T, S, S), (D, options.get("kdim", D), options.get("vdim", D))
    first = options.get("batch_first", False)
    shapes = [((B, n, w) if first else (n, B, w)) if batch else (n, w) for n, w in zip(lengths, widths, strict=True)]
    order = {"": (0, 1, 2), "key is value": (0, 1, 1), "all": (0, 0, 0)}[same]
    leaves = [rng.standard_normal(shapes[i]) for i in dict.fromkeys(order)]

    def call(t: Any, layer: Any, *tensors: Any) -> Any:
        inputs, others = tensors[: len(leaves)], tensors[len(leaves) :]
        passed = {name: mask.detach() for name, mask in zip(masks, others, strict=True)}
        return layer(*(inputs[i] for i in order), **passed, **how)

    check_twins(lambda n: n.MultiheadAttention(D, H, **options), *leaves, *masks.values(), device=device, call=call)


@cases("options, masks, need_weights", pairwise(CONFIGURATIONS, MASKS, (False, True)))
@pytest.mark.filterwarnings("ignore:Support for mismatched")
def test_configurations_and_masks(
    options: dict[str, Any], masks: dict[str, Any], need_weights: bool, device: str
) -> None:
    check(options, masks, device, need_weights=need_weights)


@cases("same, average, batch_first", pairwise(["key is value", "all"], (False, True), (False, True)))
def test_inputs_that_are_one_tensor(same: str, average: bool, batch_first: bool, device: str) -> None:
    check({"batch_first": batch_first}, {}, device, same, average_attn_weights=average)


@cases("same, need_weights, batch_first", pairwise(["", "all"], (False, True), (False, True)))
def test_without_a_batch(same: str, need_weights: bool, batch_first: bool, device: str) -> None:
    masks = {"key_padding_mask": PADDING[1], "attn_mask": SQUARE if same == "all" else CAUSAL}
    check({"batch_first": batch_first}, masks, device, same, batch=False, need_weights=need_weights)


@cases("options, padded, need_weights", pairwise([{}, CONFIGURATIONS[-1]], (False, True), (False, True)))
def test_is_causal(options: dict[str, Any], padded: bool, need_weights: bool, device: str) -> None:
    masks = {"attn_mask": SQUARE, **({"key_padding_mask": PADDING} if padded else {})}
    check(options, masks, device, "all", need_weights=need_weights, is_causal=True)
    layer, x = nn.MultiheadAttention(D, H, **options).to(device), minigrad.randn(S, B, D, device=device)
    mask = ours(SQUARE, device=device)
    actual, expected = (
        layer(x, x, x, need_weights=need_weights, **how)[0] for how in ({"is_causal": True}, {"attn_mask": mask})
    )
    assert_close(actual, expected, 1e-6)


@cases("need_weights", [False, True])
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
    for need_weights in (True, False):
        first, second = (layer(x, x, x, need_weights=need_weights)[0].tolist() for _ in range(2))
        assert first != second
    layer.eval()
    np.testing.assert_allclose(host(layer(x, x, x)[0]), host(layer(x, x, x, need_weights=False)[0]), atol=1e-6)


def test_errors_use_the_terms_of_the_layer() -> None:
    layer, x, one = nn.MultiheadAttention(D, H, batch_first=True), minigrad.ones(B, T, D), minigrad.ones
    e: Any = AssertionError
    raises(e, r"query, key and value must have widths \(8, 8, 8\)", lambda: layer(one(B, T, 4), x, x))
    wrong = r"attn_mask must have shape \(5, 5\) or \(6, 5, 5\), not \(4, 5\)"
    raises(RuntimeError, wrong, lambda: layer(x, x, x, attn_mask=one(4, 5).bool()))
    wrong = r"key_padding_mask must have shape \(3, 5\), not \(5, 3\)"
    raises(e, wrong, lambda: layer(x, x, x, key_padding_mask=one(T, B).bool()))
    raises(e, "only bool and floating types of attn_mask", lambda: layer(x, x, x, attn_mask=one(T, T).long()))
    raises(e, "batch sizes must be equal", lambda: layer(x, one(2, T, D), one(2, T, D)))
    raises(e, r"inputs must be \(B, T, D\)", lambda: layer(x, x, one(1, B, T, D)))
    raises(e, "divisible by num_heads, did get embed_dim=8 and num_", lambda: nn.MultiheadAttention(8, 3))
    raises(ValueError, "must be greater than 0", lambda: nn.MultiheadAttention(8, 0))


PARAMETERS = ("in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "add_zero_attn")


@cases("options, static", pairwise([o for o in CONFIGURATIONS if "batch_first" not in o], (False, True)))
def test_the_function(options: dict[str, Any], static: bool, device: str) -> None:
    """F.multi_head_attention_forward with the parameters of a layer, and with keys that are already projected."""
    static = static and "add_bias_kv" not in options  # a bias cannot be added to existing keys
    kinds = (nn.MultiheadAttention(D, H, **options), torch.nn.MultiheadAttention(D, H, **options))
    mine, other = twinned(*kinds, device)
    widths = (D, options.get("kdim", D), options.get("vdim", D))
    inputs = [pair(rng.standard_normal((n, B, w)), device, True) for n, w in zip((T, S, S), widths, strict=True)]
    fixed, results = pair(rng.standard_normal((B * H, S, D // H)), device), []
    for layer, library, at in ((mine, minigrad, 0), (other, torch, 1)):
        values = [x[at] for x in inputs]
        more = {f"{name}_proj_weight": getattr(layer, f"{name}_proj_weight") for name in "qkv"}
        out, weights = library.nn.functional.multi_head_attention_forward(
            *(*values, D, H, *(getattr(layer, name) for name in PARAMETERS), 0.0),
            *(layer.out_proj.weight, layer.out_proj.bias),
            use_separate_proj_weight=layer.in_proj_weight is None,
            static_k=fixed[at] if static else None,
            static_v=fixed[at] if static else None,
            average_attn_weights=False,
            **more,
        )
        derivatives = library.autograd.grad(out.square().sum() + weights.square().sum(), values, allow_unused=True)
        results.append([out, weights, *derivatives])
    for actual, expected in zip(*results, strict=True):
        assert (actual is None) == (expected is None)
        if expected is not None:
            assert_close(actual, expected)


def test_choosing_a_kernel_changes_nothing() -> None:
    q = minigrad.randn(2, 3, 4)
    expected = F.scaled_dot_product_attention(q, q, q).tolist()
    for backends in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        with sdpa_kernel(backends):
            assert F.scaled_dot_product_attention(q, q, q).tolist() == expected
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("math"):  # type: ignore[arg-type]
        pass
    names = ("ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
    theirs = torch.nn.attention.SDPBackend
    assert [int(SDPBackend[n]) for n in names] == [int(getattr(theirs, n)) for n in names]
