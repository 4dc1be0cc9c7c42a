"""The attention page in a real browser, offline: every view, its texts, and its keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.viz.attention import AttentionView, Candidate, attention, attention_view as pages
from minigrad_models.translation.transformer import Config, Transformer
from tests.support.browser import texts

EVIL = "</script><b>zebra</b><img src=x onerror=\"document.title='x'\">"
LONG = "w" * 10_000
SOURCE = ["My", " friends", EVIL, LONG, "⟨end⟩", "⟨pad⟩"]
TARGET = ["⟨begin⟩", "Freunde", "שלום", "🙂猫"]


@pytest.fixture(scope="module")
def view() -> AttentionView:
    """An untrained translator's attention, with sharp weights."""
    mg.manual_seed(0)
    model = Transformer(Config(12, 16, 4, 2, 32))
    with mg.no_grad():
        for name, parameter in model.named_parameters():
            if "query" in name or "key" in name:
                parameter.mul_(3)
    ids = mg.tensor([[5, 6, 7, 8, 2, 0]]), mg.tensor([[1, 9, 8, 7]])
    return attention(model, *ids, tokens=(SOURCE, TARGET), title="Why <they>?")


@pytest.fixture
def page(view: AttentionView, open_file: Callable[..., Any], tmp_path: Path) -> Any:
    return opened(view, open_file, tmp_path)


def opened(view: AttentionView, open_file: Callable[..., Any], folder: Path, **options: Any) -> Any:
    page = open_file(view.save(folder / "attention.html"), **options)
    page.wait_for_selector("#view > *")
    cross = page.locator("[id^=kind-]").filter(has_text="Cross")  # a translator's page opens there
    assert not cross.count() or cross.first.get_attribute("aria-pressed") == "true"
    page.eval_on_selector("#kind-0", "node => node.click()")
    return page


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def drawn(page: Any, selector: str) -> list[str]:
    """The text of each SVG element, which has no inner text."""
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def lines(page: Any, selector: str) -> int:
    """The number of lines in paths."""
    paths = page.locator(selector).evaluate_all("nodes => nodes.map(node => node.getAttribute('d'))")
    return sum(path.count("M") for path in paths)


def token(side: int, at: int) -> str:
    return f'.token[data-side="{side}"][data-at="{at}"]'


def test_head_view_shows_the_engines_weights(page: Any, view: AttentionView) -> None:
    page.click("#kind-2")
    page.click("#later")
    page.click("#head-2")
    weights = view.attentions[2].layers[1].weights[2]  # (T, S)
    last = len(weights) - 1
    page.click(token(0, last))
    page.mouse.move(1, 1)
    assert drawn(page, ".shades .share") == [f"{w:.3f}" for w in weights[last] if w >= 0.0005]
    best = int(weights[last].argmax())
    assert f"{100 * weights[last, best]:.0f} %" in page.inner_text("#status")
    assert lines(page, ".links:not(.faint) path") == int((weights[last] >= 0.01).sum())
    page.hover(token(1, best))
    assert drawn(page, ".shades .share") == [f"{w:.3f}" for w in weights[:, best] if w >= 0.0005]
    assert "is looked at by" in page.inner_text("#status")


def test_masks_are_shown(page: Any) -> None:
    page.hover(token(0, 0))
    assert drawn(page, ".shades .caption") == ["masked"]  # padding
    page.click("#kind-1")
    page.hover(token(0, 1))
    assert drawn(page, ".shades .caption") == ["masked"] * 2  # later tokens
    page.click("#view-matrix")
    assert page.get_attribute("#matrix .hatch", "d").count("M") == 6
    assert "A stroke: forbidden by a mask" in page.inner_text("#status")


def test_matrix_view(page: Any, view: AttentionView) -> None:
    page.click("#kind-2")
    page.click("#view-matrix")
    layer = view.attentions[2].layers[0]
    mean = layer.weights.mean(0)
    assert drawn(page, "#matrix .number") == [f"{100 * w:.0f}" for w in mean.ravel() if w >= 0.005]
    page.focus("#matrix")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    text = page.inner_text("#status")
    assert text.startswith("“Freunde” takes from “·friends”: ")
    assert " (mean of 4 heads). Next: “\u2068שלום\u2069”." in text
    assert number(text.split(": ")[1].split(" ")[0]) == pytest.approx(mean[1, 1], rel=1e-3)
    page.click("#head-1")
    text = page.inner_text("#status").split(": ")[1].removesuffix(". Next")
    assert number(text) == pytest.approx(layer.weights[1, 1, 1], rel=1e-3)


def test_model_view_opens_a_head(page: Any) -> None:
    page.click("#kind-1")
    page.click("#view-matrix")
    page.click("#view-model")
    assert page.locator("#model button").count() == 8
    page.focus("#cell-0-0")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.id") == "cell-1-2"
    page.keyboard.press("Enter")
    assert texts(page, "#path") == ["decoder.1.self_attention"]  # back in the previous view
    assert page.is_visible("#matrix") and page.get_attribute("#head-2", "aria-pressed") == "true"
    assert page.evaluate("document.activeElement.id") == "view-matrix"


