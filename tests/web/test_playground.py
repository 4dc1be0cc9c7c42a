"""The playground: examples, panels, links, what is taken along."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from web.scripts import examples

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
    """Run the program; what it printed."""
    before = page.evaluate("window.playground.ran || 0")
    page.locator(".play button.main").click()
    until(page, f"{IDLE} && window.playground.ran > {before}")
    return str(page.locator("#panel-output .run-output").inner_text())


@pytest.mark.parametrize("number", [0, 3, 6])
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
        shown = page.locator(f"#panel-{panel} .run-output")
        assert not shown.locator(".run-error, .run-note").count(), shown.inner_text()
        assert shown.locator("iframe").count() == 1 or len(shown.inner_text()) > 100


def test_the_boundary_moves_and_the_curve_is_drawn(visit: Visit) -> None:
    page = opened(visit)
    page.select_option("#example", "2")
    seen = set()
    page.locator(".play button.main").click()
    while page.evaluate("!(window.playground.ran >= 1)"):
        seen.add(page.evaluate("document.querySelector('#panel-output img')?.src.slice(200, 60000)"))
        page.wait_for_timeout(50)
    assert len(seen) > 3
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


def test_programs_are_taken_along(visit: Visit, tmp_path: Path) -> None:
    page = opened(visit)
    page.select_option("#example", "2")
    with page.expect_download() as download:
        page.get_by_text(".ipynb").click()
    notebook = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert notebook["cells"][0]["source"] == examples()[2]["program"]
    assert len(notebook["cells"]) == 4
    with page.expect_download() as download:
        page.get_by_text(".py", exact=True).click()
    program = Path(download.value.path()).read_text(encoding="utf-8")
    shorter = program.replace("range(200)", "range(2)")
    exec(compile(shorter, "program.py", "exec"), {"__name__": "__main__"})
