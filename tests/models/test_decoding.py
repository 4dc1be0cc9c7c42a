"""Decoding with what can be kept: step by step the logits of the plain way, which is the definition."""

from __future__ import annotations

import itertools

import pytest

import minigrad as mg
from models.decoding import FIRST_ROOM, Cached, Plain
from models.transformer import BOS, Config, Transformer, pad

V = 13
BATCHES = [[[4, 5, 6]], [[4, 5, 6], [7, 8, 9, 10, 4], [5]]]  # alone, and with ragged ends


def transformer(device: str, norm_first: bool = False, positions: int = 64) -> Transformer:
    mg.manual_seed(1)
    model = Transformer(Config(V, 8, 2, 2, 16, 0.1, positions, norm_first)).to(device).eval()
    with mg.no_grad():  # no norm or bias that could be forgotten
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape).to(device))
    return model


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("sentences", BATCHES, ids=["one", "ragged"])
def test_each_step_gives_the_logits_of_the_plain_way(
    device: str, norm_first: bool, sentences: list[list[int]]
) -> None:
    model, source = transformer(device, norm_first), pad(sentences, device)
    fixed = mg.randint(4, V, (len(sentences), FIRST_ROOM + 3)).to(device)  # beyond the room at first
    cached, plain = model.begin(source, True), model.begin(source, False)
    assert isinstance(cached, Cached) and isinstance(plain, Plain)
    with mg.no_grad():
        for end in range(1, fixed.shape[1] + 1):
            found, expected = (way.next_logits(fixed[:, :end]) for way in (cached, plain))
            assert found.shape == expected.shape == (len(sentences), V)
            assert mg.allclose(found.cpu(), expected.cpu(), rtol=1e-4, atol=1e-4)


def test_beginnings_of_a_sentence_are_reordered(device: str) -> None:
    model, source, width = transformer(device), pad(BATCHES[1], device), 3
    ways = [model.begin(source, cached, width) for cached in (True, False)]
    tokens = mg.full((len(BATCHES[1]) * width, 1), BOS, device=device)
    rows = mg.tensor([1, 1, 0, 5, 3, 4, 8, 8, 8], device=device)
    with mg.no_grad():
        for step in range(5):
            found, expected = (way.next_logits(tokens).cpu() for way in ways)
            assert mg.allclose(found, expected, rtol=1e-4, atol=1e-4), step
            for way in ways:
                way.reorder(rows)
            new = (4 + (3 * mg.arange(len(rows)) + step) % 9).to(device)
            tokens = mg.cat((tokens[rows], new[:, None]), 1)
    assert ((found[1:] - found[:-1]).abs().amax(-1) > 1e-3).all()  # the rows do differ


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


def test_a_sentence_longer_than_the_positions_is_refused(device: str) -> None:
    model = transformer(device, positions=4)
    cached, fixed = model.begin(pad([[4]], device), True), mg.full((1, 5), 4, device=device)
    for end in range(1, 5):
        cached.next_logits(fixed[:, :end])
    with pytest.raises(ValueError, match="a sentence of 5 tokens is longer than the model's 4 positions"):
        cached.next_logits(fixed)


@pytest.mark.parametrize(("sentences", "width"), list(itertools.product(BATCHES, (1, 4))))
def test_whole_sentences_are_equal(device: str, sentences: list[list[int]], width: int) -> None:
    model, source = transformer(device), pad(sentences, device)
    assert mg.equal(model.greedy(source, 40), model.greedy(source, 40, cached=False))
    assert mg.equal(model.beam(source, width, 40), model.beam(source, width, 40, cached=False))
