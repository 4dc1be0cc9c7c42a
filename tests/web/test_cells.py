"""Code blocks in the documentation run in the page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .conftest import until

Visit = Callable[..., Any]
RUN_ALL = """async () => {
  const failed = [];
  for (const cell of window.minigradCells.cells)
    if (!cell.done && !(await cell.run())) failed.push(cell.name + ": " + cell.output.element.innerText.slice(-400));
  return [window.minigradCells.cells.length, failed];
}"""


def pages_with_programs(site: Path) -> list[str]:
    """The paths of pages that have runnable blocks of Python."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    own = [page for page in pages if not page.startswith(("source/", "course/", "translator_page/"))]
    return [page for page in own if "language-python" in (site / page).read_text(encoding="utf-8")]


def test_a_block_runs_after_the_blocks_above_it(visit: Visit) -> None:
    page = visit("index.html")
    second = page.locator(".run-bar").nth(2)
    second.get_by_text("Run").click()
    until(page, "window.minigradCells.cells[2].done")
    assert page.evaluate("window.minigradCells.cells.slice(0, 3).every((cell) => cell.done)")
    assert page.locator(".run-output").nth(2).inner_text().strip() == "[3.0, 12.0] [6.0, 12.0]"


def test_a_changed_block_shows_its_error_and_completes_names(visit: Visit) -> None:
    page = visit("index.html")
    page.locator(".run-bar").nth(0).get_by_text("Edit").click()
    until(page, "Boolean(window.minigradCells.cells[0].editor)")
    page.evaluate(
        "window.minigradCells.cells[0].editor.text = 'import minigrad as mg\\nx = mg.ones(2)\\nx @ mg.ones(3)'"
    )
    page.keyboard.press("Shift+Enter")
    until(page, "document.querySelector('.run-error')")
    error = page.locator(".run-error").inner_text()
    assert error.startswith("Traceback") and 'File "<block 1>", line 3' in error and "_page" not in error
    assert page.locator(".wrong-line").inner_text() == "x @ mg.ones(3)"
    page.evaluate("window.minigradCells.cells[0].editor.text = 'mg.nn.Linea'")
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete").wait_for()
    assert "Linear" in page.locator(".cm-tooltip-autocomplete").inner_text()


def test_every_block_of_every_page_runs(site: Path, visit: Visit) -> None:
    pages = pages_with_programs(site)
    assert len(pages) > 10
    wrong = {page: failed for page in pages if (failed := visit(page).evaluate(RUN_ALL)[1])}
    assert not wrong, wrong
