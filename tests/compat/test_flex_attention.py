"""torch.nn.attention.flex_attention, against PyTorch's without its compiler."""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.compat import as_torch
from tests.support.cases import cases, raises
from tests.support.parity import ours, theirs, torch

SIZES = [(2, 4, 10, 8), (2, 2, 13, 8), (2, 2, 13, 6)]
BIAS = np.random.default_rng(1).standard_normal((4, 10, 13)).astype(np.float32)
DOCUMENTS = np.random.default_rng(2).integers(0, 3, (2, 13))


@pytest.fixture
def flex() -> Iterator[Any]:
    """PyTorch's module, with compilation turned off."""
    assert torch.nn.attention
    module: Any = importlib.import_module("torch.nn.attention.flex_attention")
    module._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    yield module
    module._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False


def our_flex() -> Any:
    with as_torch(replace=True):
        return importlib.import_module("torch.nn.attention.flex_attention")


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(size).astype(np.float32) for size in SIZES]


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q + 3 >= k


def masks(make: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    documents = make(DOCUMENTS)
    return {
        "causal": causal,
        "empty rows": lambda b, h, q, k: (q > 2) & (k < 5 + h),
        "documents": lambda b, h, q, k: documents[b, q] == documents[b, k],
        "key first": lambda b, h, q, k: documents[b][k] == documents[b][q],
    }


def scores(make: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    bias = make(BIAS)
    columns = make(np.ascontiguousarray(BIAS[:, :, :10].transpose(0, 2, 1)))  # square: a wrong order keeps the shape
    return {
        "alibi": lambda s, b, h, q, k: s + (q - k) / (h + 1),
        "softcap": lambda s, b, h, q, k: 2 * (s / 2).tanh(),
        "bias": lambda s, b, h, q, k: s + bias[h, q, k],
        "chained": lambda s, b, h, q, k: s + bias[h][q][k],
        "key first": lambda s, b, h, q, k: s + columns[h][k % 10][q],
    }


@cases("name", ["causal", "empty rows", "documents", "key first"])
def test_masks_are_pytorchs(flex: Any, name: str) -> None:
    make, library = masks(minigrad.tensor)[name], our_flex()
    mask = library.create_block_mask(make, 2, 4, 10, 13, device="cpu", BLOCK_SIZE=(4, 8))
    expected = flex.create_block_mask(masks(torch.tensor)[name], 2, 4, 10, 13, device="cpu", BLOCK_SIZE=(4, 8))
    dense = flex.create_mask(masks(torch.tensor)[name], 2, 4, 10, 13, device="cpu")
    np.testing.assert_array_equal(library.create_mask(make, 2, 4, 10, 13, device="cpu").numpy(), dense.numpy())
    np.testing.assert_array_equal(mask.to_dense().numpy(), expected.to_dense().numpy())
    assert mask.shape == tuple(expected.shape) and mask.sparsity() == pytest.approx(expected.sparsity())
    q, k, v = map(ours, arrays())
    aux = library.AuxRequest(lse=True, max_scores=True)
    output, more = library.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, return_aux=aux)
    aux = flex.AuxRequest(lse=True)  # on the CPU PyTorch does not return the largest scores
    other, others = flex.flex_attention(*map(theirs, arrays()), block_mask=expected, enable_gqa=True, return_aux=aux)
    np.testing.assert_allclose(output.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(more.lse.numpy(), others.lse.numpy(), rtol=1e-5, atol=1e-5)
    assert (more.max_scores <= more.lse).all()


@cases("name", ["alibi", "softcap", "bias", "chained", "key first"])
def test_scores_are_pytorchs(flex: Any, name: str) -> None:
    output = our_flex().flex_attention(*map(ours, arrays()), scores(minigrad.tensor)[name], scale=0.3, enable_gqa=True)
    expected = flex.flex_attention(*map(theirs, arrays()), scores(torch.tensor)[name], scale=0.3, enable_gqa=True)
    np.testing.assert_allclose(output.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_gradients_equal_masked_attention() -> None:
    q, k, v = (ours(a, requires_grad=True) for a in arrays())
    library = our_flex()
    mask = library.create_block_mask(causal, None, None, 10, 13, device="cpu")
    library.flex_attention(q, k, v, lambda s, b, h, q, k: s * 1, mask, enable_gqa=True).square().sum().backward()
    expected = [theirs(a, requires_grad=True) for a in arrays()]
    dense = torch.ones(10, 13).tril(3).bool()
    output = torch.nn.functional.scaled_dot_product_attention(*expected, attn_mask=dense, enable_gqa=True)
    output.square().sum().backward()
    for actual, reference in zip((q, k, v), expected, strict=True):
        np.testing.assert_allclose(actual.grad.numpy(), reference.grad.numpy(), rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


def test_mismatched_sizes_are_rejected() -> None:
    library, (q, k, v) = our_flex(), map(ours, arrays())
    raises(ValueError, "same number of heads", lambda: library.flex_attention(q, k, v))
    mask = library.create_block_mask(causal, 1, 1, 4, 4, device="cpu")
    call = partial(library.flex_attention, q, k, v, block_mask=mask, enable_gqa=True)
    raises(ValueError, "block_mask was created for", call)
