"""Continuing prompts with a cache gives what the model gives without one, alone and in a batch."""

from __future__ import annotations

import itertools

import pytest

import minigrad as mg
from minigrad.models import cache
from minigrad.models.continuation import Cached, Plain
from minigrad.models.gpt2 import GPT2, Config
from minigrad.text import generate

V, CONTEXT = 19, 12
PROMPTS = [[3, 1, 4, 1, 5], [9], [2, 6, 5, 3, 5, 8, 9, 7]]
LONG = [[(7 * i + 3) % V for i in range(20)], [5, 5], [(3 * i + 1) % V for i in range(14)]]  # past the context
ENDLESS = None


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts, too, outgrow what the cache begins with."""
    monkeypatch.setattr(cache, "INITIAL_CAPACITY", 3)


def small(device: str = "cpu") -> GPT2:
    """A model that says something else after each beginning."""
    mg.manual_seed(2)
    model = GPT2(Config(V, CONTEXT, 12, 2, 2))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape))
    return model.to(device).eval()


def tokens(hypotheses: list[generate.Hypothesis]) -> list[list[int]]:
    return [h.tokens for h in hypotheses]


@pytest.mark.parametrize("stride", [1, 5, CONTEXT])
@pytest.mark.parametrize("prompts", [PROMPTS[:1], PROMPTS, LONG], ids=["one", "ragged", "long"])
def test_each_step_gives_the_logits_of_the_plain_way(device: str, prompts: list[list[int]], stride: int) -> None:
    model = small(device)
    ways = [model.begin(prompts, cached, stride) for cached in (True, False)]
    assert isinstance(ways[0], Cached) and type(ways[1]) is Plain
    new = mg.randint(0, V, (len(prompts), 16)).to(device)
    text = ways[0].start
    assert mg.equal(*(way.start.cpu() for way in ways))
    for i in range(new.shape[1]):
        ours, plain = (way.next_logits(text).cpu() for way in ways)
        assert ours.shape == plain.shape == (len(prompts), V) and not ours.requires_grad
        assert mg.allclose(ours, plain, rtol=1e-4, atol=1e-4), i
        text = mg.cat((text, new[:, i : i + 1]), 1)


def test_a_prompt_is_seen_as_the_model_sees_it(device: str) -> None:
    """By the definition of the window, without this module: the last tokens of each text, at positions from 0."""
    model = small(device)
    for prompt in (*PROMPTS, *LONG):
        with mg.no_grad():
            expected = model(mg.tensor([prompt[-CONTEXT:]], device=device))[0, -1].cpu()
        decoder = model.begin([prompt])
        assert mg.allclose(decoder.next_logits(decoder.start)[0].cpu(), expected, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 4])
@pytest.mark.parametrize("prompts", [PROMPTS, LONG], ids=["short", "long"])
def test_texts_are_equal_to_the_token(device: str, prompts: list[list[int]], stride: int) -> None:
    model, limits = small(device), [15, 9, 17] if device == "cpu" else [6, 3, 7]
    drawn, beams = [], []
    for cached in (True, False):
        mg.manual_seed(4)
        decoder = model.begin(prompts, cached, stride)
        drawn.append(tokens(generate.sample(decoder, limits, 0.9, 12, 0.95, ENDLESS)))
        beam = generate.beam_search(model.begin(prompts, cached, stride), 3, limits, eos=7)
        beams.append([tokens(hypotheses) for hypotheses in beam])
    assert drawn[0] == drawn[1] and [len(row) for row in drawn[0]] == limits
    assert beams[0] == beams[1]
    plain, cached = (tokens(generate.greedy(model.begin(prompts, way, stride), limits, 7)) for way in (False, True))
    assert cached == plain
    penalised = [
        tokens(generate.greedy(generate.RepetitionPenalty(model.begin(prompts, way, stride), 1.5), limits, ENDLESS))
        for way in (False, True)
    ]
    assert penalised[0] == penalised[1] != plain


def test_a_batch_writes_what_each_prompt_gets_alone(device: str) -> None:
    """As long as no text outgrows the context: a batch's windows move together."""
    model, limits = small(device), [7, 11, 4]
    decoders = {"plain": lambda d: d, "penalised": lambda d: generate.RepetitionPenalty(d, 1.4)}
    for wrapped, cached in itertools.product(decoders.values(), (True, False)):
        together = generate.greedy(wrapped(model.begin(PROMPTS, cached)), limits, 7)
        beams = generate.beam_search(wrapped(model.begin(PROMPTS, cached)), 3, limits, eos=7)
        for i, (prompt, limit) in enumerate(zip(PROMPTS, limits, strict=True)):
            (alone,) = generate.greedy(wrapped(model.begin([prompt], cached)), limit, 7)
            assert together[i].tokens == alone.tokens
            (beam,) = generate.beam_search(wrapped(model.begin([prompt], cached)), 3, limit, eos=7)
            assert tokens(beams[i]) == tokens(beam)


def test_with_a_stride_of_one_a_batch_slides_as_each_text_alone(device: str) -> None:
    model, new = small(device), 8
    together = tokens(generate.greedy(model.begin(LONG), new, ENDLESS))
    assert together == [tokens(generate.greedy(model.begin([p]), new, ENDLESS))[0] for p in LONG]


def test_the_stride_is_how_often_the_cache_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    model = small()
    embed = model.embed
    monkeypatch.setattr(model, "embed", lambda t, p: (seen.append(t.shape[1]), embed(t, p))[1])
    for stride, expected in ((1, [10, 1, 1, 12, 12, 12, 12, 12]), (4, [10, 1, 1, 9, 1, 1, 1, 9])):
        seen.clear()
        generate.greedy(model.begin([list(range(10))], stride=stride), 8, ENDLESS)
        assert seen == expected


def test_in_training_nothing_is_cached() -> None:
    assert type(small().train().begin(PROMPTS)) is Plain


@pytest.mark.parametrize(
    ("prompts", "stride", "message"),
    [
        ([], 1, "a prompt has no tokens"),
        ([[1], []], 1, "a prompt has no tokens"),
        ([[1]], 0, r"stride must be between 1 and the model's context \(12\), not 0"),
        ([[1]], 13, r"stride must be between 1 and the model's context \(12\), not 13"),
        ([[1, V]], 1, "a prompt has token 19, and the vocabulary ends at 18"),
        ([[-1]], 1, "a prompt has token -1, and the vocabulary ends at 18"),
    ],
)
def test_bad_input(prompts: list[list[int]], stride: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().begin(prompts, stride=stride)
