"""Transformer-XL against the paper's sums written as loops and the former model of transformers; segments against the
whole text, with and without a cache, learning, resuming."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad_models.generation import beam_search as generate
from minigrad_models.gpt.transformer_xl import Config, TransformerXL
from minigrad_models.text import Recurrence, Segments
from minigrad_models.training import Settings, Trainer, read_checkpoint
from tests.models.training.program import plain
from tests.support.parity import assert_close

V = 11
SIZES: dict[str, Any] = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "segment": 4, "memory": 6}
OFF = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0)
KINDS: dict[str, dict[str, Any]] = {"the paper's": {}, "norm first": {"norm_first": True, "activation": "gelu"}}
each_kind = pytest.mark.parametrize("kind", KINDS)


def small(kind: str = "the paper's", device: str = "cpu", **changes: Any) -> TransformerXL:
    """A model in float64 and evaluation mode in which every weight has an effect."""
    mg.manual_seed(1)
    model = TransformerXL(Config(V, **{**SIZES, **OFF, **KINDS[kind], **changes}))
    for parameter in model.parameters():
        mg.nn.init.normal_(parameter, std=0.5)
    return model.double().to(device).eval()


def text(*shape: int, device: str = "cpu") -> mg.Tensor:
    return mg.tensor(np.random.default_rng(0).integers(0, V, shape), device=device)


def by_loops(model: TransformerXL, tokens: Any, memory: Any = None, reach: int | None = None) -> tuple[Any, list[Any]]:
    """The equations at the end of section 3.3 in NumPy, one score at a time: logits, and the layers' inputs."""
    w = {name: p.detach().numpy() for name, p in model.named_parameters()}
    c, (rows, t) = model.config, tokens.shape
    norm_first, head = c.norm_first, c.d_model // c.heads

    def norm(x: Any, name: str) -> Any:
        spread = np.sqrt(x.var(-1, keepdims=True) + c.epsilon)
        return (x - x.mean(-1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    def r(distance: int) -> Any:
        angles = distance / 10000 ** (np.arange(0, c.d_model, 2) / c.d_model)
        return np.concatenate([np.sin(angles), np.cos(angles)])

    def attention(x: Any, before: Any, layer: int) -> Any:
        name, states, m, out = f"layers.{layer}.attention", np.concatenate([before, x]), len(before), np.zeros_like(x)
        queries, keys, values = (states @ w[f"{name}.{part}.weight"].T for part in ("query", "key", "value"))
        u, v = (w[part][0, :, 0] for part in ("u", "v"))
        for i, h in itertools.product(range(t), range(c.heads)):
            part = slice(h * head, (h + 1) * head)
            visible = [j for j in range(m + i + 1) if reach is None or m + i - j <= reach]
            relative = np.stack([w[f"{name}.distance.weight"] @ r(m + i - j) for j in visible])[:, part]
            query = queries[m + i, part]
            scores = (keys[visible, part] @ (query + u[h]) + relative @ (query + v[h])) / math.sqrt(head)
            weights = np.exp(scores - scores.max())
            out[i, part] = weights / weights.sum() @ values[visible, part]
        return out @ w[f"{name}.output.weight"].T

    def feed_forward(x: Any, name: str) -> Any:
        inner = mg.tensor(x @ w[f"{name}.inner.weight"].T + w[f"{name}.inner.bias"])
        active = (F.gelu(inner) if c.activation == "gelu" else F.relu(inner)).numpy()
        return active @ w[f"{name}.outer.weight"].T + w[f"{name}.outer.bias"]

    def row(tokens: Any, before: Any) -> list[Any]:
        states = [w["embedding.weight"][tokens] * math.sqrt(c.d_model)]
        for n in range(c.layers):
            first, second = f"layers.{n}.attention_residual.norm", f"layers.{n}.feed_forward_residual.norm"
            x, name = states[-1], f"layers.{n}.feed_forward"
            if norm_first:
                x = x + attention(norm(x, first), norm(before[n], first), n)
                x = x + feed_forward(norm(x, second), name)
            else:
                x = norm(x + attention(x, before[n], n), first)
                x = norm(x + feed_forward(x, name), second)
            states.append(x)
        return states

    nothing = np.zeros((c.layers, rows, 0, c.d_model))
    states = [row(tokens[b], (nothing if memory is None else memory)[:, b]) for b in range(rows)]
    last = np.stack([s[-1] for s in states])
    last = norm(last, "norm") if norm_first else last
    return last @ w["embedding.weight"].T + w["bias"], [np.stack(parts) for parts in zip(*states, strict=True)]


@each_kind
@pytest.mark.parametrize("reach", [None, 3])
def test_the_sums_of_the_paper_one_by_one(kind: str, reach: int | None, device: str) -> None:
    host, model = small(kind), small(kind, device)
    first, second = text(2, 9)[:, :5], text(2, 9)[:, 5:]
    logits, inputs = by_loops(host, first.numpy(), reach=reach)
    states = model.hidden_states(first.to(device), reach=reach)
    assert_close(model(first.to(device), reach=reach), logits, 1e-10)
    memory = model.remember(states)
    for ours, expected in zip(memory, inputs, strict=False):
        assert_close(ours, expected, 1e-10)
    logits, _ = by_loops(host, second.numpy(), np.stack(inputs[:-1]), reach)
    assert_close(model(second.to(device), memory=memory, reach=reach), logits, 1e-10)


@each_kind
def test_segments_give_the_same_as_the_whole_text(kind: str, device: str) -> None:
    """With a limited reach, for any segments; without a limit, if the memory has room for everything."""
    model, tokens = small(kind, device), text(2, 17, device=device)
    for reach, length in ((5, 5), (5, 9), (None, 17)):
        whole = model(tokens, reach=reach)
        parts, memory = [], None
        for segment in tokens.split((4, 1, 7, 5), 1):
            logits, memory = model.read(segment, memory, length, reach)
            parts.append(logits)
            assert memory.shape[2] <= length and not memory.requires_grad
        assert_close(mg.cat(parts, 1), whole, 1e-10)


def test_no_gradient_flows_into_the_memory(device: str) -> None:
    """The loss and gradients are the same with a detached copy of the memory, and the memory has no history."""
    model, tokens = small("norm first", device), text(2, 9, device=device)
    _, memory = model.segment_loss(tokens[:, :4], tokens[:, 1:5])
    assert not memory.requires_grad and memory.grad_fn is None and memory.shape == (2, 2, 4, 8)
    loss, after = model.segment_loss(tokens[:, 4:8], tokens[:, 5:], memory)
    assert after.shape == (2, 2, 6, 8)
    assert mg.equal(after[:, :, :2].cpu(), memory[:, :, -2:].cpu())
    loss.backward()
    numbers = mg.tensor(memory.numpy(force=True), device=device)
    expected, _ = model.segment_loss(tokens[:, 4:8], tokens[:, 5:], numbers)
    gradients = mg.autograd.grad(expected, list(model.parameters()))
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert_close(parameter.grad, gradient, 1e-12)


@each_kind
def test_gradients_match_finite_differences(kind: str) -> None:
    model, tokens = small(kind, d_model=4, d_ff=5, layers=2), text(2, 7)
    memory = model.remember(model.hidden_states(tokens[:, :3])).requires_grad_()
    loss = lambda *_: model.segment_loss(tokens[:, 3:6], tokens[:, 4:], memory)[0]
    assert mg.autograd.gradcheck(loss, [*model.parameters(), memory], atol=1e-6)


def test_the_cache_holds_no_more_than_the_reach() -> None:
    model = small()
    decoder: Any = model.begin([[1, 2]], reach=4)
    generate.greedy(decoder, 20, eos_token_id=None)
    assert [keys.shape for keys, _ in decoder.kept] == [(0, 2, 4, 4)] * 2  # the only row has ended


def trainer(folder: Path, steps: int, device: str = "cpu", **changes: Any) -> Trainer:
    mg.manual_seed(3)
    model = TransformerXL(Config(V, **SIZES)).to(device)
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.01)
    recurrence = Recurrence()
    settings = Settings(steps, save_every=1, save_seconds=None, progress=False, seed=2, **changes)
    batches = Segments(text(60).numpy(), 3, 4, seed=1)  # 4 per epoch
    return Trainer(model, optimizer, batches, recurrence, folder=folder, settings=settings, carried=recurrence)


def test_a_training_resumes_with_its_memory(tmp_path: Path, device: str) -> None:
    """It resumes bitwise from the middle of an epoch, and would not without that memory."""
    steps = 6
    whole, parts, forgotten = (tmp_path / name for name in ("whole", "parts", "forgotten"))
    trainer(whole, steps, device).fit()
    for stop in (2, 5, steps):
        trainer(parts, stop, device).fit()
    trainer(forgotten, 2, device).fit()
    last = trainer(forgotten, steps, device)
    last.fit(lambda: setattr(last.carried, "memory", None))
    read = {path: read_checkpoint(path / "last.safetensors") for path in (whole, parts, forgotten)}
    assert read[whole]["carried"]["memory"].shape == (2, 3, 6, 8)
    for name in ("model", "optimizer", "carried", "random"):
        assert plain(read[whole][name]) == plain(read[parts][name])
    assert plain(read[whole]["model"]) != plain(read[forgotten]["model"])


def test_bad_sizes() -> None:
    for changes, message in (
        ({"heads": 3}, r"d_model \(8\) must be a multiple of heads \(3\)"),
        ({"d_model": 9, "heads": 3}, r"d_model \(9\) must be even"),
        ({"memory": 0}, "memory must be at least 1, not 0"),
        ({"dropout": 1.5}, r"dropout must be between 0 and 1, not 1\.5"),
        ({"activation": "elu"}, "activation must be one of relu, gelu, gelu_tanh, not 'elu'"),
    ):
        with pytest.raises(ValueError, match=message):
            Config(V, **{**SIZES, **changes})
    with pytest.raises(ValueError, match="reach must be at least 1, not 0"):
        small().begin([[1]], reach=0)
