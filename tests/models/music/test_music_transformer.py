"""The Music Transformer against the paper's sums written as loops, local attention against a mask, with and without a
cache, learning, resuming."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad_models.music.music_transformer import Config, MusicTransformer
from tests.support.parity import assert_close

V = 11
SIZES: dict[str, Any] = {"positions": 32, "d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "distances": 6}
KINDS: dict[str, dict[str, Any]] = {
    "relative": {},
    "absolute": {"attention": "absolute"},
    "of four voices": {"cycle": 4, "norm_first": False, "activation": "gelu"},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def small(kind: str = "relative", device: str = "cpu", **changes: Any) -> MusicTransformer:
    """A model in float64 and evaluation mode in which every weight has an effect."""
    mg.manual_seed(1)
    model = MusicTransformer(Config(V, **{**SIZES, "dropout": 0.0, **KINDS[kind], **changes}))
    for parameter in model.parameters():
        mg.nn.init.normal_(parameter, std=0.5)
    return model.double().to(device).eval()


def text(*shape: int, device: str = "cpu") -> mg.Tensor:
    return mg.tensor(np.random.default_rng(0).integers(0, V, shape), device=device)


def by_loops(model: MusicTransformer, tokens: Any) -> Any:
    """Equation 3 and its layers in NumPy, one score at a time: logits (T, V) of one row of tokens."""
    w = {name: p.detach().numpy() for name, p in model.named_parameters()}
    c, t = model.config, len(tokens)
    head = c.d_model // c.heads

    def norm(x: Any, name: str) -> Any:
        spread = np.sqrt(x.var(-1, keepdims=True) + c.epsilon)
        return (x - x.mean(-1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def attention(x: Any, name: str) -> Any:
        queries, keys, values = (linear(x, f"{name}.{part}") for part in ("query", "key", "value"))
        out = np.zeros_like(x)
        for i, h in itertools.product(range(t), range(c.heads)):
            part = slice(h * head, (h + 1) * head)
            visible = list(range(i + 1))
            scores = np.array([queries[i, part] @ keys[j, part] for j in visible])
            if c.attention == "relative":
                table = w[f"{name}.distance.weight"][h]
                scores += [queries[i, part] @ table[min(i - j, c.distances - 1)] for j in visible]
            weights = np.exp((scores - scores.max()) / math.sqrt(head))
            out[i, part] = weights / weights.sum() @ values[visible, part]
        return linear(out, f"{name}.output")

    def feed_forward(x: Any, name: str) -> Any:
        inner = mg.tensor(linear(x, f"{name}.inner"))
        return linear((F.gelu(inner) if c.activation == "gelu" else F.relu(inner)).numpy(), f"{name}.outer")

    x = w["embedding.weight"][tokens]
    if c.cycle:
        x = x + w["place.weight"][np.arange(t) % c.cycle]
    x = x * math.sqrt(c.d_model)
    if c.attention == "absolute":
        angles = np.arange(t)[:, None] / 10000 ** (np.arange(0, c.d_model, 2) / c.d_model)
        x = x + np.stack([np.sin(angles), np.cos(angles)], -1).reshape(t, -1)
    for n in range(c.layers):
        for part, sublayer in (("attention", attention), ("feed_forward", feed_forward)):
            name, residual = f"layers.{n}.{part}", f"layers.{n}.{part}_residual.norm"
            x = x + sublayer(norm(x, residual), name) if c.norm_first else norm(x + sublayer(x, name), residual)
    return (norm(x, "norm") if c.norm_first else x) @ w["embedding.weight"].T + w["bias"]


@each_kind
@pytest.mark.parametrize("length", [1, 3, 10])
def test_the_sums_of_the_paper_one_by_one(kind: str, length: int, device: str) -> None:
    host, model, tokens = small(kind), small(kind, device), text(2, length)
    logits = model(tokens.to(device))
    for row, expected in zip(tokens.numpy(), logits, strict=True):
        # the table of sines is float32
        assert_close(expected, by_loops(host, row), 1e-6 if "absolute" in kind else 1e-10)


def test_a_window_moves_by_whole_cycles() -> None:
    with pytest.raises(ValueError, match="stride must be a multiple of the cycle, 4, not 6"):
        small("of four voices").begin([[1]], stride=6)


def test_bad_sizes() -> None:
    for changes, message in (
        ({"heads": 3}, r"d_model \(8\) must be a multiple of heads \(3\)"),
        ({"d_model": 9, "heads": 3, "attention": "absolute"}, r"d_model \(9\) must be even"),
        ({"cycle": 0}, "cycle must be at least 1, not 0"),
        ({"distances": 0}, "distances must be at least 1, not 0"),
        ({"dropout": 1.5}, r"dropout must be between 0 and 1, not 1\.5"),
        ({"attention": "sparse"}, "attention must be one of relative, absolute, not 'sparse'"),
    ):
        with pytest.raises(ValueError, match=message):
            Config(V, **{**SIZES, **changes})
    with pytest.raises(ValueError, match="33 tokens do not fit in the 32 that the model sees at once"):
        small()(text(1, 33))
