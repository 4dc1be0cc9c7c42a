"""The plane of points: what the page decodes is what minigrad computes, at any place that is pointed at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.lesson.blocks import Dense, Lesson, Plane, Section
from examples.lesson.plain import plain
from minigrad import nn
from tests.support.browser import contrast, texts, wait_for

POINTS = np.array([[0.0, 0.0], [2.0, 1.0], [-2.0, -1.0], [1.9, 1.0]])
CODE = "node => node.dataset.code.split(' ').map(Number)"
ALPHA = (
    "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data].filter((_, i) => i % 4 === 3)"
)


def network() -> nn.Sequential:
    mg.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 6), nn.Sigmoid())


def block(labels: tuple[str, ...] = ("a", "b", "c", "b"), title: str = "Codes") -> Plane:
    first, middle, last = (layer for layer in network() if isinstance(layer, nn.Linear))
    layers = [
        Dense(layer.weight.detach().numpy(), layer.bias.detach().numpy(), after)
        for layer, after in ((first, "tanh"), (middle, ""), (last, "sigmoid"))
    ]
    pictures = np.linspace(0, 1, 24).reshape(4, 2, 3)
    return Plane(title, POINTS, labels, pictures, layers)  # type: ignore[arg-type]


def decoded(code: list[float]) -> np.ndarray:
    """By minigrad (6,)."""
    return network()(mg.tensor([code])).detach().numpy()[0]


@pytest.fixture
def opened(open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def open_plane(plane: Plane, **options: Any) -> Any:
        lesson = Lesson("plane", "A plane", "About it.", (Section("One", (plane,)),))
        page = open_file(lesson.page().save(tmp_path / "plane.html"), **options)
        page.wait_for_selector(".plane canvas[data-code]")
        return page

    return open_plane


@pytest.mark.nightly
def test_the_place_under_the_pointer_is_decoded(opened: Callable[..., Any]) -> None:
    page = opened(block(), color_scheme="dark", viewport={"width": 900, "height": 900})
    area = page.locator(".plane .map canvas")
    box = area.bounding_box()
    codes = []
    for across, up in ((0.1, 0.2), (0.5, 0.5), (0.9, 0.7)):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
        codes.append(area.evaluate(CODE))
        shown = np.array(page.locator(".beside canvas").first.evaluate(ALPHA))
        np.testing.assert_allclose(shown, 255 * decoded(codes[-1]), atol=0.51)
        written = [float(part) for part in texts(page, ".place")[0].replace("−", "-")[12:-1].split(",")]
        np.testing.assert_allclose(written, codes[-1], atol=0.0051)
    np.testing.assert_allclose(codes[1], [0, 0], atol=0.02)  # the middle of all points
    assert codes[0][0] < 0 < codes[0][1] and codes[2][0] > 0 > codes[2][1]
    distances = np.hypot(*(POINTS - codes[2]).T)
    assert texts(page, ".beside .quiet") == [f"nearest: a {'abcb'[int(distances.argmin())]}"]
    original = np.array(page.locator(".beside canvas").last.evaluate(ALPHA))
    np.testing.assert_allclose(original, 255 * block().pictures[distances.argmin()].ravel(), atol=0.51)
    assert all(contrast(page, f".keys button >> nth={n}") >= 4.5 for n in range(3))
    assert contrast(page, ".place") >= 4.5 and contrast(page, ".beside .quiet") >= 4.5


@pytest.mark.nightly
def test_arrow_keys_and_labels(opened: Callable[..., Any]) -> None:
    page = opened(block())
    area = page.locator(".plane .map canvas")
    assert area.evaluate(CODE) == [0, 0]  # the first point
    area.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    x, y = area.evaluate(CODE)
    assert x > 0 < y and x == pytest.approx(2 * y)
    page.click(".keys button >> text=c")
    assert texts(page, ".keys button[aria-pressed='true']") == ["c"] and texts(page, ".beside .quiet") == [
        "nearest: a c"
    ]
    page.click(".keys button >> text=c")
    assert texts(page, ".beside .quiet") == ["nearest: a a"]
    inked = f"node => ({ALPHA})(node).filter((x) => x).length / node.width / node.height"
    assert area.evaluate(inked) < 0.1
    page.click("text=Decode everywhere")
    wait_for(page, f"() => ({inked})(document.querySelector('.plane .map canvas')) > 0.7")


def test_a_map_in_text() -> None:
    text = plain(Lesson("plane", "A plane", "", (Section("One", (block(),)),)))
    lines = text[text.index("Codes\n") :].rstrip("\n").splitlines()[1:]
    assert len(lines) == 30 and lines[0].endswith(" b b") and lines[-1] == "c" and max(map(len, lines)) == 90
    assert [line.strip() for line in lines[1:-1] if line.strip()] == ["a"]


def test_what_does_not_belong_together_is_refused() -> None:
    one = block()
    with pytest.raises(ValueError, match=r"a plane of 3 labels has points of the shape \(4, 2\)"):
        Plane("", one.points, one.labels[:3], one.pictures, one.network)
    with pytest.raises(ValueError, match=r"do not lead from 2 numbers to the 6 of a picture"):
        Plane("", one.points, one.labels, one.pictures, one.network[:2])
    with pytest.raises(ValueError, match=r"do not lead from 2"):
        Plane("", one.points, one.labels, one.pictures, one.network[1:])
