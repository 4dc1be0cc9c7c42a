"""Line charts: gaps are kept, exponentials are straight on a logarithmic axis, names are escaped."""

import re
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import size
from minigrad_models.viz.lines import Curve, draw
from tests.support.cases import raises

pytest.importorskip("vl_convert", reason="the extra viz brings it")
SVG = "{http://www.w3.org/2000/svg}"


def curve(name: str, y: list[float], colour: int = 0, **more: bool) -> Curve:
    return Curve(name, np.arange(1.0, len(y) + 1), np.array(y, float), colour, **more)


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def paths(svg: str, kind: str) -> list[str]:
    groups = [node for node in ElementTree.fromstring(svg).iter() if node.get("class", "").startswith(kind)]
    return [path.get("d", "") for group in groups for path in group.iter(f"{SVG}path")]


def points(svg: str) -> list[np.ndarray]:
    """The lines between points, each (N, 2)."""
    parts = [part for path in paths(svg, "mark-line role-mark") for part in path.split("M")[1:]]
    return [np.array(re.findall(r"-?[\d.]+", part), float).reshape(-1, 2) for part in parts]


def dots(svg: str) -> int:
    return len(paths(svg, "mark-symbol role-mark"))


def test_a_line_stops_at_missing_numbers() -> None:
    svg = draw("T", "x", "y", [curve("a", [1, 2, np.nan, 3, 4, np.inf, 5, 6])])
    assert [len(line) for line in points(svg)] == [2, 2, 2] and dots(svg) == 6
    one = draw("T", "x", "y", [curve("a", [1, 2, 0, 4, 5], joined=True)], log=(False, True))
    assert [len(line) for line in points(one)] == [2, 2]  # log 0 is undefined


def test_a_logarithmic_line_is_straight() -> None:
    grows = [10.0 ** (2 * i) for i in range(6)]
    for line in points(draw("T", "x", "y", [curve("a", grows), curve("b", grows[::-1], 1)], (False, True))):
        np.testing.assert_allclose(np.diff(line, axis=0), np.diff(line, axis=0)[:1].repeat(5, 0), atol=0.02)


def test_an_axis_of_percentages_ends_at_100() -> None:
    """sacrebleu's score of a perfect translation is a little above 100."""
    ticks = [float(t) for t in texts(draw("T", "x", "%", [curve("a", [30, 98.7, 100.00000000000004])])) if t.isdigit()]
    assert max(ticks) == 100


def test_curves_have_their_colours_and_names_in_the_legend() -> None:
    measured, theory = curve("measured", [1, 2]), curve("theory", [1, 2], 0, dashed=True, named=False)
    curves = [measured, theory, curve("other", [2, 1], 9)]
    svg = draw("A title", "steps", "loss", curves)
    assert {"A title", "steps", "loss", "measured", "other"} <= {*texts(svg)} and "theory" not in texts(svg)
    assert f'stroke="{LIGHT.nth(0)}"' in svg and f'stroke="{LIGHT.nth(9)}"' in svg
    assert 'stroke-dasharray="4,3"' in svg and svg == draw("A title", "steps", "loss", curves)


def test_dots_for_few_points_and_unconnected_points() -> None:
    for count, expected in ((32, 32), (33, 0)):
        assert dots(draw("T", "x", "y", [curve("a", [float(i) for i in range(count)])])) == expected
    apart = draw("T", "x", "y", [curve("a", [1.0, 2.0] * 20, joined=False)])
    assert dots(apart) == 40 and not points(apart)


@pytest.mark.parametrize("name", ["<b>&amp;\x00", '"];alert(1)//', "\\u0022 + 1", "a\u202eb", "😀", ""])
def test_a_name_is_escaped(name: str) -> None:
    labels = texts(draw(name, name, name, [curve(name, [1, 2])]))
    safe = name.replace("\x00", "�").replace("\u202e", "�") or "∅"
    assert labels.count(safe) == 4


def test_sizes_and_invalid_arguments() -> None:
    assert size(draw("T", "x", "y", [curve("n" * 300, [1, 2])], width=400))[0] == pytest.approx(400, abs=1)
    draw("T", "x", "y", [curve("empty", []), curve("constant", [5, 5])])
    raises(ValueError, "there are no curves", partial(draw, "T", "x", "y", []))
    raises(ValueError, "a width of 150 leaves no room", partial(draw, "T", "x", "y", [curve("n", [1, 2])], width=150))
