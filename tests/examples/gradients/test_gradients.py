"""Gradients at a distance: measurements are correct, the lesson's claims hold, and networks learn."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.gradients import __main__ as cli, cliff, networks
from examples.gradients.distance import jacobian_norms
from examples.gradients.lesson import lesson
from examples.gradients.measure import Measured, Measurements, measure
from examples.gradients.sequences import ALPHABET, SYMBOLS, TASKS, Adding, Copying, Task
from examples.gradients.train_networks import NETWORKS, network
from minigrad import Tensor, nn
from minigrad_models.viz.blocks import Lesson, Steps
from tests.support.browser import contrast, texts

DISTANCE, READY = 200, "#lecture section"


@pytest.fixture(scope="module")
def measured() -> Measurements:
    return measure(0)


def norms(network: networks.Network, size: float = networks.REST) -> np.ndarray:
    x = size * mg.randn(DISTANCE + 1, networks.WIDTH, dtype=mg.float64)
    return jacobian_norms(network.model, x)


def test_norms_are_the_norms_of_the_matrix_product() -> None:
    mg.manual_seed(1)
    layer = nn.RNN(3, 4, batch_first=True, dtype=mg.float64)
    x = mg.randn(6, 3, dtype=mg.float64)
    measured = jacobian_norms(lambda x: layer(x)[0], x)
    states = layer(x[None])[0][0].detach().numpy()  # (T, H)
    back, expected = np.eye(4), []
    for h in states[::-1]:
        back = back @ np.diag(1 - h**2)
        expected.append(np.linalg.norm(back @ layer.weight_ih_l0.detach().numpy(), 2))
        back = back @ layer.weight_hh_l0.detach().numpy()
    np.testing.assert_allclose(measured, expected, rtol=1e-10)


@pytest.mark.parametrize("radius", [0.9, 1.0, 1.1])
def test_an_rnns_slope_is_the_log_of_its_spectral_radius(radius: float) -> None:
    mg.manual_seed(0)
    network = networks.rnn(radius)
    assert network.rate == pytest.approx(radius)
    assert Measured(network, networks.REST, norms(network)).slope == pytest.approx(math.log(radius), rel=0.1, abs=1e-3)


def test_clipping_keeps_a_descent_from_leaping() -> None:
    free, clipped = cliff.descend(None), cliff.descend(cliff.CLIP)
    i = free.cliff
    assert clipped.cliff == i and free.norms[i] == clipped.norms[i] > 5 and clipped.clipped[i] == pytest.approx(1)
    np.testing.assert_array_equal(free.places[: i + 1], clipped.places[: i + 1])
    before, leap, step = free.places[i], free.places[i + 1], clipped.places[i + 1]
    np.testing.assert_allclose((leap - before) / free.norms[i], step - before, rtol=1e-5)  # the same direction
    assert free.losses[-1] > 0.08 > 0.008 > clipped.losses[-1] and len(free.losses) == cliff.UPDATES + 1


@pytest.fixture(scope="module")
def small_lesson(measured: Measurements) -> Lesson:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("examples.gradients.lesson.measure", lambda seed: measured)
        return lesson(lengths=(2, 3), updates=2)


def test_all_claims_hold(small_lesson: Lesson) -> None:
    assert len(small_lesson.checks()) == 10 and all(check.holds for check in small_lesson.checks())


@pytest.mark.nightly
def test_the_page(small_lesson: Lesson, opened: Callable[..., Any]) -> None:
    page = opened(small_lesson.page(), color_scheme="dark")
    assert page.locator("svg .title").count() == 8
    places = page.eval_on_selector_all("polyline", "nodes => nodes.map(node => node.getAttribute('points'))")
    numbers = [float(v) for points in places for v in points.replace(",", " ").split()]
    assert len(places) == 28 and page.locator("circle").count() > 21 * 15
    assert np.isfinite(numbers).all() and max(numbers) <= 520
    assert contrast(page, ".prose") >= 4.5 and contrast(page, ".chart .named", "fill") >= 4.5
    page.select_option("select", label="copying")
    assert "The copying task" in texts(page, ".chart .title")
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_training_is_in_the_table(small_lesson: Lesson) -> None:
    (table,) = (b for s in small_lesson.sections for b in s.blocks if isinstance(b, Steps) and b.head[0] == "task")
    assert table.head == ("task", "network", "length 2", "length 3", "fails from") and len(table.rows) == 8
    assert all(cell.endswith(" updates") or cell.startswith("not solved: ") for row in table.rows for cell in row[2:4])


def test_the_program(
    measured: Measurements, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []
    monkeypatch.setattr("examples.gradients.lesson.measure", lambda seed: [seeds.append(seed), measured][1])
    assert cli.main(["--updates", "0", "--save", str(tmp_path / "new"), "--seed", "3"]) == 0 and seeds == [3]
    how = capsys.readouterr()
    assert "[ok] RNN, radius 0.9: the logarithm's slope is ln 0.9 = −0.1054" in how.out and "adding" not in how.out
    assert sorted(os.listdir(tmp_path / "new")) == ["gradients.html", "gradients.svg"]


def test_bad_options(refused: Callable[..., None]) -> None:
    for options in (["--updates", "-1"], ["--lengths", "1"], ["--lengths", "x"], ["--updates"], ["--seed", "x"]):
        refused(options, "^python -m examples.gradients: error: argument --", 2)


class Constant(nn.Module):
    """A network with the same output at every step."""

    def __init__(self, outputs: list[float]) -> None:
        super().__init__()
        self.outputs = mg.tensor(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs.expand(*x.shape[:2], len(self.outputs))


def test_adding() -> None:
    inputs, sums = Adding(7).draw(np.random.default_rng(0), 500)
    numbers, marks = inputs.numpy().transpose(2, 0, 1)
    assert numbers.shape == (500, 7) and 0 <= numbers.min() < 0.01 and 0.99 < numbers.max() <= 1
    np.testing.assert_array_equal(marks[:, :3].sum(1), 1)
    np.testing.assert_array_equal(marks[:, 3:].sum(1), 1)
    assert {*np.nonzero(marks)[1].tolist()} == set(range(7))
    np.testing.assert_allclose((numbers * marks).sum(1), sums.numpy(), rtol=1e-6)


def test_copying() -> None:
    task = Copying(4)
    inputs, symbols = task.draw(np.random.default_rng(0), 300)
    ids = inputs.numpy().argmax(-1)
    assert inputs.shape == (300, task.steps, task.inputs) and (inputs.sum(-1) == 1).all()
    np.testing.assert_array_equal(ids[:, :SYMBOLS] - 1, symbols.numpy())
    assert set(symbols.numpy().ravel().tolist()) == set(range(ALPHABET))
    np.testing.assert_array_equal(ids[:, SYMBOLS:], [[0, 0, 0, ALPHABET + 1, *[0] * SYMBOLS]] * 300)


def test_a_constant_guess_has_the_expected_score() -> None:
    for task, guess in ((Adding(20), [1.0]), (Copying(20), [0.0] * 3 + [1.0] + [0.0] * 4)):
        score = task.score(Constant(guess), task.draw(np.random.default_rng(0), 4000))
        assert score == pytest.approx(task.guess, rel=0.1) and not task.solved(task.guess)


@pytest.mark.parametrize("task", [task(6) for task in TASKS])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_equal_sizes_and_are_causal(name: str, task: Task) -> None:
    mg.manual_seed(0)
    model = network(name, task)
    assert 17_000 <= sum(p.numel() for p in model.parameters()) <= 20_000
    inputs = mg.randn(2, task.steps, task.inputs, requires_grad=True)
    output = model(inputs)
    assert output.shape == (2, task.steps, task.outputs)
    (gradient,) = mg.autograd.grad(output[:, 3].sum(), inputs)
    assert gradient[:, 4:].abs().max() == 0 and gradient[:, 0].abs().max() > 0
