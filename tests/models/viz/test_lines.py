"""Charts of lines: numbers become places, gaps stay gaps, names stand apart."""

from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad.viz.palette import LIGHT
from minigrad_models.viz.lines import Axis, Curve, apart, bounds, draw
from tests.support.cases import raises


def curve(name: str, y: list[float], colour: int = 0, **more: bool) -> Curve:
    return Curve(name, np.arange(len(y), dtype=np.float64), np.array(y), colour, **more)


def points(root: ElementTree.Element, colour: int) -> list[list[tuple[float, ...]]]:
    """The lines of a colour."""
    lines = [p for p in root.iter() if p.tag.endswith("polyline") and p.get("stroke") == LIGHT.nth(colour)]
    return [[tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()] for line in lines]


def test_places_on_an_axis() -> None:
    np.testing.assert_allclose(Axis(0, 4).places(np.array([0, 1, 4, np.nan]), 10, 50), [10, 20, 50, np.nan])
    logarithmic = Axis(1e-4, 1e4, log=True)
    np.testing.assert_allclose(logarithmic.places(np.array([1e-4, 1, 0, -1]), 80, 0), [80, 40, np.nan, np.nan])
    assert Axis(0, 2).ticks(4) == [0, 0.5, 1, 1.5, 2] and len(logarithmic.ticks(4)) <= 6
    axis = Axis(*bounds([np.array([3.0, np.inf]), np.array([50.0])], False))
    assert axis.low == 0 and axis.high > 50


def test_a_line_stops_where_a_number_is_none() -> None:
    root = ElementTree.fromstring(draw("T", "x", "y", [curve("a", [1, 2, np.nan, 3, 4, np.inf, 5])]))
    assert [len(line) for line in points(root, 0)] == [2, 2]
    assert len([node for node in root.iter() if node.tag.endswith("circle")]) == 6  # five dots, and a line of one


def test_a_logarithmic_line_is_straight() -> None:
    grows = [10.0 ** (2 * i) for i in range(6)]
    root = ElementTree.fromstring(draw("T", "x", "y", [curve("a", grows), curve("b", grows[::-1], 1)], (False, True)))
    for line in points(root, 0) + points(root, 1):
        np.testing.assert_allclose(np.diff(line, axis=0), np.diff(line, axis=0)[:1].repeat(5, 0), atol=0.02)


def test_names_stand_apart_beside_the_ends() -> None:
    curves = [curve(f"n{i}", [1.0, 1.0 + i / 100], i) for i in range(5)]
    curves += [curve("theory", [1.0, 1.0], 0, dashed=True, named=False)]
    root = ElementTree.fromstring(draw("T", "x", "y", curves))
    at = {t.text: float(t.get("y", 0)) for t in root.iter() if (t.text or "").startswith("n")}
    assert list(at) == ["n4", "n3", "n2", "n1", "n0"] and np.diff([*at.values()]).min() >= 14 - 1e-6
    assert apart([1, 2, 30], 10, 100) == [1, 11, 30] and apart([95, 99], 10, 100) == [90, 100]
    assert "theory" not in {t.text for t in root.iter()}


def test_dots_of_few_points_alone_and_points_that_are_not_joined() -> None:
    for count, dots in ((32, 32), (33, 0)):
        assert draw("T", "x", "y", [curve("a", [float(i) for i in range(count)])]).count("<circle") == dots
    text = draw("T", "x", "y", [curve("a", [1.0, 2.0] * 20, joined=False)])
    assert text.count("<circle") == 40 and not points(ElementTree.fromstring(text), 0)


def test_what_is_refused() -> None:
    raises(ValueError, "there is no curve", lambda: draw("T", "x", "y", []))
    with pytest.raises(ValueError, match="a width of 200 has no room for curves"):
        draw("T", "x", "y", [curve("n" * 30, [1, 2])], width=200)
