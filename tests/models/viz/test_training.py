"""Training curves: reading logs, derived quantities, and weights over the snapshots."""

import base64
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, viz
from minigrad.viz.attention import attention
from minigrad_models.training.checkpoints import RunFolder, write_checkpoint
from minigrad_models.viz.training import training
from minigrad_models.viz.training.runs import read_runs
from minigrad_models.viz.training.training_view import checkpoints, read_weights
from tests.support.browser import texts
from tests.support.cases import raises

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '"><script>alert(1)</script><b>&amp;\u0000😀'


def entry(step: int, **more: Any) -> dict[str, Any]:
    usual = {"step": step, "epoch": step // 4, "loss": 5 / step, "lr": 1e-3 * step, "grad_norm": 1.0 + step}
    return {**usual, "tokens": 100 * step, "seconds": 2.0 * step, **more}


def evaluation(step: int, best: bool, **metrics: float) -> dict[str, Any]:
    seconds = 2.0 * step + 1
    return {"step": step, "epoch": 0, "evaluation": metrics, "best": best, "tokens": 100 * step, "seconds": seconds}


LOG = [entry(1), entry(2), evaluation(2, True, bleu=10.5, loss=3.0), entry(3)]
LOG += [evaluation(3, False, bleu=9.0, loss=3.5), entry(4)]


def write(folder: Path, entries: list[Any], end: str = "\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.jsonl").write_text("\n".join(json.dumps(e) for e in entries) + end, encoding="utf-8")
    return folder


def series(run: Any, name: str, evaluated: bool = False) -> Any:
    (match,) = (s for s in run.series if s.name == name and s.evaluated == evaluated)
    return match


def test_a_run_of_the_library(tmp_path: Path) -> None:
    folder = write(tmp_path / "toy", LOG, end='\n{"step": 5, "lo')  # still being written
    for where in (folder, folder / "log.jsonl"):
        (run,) = read_runs([where])
        assert run.name == "toy" and run.folder == (folder if where is folder else None)
        assert [s.name for s in run.series if s.evaluated] == ["loss", "bleu"]
        trained = ["loss", "learning rate", "gradient norm", "tokens per second"]
        assert [s.name for s in run.series if not s.evaluated] == trained
        loss = series(run, "loss")
        assert loss.values.tolist() == [5.0, 2.5, 5 / 3, 1.25]
        expected = {"step": [1, 2, 3, 4], "epoch": [0, 0, 0, 1], "seconds": [2, 4, 6, 8]}
        expected["tokens"] = [100, 200, 300, 400]
        assert {name: places.tolist() for name, places in loss.places.items()} == expected
        bleu = series(run, "bleu", True)
        assert bleu.values.tolist() == [10.5, 9.0] and bleu.best == (0,) and bleu.places["step"].tolist() == [2, 3]
    (run,) = read_runs([[evaluation(5, True, bleu=2.0), evaluation(1, True, bleu=1.0)]])  # gets sorted
    assert series(run, "bleu", True).values.tolist() == [1.0, 2.0] and series(run, "bleu", True).best == (1, 0)


def test_the_time_of_an_evaluation_does_not_count(tmp_path: Path) -> None:
    (run,) = read_runs([LOG])
    speed = series(run, "tokens per second")
    assert speed.places["step"].tolist() == [2, 3, 4]
    assert speed.values.tolist() == [50.0, 100.0, 100.0]  # steps 3 and 4 are a second after an evaluation
    (own,) = read_runs([[entry(1, tokens_per_second=7), entry(2, tokens_per_second=8)]])
    assert series(own, "tokens per second").values.tolist() == [7.0, 8.0]  # the log's numbers


def test_other_loggers_entries() -> None:
    first = {"acc": 0.5, "split": {"a": 1, "b": 10**400}, "note": "text", "on": True}
    (run,) = read_runs([[first, {"acc": math.nan, "split": {"a": None}, "list": [1]}]])
    assert run.name == "run 1" and [s.name for s in run.series] == ["acc", "split.a", "split.b"]
    acc = series(run, "acc")
    assert acc.places["step"].tolist() == [1, 2] and acc.values[0] == 0.5 and math.isnan(acc.values[1])
    assert series(run, "split.b").values.tolist() == [math.inf] and math.isnan(series(run, "split.a").values[1])


def test_invalid_runs(tmp_path: Path) -> None:
    layers = nn.Sequential(nn.Linear(1, 1))
    for what in (7, torch.ones(2), torch.ones(()), layers, nn.ModuleList([layers])):
        raises(TypeError, "a run must be a folder, a log file or a list of entries, not a ", partial(training, what))
    for entries, message in [
        ([{"step": 1, "loss": 1}, [3]], "run 1, line 2, is not a log entry: a list"),
        ([{"step": 1, "loss": 1}, {"loss": 2}], "line 2, has no step, but other lines do"),
        ([{"step": 1, "loss": {str(i): 0.5 for i in range(2_000)}}], "line 1, exceeds the limit of 1,000 quant"),
    ]:
        raises(ValueError, message, partial(training, entries))
    raises(FileNotFoundError, r"has no log\.jsonl", lambda: training(tmp_path))
    raises(FileNotFoundError, "is not a run folder or a log", lambda: training(tmp_path / "nothing"))
    for line, message in (("not JSON", "is not JSON"), ("[" * 100_000 + "]" * 100_000, "")):
        (tmp_path / "log.jsonl").write_text(f'{{"step": 1}}\n{line}\n')
        raises(ValueError, rf"log.jsonl, line 2.*{message}", lambda: training(tmp_path))
    raises(ValueError, "there are no runs", training)
    raises(ValueError, "there are 1 runs, but 2 names", lambda: training([], names=["a", "b"]))
    raises(ValueError, "names must be a list of strings, not one: 'own'", lambda: training([], names="own"))


def test_huge_tiny_and_missing_losses() -> None:
    for losses in ([1e308, -1e308, 1.7e308], [1.7e308, 1e-320], [5e-324, 1e-323], [10**400, 2.0], [1e308]):
        view = training([{"step": i, "loss": loss} for i, loss in enumerate(losses)])
        assert str(view.page())
    empty = training([])
    assert empty.charts == () and "nothing logged yet" in repr(empty)
    assert '"charts":[]' in empty.html()


def test_names_of_runs(tmp_path: Path) -> None:
    one, two, three = (write(tmp_path / name, LOG) for name in ("a/run", "b/run", "run (2)"))
    assert [run.name for run in read_runs([three, one, two])] == ["run (2)", "run", "run (3)"]
    assert [run.name for run in read_runs([{"first": one, "second": LOG}])] == ["first", "second"]
    assert [run.name for run in read_runs([one], ["own"])] == ["own"]


def test_a_smoothed_loss_is_a_different_quantity(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", LOG)
    for name, more in (
        ("smooth", {"label_smoothing": 0.1, "r_drop": 0.0}),
        ("both", {"label_smoothing": 0.1, "r_drop": 5.0}),
    ):
        settings = {"settings": {"training": more}}
        write_checkpoint(RunFolder(write(tmp_path / name, LOG)).last, {"model": {}, "step": 4, "extra": settings})
    view = training(plain, tmp_path / "smooth", tmp_path / "both" / "log.jsonl")
    smooth, both, loss = view.charts[:3]
    assert smooth == "training loss with label smoothing 0.1" and both == f"{smooth} and R-Drop 5" and loss == "loss"
    names = [{(s.name, s.evaluated) for s in run.series if "loss" in s.name} for run in view.runs]
    assert names == [{("loss", True), (name, False)} for name in (loss, smooth, both)]
    assert training(tmp_path / "smooth").charts[:2] == (smooth, loss)
    for damage in (b"", b"nothing"):
        RunFolder(tmp_path / "smooth").last.write_bytes(damage)
        assert training(tmp_path / "smooth", weights=False).charts[0] == "loss"


def test_several_runs_and_escaped_names() -> None:
    view = training(LOG, [entry(i) for i in range(1, 4)], names=[EVIL, "x" * 10_000])
    assert "<script>alert" not in view.html() and "<iframe" in view._repr_mimebundle_()["text/html"]


def trained(folder: Path, states: dict[int, dict[str, Any]]) -> Path:
    write(folder, LOG)
    run = RunFolder(folder)
    for step, state in states.items():
        run.put_snapshot(step, {"model": state, "step": step, "extra": {}})
    return folder


def test_weights_over_the_snapshots(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(60, 50)).astype(np.float32), rng.normal(size=(60, 50)).astype(np.float32)
    states = {
        step: {"w": torch.tensor(w), "b": torch.tensor(w[0]), "seen": torch.tensor(step), f"only{step}": torch.ones(2)}
        for step, w in ((2, first), (4, second))
    }
    steps, parameters = read_weights(trained(tmp_path, states))
    assert steps == [2, 4] and [p.name for p in parameters] == ["w", "b"] and parameters[0].shape == (60, 50)
    told_of = {name: values[1] for name, values in parameters[0].statistics.items()}
    exact = second.astype(np.float64)
    size = {"norm": np.linalg.norm(exact), "change": np.linalg.norm(exact - first) / np.linalg.norm(first)}
    spread = {"mean": exact.mean(), "std": exact.std(), "min": exact.min(), "max": exact.max()}
    assert told_of == pytest.approx({**size, **spread})
    assert math.isnan(parameters[0].statistics["change"][0])
    heat = parameters[0].heat
    assert heat.shape == (2, 24, 24) and heat[1, 0, 0] == pytest.approx(exact[:2, :2].mean())
    assert parameters[1].heat.shape == (2, 1, 50)
    np.testing.assert_allclose(parameters[1].heat[0, 0], first[0])
    counts = np.histogram(exact, 40, (min(first.min(), exact.min()), max(first.max(), exact.max())))[0]
    np.testing.assert_array_equal(parameters[0].histogram[1], counts)
    data = parameters[0].as_data()
    shades = np.frombuffer(base64.b64decode(data["heat"]), np.int8).reshape(2, 24, 24) * data["scale"] / 127
    np.testing.assert_allclose(shades, heat, atol=data["scale"] / 250)


def test_many_snapshots_are_thinned_evenly_and_weights_may_be_extreme(tmp_path: Path) -> None:
    folder = trained(tmp_path / "many", {step: {"w": torch.ones(1)} for step in range(0, 90, 2)})
    write_checkpoint(RunFolder(folder).best, {"model": {"w": torch.ones(1)}, "step": 89})
    (folder / "snapshots" / "notes.safetensors").write_text("no snapshot")
    steps = list(checkpoints(folder))
    assert len(steps) == 40 and steps[0] == 0 and steps[-1] == 89 and max(np.diff(steps)) <= 4
    wild = torch.tensor([1.0, math.nan, math.inf, -3.0])
    _, (parameter, empty) = read_weights(trained(tmp_path / "wild", {1: {"w": wild, "e": torch.zeros(0, 3)}}))
    assert parameter.statistics["not finite"] == [2] and parameter.statistics["max"] == [1.0]
    assert parameter.statistics["norm"] == [pytest.approx(math.sqrt(10))] and parameter.histogram.sum() == 2
    assert "not finite" not in empty.statistics and empty.as_data()["cells"] == (1, 1)
    training(tmp_path / "wild").html()


def test_pictures_by_step() -> None:
    view = attention(np.full((1, 2, 3, 3), 1 / 3), ["I", "like", "cats"])
    (pictures,) = training(LOG, snapshots={"pictures": {20: view, 10: view.svg()}}).tracks
    assert pictures.steps == [10, 20] and pictures.frames is not None
    assert "cats" in pictures.frames[1]


def test_a_function_of_checkpoints(tmp_path: Path) -> None:
    def picture(step: int, state: dict[str, torch.Tensor]) -> str:
        return f"<svg>{step * float(state['w'][0, 0]):g}</svg>"

    folder = trained(tmp_path, {step: {"w": torch.full((2, 2), float(step))} for step in (3, 1)})
    track = training(folder, snapshots=picture, weights=False).tracks[0]
    assert track.steps == [1, 3] and track.frames == ["<svg>1</svg>", "<svg>9</svg>"]
    assert training(LOG, snapshots={"none": {}, "one": {1: "<svg/>"}}).tracks[0].name == "one"
    alone = [training(LOG, folder, snapshots=picture).tracks[i].run for i in (0, 1)]
    assert alone == [1, 1]  # the second run's steps
    raises(ValueError, "needs a run folder", lambda: training(LOG, snapshots=picture))
    (folder / "snapshots" / "000000003.safetensors").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match="skipped: the checkpoint .*000000003"):
        assert training(folder).tracks[0].steps == [1]


def test_invalid_pictures() -> None:
    for snapshots, error, message in [
        ([1], TypeError, "a mapping from steps to pictures, or a function"),
        ({1.5: "<svg/>"}, TypeError, "a step must be an integer, not 1.5"),
        ({1: "<script>"}, ValueError, "snapshots, step 1: a string must be an SVG"),
        ({1: 3}, TypeError, "snapshots, step 1: a picture must be the text of an SVG"),
        ({1: np.ones((3, 3))}, TypeError, "snapshots, step 1: a picture must be the text of an SVG"),
        ({"a": 3}, TypeError, "a must be a mapping from steps to pictures, or a function"),
    ]:
        raises(error, message, partial(training, LOG, snapshots=snapshots))


WIDE, READY = {"width": 1400, "height": 900}, "[data-ready]"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Two runs, one with weights at steps 1 and 3."""
    weights = {"layer.weight": torch.randn(8, 6), f"{EVIL}.bias": torch.ones(5)}
    states = {step: {name: weight * step for name, weight in weights.items()} for step in (1, 3)}
    other = [entry(i, loss=6.0 / i) for i in range(1, 4)]
    view = training(trained(tmp_path / "run", states), other, names=["one", EVIL])
    return view.save(tmp_path / "page.html")


def values(page: Any, chart: str) -> list[str]:
    return texts(page, f'[data-chart="{chart}"] .value')


def at_step(page: Any, chart: str, part: float) -> None:
    """Point at a position on a chart, from 0 to 1 of its range."""
    box = page.locator(f'[data-chart="{chart}"] svg').bounding_box()
    page.mouse.move(box["x"] + 46 + part * (box["width"] - 52), box["y"] + 60)


def test_reading_exact_values(opened: Callable[..., Any], saved: Path) -> None:
    page = opened(saved, viewport=WIDE)
    charts = ["loss", "bleu", "learning rate", "gradient norm", "tokens per second"]
    assert texts(page, ".chart h2") == charts
    assert values(page, "loss") == ["1.25", "3.5", "2"]
    assert page.inner_text("#readout") == "last: step 4 · epoch 1 · 8 s · 400 tokens"
    at_step(page, "loss", 0.35)  # from step 1 to step 4
    page.wait_for_selector("#readout:text-matches('^step 2 ')")
    assert values(page, "loss") == ["2.5", "3", "3"]
    assert values(page, "bleu") == ["10.5"]
    assert page.locator('[data-chart="gradient norm"] .hair').count() == 1  # on all charts
    title = page.get_attribute('[data-chart="loss"] .value >> nth=2', "title")
    assert title == f"{EVIL}, training, step 2: 3"


def test_axis_smoothing_and_logarithm(opened: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    log = [entry(i, loss=float(v)) for i, v in enumerate(rng.uniform(1, 2, 400), 1)]
    page = opened(training(log), viewport=WIDE)
    front = '[data-chart="loss"] .line'
    raw = page.get_attribute(front, "d")
    assert page.locator('[data-chart="loss"] .raw').count() == 0
    page.fill("#smoothing", "6")
    width = float(re.sub(r"[^\d.]", "", page.inner_text("#smoothing + output")))
    assert page.get_attribute('[data-chart="loss"] .raw', "d") is not None
    assert page.locator('[data-chart="learning rate"] .raw').count() == 0
    steps, losses = (np.array([e[name] for e in log], np.float64) for name in ("step", "loss"))
    smooth = page.evaluate("([x, y, w]) => curves.smooth(x, y, w)", [steps.tolist(), losses.tolist(), width])
    weights = np.exp(-np.abs(steps[:, None] - steps) / width)
    np.testing.assert_allclose(smooth, weights @ losses / weights.sum(1), rtol=1e-10)
    page.fill("#smoothing", "0")
    assert page.get_attribute(front, "d") == raw
    page.click('[data-chart="loss"] .log')
    assert page.get_attribute('[data-chart="loss"] .log', "aria-pressed") == "true"
    assert page.get_attribute(front, "d") != raw
    page.select_option("#over", "seconds")
    assert {"minutes", "10"} <= set(page.locator('[data-chart="loss"] .tick').all_text_contents())


def test_an_axis_of_percentages_ends_at_100(opened: Callable[..., Any]) -> None:
    page = opened(training([evaluation(i, False, bleu=v) for i, v in enumerate((30.0, 80.0, 100.00000000000004), 1)]))
    for log in ("false", "true"):
        assert page.evaluate(f"curves.bounds(30, 100.00000000000004, {log})[1]") == 100
    assert [page.evaluate(f"curves.bounds(0.2, {high}, false)[1]") for high in (1, 1.5)] == [1, 1.552]


def test_runs_are_toggled_and_ranges_zoomed(opened: Callable[..., Any], saved: Path) -> None:
    page = opened(saved, viewport=WIDE)
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


def test_weights_follow_the_step(opened: Callable[..., Any], saved: Path) -> None:
    page = opened(saved, viewport=WIDE)
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
    assert texts(page, ".row .number")[1] == "2"  # |3 − 1| / 1
    page.fill("#filter", "LAYER")
    assert texts(page, ".row:visible .name") == ["layer.weight"]
    box = page.locator('[data-chart="loss"] svg').bounding_box()
    page.mouse.click(box["x"] + 60, box["y"] + 60)  # near the start of the curve
    assert page.inner_text("#at-step") == "step 1"
    page.click("#play")
    page.wait_for_selector("#at-step:text-is('step 3')")


def test_pictures_follow_the_step(opened: Callable[..., Any], tmp_path: Path) -> None:
    model, x = nn.Linear(2, 1), torch.ones(1, 2)

    def graph(step: int, state: dict[str, torch.Tensor]) -> Any:
        model.load_state_dict(state)
        return viz.graph(model, x, colour="gradient")

    states = {step: {name: p * step for name, p in model.state_dict().items()} for step in (1, 4)}
    pictures = {"graph": graph, EVIL: {2: "<svg/>", 4: "<svg><!-- at 4 --></svg>"}}
    view = training(trained(tmp_path / "run", states), snapshots=pictures, weights=False)
    page = opened(view, viewport=WIDE)
    source = page.get_attribute("#frame img", "src")
    assert all(text in unquote(source) for text in ("<svg", "Linear", "weight"))
    page.click("#back")
    assert page.get_attribute("#frame img", "src") != source and page.inner_text("#at-step") == "step 1"
    assert page.evaluate("document.querySelector('#frame img').decode().then(() => true)")
    page.click("#on")
    page.select_option("#track", "1")
    assert page.inner_text("#at-step") == "step 4" and "at 4" in unquote(page.get_attribute("#frame img", "src"))


def test_it_can_be_saved_as_a_picture_and_fits_the_window(opened: Callable[..., Any], saved: Path) -> None:
    page = opened(saved, viewport={"width": 380, "height": 700})
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    with page.expect_download() as download:
        page.click("#save")
    text = Path(download.value.path()).read_text()
    assert "<svg" in text and "tokens per second" in text and "<script" not in text


def test_a_quantity_is_a_vector_picture() -> None:
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    view = training(LOG, [entry(1), entry(2)], names=["first", EVIL])
    picture = ET.fromstring(view.svg())
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"step", "loss", "first", "first, evaluation"} <= texts
    assert sum(len(group) for group in picture.iter() if group.get("class", "").startswith("mark-line role-mark")) == 3
    assert "bleu" in view.svg("bleu", log=True)
    raises(ValueError, "there is no chart 'los'; choose from: loss, ", lambda: view.svg("los"))
    empty = training([])
    raises(ValueError, "there is no chart ''; choose from: none", empty.svg)
    assert "image/svg+xml" not in empty._repr_mimebundle_()
