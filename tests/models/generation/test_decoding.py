"""Decoding with a cache: it finds the same beams as decoding without one, and keeps no graph."""

import math
import random

import pytest

import minigrad as mg
from minigrad_models.generation import beam_search as generate, continuation
from minigrad_models.text.tokenizer import BOS, EOS
from minigrad_models.translation.encoder_decoder import Plain
from minigrad_models.translation.transformer import Config, Transformer, pad

V = 13
CAPACITY = 6  # tokens, at first


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short sentences exceed the initial capacity of the cache."""
    monkeypatch.setattr(continuation, "INITIAL_CAPACITY", CAPACITY)


def transformer(device: str, norm_first: bool = False, positions: int = 64, order: str = "sinusoidal") -> Transformer:
    mg.manual_seed(1)
    config = Config(V, 8, 2, 2, 16, 0.1, positions, norm_first, position_encoding=order)
    model = Transformer(config).to(device).eval()
    with mg.no_grad():  # no norm is 1 and no bias 0
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape).to(device))
    return model


def test_beams_are_equal_in_batches_and_with_a_cache(device: str) -> None:
    model = transformer(device)
    draw = random.Random(0)
    count, longest = (3, 3) if device == "strict" else (4, 6)  # the strict device is slow
    sources = [[draw.randrange(4, V) for _ in range(draw.randrange(longest))] + [EOS] for _ in range(count)]
    limits = [2 * len(s) + 3 for s in sources]
    search = lambda sources, limits, cached: generate.beam_search(
        model.begin(pad(sources, device), cached), 3, limits, 0.8
    )
    beams = [search(sources, limits, cached) for cached in (True, False)]
    alone = [search([s], [n], False)[0] for s, n in zip(sources, limits, strict=True)]
    for batch in beams:
        for beam, expected in zip(batch, alone, strict=True):
            assert [h.tokens for h in beam] == [h.tokens for h in expected]
            for h, e in zip(beam, expected, strict=True):
                assert math.isclose(h.score, e.score, rel_tol=1e-4, abs_tol=1e-4)


def test_nothing_is_cached_in_training(device: str) -> None:
    model, source = transformer(device).train(), pad([[4, 5, 6], [7, 8, 9, 10, 4], [5]], device)
    results = []
    for cached in (True, False):
        assert isinstance(model.begin(source, cached), Plain)
        mg.manual_seed(5)
        results.append(model.greedy(source, 8, cached=cached))
    assert mg.equal(*results)


def test_a_decoder_keeps_no_graph_of_the_encoder(device: str) -> None:
    """Even with gradients enabled, as when a program calls ``begin`` and then ``generate.greedy``."""
    model, source = transformer(device), pad([[4, 5, 6]], device)
    recorded = []
    handle = model.encoder[-1].register_forward_hook(lambda _, inputs, out: recorded.append(out.requires_grad))
    plain, cached = model.begin(source, False), model.begin(source, True)
    handle.remove()
    assert isinstance(plain, Plain) and not plain.memory.requires_grad
    assert generate.greedy(plain, 5)[0].tokens == generate.greedy(cached, 5)[0].tokens
    assert recorded == [False, False] and mg.is_grad_enabled()
    assert not model.begin(source, True).next_logits(mg.full((1, 1), BOS, device=device)).requires_grad
    assert model.encode(source)[0].requires_grad


def test_a_sentence_longer_than_the_positions_is_refused(device: str) -> None:
    model = transformer(device, positions=4)
    cached, fixed = model.begin(pad([[4]], device), True), mg.full((1, 5), 4, device=device)
    for end in range(1, 5):
        cached.next_logits(fixed[:, :end])
    with pytest.raises(ValueError, match="a sentence of 5 tokens is longer than the model's 4 positions"):
        cached.next_logits(fixed)
