"""Distributions by layer: their definitions, targets, and invalid arguments; the page in a browser."""

import base64
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad_models.bert.bert import BertForMaskedLM, Config as BertConfig
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.gpt.transformer_xl import Config as XLConfig, TransformerXL
from minigrad_models.viz.logit_lens import LogitLens, Numbers, logit_lens
from tests.support.browser import texts, wait_for
from tests.support.cases import raises

HTML = '<img src=x onerror="alert(1)">'
WORDS = [f"w{i}" for i in range(23)]
TOKENS = [[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]]


def gpt2(device: str = "cpu", **sizes: Any) -> GPT2:
    """A model of three layers whose distributions differ."""
    mg.manual_seed(0)
    usual = {"vocabulary": 23, "positions": 12, "d_model": 8, "heads": 2, "layers": 3}
    model = GPT2(Config(**{**usual, **sizes}))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)
    return model.to(device)


def bert() -> BertForMaskedLM:
    mg.manual_seed(0)
    return BertForMaskedLM(BertConfig(23, positions=12, d_model=8, heads=2, layers=2, d_ff=16)).eval()


def logs(logits: Any) -> np.ndarray[Any, Any]:
    """log p of logits (T, V), float64."""
    scores = logits.detach().cpu().numpy().astype(np.float64)
    scores = scores - scores.max(-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def by_definition(model: GPT2, row: int) -> list[np.ndarray[Any, Any]]:
    """log p (T, V) of each layer and of the output, for one sentence."""
    device = model.embedding.weight.device
    tokens = mg.tensor(TOKENS, device=device)
    with mg.no_grad():
        states = model.eval().hidden_states(tokens)
        return [*(logs(model.logits(state[row])) for state in states[:-1]), logs(model(tokens)[row])]


def test_all_numbers_match_their_definitions(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["minigrad_models.viz.logit_lens"], "CELLS", 2 * 23)  # in several blocks
    model = gpt2(device)
    model.layers = nn.ModuleList([*model.layers[:2], model.layers[0]])  # a shared layer gets a row for each use
    view = logit_lens(model, mg.tensor(TOKENS, device=device), WORDS, sentence=1, top=5)
    expected = by_definition(model, 1)
    right = [*TOKENS[1][1:], None]
    assert view.targets.tolist() == [*TOKENS[1][1:], -1] and view.continues
    for row, log in enumerate(expected):
        p, numbers = np.exp(log), view.numbers
        np.testing.assert_allclose(numbers.probabilities[row], -np.sort(-p, -1)[:, :5], rtol=2e-4)
        np.testing.assert_allclose(np.take_along_axis(p, numbers.ids[row], -1), numbers.probabilities[row], rtol=2e-4)
        np.testing.assert_allclose(numbers.entropy[row], -(p * log).sum(-1), rtol=2e-4, atol=1e-5)
        divergence = (np.exp(expected[-1]) * (expected[-1] - log)).sum(-1)
        np.testing.assert_allclose(numbers.divergence[row], divergence, rtol=1e-3, atol=1e-4)
        for t, token in enumerate(right):
            rank = 0 if token is None else 1 + (log[t] > log[t, token]).sum()
            chance = np.nan if token is None else p[t, token]
            assert numbers.ranks[row, t] == rank
            np.testing.assert_allclose(numbers.chances[row, t], chance, rtol=2e-4)
    assert (view.numbers.divergence[-1] == 0).all() and (view.numbers.divergence[:-1] > 0.1).all()


def test_the_likeliest_tokens_of_a_cell() -> None:
    model = gpt2()
    view = logit_lens(model, TOKENS[0], WORDS, top=4)
    p = np.exp(by_definition(model, 0)[2])[3]
    order = np.argsort(-p)[:3]
    top = view.top(2, 3, 3)
    assert [name for name, _ in top] == [WORDS[i] for i in order]
    np.testing.assert_allclose([value for _, value in top], p[order], rtol=1e-4)
    assert view.top(-1, -1) == view.top(3, 6) and len(view.top(0, 0)) == 4
    for place, message in (((4, 0), "there is no layer 4"), ((0, 7), "there is no position 7")):
        raises(ValueError, message, partial(view.top, *place))
    model = gpt2(tied=False)
    with mg.no_grad():
        model.norm.bias.fill_(1.0)
        model.norm.weight.fill_(0.0)  # the state is (1, …, 1), so logits are the rows' sums
        model.head.weight[4] = -3e38  # its sum is not finite
    view = logit_lens(model, TOKENS[0], top=99)  # more than exist
    assert view.numbers.ids.shape == (4, 7, 23)
    assert (view.numbers.ids[..., -1] == 4).all() and (view.numbers.probabilities[..., -1] == 0).all()
    assert np.isfinite(view.numbers.entropy).all() and np.isfinite(view.numbers.divergence).all()


def test_the_target_of_a_masked_word_is_at_its_position() -> None:
    """BERT also sees later tokens, and does not predict the next one."""
    model, masked = bert(), [2, 5, 0, 7, 3]
    view = logit_lens(model, masked, targets=[-100, -100, 6, -100, -100])
    assert not view.continues and view.targets.tolist() == [-1, -1, 6, -1, -1]
    assert (view.numbers.ranks[:, 2] > 0).all() and view.numbers.ranks.sum() == view.numbers.ranks[:, 2].sum()
    assert logit_lens(model, masked).targets.tolist() == masked
    with mg.no_grad():
        states = model.bert.hidden_states(mg.tensor([masked]))
        for row, state in enumerate(states):
            chance = np.exp(logs(model.logits(state[0]))[2, 6])
            np.testing.assert_allclose(view.numbers.chances[row, 2], chance, rtol=1e-4)


def test_padding_is_dropped() -> None:
    mask = mg.tensor([[True] * 7, [False, False, *[True] * 5]])
    view = logit_lens(gpt2(), TOKENS, WORDS, sentence=1, attention_mask=mask)
    alone = logit_lens(gpt2(), TOKENS[1][2:], WORDS)
    assert view.tokens == alone.tokens == ("w3", "w5", "w8", "w9", "w7")
    assert view.targets.tolist() == [5, 8, 9, 7, -1]
    for padded, one in zip(view.numbers, alone.numbers, strict=True):
        np.testing.assert_allclose(padded, one, rtol=1e-3, atol=1e-5)
    mg.manual_seed(0)
    model = TransformerXL(XLConfig(23, d_model=8, heads=2, layers=2, d_ff=16, segment=4, memory=3)).eval()
    memory = model.remember(model.hidden_states(mg.tensor([TOKENS[0][:3]])))
    mask = mg.tensor([[True] * 5 + [False, False]])  # starts with the memory's mask
    view = logit_lens(model, TOKENS[0][3:], memory=memory, attention_mask=mask)
    assert view.tokens == ("1", "5") and view.targets.tolist() == [5, -1] and view.continues
    with mg.no_grad():
        expected = logs(model(mg.tensor([TOKENS[0][3:5]]), memory=memory)[0])
    np.testing.assert_allclose(view.numbers.chances[-1, 0], np.exp(expected[0, 5]), rtol=1e-4)


def test_labels_and_texts() -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return [ord(c) - 97 for c in text]

        def decode(self, ids: list[int]) -> str:
            return "".join(chr(i + 97) for i in ids)

    model = gpt2()
    assert logit_lens(model, [1, 2]).tokens == ("1", "2")
    assert logit_lens(model, [1, 2], lambda i: f" {i}\n").tokens == ("·1↵", "·2↵")
    raises(TypeError, "the model has no tokenizer for text", lambda: logit_lens(model, "ab"))
    model.tokenizer = Letters()
    view = logit_lens(model, "abc")
    assert view.tokens == ("a", "b", "c") and view.targets.tolist() == [1, 2, -1]
    assert logit_lens(model, "abc", WORDS).tokens == ("w0", "w1", "w2")


def test_the_model_is_unchanged() -> None:
    model = gpt2().train()
    model.norm.weight.requires_grad_(False)
    assert repr(logit_lens(model, TOKENS)).startswith("<logit lens of 3 layers, 7 tokens; .save('x.html'), .svg()")
    raises(ValueError, "13 tokens do not fit in the 12", lambda: logit_lens(model, [1] * 13))
    assert all(module.training for module in model.modules())
    assert [p.requires_grad for p in (model.norm.weight, model.norm.bias)] == [False, True]
    assert all(p.grad is None for p in model.parameters())
    assert not any(layer._forward_pre_hooks for layer in model.layers)


def test_bad_arguments() -> None:
    for tokens, options, message in [
        ([], {}, r"nonempty ids .* of shape \(0,\)"),
        ([[[1]]], {}, r"tokens must be nonempty ids \(T,\) or \(B, T\)"),
        ([0.5], {}, r"tokens must be nonempty ids"),
        ([1, 2], {"top": 0}, "top must be at least 1, not 0"),
        ([1, 2], {"sentence": 1}, "there is no sentence 1: the batch has 1"),
        ([1, 2], {"targets": [1]}, r"targets must be ids of the tokens' shape \(1, 2\), not int64 \(1,\)"),
        ([1, 2], {"targets": [1, 23]}, "token 23 is not in the vocabulary of 23"),
        ([1, 2], {"attention_mask": mg.tensor([True, False])}, r"the mask has shape \(2,\)"),
        ([1, 2], {"attention_mask": mg.tensor([[False, False]])}, "the mask excludes all tokens"),
    ]:
        with pytest.raises(ValueError, match=message):
            logit_lens(gpt2(), tokens, **options)  # type: ignore[arg-type]
    for model in (nn.Linear(2, 2), "gpt2", None, bert().bert):
        with pytest.raises(TypeError, match=r"needs a model with layers \(a ModuleList\) and logits\(states\)"):
            logit_lens(model, [1, 2])  # type: ignore[arg-type]


def test_nan_and_too_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gpt2()
    monkeypatch.setattr(sys.modules["minigrad_models.viz.logit_lens"], "MOST", 100)
    with pytest.raises(ValueError, match=r"4 rows of 3 tokens, 10 likeliest each, are too many .* limit is 100"):
        logit_lens(model, [1, 2, 3])
    monkeypatch.undo()
    with mg.no_grad():
        model.layers[1].feed_forward.outer.bias.fill_(np.nan)
    with pytest.raises(ValueError, match="after layer 2, at position 0, the model's logits are not finite"):
        logit_lens(model, [1, 2, 3])


def drawn(view: LogitLens, *part: int) -> list[str]:
    """The texts in the picture of a view."""
    return [node.text or "" for node in ElementTree.fromstring(view.svg(*part)).iter() if node.tag.endswith("}text")]


def test_the_picture_has_the_likeliest_token_of_each_cell() -> None:
    names = [HTML, *WORDS[1:]]
    view = logit_lens(gpt2(), TOKENS[0], names, title=HTML)
    labels = drawn(view)
    assert labels[0] == HTML and "output" in labels and "embedding" in labels
    cells = [name for name in labels[3:] if name.startswith(("w", "<"))]
    for row in range(4):
        for position in range(7):
            assert view.top(row, position, 1)[0][0][:6] in {name[:6] for name in cells}
    for part in ((3, 3), (0, 8), (7,)):
        raises(ValueError, r"there is no position 7|are not in the text, which has 7", partial(view.svg, *part))
    assert len(re.findall("<rect", view.svg(2, 4))) == 1 + 4 * 2  # the background and the cells


def test_the_page_holds_the_numbers() -> None:
    view = logit_lens(gpt2(), TOKENS[0], WORDS, top=3)
    data = view.page().data["lens"]

    def coded(name: str, kind: str) -> np.ndarray[Any, Any]:
        return np.frombuffer(base64.b64decode(data[name]), kind)

    assert data["shape"] == [4, 7, 3] and data["vocabulary"] == 23
    names = [data["names"][i] for i in coded("ids", "<i4")]
    assert names == [WORDS[i] for i in view.numbers.ids.reshape(-1)]
    assert [data["names"][i] for i in data["targets"][:-1]] == [WORDS[i] for i in TOKENS[0][1:]]
    assert data["targets"][-1] == -1
    for name in ("probabilities", "entropy", "divergence", "chances"):
        np.testing.assert_array_equal(coded(name, "<f4"), getattr(view.numbers, name).reshape(-1))
    np.testing.assert_array_equal(coded("ranks", "<i4"), view.numbers.ranks.reshape(-1))


def large() -> LogitLens:
    """A text of a thousand tokens, twelve layers, and GPT-2's vocabulary."""
    random = np.random.default_rng(0)
    shape = (13, 1000)
    p = -np.sort(-random.dirichlet(np.ones(10), shape).astype(np.float32))
    targets = np.append(random.integers(0, 50257, 999), -1)
    ranks = random.integers(1, 50257, shape)
    ids = random.integers(0, 50257, (*shape, 10))
    ids[-1, 500, 0] = targets[500]
    rest = [random.random(shape, np.float32) for _ in range(3)]
    numbers = Numbers(ids, p, rest[0], rest[1], ranks, rest[2])
    return LogitLens(numbers, tuple(f"t{i}" for i in range(1000)), targets, str, 50257)


READY = "#lens .cell"


def point(page: Any, row: int, position: int) -> None:
    """Point at a cell."""
    box, rows = page.locator("svg.grid").bounding_box(), page.evaluate("lens.data.rows")
    wide, edge, high = (page.evaluate(f"lens.{name}") for name in ("COLUMN", "EDGE", "height"))
    x = box["x"] + (position + 0.5) * wide - page.evaluate("lens.scroller.scrollLeft")
    y = box["y"] + edge + (rows - 1 - row + 0.5) * high
    page.mouse.move(x, y)


def painted(page: Any) -> None:
    wait_for(page, "!lens.waiting")


def shown(page: Any) -> tuple[str, list[str], list[str]]:
    """The panel: its title, the likeliest tokens, and the facts."""
    return page.inner_text("aside h2"), texts(page, "aside li .name"), texts(page, "aside dd")


def test_pointing_and_clicking_on_cells(opened: Callable[..., Any]) -> None:
    view = logit_lens(gpt2(), TOKENS[0], WORDS, top=6)
    page = opened(view)
    assert shown(page)[:2] == ("The output", [name for name, _ in view.top(-1, 0)])
    point(page, 2, 3)
    title, names, facts = shown(page)
    assert title == "After layer 2 of 3" and names == [name for name, _ in view.top(2, 3)]
    parts = [float(text.rstrip(" %")) / 100 for text in texts(page, "aside li .number")]
    np.testing.assert_allclose(parts, [p for _, p in view.top(2, 3)], atol=6e-3)
    assert facts[1] == f"{view.numbers.ranks[2, 3]} of 23"
    assert abs(float(facts[2].removesuffix(" nats")) - view.numbers.entropy[2, 3]) < 1e-3
    assert page.inner_text("aside .target") == "Next comes w5"
    point(page, 0, 6)
    page.mouse.down()
    page.evaluate("lens.paint()")  # between press and release, as a repaint may happen there
    page.mouse.up()
    page.mouse.move(2, 2)
    assert shown(page)[:2] == ("The embedding alone", [name for name, _ in view.top(0, 6)])
    assert page.inner_text("aside .target") == "What comes next is not known."
    page.focus("svg.grid")
    for key in ("Home", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    name, p = view.top(1, 1, 1)[0]
    assert page.inner_text(".sr-only") == f"After layer 1 of 3, at w1: {name}, {page.evaluate(f'lens.percent({p})')}"


def test_the_grid_has_the_likeliest_tokens_and_the_right_ones_in_bold(opened: Callable[..., Any]) -> None:
    view = logit_lens(gpt2(), TOKENS[0], WORDS)
    page = opened(view, viewport={"width": 1400, "height": 700})
    places = [(row, position) for position in range(7) for row in range(4)]
    assert texts(page, "svg.grid text:not(.edge)") == [view.top(*place, 1)[0][0] for place in places]
    firsts = [(view.numbers.ids[*place, 0], view.targets[place[1]]) for place in places]
    assert texts(page, "svg.grid text.right") == [WORDS[token] for token, target in firsts if token == target]
    assert texts(page, "svg.grid text.edge")[:4] == ["w1", "w3", "w4", "w1"]
    numbers, most = view.numbers, np.log(23)
    with np.errstate(divide="ignore"):
        measures = {
            "chance": np.nan_to_num(numbers.chances),
            "rank": np.where(numbers.ranks, 1 - np.log(numbers.ranks) / most, 0),
            "entropy": numbers.entropy / most,
            "divergence": numbers.divergence / numbers.divergence.max(),
        }
    for measure, shades in {"": numbers.probabilities[..., 0], **measures}.items():
        if measure:
            page.select_option("#measure", measure)
            painted(page)
        opacities = "cells => cells.map((c) => Number(c.getAttribute('fill-opacity')))"
        opacity = page.locator("svg.grid .cell").evaluate_all(opacities)
        np.testing.assert_allclose(opacity, shades.T.reshape(-1), atol=6e-4, err_msg=measure)


def test_a_long_text_has_an_overview_and_a_search(opened: Callable[..., Any]) -> None:
    view = large()
    assert len(view.html()) < 3_000_000
    page = opened(view)
    assert page.locator("svg.grid .cell").count() < 13 * 30  # only the visible part
    page.fill("#find", "T777")
    page.press("#find", "Enter")
    painted(page)
    assert page.evaluate("lens.position") == 777 and "t777" in texts(page, "svg.grid text.edge")
    box = page.locator(".overview").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    # The grid is repainted on the scroll event, which may follow the click.
    wait_for(page, "[...document.querySelectorAll('svg.grid text.edge')].some((t) => t.textContent === 't500')")
    painted(page)
    assert str(view.targets[500]) in texts(page, "svg.grid text.right")
