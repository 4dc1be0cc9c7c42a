"""The playground: examples, panels, links, downloads, and editing the numbers of a graph."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.web.scripts import examples

from .conftest import until

Visit = Callable[..., Any]
HERE = "playground.html"
IDLE = "!window.playground.busy && !window.playground.runner.busy"
HASH = "async () => { await window.playground.link(); return location.hash }"


def opened(visit: Visit, hash: str = "", **options: Any) -> Any:
    """The playground, with Python started."""
    page = visit(HERE + hash, **options)
    until(page, "window.playground?.state.textContent === 'ready'")
    return page


def run(page: Any) -> str:
    """Run the program, and return its output."""
    before = page.evaluate("window.playground.runs || 0")
    page.locator(".play button.main").click()
    until(page, f"{IDLE} && window.playground.runs > {before}")
    return str(page.locator("#panel-output .run-output").inner_text())


@pytest.mark.parametrize("number", [0, 2])
def test_an_example_and_its_panels(number: int, visit: Visit) -> None:
    page = opened(visit)
    page.select_option("#example", str(number))
    assert run(page).strip()
    assert not page.locator(".run-error").count()
    program = examples()[number]["program"]
    panels = [line.removeprefix("#| ").partition(":")[0] for line in program.splitlines() if line.startswith("#| ")]
    assert panels
    for panel in panels:
        page.click(f"#tab-{panel}")
        until(page, IDLE)
        output = page.locator(f"#panel-{panel} .run-output")
        assert not output.locator(".run-error, .run-note").count(), output.inner_text()
        assert output.locator("iframe").count() == 1 or len(output.inner_text()) > 100


def test_the_boundary_moves_and_the_curve_is_drawn(visit: Visit) -> None:
    page = opened(visit)
    page.select_option("#example", "1")
    pictures = set()
    page.locator(".play button.main").click()
    while page.evaluate("!(window.playground.runs >= 1)"):
        pictures.add(page.evaluate("document.querySelector('#panel-output img')?.src.slice(200, 60000)"))
        page.wait_for_timeout(50)
    assert len(pictures) > 3
    assert "on the right side" in page.locator("#panel-output").inner_text()
    assert page.locator(".play-curve .line").get_attribute("points").count(",") > 20


def test_a_link_carries_a_program_that_does_not_run_by_itself(visit: Visit) -> None:
    page = opened(visit)
    page.evaluate("window.playground.editor.text = 'print(6 * 7)  # ≥ Ω'")
    hash = page.evaluate(HASH)
    assert hash.startswith("#program=")
    other = opened(visit, hash)
    assert other.evaluate("window.playground.editor.text") == "print(6 * 7)  # ≥ Ω"
    other.wait_for_timeout(500)
    text = other.locator("#panel-output").inner_text()
    assert "came with the link" in text and "42" not in text
    assert "42" in run(other)


def test_a_changed_program_is_there_after_a_reload(visit: Visit) -> None:
    page = opened(visit)
    assert page.input_value("#example") == "0" and page.locator("#example option[value=own]").is_hidden()
    page.evaluate("window.playground.editor.text = 'print(6 * 7)'")
    assert page.input_value("#example") == "own"
    page.reload()
    until(page, "window.playground?.state.textContent === 'ready'")
    assert page.evaluate("window.playground.editor.text") == "print(6 * 7)" and page.input_value("#example") == "own"
    assert page.locator("#panel-output").inner_text().strip() == ""
    page.select_option("#example", "1")
    assert page.evaluate("window.playground.editor.text") == examples()[1]["program"]
    page.select_option("#example", "own")
    assert "42" in run(page)


def test_torch_is_minigrad_and_a_missing_package_is_answered(visit: Visit) -> None:
    page = opened(visit)
    page.evaluate("window.playground.editor.text = 'import torch\\nprint(torch.ones(2).sum().dtype)'")
    text = run(page)
    assert "torch.float32" in text and "torch is minigrad here" in text
    page.evaluate("window.playground.editor.text = 'import pandas.core'")
    text = run(page)
    assert "No module named 'pandas'" in text and "There is no pandas here" in text and "NumPy and minigrad" in text


def test_on_a_phone_the_output_comes_into_view(visit: Visit) -> None:
    page = opened(visit, viewport={"width": 390, "height": 700})
    run(page)
    box = page.locator("#panel-output .run-output").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 700
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_programs_can_be_downloaded(visit: Visit, tmp_path: Path) -> None:
    page = opened(visit)
    page.select_option("#example", "1")
    with page.expect_download() as download:
        page.get_by_text(".ipynb").click()
    notebook = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert notebook["cells"][0]["source"] == examples()[1]["program"]
    assert len(notebook["cells"]) == 4
    with page.expect_download() as download:
        page.get_by_text(".py", exact=True).click()
    program = Path(download.value.path()).read_text(encoding="utf-8")
    shorter = program.replace("range(200)", "range(2)")
    exec(compile(shorter, "program.py", "exec"), {"__name__": "__main__"})


STATE = "graphView.change.status.textContent"


def drawn(page: Any) -> Any:
    """The frame with the graph of the program after its run."""
    run(page)
    page.click("#tab-graph")
    until(page, IDLE)
    frame = page.locator("#panel-graph iframe").element_handle().content_frame()
    until(frame, "window.graphView?.change.possible")
    return frame


def choose(frame: Any, name: str) -> Any:
    """Select a node by name, and return the field of its first number."""
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
    value = f"graphView.graph.values[graphView.graph.nodes.find(({{ name }}) => name === '{name}').{of}].table[0][0]"
    return float(frame.evaluate(value))


def test_changes_update_the_graph_and_can_be_undone(visit: Visit) -> None:
    page = opened(visit)  # f = (a b + sin a)², a = 2, b = -3
    frame = drawn(page)
    first = number(frame, "f")
    type_in(frame, "a", "0.5")
    inner = -1.5 + math.sin(0.5)
    assert number(frame, "f") == pytest.approx(inner**2, rel=1e-5)
    assert number(frame, "b", "gradient") == pytest.approx(2 * inner * 0.5, rel=1e-5)
    assert number(frame, "a", "gradient") == pytest.approx(2 * inner * (-3 + math.cos(0.5)), rel=1e-5)
    assert frame.evaluate(STATE) == "computed again with your numbers"
    assert frame.locator(".box.changed").count() >= 3
    assert frame.evaluate("document.activeElement.dataset.at") == "0"  # typing continues here
    type_in(frame, "b", "−2")  # a minus as the page prints it; the other change is kept
    assert number(frame, "f") == pytest.approx((-1 + math.sin(0.5)) ** 2, rel=1e-5)
    frame.click("#undo")
    until(frame, f"{STATE} === ''")
    assert number(frame, "f") == first
    assert not frame.locator(".box.changed").count()
    assert frame.locator("#undo").is_hidden()


def test_a_frame_of_a_program_can_access_only_its_numbers(visit: Visit) -> None:
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
