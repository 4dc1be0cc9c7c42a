"""Numbers of a graph on a page, changed by hand: the rest follows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import until
from .test_playground import IDLE, opened, run

Visit = Callable[..., Any]
STATE = "graphView.change.told.textContent"


def drawn(page: Any) -> Any:
    """The frame with the graph of the program, which has run."""
    run(page)
    page.click("#tab-graph")
    until(page, IDLE)
    frame = page.locator("#panel-graph iframe").element_handle().content_frame()
    until(frame, "window.graphView?.change.possible")
    return frame


def choose(frame: Any, name: str) -> Any:
    """Select the node of a name; its first number's field."""
    frame.evaluate(f"graphView.reveal('n' + graphView.graph.nodes.find(({{ name }}) => name === '{name}').id)")
    return frame.locator("#panel td input").first


def type_in(frame: Any, name: str, text: str) -> None:
    """Change the first number of a node, and wait for the answer."""
    field = choose(frame, name)
    field.fill(text)
    field.press("Enter")
    until(frame, f"{STATE} !== 'computing again …'")


def number(frame: Any, name: str, of: str = "value") -> float:
    """The first number of a node, or of its gradient."""
    found = f"graphView.graph.values[graphView.graph.nodes.find(({{ name }}) => name === '{name}').{of}].table[0][0]"
    return float(frame.evaluate(found))


def test_the_rest_follows_and_goes_back(visit: Visit) -> None:
    page = opened(visit)  # f = (a b + sin a)², a = 2, b = -3
    frame = drawn(page)
    first = number(frame, "f")
    type_in(frame, "a", "0.5")
    inner = -1.5 + math.sin(0.5)
    assert number(frame, "f") == pytest.approx(inner**2, rel=1e-5)
    assert number(frame, "b", "gradient") == pytest.approx(2 * inner * 0.5, rel=1e-5)
    assert number(frame, "a", "gradient") == pytest.approx(2 * inner * (-3 + math.cos(0.5)), rel=1e-5)
    assert frame.evaluate(STATE) == "computed again with your numbers"
    assert frame.locator(".box.moved").count() >= 3
    assert frame.evaluate("document.activeElement.dataset.at") == "0"  # where one types on
    type_in(frame, "b", "−2")  # a minus as the page prints it; the other change stays
    assert number(frame, "f") == pytest.approx((-1 + math.sin(0.5)) ** 2, rel=1e-5)
    frame.click("#undo")
    until(frame, f"{STATE} === ''")
    assert number(frame, "f") == first
    assert not frame.locator(".box.moved").count()
    assert frame.locator("#undo").is_hidden()


def test_a_frame_of_a_program_reaches_no_more_than_its_numbers(visit: Visit) -> None:
    page = opened(visit)
    forged = "parent.postMessage({ viz: { change: { node: '__class__', at: {}, text: [1] } } }, '*')"
    program = f"""
class Forged:
    def _repr_html_(self):
        return "<script>{forged}</script>"
Forged()
"""
    page.evaluate(f"window.playground.editor.text = {program!r}")
    run(page)
    page.wait_for_timeout(300)
    assert page.evaluate(IDLE)
