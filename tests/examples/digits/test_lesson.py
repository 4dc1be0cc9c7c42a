"""The lesson of the digits: its claims, its pictures, its page, its command line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.digits import (
    __main__ as cli,  # noqa: F401  (``refused`` calls it)
    checks,
    digits_data as data,
    insight,
)
from examples.digits.classifiers import Convolutional, FullyConnected, PatchTransformer
from examples.digits.lesson import lesson
from examples.digits.results import Results
from examples.digits.train_digits import ARCHITECTURES
from examples.lesson.plain import plain
from minigrad_models.viz.blocks import Chart, Choice, Pictures, Steps, Text
from tests.support.browser import contrast, texts

READY = "#lecture section"


@pytest.fixture(scope="module")
def results() -> Results:
    """One epoch each, with two seeds."""
    return Results(seed=0, epochs=1, repeat=2)


@pytest.fixture
def images() -> np.ndarray:
    return data.load().images[:20]


def blocks(results: Results, kind: type) -> list[Any]:
    return [block for section in lesson(results).sections for block in section.blocks if isinstance(block, kind)]


@pytest.mark.nightly
def test_every_network_reaches_the_claimed_accuracy() -> None:
    assert [claim.claim for claim in lesson(Results(0)).checks() if not claim.holds] == []


def test_changes_that_an_architecture_cannot_see(results: Results) -> None:
    claims = lesson(results).checks()
    of_shifts, of_architecture = claims[4:6], claims[6:]
    assert len(of_architecture) == 5 and all(claim.holds for claim in of_architecture)
    assert of_shifts[0].holds and not of_shifts[1].holds  # after one epoch
    assert [claim.claim for claim in claims[:4]] == [
        f"the {name} network reads at least {bar} % of the held-out digits" for name, bar in checks.BARS.items()
    ]
    assert list(checks.BARS) == list(ARCHITECTURES) and not claims[2].holds


def test_claims_about_an_architecture_can_fail(images: np.ndarray) -> None:
    class Rows(FullyConnected):
        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return super().forward(x) + x[:, :4].sum((1, 2))[:, None]  # the upper half has its own effect

    class Ordered(PatchTransformer):
        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return super().forward(x) + self.patches(x)[:, 0].sum(1)[:, None]  # the first patch has its own effect

    with mg.no_grad():
        for holds, network, other in (
            (checks.any_order_of_pixels, FullyConnected, Rows),
            (checks.any_order_of_patches, PatchTransformer, Ordered),
        ):
            assert holds(network().eval(), images) and not holds(other().eval(), images)


def test_weights_of_the_hidden_units_are_shown() -> None:
    model = FullyConnected(hidden=3)
    with mg.no_grad():
        model.output.weight.zero_()
        model.output.weight[4, 1], model.output.weight[2, 1], model.output.weight[5, 2] = 3.0, -1.0, 1.0
    panel = insight.weights(model)
    assert [one.caption for one in panel.pictures[:2]] == ["+4 −2", "+5 −0"]
    assert np.array_equal(panel.pictures[0].array.ravel(), model.hidden.weight[1].detach().numpy())


def test_feature_maps_are_the_outputs_of_the_filters(images: np.ndarray) -> None:
    model = Convolutional().eval()
    first, maps = insight.filters(model, images[3])
    kernel, bias = first.pictures[5].array, float(model.first.bias[5])  # type: ignore[index]
    expected = max(0.0, float((images[3][2:5, 4:7] * kernel).sum()) + bias)
    assert maps.pictures[5].array[3, 5] == pytest.approx(expected, abs=1e-5)


def test_the_tables_and_charts(results: Results) -> None:
    page = lesson(results)
    (_, table) = blocks(results, Steps)
    assert [row[0] for row in table.rows] == list(ARCHITECTURES) and table.head[3] == "mean of 2 seeds, %"
    for name, row in zip(ARCHITECTURES, table.rows, strict=True):
        accuracies = results.repeated[name]
        assert accuracies[0] == results.in_place[name].accuracies[-1] != accuracies[1]
        assert row[2] == f"{100 * accuracies[0]:.1f}" and row[4] == f"{100 * min(accuracies):.1f}"
    losses, misread, in_place, with_shifts = blocks(results, Chart)
    assert losses.log_y and misread.series[0].y[-1] == 100 * (1 - results.repeated["fully-connected"][0])
    assert in_place.series[0].y[0] == 100 * results.repeated["fully-connected"][0] != with_shifts.series[0].y[0]
    (choice,) = blocks(results, Choice)
    assert list(choice.names) == list(ARCHITECTURES) and all(isinstance(one, Pictures | Text) for one in choice.options)
    text = plain(page)
    assert "[ok] the sizes of the four networks" in text and "1 epoch " in text


@pytest.mark.nightly
def test_the_page(results: Results, opened: Callable[..., Any]) -> None:
    page = opened(lesson(results).page(), color_scheme="dark")
    assert texts(page, "h1") == ["Four architectures read digits"] and page.locator("h2").count() == 10
    assert page.locator(".pictures").count() >= 8 and contrast(page, ".pictures figcaption") >= 4.5
    page.hover(".pictures canvas >> nth=0", position={"x": 36, "y": 12})
    image = insight.one_of_each(results.held_out).images[0]
    message = f"0, row 2, column 5: {float(image[1, 4]):.4g}"
    assert texts(page, ".pictures .explanation")[0] == message
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_bad_numbers(refused: Callable[..., None]) -> None:
    for option, text in (("--epochs", "0"), ("--repeat", "0"), ("--epochs", "many")):
        refused([option, text], f"argument {option}: expected a whole number of at least 1, not '{text}'", 2)
