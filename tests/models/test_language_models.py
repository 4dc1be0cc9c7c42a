"""Properties of language models, each tested for all models."""

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad_models.generation import beam_search as generate, continuation
from minigrad_models.gpt import gpt2, transformer_xl
from minigrad_models.music import music_transformer

V = 11
SIZES: dict[str, Any] = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "dropout": 0.0, "attention_dropout": 0.0}
MUSIC = (music_transformer.MusicTransformer, music_transformer.Config)
MODELS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "gpt2": (gpt2.GPT2, gpt2.Config, {"positions": 32, "embedding_dropout": 0.0}),
    "gpt2, untied": (gpt2.GPT2, gpt2.Config, {"positions": 32, "embedding_dropout": 0.0, "tied": False}),
    "transformer-xl": (transformer_xl.TransformerXL, transformer_xl.Config, {"activation_dropout": 0.0, "memory": 6}),
    "relative": (*MUSIC, {"positions": 32, "distances": 6}),
    "absolute": (*MUSIC, {"positions": 32, "attention": "absolute"}),
    "of four voices": (*MUSIC, {"positions": 32, "cycle": 4, "norm_first": False, "activation": "gelu"}),
}
each = pytest.mark.parametrize("name", MODELS)
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 1, 2, 3, 4]]


def small(name: str, device: str = "cpu", **changes: Any) -> Any:
    """A model in float64 and evaluation mode in which every weight has an effect."""
    mg.manual_seed(1)
    kind, config, options = MODELS[name]
    model = kind(config(V, **{**SIZES, **options, **changes}))
    for parameter in model.parameters():
        mg.nn.init.normal_(parameter, std=0.5)
    return model.double().to(device).eval()


def text(*shape: int, device: str = "cpu") -> mg.Tensor:
    return mg.tensor(np.random.default_rng(0).integers(0, V, shape), device=device)


def assert_equal(ours: mg.Tensor, expected: mg.Tensor, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(ours.numpy(force=True), expected.numpy(force=True), rtol=0, atol=atol)


@each
def test_a_token_affects_only_its_own_and_later_positions(name: str, device: str) -> None:
    model, tokens = small(name, device), text(1, 12, device=device)
    changed = tokens.clone()
    changed[0, 2] = (changed[0, 2] + 1) % V
    difference = (model(tokens) - model(changed)).abs().amax(-1)[0]
    assert (difference > 1e-9).tolist() == [i >= 2 for i in range(12)]


@each
def test_padding_changes_nothing(name: str, device: str) -> None:
    model, tokens = small(name, device), text(2, 8, device=device)
    mask = mg.tensor([[False] * 2 + [True] * 6, [True] * 8], device=device)
    both = model(tokens, mask)
    for logits, row, row_mask in zip(both, tokens, mask, strict=True):
        assert_equal(logits[row_mask], model(row[row_mask][None])[0])


@each
def test_loss_is_the_cross_entropy_of_the_logits(name: str, device: str) -> None:
    model, tokens = small(name, device), text(2, 6, device=device)
    targets = tokens[:, 1:].clone()
    targets[0, 2] = -100
    expected = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, V), targets.reshape(-1))
    assert math.isclose(float(model.loss(tokens[:, :-1], targets)), float(expected), rel_tol=1e-10)


@each
def test_gradients_match_finite_differences(name: str) -> None:
    model, tokens = small(name, d_model=4, d_ff=3, layers=1), text(1, 7)
    parameters = list(model.parameters())
    assert mg.autograd.gradcheck(lambda *_: model.loss(tokens[:, :-1], tokens[:, 1:]), parameters, atol=1e-6)


def begin(model: Any, prompts: list[list[int]], cached: bool = True) -> Any:
    moves = {"reach": 5} if isinstance(model, transformer_xl.TransformerXL) else {"stride": 4}
    return model.begin(prompts, cached, **moves)


def searches(model: Any, cached: bool) -> list[generate.Hypothesis]:
    mg.manual_seed(5)
    texts = generate.greedy(begin(model, PROMPTS, cached), [12, 5, 9], eos_token_id=None)
    texts += generate.sample(begin(model, PROMPTS, cached), 9, top_k=6, eos_token_id=2)
    return sum(generate.beam_search(begin(model, PROMPTS, cached), 3, 9, eos_token_id=0), texts)


@each
def test_generation_is_the_same_with_a_cache(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also past the context, where the window moves. Even short texts exceed the cache's initial capacity."""
    monkeypatch.setattr(continuation, "INITIAL_CAPACITY", 3)
    model = small(name, device, **({} if name == "transformer-xl" else {"positions": 8}))
    for ours, expected in zip(searches(model, True), searches(model, False), strict=True):
        assert ours.tokens == expected.tokens and abs(ours.score - expected.score) < 1e-3


@each
def test_prompts_in_a_batch_are_continued_as_single_prompts(name: str, device: str) -> None:
    model = small(name, device)
    for cached in (True, False):
        together = generate.greedy(begin(model, PROMPTS, cached), 10, eos_token_id=None)
        single = [generate.greedy(begin(model, [p], cached), 10, eos_token_id=None)[0] for p in PROMPTS]
        assert [h.tokens for h in together] == [h.tokens for h in single]


@each
def test_prompts_that_cannot_be_continued(name: str) -> None:
    beyond = "a prompt has token {}, but the vocabulary ends at 10"
    for prompts, message in (
        ([], "each prompt needs at least one token"),
        ([[1], []], "each prompt needs at least one token"),
        ([[1, V]], beyond.format(V)),
        ([[-1]], beyond.format(-1)),
    ):
        with pytest.raises(ValueError, match=message):
            begin(small(name), prompts)
