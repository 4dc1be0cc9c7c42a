"""The hundred-line engine against the library's autograd, on a transformer's decoder block."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from examples import engine
from examples.engine import Value
from minigrad.ops.activation import dropout, gelu
from minigrad.ops.attention import scaled_dot_product_attention
from minigrad.ops.elementwise import add
from minigrad.ops.indexing import embedding
from minigrad.ops.joining import split
from minigrad.ops.linear import linear
from minigrad.ops.loss import cross_entropy
from minigrad.ops.normalization import layer_norm, rms_norm
from minigrad.ops.reduction import mean
from minigrad.ops.shape import reshape, transpose

B, T, S, D, H, V = 2, 5, 4, 8, 2, 11
SHAPES: dict[str, tuple[int, ...]] = {"words": (V, D), "memory": (B, S, D), "qkv": (3 * D, D), "qkv bias": (3 * D,)}
SHAPES |= {"self out": (D, D), "query": (D, D), "key value": (2 * D, D), "cross out": (D, D)}
SHAPES |= {"up": (4 * D, D), "up bias": (4 * D,), "down": (D, 4 * D)}
SHAPES |= {f"{name} {i}": (D,) for i in (1, 2, 3) for name in ("scale", "shift")}
TOKENS = np.random.default_rng(1).integers(0, V, (B, T))
KEEP = np.random.default_rng(2).random((B, T, D)) < 0.8


def heads(x: Any) -> Any:
    """(B, L, D) -> (B, H, L, D / H)"""
    return transpose(reshape(x, (B, x.shape[1], H, D // H)), 1, 2)


def joined(x: Any) -> Any:
    """(B, H, L, D / H) -> (B, L, D)"""
    return reshape(transpose(x, 1, 2), (B, x.shape[2], D))


def decoder_block(p: dict[str, Any], tokens: Any, target: Any, keep: Any) -> Any:
    """The loss of a decoder block (Vaswani et al. 2017, norm first) that predicts the next token."""
    x = embedding(p["words"], tokens)  # (B, T, D)
    normal = layer_norm(x, p["scale 1"], p["shift 1"], 1e-5)
    q, k, v = split(linear(normal, p["qkv"], p["qkv bias"]), (D, D, D), 2)
    visible = scaled_dot_product_attention(heads(q), heads(k), heads(v), None, None, True, 0.5)
    x = add(x, dropout(linear(joined(visible), p["self out"]), keep, 1.25))
    normal = layer_norm(x, p["scale 2"], p["shift 2"], 1e-5)
    k, v = split(linear(p["memory"], p["key value"]), (D, D), 2)
    q = linear(normal, p["query"])
    visible = scaled_dot_product_attention(heads(q), heads(k), heads(v), None, None, False, 0.5)
    x = add(x, linear(joined(visible), p["cross out"]))
    normal = rms_norm(add(x, p["shift 3"]), p["scale 3"], 1e-6)
    x = add(x, linear(gelu(linear(normal, p["up"], p["up bias"]), "none"), p["down"]))
    logits = linear(reshape(x, (B * T, D)), p["words"])  # tied to the embedding: two uses of one leaf
    return mean(cross_entropy(logits, target, None, -100, 0.1), None, False)


def test_a_decoder_block_agrees_with_the_library() -> None:
    arrays = {name: 0.5 * np.random.standard_normal(shape) for name, shape in SHAPES.items()}
    target = np.roll(TOKENS, -1, 1).reshape(-1)
    values = {name: Value(array) for name, array in arrays.items()}
    loss = decoder_block(values, TOKENS, target, KEEP)
    engine.backward(loss)
    tensors: dict[str, Any] = {name: minigrad.tensor(a, requires_grad=True) for name, a in arrays.items()}
    expected = decoder_block(tensors, *map(minigrad.tensor, (TOKENS, target, KEEP)))
    expected.backward()
    assert abs(loss.array - expected.item()) < 1e-12
    for name, value in values.items():
        np.testing.assert_allclose(value.grad, tensors[name].grad.numpy(), rtol=0, atol=1e-12, err_msg=name)


def test_it_is_a_hundred_lines_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(Path(engine.__file__).read_text(encoding="utf-8").splitlines()) <= 100
    engine.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("loss ") and lines[1] == "linear, weight: dW = gᵀ x"
