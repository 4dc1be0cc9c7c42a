"""The Music Transformer: against the paper's sums written as loops, local attention against a mask, the cache against
none, learning, resuming."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.models import cache
from minigrad.models.music_transformer import Config, MusicTransformer
from minigrad.nn import functional as F
from minigrad.text import generate
from minigrad.training import Settings, Trainer, read_checkpoint
from tests.support.in_torch import in_torch
from tests.support.parity import assert_close, torch
from tests.training.program import plain

V = 11
SIZES: dict[str, Any] = {"positions": 32, "d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "distances": 6}
KINDS: dict[str, dict[str, Any]] = {
    "relative": {},
    "absolute": {"attention": "absolute"},
    "local": {"block": 3},
    "local and absolute": {"attention": "absolute", "block": 4},
    "of four voices": {"cycle": 4, "norm_first": False, "activation": "gelu"},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def small(kind: str = "relative", device: str = "cpu", **changes: Any) -> MusicTransformer:
    """A model whose every weight counts, in float64 and evaluation mode."""
    mg.manual_seed(1)
    model = MusicTransformer(Config(V, **{**SIZES, "dropout": 0.0, **KINDS[kind], **changes}))
    for parameter in model.parameters():
        mg.nn.init.normal_(parameter, std=0.5)
    return model.double().to(device).eval()


def text(*shape: int, device: str = "cpu") -> mg.Tensor:
    return mg.tensor(np.random.default_rng(0).integers(0, V, shape), device=device)


def by_loops(model: MusicTransformer, tokens: Any) -> Any:
    """Equation 3 and the layers around it in NumPy, one score at a time: logits (T, V) of one row of tokens."""
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
            seen = [j for j in range(i + 1) if c.block is None or i // c.block - j // c.block <= 1]
            scores = np.array([queries[i, part] @ keys[j, part] for j in seen])
            if c.attention == "relative":
                table = w[f"{name}.distance.weight"][h]
                scores += [queries[i, part] @ table[min(i - j, c.distances - 1)] for j in seen]
            weights = np.exp((scores - scores.max()) / math.sqrt(head))
            out[i, part] = weights / weights.sum() @ values[seen, part]
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
        # sines are float32 in the table
        assert_close(expected, by_loops(host, row), 1e-6 if "absolute" in kind else 1e-10)


@pytest.mark.parametrize("kind", ["local", "local and absolute"])
@pytest.mark.parametrize("length", [1, 2, 6, 13])
def test_blocks_give_what_a_mask_over_all_pairs_gives(kind: str, length: int, device: str) -> None:
    model, tokens = small(kind, device), text(2, length, device=device)
    everywhere = mg.ones(2, length, dtype=mg.bool, device=device)
    assert_close(model(tokens), model(tokens, everywhere), 1e-10)


@each_kind
def test_a_token_is_seen_by_those_that_may_see_it_and_no_others(kind: str, device: str) -> None:
    model, tokens = small(kind, device), text(1, 12, device=device)
    changed = tokens.clone()
    changed[0, 2] = (changed[0, 2] + 1) % V
    difference = (model(tokens) - model(changed)).abs().amax(-1)[0]
    block = model.config.block
    last = 11 if block is None else min(11, (1 + len(model.layers)) * block - 1)  # a block more with each layer
    assert (difference > 1e-9).tolist() == [2 <= i <= last for i in range(12)]


def test_only_distances_count(device: str) -> None:
    """Relative attention: the same motif later in a piece, of which each layer sees no more than the motif."""
    model, motif = small("local", device, block=2), text(1, 8, device=device)
    twice = mg.cat((motif, motif), 1)
    assert_close(model(twice)[:, 12:], model(motif)[:, 4:], 1e-10)


@each_kind
def test_padding_changes_nothing(kind: str, device: str) -> None:
    model, tokens = small(kind, device), text(2, 8, device=device)
    mask = mg.tensor([[False] * 2 + [True] * 6, [True] * 8], device=device)
    both = model(tokens, mask)
    assert_close(both[:1, 2:], model(tokens[:1, 2:]), 1e-10)
    assert_close(both[1:], model(tokens[1:]), 1e-10)


def test_loss_is_the_cross_entropy_of_the_logits(device: str) -> None:
    model, tokens = small(device=device), text(2, 6, device=device)
    targets = tokens[:, 1:].clone()
    targets[0, 2] = -100
    expected = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, V), targets.reshape(-1))
    assert math.isclose(float(model.loss(tokens[:, :-1], targets)), float(expected), rel_tol=1e-10)


@each_kind
def test_weights_are_those_of_the_forward_pass(kind: str) -> None:
    """What comes out of attention is weights times values."""
    model, tokens = small(kind, norm_first=True), text(1, 9)
    weights = model.weights(tokens)
    assert weights.shape == (2, 1, 2, 9, 9)
    assert_close(weights.sum(-1), np.ones(weights.shape[:-1]), 1e-12)
    states = model.hidden_states(tokens)
    for layer, x, p in zip(model.layers, states[:-1], weights, strict=True):
        y = layer.attention_residual.norm(x)
        values = layer.attention.split(layer.attention.value(y))
        heads = layer.attention.output((p @ values).transpose(1, 2).flatten(2))
        assert_close(heads, layer.attention(y, y, None, True), 1e-10)


@each_kind
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    model, tokens = small(kind, d_model=4, d_ff=5, layers=1, distances=3), text(1, 9)
    parameters = list(model.parameters())
    assert mg.autograd.gradcheck(lambda *_: model.loss(tokens[:, :-1], tokens[:, 1:]), parameters, atol=1e-6)


# Generation -------------------------------------------------------------------------------------------------

PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 1, 2, 3, 4]]


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts, too, outgrow what the cache begins with."""
    monkeypatch.setattr(cache, "INITIAL_CAPACITY", 3)