def test_neuron_view_computes_the_engines_numbers(page: Any, view: AttentionView) -> None:
    kind, head, query = 1, 3, 2
    layer = view.attentions[kind].layers[0]
    page.click(f"#kind-{kind}")
    page.click("#view-neurons")
    page.click(f"#head-{head}")
    page.select_option("#query", str(query))
    sums = layer.key[head] @ layer.query[head, query]
    values = [number(t) for t in texts(page, "#neurons tr[data-key] td.value")]
    assert np.allclose(values[0::2], sums, atol=0.006) and np.allclose(values[1::2], sums / 2, atol=0.006)
    assert "÷ √4" in page.inner_text("#neurons thead")
    weights = layer.weights[head, query]
    visible = layer.blocked is None or ~np.broadcast_to(layer.blocked, layer.weights.shape)[head, query]
    assert [number(t) for t in texts(page, "#neurons .weight")] == [round(float(w), 4) for w in weights[visible]]
    best = int(weights.argmax())
    page.click(f"#key-{best}")
    rows = "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
    elements = page.locator("#elements tr").evaluate_all(rows)
    assert elements[0] == ["0", "1", "2", "3"]
    q, k = layer.query[head, query], layer.key[head, best]
    for row, expected in zip(elements[1:], (q, k, q * k), strict=True):
        assert np.allclose([number(x) for x in row], expected, atol=0.006)
    first, second, *_, last = texts(page, "#sum > div")
    assert number(first.split("= ")[1]) == pytest.approx(q @ k, rel=2e-3, abs=1e-5)
    assert second.startswith("÷ √4") and number(second.split("= ")[1]) == pytest.approx(q @ k / 2, rel=2e-3)
    assert number(last.split(" = ")[1]) == pytest.approx(weights[best], rel=2e-3)
    page.focus("#key-0")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "key-3"
    assert "e−∞ = 0" in page.inner_text("#sum") and "the mask forbids it" in page.inner_text("#status")


def test_saved_as_svg(page: Any, tmp_path: Path) -> None:
    for name in ("heads", "matrix"):
        page.click(f"#view-{name}")
        with page.expect_download() as info:
            page.click("#save")
        assert info.value.suggested_filename == f"encoder-layer-0-head-all-{name}.svg"
        info.value.save_as(tmp_path / "x.svg")
        root = ElementTree.parse(tmp_path / "x.svg").getroot()
        labels = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert "·friends" in labels and not list(root.iter("{http://www.w3.org/2000/svg}script"))
    page.click("#view-model")
    assert not page.is_visible("#save")


def test_a_beam(open_file: Callable[..., Any], tmp_path: Path) -> None:
    """Choosing a text of the beam shows its tokens and attention in the current view."""
    mg.manual_seed(0)
    model, source = Transformer(Config(12, 16, 4, 2, 32)), mg.tensor([[5, 6, 2]])
    titles, targets = ["one two", EVIL, "שלום"], map(mg.tensor, ([[1, 9, 8]], [[1, 7]], [[1]]))
    views = [attention(model, source, target, tokens="t{}".format).attentions for target in targets]
    beam = [Candidate(text, -float(i), (views[0][0], *views[i][1:])) for i, text in enumerate(titles)]
    page = opened(AttentionView(beam[0].attentions, "I like", beam), open_file, tmp_path)
    assert texts(page, "#beam .text") == titles and texts(page, "#beam .mono") == ["0.00", "−1.00", "−2.00"]
    page.click("#kind-2")
    page.click("#view-matrix")
    page.click("#later")
    page.click("#text-1")
    assert page.get_attribute("#text-1", "aria-pressed") == "true"
    assert texts(page, "#path") == ["decoder.1.cross_attention"]
    mean = views[1][2].layers[1].weights.mean(0)
    assert drawn(page, "#matrix .number") == [f"{100 * w:.0f}" for w in mean.ravel() if w >= 0.005]
    assert page.locator("#matrix [data-row]").count() == 2 and page.locator("b, img").count() == 0


def test_many_numbers_are_in_half_precision_and_follow_the_theme(
    view: AttentionView, open_file: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "EXACT", 0)
    page = opened(view, open_file, tmp_path)
    page.click("#head-2")
    page.hover(token(0, 0))
    weights = view.attentions[0].layers[0].weights[2, 0]
    shares = [number(t) for t in drawn(page, ".shades .share")]
    assert np.allclose(shares, weights[weights >= 0.0005], atol=0.0011)
    page.click("#view-neurons")
    before = page.evaluate("document.querySelector('#neurons canvas').toDataURL()")
    page.click("#theme")
    assert page.evaluate("document.querySelector('#neurons canvas').toDataURL()") != before
