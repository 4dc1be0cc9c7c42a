"""The page of trainings in a real browser: what a person points at, presses, types and reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, viz
from minigrad.training import Settings, Trainer
from minigrad.viz.training import training
from minigrad.viz.training.curves import smooth
from tests.support.browser import contrast, texts

from .test_training import EVIL, LOG, entry, series, trained

WIDE = {"width": 1400, "height": 900}
PICKED = """() => {
    const [chart] = document.querySelectorAll('[data-chart="loss"] svg'), left = 46;
    const mark = Number(chart.querySelector(".picked").getAttribute("d").match(/^M([\\d.]+)/)[1]);
    return [mark - left, chart.viewBox.baseVal.width - 6 - left];
}"""  # how far along the loss's curve the step is marked, and how long that is, in pixels


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Two runs, one with weights at steps 1 and 3."""
    rng = np.random.default_rng(0)
    states = {
        step: {
            "layer.weight": torch.tensor(rng.normal(size=(8, 6)).astype(np.float32) * step),
            f"{EVIL}.bias": torch.ones(5) * step,
        }
        for step in (1, 3)
    }
    other = [entry(i, loss=6.0 / i) for i in range(1, 4)]
    view = training(trained(tmp_path / "run", states), other, names=["one", EVIL])
    return view.save(tmp_path / "page.html")


def values(page: Any, chart: str) -> list[str]:
    return texts(page, f'[data-chart="{chart}"] .value')


def at_step(page: Any, chart: str, part: float) -> None:
    """Point at a place on a chart, 0 to 1 of its range."""
    box = page.locator(f'[data-chart="{chart}"] svg').bounding_box()
    page.mouse.move(box["x"] + 46 + part * (box["width"] - 52), box["y"] + 60)