def searches(decoder: Any) -> list[Any]:
    mg.manual_seed(5)
    return [
        generate.greedy(decoder(), [12, 5, 9], eos=None),
        generate.sample(decoder(), 9, top_k=6, eos=2),
        *generate.beam_search(decoder(), 3, 9, eos=0),
    ]


@each_kind
@pytest.mark.parametrize(("positions", "stride"), [(32, 4), (8, 4), (8, 8)])
@pytest.mark.usefixtures("little_room")
def test_generation_with_a_cache_is_that_without(kind: str, positions: int, stride: int, device: str) -> None:
    model = small(kind, device, positions=positions).float()
    cached, whole = (searches(lambda c=c: model.begin(PROMPTS, c, stride)) for c in (True, False))
    for found, expected in zip(cached, whole, strict=True):
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert all(abs(f.score - e.score) < 1e-3 for f, e in zip(found, expected, strict=True))


@each_kind
@pytest.mark.parametrize("cached", [True, False])
def test_prompts_of_a_batch_are_continued_as_each_alone(kind: str, cached: bool) -> None:
    model = small(kind)
    together = generate.greedy(model.begin(PROMPTS, cached, 4), 10, eos=None)
    alone = [generate.greedy(model.begin([p], cached, 4), 10, eos=None)[0] for p in PROMPTS]
    assert [h.tokens for h in together] == [h.tokens for h in alone]


def test_a_window_moves_by_whole_cycles() -> None:
    with pytest.raises(ValueError, match="stride must be a multiple of the cycle, 4, not 6"):
        small("of four voices").begin([[1]], stride=6)


# Training ---------------------------------------------------------------------------------------------------


