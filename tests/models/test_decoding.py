"""Decoding with what can be kept: step by step the logits of the plain way, which is the definition."""

from __future__ import annotations

import math
import random

import pytest

import minigrad as mg
from minigrad.models import cache
from minigrad.models.decoding import Cached, Plain
from minigrad.models.transformer import Config, Transformer, pad
from minigrad.text import generate
from minigrad.text.tokenizer import BOS, EOS

V = 13
BATCHES = [[[4, 5, 6]], [[4, 5, 6], [7, 8, 9, 10, 4], [5]]]  # alone, and with ragged ends
ROOM = 6  # tokens, at first


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sentences, too, outgrow what the cache begins with."""
    monkeypatch.setattr(cache, "INITIAL_CAPACITY", ROOM)


def transformer(device: str, norm_first: bool = False, positions: int = 64, order: str = "sinusoidal") -> Transformer:
    mg.manual_seed(1)
    config = Config(V, 8, 2, 2, 16, 0.1, positions, norm_first, position_encoding=order)
    model = Transformer(config).to(device).eval()
    with mg.no_grad():  # no norm or bias that could be forgotten
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape).to(device))
    return model


@pytest.mark.parametrize(("norm_first", "order"), [(False, "sinusoidal"), (True, "sinusoidal"), (True, "rotary")])
def test_each_step_gives_the_logits_of_the_plain_way(device: str, norm_first: bool, order: str) -> None:
    sentences = BATCHES[not norm_first or order == "rotary"]
    model, source = transformer(device, norm_first, order=order), pad(sentences, device)
    fixed = mg.randint(4, V, (len(sentences), 2 * ROOM + 1)).to(device)  # more room is made twice
    cached, plain = model.begin(source, True), model.begin(source, False)
    assert isinstance(cached, Cached) and isinstance(plain, Plain)
    with mg.no_grad():
        for end in range(1, fixed.shape[1] + 1):
            ours, expected = (way.next_logits(fixed[:, :end]) for way in (cached, plain))
            assert ours.shape == expected.shape == (len(sentences), V)
            assert mg.allclose(ours.cpu(), expected.cpu(), rtol=1e-4, atol=1e-4), end


def test_the_whole_beam_is_equal_alone_and_together_with_and_without_cache(device: str) -> None:
    model = transformer(device)
    draw = random.Random(0)
    count, longest = (3, 3) if device == "strict" else (4, 6)  # which takes long
    sources = [[draw.randrange(4, V) for _ in range(draw.randrange(longest))] + [EOS] for _ in range(count)]
    limits = [2 * len(s) + 3 for s in sources]
    for coverage in (0.0, 0.4):
        beams = [
            generate.beam_search(model.begin(pad(sources, device), cached), 3, limits, 0.8, coverage)
            for cached in (True, False)
        ]
        alone = [
            generate.beam_search(model.begin(pad([s], device), False), 3, [n], 0.8, coverage)[0]
            for s, n in zip(sources, limits, strict=True)
        ]
        for batch in beams:
            for beam, expected in zip(batch, alone, strict=True):
                assert [h.tokens for h in beam] == [h.tokens for h in expected]
                for h, e in zip(beam, expected, strict=True):
                    assert math.isclose(h.score, e.score, rel_tol=1e-4, abs_tol=1e-4)


def test_nothing_is_cached_in_training(device: str) -> None:
    model, source = transformer(device).train(), pad(BATCHES[1], device)
    drawn = []
    for cached in (True, False):
        assert isinstance(model.begin(source, cached), Plain)
        mg.manual_seed(5)
        drawn.append(model.greedy(source, 8, cached=cached))
    assert mg.equal(*drawn)


def test_nothing_is_recorded(device: str) -> None:
    model, source = transformer(device), pad(BATCHES[0], device)
    logits = model.begin(source, True).next_logits(mg.full((1, 1), BOS, device=device))
    assert not logits.requires_grad


def test_a_decoder_keeps_no_graph_of_the_encoder(device: str) -> None:
    """With gradients on, as they are for who calls ``begin`` and then ``generate.greedy``."""
    model, source = transformer(device), pad(BATCHES[0], device)
    recorded = []
    handle = model.encoder[-1].register_forward_hook(lambda _, inputs, out: recorded.append(out.requires_grad))
    plain, cached = model.begin(source, False), model.begin(source, True)
    handle.remove()
    assert isinstance(plain, Plain) and not plain.memory.requires_grad
    assert generate.greedy(plain, 5)[0].tokens == generate.greedy(cached, 5)[0].tokens
    assert recorded == [False, False] and mg.is_grad_enabled()
    assert model.encode(source)[0].requires_grad


def test_a_sentence_longer_than_the_positions_is_refused(device: str) -> None:
    model = transformer(device, positions=4)
    cached, fixed = model.begin(pad([[4]], device), True), mg.full((1, 5), 4, device=device)
    for end in range(1, 5):
        cached.next_logits(fixed[:, :end])
    with pytest.raises(ValueError, match="a sentence of 5 tokens is longer than the model's 4 positions"):
        cached.next_logits(fixed)
