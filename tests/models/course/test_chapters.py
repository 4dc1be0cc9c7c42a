"""Every solution of the course passes its check, every usual mistake fails it with its own message, and explanations
give the numbers shown."""

import ast
import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad_models.course import chapter, expect
from minigrad_models.course.chapter import Cell, Exercise
from minigrad_models.viz.blocks import Choice, Equation, Lesson, Matrix, product, softmax_told


def run(code: str, namespace: dict[str, Any]) -> Any:
    """Run a cell. Returns the value of its last expression, which a notebook shows."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec", dont_inherit=True), namespace)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval", dont_inherit=True), namespace)


def answer_of(exercise: Exercise, code: str, namespace: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The verdict on an answer, and the names that it leaves. The message of its own error is a verdict as well."""
    names = dict(namespace)
    try:
        run(code, names)
        return expect.verdict(exercise.check, names), names
    except Exception as error:
        return f"{type(error).__name__}: {error}", names


def matrices(lesson: Lesson) -> Iterator[Matrix]:
    """All matrices that explain their numbers."""
    rest = [block for section in lesson.sections for block in section.blocks]
    while rest:
        block = rest.pop()
        if isinstance(block, Equation):
            rest += [part for part in block.parts if isinstance(part, Matrix)]
        elif isinstance(block, Choice):
            rest += block.options
        elif isinstance(block, Matrix) and block.how:
            yield block


def unexplained(lesson: Lesson) -> list[str]:
    """The explanations that do not give the number shown."""
    wrong = []
    for matrix in matrices(lesson):
        assert matrix.how is not None
        cells = matrix.cells()
        for i, (column, j) in itertools.product(range(len(cells)), enumerate(matrix.shown)):
            how, cell = matrix.how(i, j), cells[i][column]
            if " = " not in how or ": " in how or "the sum of" in how:
                continue  # explained in words
            left, *_, right = how.split(" = ")
            result = float(cell.replace("−", "-"))  # the terms are rounded to within 0.005
            if right != cell or evaluated(left) != pytest.approx(result, rel=0.03, abs=0.02):
                wrong.append(f"{matrix.name}[{i}, {j}] = {cell}: {how}")
    return wrong


def evaluated(text: str) -> float:
    """The value of the left side of an equation."""
    meanings = {"−": "-", "×": "*", "·": "*", "²": "**2", r"√(\d+)": r"math.sqrt(\1)", "√": "math.sqrt"}
    meanings |= {r"\be\^(-?[\d.]+)": r"math.exp(\1)", r"\^": "**", r"\b(sin|cos)\b": r"math.\1"}
    meanings[r"\bln ([\d.]+)"] = r"math.log(\1)"
    for pattern, replacement in meanings.items():
        text = re.sub(pattern, replacement, text)
    return float(eval(text, {"math": math}))


@pytest.mark.parametrize("path", chapter.paths(), ids=lambda path: path.stem)
def test_solutions_pass_and_mistakes_fail(path: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    faults = []
    for part in chapter.read(path).parts:
        if isinstance(part, Cell):
            shown = run(part.code, namespace)
            faults += unexplained(shown) if isinstance(shown, Lesson) else []
        elif isinstance(part, Exercise):
            unchanged, _ = answer_of(part, part.gap, namespace)
            answers = [(message, *answer_of(part, code, namespace)) for message, code in part.wrong]
            verdict, solved = answer_of(part, part.solution, namespace)
            faults += [f"{part.name}: the gap passes"] if not unchanged else []
            faults += [
                f"{part.name}: {message!r} is not in {wrong!r}" for message, wrong, _ in answers if message not in wrong
            ]
            faults += [f"{part.name}, the solution: {verdict}"] if verdict else []
            namespace = solved
    assert not faults


def test_the_course_is_complete() -> None:
    chapters = chapter.chapters()
    assert [each.number for each in chapters] == list(range(1, 13))
    exercises = [exercise for each in chapters for exercise in each.exercises]
    assert len(exercises) >= 60 and min(len(each.exercises) for each in chapters) >= 5
    for exercise in exercises:
        assert len(exercise.wrong) >= 3 and len(exercise.hints) >= 2 and exercise.task, exercise.name
        assert "..." in exercise.gap and exercise.gap != exercise.solution, exercise.name


def test_files_with_mistakes_are_refused(tmp_path: Path) -> None:
    def read(text: str) -> None:
        path = tmp_path / "01_x.md"
        path.write_text(text, encoding="utf-8")
        chapter.read(path)

    with pytest.raises(ValueError, match="does not begin with a title"):
        read("Text.\n")
    with pytest.raises(ValueError, match="a block of the kind 'gap' outside an exercise"):
        read("# T\n\n```python gap\n...\n```\n")
    with pytest.raises(ValueError, match=r"exercise 1\.1 has 0 blocks of the kind 'check', instead of one"):
        read("# T\n\n### Exercise: E\n\n```python gap\n...\n```\n")
    with pytest.raises(ValueError, match="a block of the kind 'hint'"):
        read("# T\n\n### Exercise: E\n\n```python hint\n...\n```\n")


def test_products_and_shares_are_explained_step_by_step() -> None:
    left, right = np.array([[1.3, -0.8]]), np.array([[0.6], [2.4]])
    assert product(left, right)(0, 0) == "1.3 × 0.6 + (−0.8) × 2.4 = −1.14"
    assert product(np.ones((1, 9)), np.ones((9, 1)))(0, 0) == "the sum of 9 products = 9.00"
    how = softmax_told(np.array([[0.0, math.log(3)]]), 2, 3)
    assert how(0, 1) == "e^1.10 / (e^0.00 + e^1.10) = 0.750"