def test_reading_exact_values(open_file: Callable[..., Any], saved: Path) -> None:
    page = open_file(saved, viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    charts = ["loss", "bleu", "learning rate", "gradient norm", "tokens per second"]
    assert texts(page, ".chart h2") == charts
    assert values(page, "loss") == ["1.25", "3.5", "2"]
    assert page.inner_text("#readout") == "last: step 4 · epoch 1 · 8 s · 400 tokens"
    at_step(page, "loss", 0.35)  # from step 1 to step 4
    page.wait_for_selector("#readout:text-matches('^step 2 ')")
    assert values(page, "loss") == ["2.5", "3", "3"]
    assert values(page, "bleu") == ["10.5"]
    assert page.locator('[data-chart="gradient norm"] .hair').count() == 1  # on all charts at once
    title = page.get_attribute('[data-chart="loss"] .value >> nth=2', "title")
    assert title == f"{EVIL}, training, step 2: 3"


def test_axis_smoothing_and_logarithm(open_file: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    log = [entry(i, loss=float(v)) for i, v in enumerate(rng.uniform(1, 2, 400), 1)]
    page = open_file(training(log).save(tmp_path / "a.html"), viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    front = '[data-chart="loss"] .line'
    raw = page.get_attribute(front, "d")
    assert page.locator('[data-chart="loss"] .raw').count() == 0
    page.fill("#smoothing", "6")
    width = float(re.sub(r"[^\d.]", "", page.inner_text("#smoothing + output")))
    assert page.get_attribute('[data-chart="loss"] .raw', "d") is not None
    assert page.locator('[data-chart="learning rate"] .raw').count() == 0
    found = page.evaluate(
        "([x, y, w]) => curves.smooth(x, y, w)", [[e["step"] for e in log], [e["loss"] for e in log], width]
    )
    steps, losses = (np.array([e[name] for e in log], np.float64) for name in ("step", "loss"))
    np.testing.assert_allclose(found, smooth(steps, losses, width), rtol=1e-10)
    page.fill("#smoothing", "0")
    assert page.get_attribute(front, "d") == raw
    page.click('[data-chart="loss"] .log')
    assert page.get_attribute('[data-chart="loss"] .log', "aria-pressed") == "true"
    assert page.get_attribute(front, "d") != raw
    page.select_option("#over", "seconds")
    assert {"minutes", "10"} <= set(page.locator('[data-chart="loss"] .tick').all_text_contents())


def test_runs_are_toggled_and_ranges_zoomed(open_file: Callable[..., Any], saved: Path) -> None:
    page = open_file(saved, viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    assert texts(page, ".run")[0] == "one" and "<script>" in texts(page, ".run")[1]
    page.click(".run >> nth=1")
    assert values(page, "loss") == ["1.25", "3.5"]
    page.click(".run >> nth=1")
    assert len(values(page, "loss")) == 3 and page.is_disabled("#whole")
    at_step(page, "loss", 0.2)
    page.mouse.down()
    at_step(page, "loss", 0.6)
    page.mouse.up()
    assert page.is_enabled("#whole")
    ticks = [float(t) for t in page.locator('[data-chart="bleu"] text[text-anchor="middle"]').all_text_contents()]
    assert ticks and 1.6 <= min(ticks) <= max(ticks) <= 2.8
    page.click("#whole")
    assert page.is_disabled("#whole") and "NaN" not in page.inner_html("#charts")


def test_by_keyboard(open_file: Callable[..., Any], saved: Path) -> None:
    page = open_file(saved, viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    page.focus('[data-chart="loss"] svg')
    for key, step in (("Home", 1), ("ArrowRight", 2), ("ArrowRight", 3), ("End", 4), ("ArrowLeft", 3)):
        page.keyboard.press(key)
        page.wait_for_selector(f"#readout:text-matches('^step {step} ')")
    page.keyboard.press("Enter")
    assert page.inner_text("#at-step") == "step 3"
    page.keyboard.press("+")
    assert page.is_enabled("#whole")
    page.keyboard.press("Escape")
    assert page.is_disabled("#whole")


def test_weights_follow_the_step(open_file: Callable[..., Any], saved: Path) -> None:
    page = open_file(saved, viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    assert texts(page, "#snapshots h2")[0] == "weights of one" and page.inner_text("#at-step") == "step 3"
    assert texts(page, ".row .number")[1] == f"{math.sqrt(5) * 3:.4g}"
    assert texts(page, ".row .name")[0] == "layer.weight" and "<script>" in texts(page, ".row .name")[1]
    last = page.evaluate("document.querySelector('#detail canvas').toDataURL()")
    page.click("#back")
    assert page.inner_text("#at-step") == "step 1" and page.input_value("#scrub") == "0"
    assert texts(page, ".row .number")[1] == f"{math.sqrt(5):.4g}"
    assert page.evaluate("document.querySelector('#detail canvas').toDataURL()") != last
    page.select_option("#statistic", "change")
    assert texts(page, ".row .number") == ["–", "–"]
    page.fill("#scrub", "1")
    assert texts(page, ".row .number")[1] == "2"  # from 1 to 3, of 1
    page.fill("#filter", "LAYER")
    assert texts(page, ".row:visible .name") == ["layer.weight"]
    box = page.locator('[data-chart="loss"] svg').bounding_box()
    page.mouse.click(box["x"] + 60, box["y"] + 60)  # near the beginning of the curve
    assert page.inner_text("#at-step") == "step 1"
    page.click("#play")
    page.wait_for_selector("#at-step:text-is('step 3')")


def test_pictures_and_arrays_follow_the_step(open_file: Callable[..., Any], tmp_path: Path) -> None:
    picture = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><rect width='9' height='{}'/></svg>"
    evil = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(2)</script></svg>"
    array = np.array([[[0.25, -1.0]], [[0.5, 1.0]]])
    given = {"graph": {1: picture.format(3), 4: picture.format(5), 5: evil}, EVIL: {2: array, 4: array * 2}}
    page = open_file(training(LOG, snapshots=given).save(tmp_path / "a.html"), viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    source = page.get_attribute("#frame img", "src")
    page.click("#back")
    assert page.get_attribute("#frame img", "src") != source and page.inner_text("#at-step") == "step 4"
    assert page.evaluate("document.querySelector('#frame img').decode().then(() => true)")
    page.select_option("#track", "1")
    assert page.inner_text("#at-step") == "step 4" and texts(page, "#frame figcaption") == ["0", "1"]
    assert page.inner_text("#frame .told") == "darkest: 2"
    page.hover("#frame canvas >> nth=1", position={"x": 5, "y": 5})
    assert page.inner_text("#frame .told") == "1: row 0, column 0: 1"


class Batches:
    """The same batch, eight times an epoch."""

    def __init__(self, *batch: torch.Tensor) -> None:
        self.batch = batch

    def epoch(self, number: int, start: int) -> Iterator[tuple[torch.Tensor, ...]]:
        return repeat(self.batch, 8 - start)


def test_the_graph_of_a_training_follows_the_step(open_file: Callable[..., Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    model, means = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), {}

    def loss(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, int]:
        return (model(batch[0]) - batch[1]).pow(2).mean(), 32

    batches = Batches(x, x.sum(1, keepdim=True))
    settings = Settings(15, log_every=1, snapshot_every=5, keep_snapshots=3, progress=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    Trainer(model, optimizer, batches, loss, folder=tmp_path / "run", settings=settings).fit()

    def picture(step: int, state: dict[str, torch.Tensor]) -> Any:
        model.load_state_dict(state)
        mean = loss(model, batches.batch)[0]
        means[step] = float(mean)
        return viz.graph(mean, modules={"model": model}, colour="gradient")

    view = viz.training(tmp_path / "run", snapshots={"graph": picture}, weights=False)
    page = open_file(view.save(tmp_path / "a.html"), viewport=WIDE)
    page.wait_for_selector("[data-ready]")
    logged = series(view.runs[0], "loss").values.tolist()
    assert list(means) == [5, 10, 15]
    for step in (15, 10, 5):
        assert page.inner_text("#at-step") == f"step {step}"
        assert page.evaluate("document.querySelector('#frame img').decode().then(() => true)")
        drawn = unquote(page.get_attribute("#frame img", "src"))
        assert all(f">{text}<" in drawn for text in ("Linear", "Tanh", "weight"))
        assert f">{means[step]:.4g} · ∇ 1<" in drawn
        if step < 15:  # a line of the log has the loss before its update: that of these weights is the next
            assert means[step] == pytest.approx(logged[step], rel=1e-5)
        mark, end = page.evaluate(PICKED)
        assert mark == pytest.approx(end * step / 15, abs=1)  # the mark on the loss's curve is at this step
        page.click("#back")


def test_light_and_dark_and_saved_as_a_picture(open_file: Callable[..., Any], saved: Path) -> None:
    for scheme in ("light", "dark"):
        page = open_file(saved, viewport=WIDE, color_scheme=scheme)
        page.wait_for_selector("[data-ready]")
        for selector in (".value >> nth=0", ".value >> nth=2", "#readout", ".row .name", "#detail th"):
            assert contrast(page, selector) >= 4.5, selector
        assert contrast(page, ".tick", "fill") >= 4.5
    with page.expect_download() as download:
        page.click("#save")
    text = Path(download.value.path()).read_text()
    assert "<svg" in text and "tokens per second" in text and "<script" not in text
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)
    page.set_viewport_size({"width": 380, "height": 700})
    assert not page.evaluate(wide)
