"""The course as notebooks, and the functions that their cells call."""

import json
from pathlib import Path

import pytest

from minigrad_models import course
from minigrad_models.commands.minigrad_command import main
from minigrad_models.course import chapter, notebooks


def test_the_command_writes_notebooks_and_keeps_existing_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "course"
    assert main(["course", "--folder", str(folder)]) == 0
    assert "wrote 12 notebooks; to open the first: jupyter lab" in capsys.readouterr().out
    files = sorted(folder.glob("*.ipynb"))
    assert [file.stem for file in files] == [path.stem for path in chapter.paths()]
    files[3].write_text("my answers")
    assert main(["course", "--folder", str(folder)]) == 1
    assert "may have your answers" in capsys.readouterr().err
    assert files[3].read_text() == "my answers"


@pytest.mark.parametrize("teacher", [False, True])
def test_a_notebook_is_valid(teacher: bool) -> None:
    nbformat = pytest.importorskip("nbformat")
    for each in chapter.chapters():
        document = notebooks.notebook(each, teacher)
        nbformat.validate(nbformat.reads(json.dumps(document), as_version=4))
        text = json.dumps(document)
        assert ("Usual mistakes" in text) == teacher
        sources = ["".join(cell["source"]) for cell in document["cells"]]
        assert all((exercise.solution in sources) == teacher for exercise in each.exercises)


def test_check_uses_the_callers_names(capsys: pytest.CaptureFixture[str]) -> None:
    first = chapter.chapters()[0].exercises[0]
    names: dict[str, object] = {"check": course.check}
    exec(first.wrong[0][1] + "\nresult = check('1.1')", names)
    assert names["result"] is False and "Not yet: " in (text := capsys.readouterr().out) and first.wrong[0][0] in text
    exec(first.solution + "\nresult = check('1.1')", names)
    assert names["result"] is True and capsys.readouterr().out == "Exercise 1.1 is right.\n"


def test_hints_come_one_at_a_time_and_the_last_stays(capsys: pytest.CaptureFixture[str]) -> None:
    course._hints.clear()
    hints = course.find("1.1").hints
    for number in [*range(len(hints)), len(hints) - 1]:
        course.hint("1.1")
        assert capsys.readouterr().out == f"Hint {number + 1} of {len(hints)}: {hints[number]}\n"
    course.solution("1.1")
    assert capsys.readouterr().out.strip() == course.find("1.1").solution


def test_unknown_exercises() -> None:
    with pytest.raises(ValueError, match=r"no exercise '99\.1'; the exercises are 1\.1, 1\.2"):
        course.check("99.1", {})
