"""The course as notebooks, for learners and, with the solutions, for teachers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minigrad.viz.page import written

from .chapter import Cell, Chapter, Exercise, chapters, paths

IMPORT = "from minigrad_models.course import check, hint, solution"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
TEACHER = "**Usual mistakes.** The check names each of them:"


def write(folder: Path, teacher: bool = False) -> list[Path]:
    """Write a notebook for each chapter into a folder that exists, and return their paths. Existing notebooks are kept:
    raises FileExistsError before anything is written."""
    files = [folder / f"{path.stem}.ipynb" for path in paths()]
    if existing := [file for file in files if file.exists()]:
        raise FileExistsError(f"{existing[0]} exists, and may have your answers: choose another folder")
    for file, chapter in zip(files, chapters(), strict=True):
        written(file, json.dumps(notebook(chapter, teacher), indent=1, ensure_ascii=False) + "\n")
    return files


def notebook(chapter: Chapter, teacher: bool = False) -> dict[str, Any]:
    """A chapter in Jupyter's format, version 4.5."""
    cells: list[tuple[str, str]] = []
    for number, part in enumerate(chapter.parts):
        if isinstance(part, Exercise):
            cells += _exercise(part, teacher)
        else:
            cells.append(("code", part.code) if isinstance(part, Cell) else ("markdown", part))
        if number == 0:
            cells.append(("code", IMPORT))
    return {
        "cells": [_cell(i, *cell) for i, cell in enumerate(cells)],
        "metadata": KERNEL,
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _exercise(exercise: Exercise, teacher: bool) -> list[tuple[str, str]]:
    task = f"### Exercise {exercise.name}: {exercise.title}\n\n{exercise.task}"
    call = f'check("{exercise.name}")'
    if not teacher:
        return [("markdown", task), ("code", exercise.gap), ("code", call)]
    mistakes = "\n\n".join(f"“… {message} …”:\n\n```python\n{code}\n```" for message, code in exercise.wrong)
    hints = "\n".join(f"{number}. {hint}" for number, hint in enumerate(exercise.hints, 1))
    notes = f"**Hints.**\n\n{hints}\n\n{TEACHER}\n\n{mistakes}"
    return [("markdown", task), ("code", exercise.solution), ("code", call), ("markdown", notes)]


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
        **more,
    }