@each_kind
def test_it_learns_a_batch(kind: str, device: str) -> None:
    """With dropout switched off, what it has seen often it knows; on the slow device a few steps show the fall."""
    mg.manual_seed(0)
    sizes = {**SIZES, **KINDS[kind], "d_model": 16, "d_ff": 32, "dropout": 0.0}
    model, tokens = MusicTransformer(Config(V, **sizes)).to(device), text(3, 9, device=device)
    optimizer = mg.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(8 if device == "strict" else 120):
        optimizer.zero_grad()
        loss = model.loss(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < (0.8 * losses[0] if device == "strict" else 0.05)
    assert all(p.grad is not None and p.dtype is mg.float32 for p in model.parameters())


class Same:
    """Four batches in each epoch."""

    def epoch(self, number: int, start: int = 0) -> Any:
        yield from (text(4, 3, 9)[i] for i in range(start, 4))


def trainer(folder: Path, steps: int) -> Trainer:
    mg.manual_seed(3)
    model = MusicTransformer(Config(V, **{**SIZES, "dropout": 0.2, "cycle": 4}))
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.01)
    settings = Settings(steps, save_every=1, save_seconds=None, progress=False, seed=2)

    def loss(model: Any, tokens: mg.Tensor) -> tuple[mg.Tensor, float]:
        return model.loss(tokens[:, :-1], tokens[:, 1:]), 24.0

    return Trainer(model, optimizer, Same(), loss, folder=folder, settings=settings)


def test_a_training_goes_on_to_the_bit(tmp_path: Path) -> None:
    trainer(tmp_path / "whole", 6).fit()
    for stop in (2, 5, 6):
        trainer(tmp_path / "parts", stop).fit()
    whole, parts = (read_checkpoint(tmp_path / name / "last.safetensors") for name in ("whole", "parts"))
    for name in ("model", "optimizer", "random"):
        assert plain(whole[name]) == plain(parts[name])


@each_kind
def test_a_model_can_be_kept(kind: str, tmp_path: Path) -> None:
    model = small(kind)
    mg.save({"config": asdict(model.config), "model": model.state_dict()}, tmp_path / "model.safetensors")
    saved = mg.load(tmp_path / "model.safetensors")
    again = MusicTransformer(Config(**saved["config"])).double().eval()
    again.load_state_dict(saved["model"])
    assert mg.equal(again(text(2, 5)), model(text(2, 5)))


def test_bad_sizes() -> None:
    for changes, message in (
        ({"heads": 3}, r"d_model \(8\) must be a multiple of heads \(3\)"),
        ({"d_model": 9, "heads": 3, "attention": "absolute"}, r"d_model \(9\) must be even"),
        ({"block": 0}, "block must be at least 1, not 0"),
        ({"cycle": 0}, "cycle must be at least 1, not 0"),
        ({"distances": 0}, "distances must be at least 1, not 0"),
        ({"dropout": 1.5}, r"dropout has to be between 0 and 1, not 1\.5"),
        ({"attention": "sparse"}, "attention is one of relative, absolute, not 'sparse'"),
    ):
        with pytest.raises(ValueError, match=message):
            Config(V, **{**SIZES, **changes})
    with pytest.raises(ValueError, match="33 tokens are more than the 32 that the model sees at once"):
        small()(text(1, 33))


@each_kind
def test_its_source_run_by_pytorch_gives_the_same(kind: str) -> None:
    ours, twin = small(kind), in_torch("music_transformer")
    theirs = twin.MusicTransformer(twin.Config(**asdict(ours.config))).double()
    theirs.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    for key, buffer in theirs.named_buffers():  # a table of sines, which the libraries round differently
        buffer.copy_(torch.tensor(dict(ours.named_buffers())[key].numpy()))
    results = []
    for model, make in ((ours, mg.tensor), (theirs, torch.tensor)):
        tokens = make(text(2, 9).tolist())
        loss = model.loss(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        results.append((loss, {name: p.grad for name, p in model.named_parameters()}))
    (loss, gradients), (expected, expected_gradients) = results
    assert_close(loss, expected, 1e-10)
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in gradients.items():
        assert_close(gradient, expected_gradients[name], 1e-9, name)
