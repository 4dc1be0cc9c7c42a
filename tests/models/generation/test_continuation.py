"""Continuing prompts produces the same results with and without a cache, one by one and in a batch."""

import pytest

import minigrad as mg
from minigrad_models.generation import beam_search as generate, continuation
from minigrad_models.generation.continuation import Cached, Plain
from minigrad_models.gpt.gpt2 import GPT2, Config

V, CONTEXT = 19, 12
PROMPTS = [[3, 1, 4, 1, 5], [9], [2, 6, 5, 3, 5, 8, 9, 7]]
LONG = [[(7 * i + 3) % V for i in range(20)], [5, 5], [(3 * i + 1) % V for i in range(14)]]  # past the context
ENDLESS = None


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short texts exceed the initial capacity of the cache."""
    monkeypatch.setattr(continuation, "INITIAL_CAPACITY", 3)


def small(device: str = "cpu") -> GPT2:
    """A model that continues each prefix differently."""
    mg.manual_seed(2)
    model = GPT2(Config(V, CONTEXT, 12, 2, 2))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape))
    return model.to(device).eval()


@pytest.mark.parametrize(("prompts", "stride"), [(PROMPTS[:1], 1), (PROMPTS, 5), (LONG, 1), (LONG, CONTEXT)])
def test_each_step_gives_the_logits_without_a_cache(device: str, prompts: list[list[int]], stride: int) -> None:
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
    """Compared with the window by definition, without this module: each text's last tokens at positions from 0."""
    model = small(device)
    for prompt in (*PROMPTS, *LONG):
        with mg.no_grad():
            expected = model(mg.tensor([prompt[-CONTEXT:]], device=device))[0, -1].cpu()
        decoder = model.begin([prompt])
        assert mg.allclose(decoder.next_logits(decoder.start)[0].cpu(), expected, atol=1e-4)


def test_the_stride_is_how_often_the_cache_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    visible: list[int] = []
    model = small()
    embed = model.embed
    monkeypatch.setattr(model, "embed", lambda t, p: (visible.append(t.shape[1]), embed(t, p))[1])
    for stride, expected in ((1, [10, 1, 1, 12, 12, 12, 12, 12]), (4, [10, 1, 1, 9, 1, 1, 1, 9])):
        visible.clear()
        generate.greedy(model.begin([list(range(10))], stride=stride), 8, ENDLESS)
        assert visible == expected


def test_nothing_is_cached_in_training_and_invalid_strides() -> None:
    assert type(small().train().begin(PROMPTS)) is Plain
    for stride in (0, 13):
        with pytest.raises(ValueError, match=rf"stride must be between 1 and the model's context \(12\), not {stride}"):
            small().begin([[1]], stride=stride)
