"""The course in Chromium: exercises are checked in the page, and the progress stays in the browser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.course import chapter

from .conftest import until

Visit = Callable[..., Any]
FIRST = chapter.paths()[0]
CHECK = """async ([name, code]) => {
  const cell = window.minigradCells.cells.find((cell) => cell.exercise === name);
  (await cell.edit()).text = code;
  await cell.run();
  return cell.verdict.innerText + cell.output.element.innerText;
}"""


def address_of(path: Path) -> str:
    return f"course/{path.stem}.html"


@pytest.mark.parametrize("path", chapter.paths(), ids=lambda path: path.stem)
def test_solutions_and_mistakes(path: Path, visit: Visit) -> None:
    page = visit(address_of(path))
    faults = []
    for exercise in chapter.read(path).exercises:
        for message, code in exercise.wrong:
            answer = page.evaluate(CHECK, [exercise.name, code])
            faults += [f"{exercise.name}: {message!r} is not in {answer!r}"] if message not in answer else []
        answer = page.evaluate(CHECK, [exercise.name, exercise.solution])
        faults += [f"{exercise.name}, the solution: {answer!r}"] if not answer.startswith("Right.") else []
    assert not faults
    assert page.evaluate("window.minigradCells.cells.at(-1).run()"), "the last cell"


def test_hints_and_the_solution(visit: Visit) -> None:
    page = visit(address_of(FIRST))
    exercise = chapter.read(FIRST).exercises[0]
    box = page.locator('.exercise[data-name="1.1"]')
    for number, hint in enumerate(exercise.hints, 1):
        box.get_by_role("button", name="Hint").click()
        assert f"Hint {number} of {len(exercise.hints)}: {hint.replace('`', '')}" in box.inner_text()
    assert box.get_by_role("button", name="Hint").is_disabled()
    box.get_by_role("button", name="Solution").click()
    assert exercise.solution in box.locator(".exercise-help pre").inner_text()


def test_a_later_cell_runs_with_the_solution_of_an_unsolved_exercise(visit: Visit) -> None:
    page = visit(address_of(FIRST))
    assert page.evaluate("window.minigradCells.cells[2].run()")  # the cell after exercise 1.1 calls its function
    assert "run with the solution of this exercise" in page.locator('.exercise[data-name="1.1"]').inner_text()
    assert "h = 0.1: 12.01" in page.locator(".run-output").nth(2).inner_text()


def test_progress_is_kept_exported_and_imported(visit: Visit, tmp_path: Path) -> None:
    solution = chapter.read(FIRST).exercises[0].solution
    page = visit(address_of(FIRST))
    assert page.evaluate(CHECK, ["1.1", solution]).startswith("Right.")
    page.reload()
    until(page, "document.querySelector('.exercise.solved')")
    assert page.evaluate("window.minigradCells.cells[1].text") == solution
    page.goto(page.url.replace(address_of(FIRST), "course/index.html"))
    until(page, "document.querySelector('[data-chapter=\"1\"]').innerText.startsWith('1 of')")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export progress").click()
    download.value.save_as(tmp_path / "progress.json")
    assert json.loads((tmp_path / "progress.json").read_text()) == {
        "answers": {"1.1": solution},
        "right": {"1.1": True},
    }
    other = visit("course/index.html")
    until(other, "document.querySelector('[data-chapter=\"1\"]').innerText.startsWith('0 of')")
    (tmp_path / "bad.json").write_text('{"answers": {"1.1": 3}}')
    for name, state in (("bad.json", "cannot be imported"), ("progress.json", "The progress is imported.")):
        other.locator("input[type=file]").set_input_files(tmp_path / name)
        until(other, f"document.querySelector('#course-progress').innerText.includes({state!r})")
    assert other.locator('[data-chapter="1"]').inner_text().startswith("1 of")


def test_storage_that_is_full(visit: Visit) -> None:
    page = visit("course/index.html")
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    page.goto(page.url.replace("course/index.html", address_of(FIRST)))
    assert page.evaluate(CHECK, ["1.1", chapter.read(FIRST).exercises[0].solution]).startswith("Right.")
