"""A course in twelve chapters, from one number to a transformer that translates.

The site shows the chapters with exercises that check themselves. ``minigrad course`` writes them as notebooks, whose
cells call the functions below:

    from minigrad_models.course import check, hint, solution
    check("1.1")
"""

from __future__ import annotations

import sys
from typing import Any

from . import chapter
from .chapter import Exercise
from .expect import verdict

__all__ = ["check", "hint", "solution"]
_hints: dict[str, int] = {}  # hints shown so far, by exercise


def find(name: str) -> Exercise:
    """An exercise by its name, such as "1.1". Raises ValueError for an unknown name."""
    exercises = {each.name: each for part in chapter.chapters() for each in part.exercises}
    if name not in exercises:
        raise ValueError(f"there is no exercise {name!r}; the exercises are {', '.join(exercises)}")
    return exercises[name]


def check(name: str, answer: dict[str, Any] | None = None) -> bool:
    """Check an exercise, and print the result.

    Args:
        name: the exercise, such as "1.1".
        answer: the names that the learner has defined; None means the caller's global names.
    Returns:
        whether the answer is right."""
    exercise = find(name)
    wrong = verdict(exercise.check, sys._getframe(1).f_globals if answer is None else answer)
    more = f'\nhint("{name}") prints a hint.' if exercise.hints else ""
    print(f"Not yet: {wrong}{'' if wrong[-1] == '?' else '.'}{more}" if wrong else f"Exercise {name} is right.")
    return not wrong


def hint(name: str) -> None:
    """Print an exercise's next hint."""
    hints = find(name).hints
    number = min(_hints.get(name, 0), len(hints) - 1)
    _hints[name] = number + 1
    print(f"Hint {number + 1} of {len(hints)}: {hints[number]}" if hints else "This exercise has no hints.")


def solution(name: str) -> None:
    """Print an exercise's solution."""
    print(find(name).solution)
