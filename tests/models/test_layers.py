"""The layers that transformers share."""

import pytest

import minigrad as mg
from minigrad.models.gpt2 import Config
from minigrad.models.layers import MultiHeadAttention


@pytest.mark.parametrize(("causal", "padded"), [(False, True), (True, False), (True, True)])
def test_the_output_is_the_values_by_their_weights(causal: bool, padded: bool, device: str) -> None:
    mg.manual_seed(0)
    attention = MultiHeadAttention(Config(vocabulary=5, positions=8, d_model=12, heads=3)).to(device).double().eval()
    x = mg.randn(2, 6, 12, dtype=mg.float64, device=device)
    mask = mg.tensor([[True] * 6, [True] * 4 + [False] * 2], device=device)[:, None, None] if padded else None
    weights = attention.weights(x, x, mask, causal)
    visible = mg.ones(2, 1, 6, 6, dtype=mg.bool, device=device) if mask is None else mask.expand(2, 1, 6, 6)
    allowed = visible & mg.ones(6, 6, dtype=mg.bool, device=device).tril() if causal else visible
    assert bool(((weights > 0) == allowed).all())
    assert mg.allclose(weights.sum(-1), mg.ones(2, 3, 6, dtype=mg.float64, device=device))
    heads = weights @ attention.split(attention.value(x))
    expected = attention.output(heads.transpose(1, 2).flatten(2))
    assert mg.allclose(attention(x, x, mask, causal), expected, rtol=0, atol=1e-12)
