"""The course's chapters: Markdown files with cells and exercises.

A fenced block of Python is a cell. An exercise begins with a heading "### Exercise: TITLE", and contains its task, then
blocks whose first line says what they are, then its hints as a list, which ends the exercise:

    ```python gap            the learner's start, with ... where code is missing
    ```python check          statements that call the functions of expect.py
    ```python solution
    ```python wrong: sign    an answer that fails, with a message that contains "sign"

The cells and the solutions of a chapter run in one namespace, from top to bottom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "chapters"
BLOCK = re.compile(r"^```python *(.*)\n((?:.*\n)*?)```\n?", re.MULTILINE)
EXERCISE = re.compile(r"^### Exercise: (.*)\n", re.MULTILINE)
HINTS = re.compile(r"\s*(?:- .*\n(?:  .*\n)*)*")
KINDS = ("gap", "check", "solution", "wrong")


@dataclass(frozen=True)
class Cell:
    """Python code to run."""

    code: str


@dataclass
class Exercise:
    """A task with a gap in its code, a check, and a solution."""

    name: str  # "3.2": the second exercise of chapter 3
    title: str
    task: str
    gap: str
    check: str
    solution: str
    wrong: list[tuple[str, str]] = field(default_factory=list)  # a part of the message, and the wrong answer
    hints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Chapter:
    """A chapter: its number, title and parts. A string is Markdown."""

    number: int
    title: str
    parts: list[str | Cell | Exercise]

    @property
    def exercises(self) -> list[Exercise]:
        """The chapter's exercises."""
        return [part for part in self.parts if isinstance(part, Exercise)]


def paths() -> list[Path]:
    """The files of the chapters, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.md"))


def read(path: Path) -> Chapter:
    """Read a chapter's file. Raises ValueError if an exercise lacks a part, or a block is of an unknown kind."""
    number, text = int(path.name[:2]), path.read_text(encoding="utf-8")
    parts: list[str | Cell | Exercise] = []
    while match := EXERCISE.search(text):
        parts += _cells(text[: match.start()])
        text = text[match.end() :]
        end = _end_of_exercise(text)
        count = 1 + sum(isinstance(part, Exercise) for part in parts)
        parts.append(_exercise(f"{number}.{count}", match[1].strip(), text[:end]))
        text = text[end:]
    parts += _cells(text)
    title = re.match(r"# (.*)\n", str(parts[0]))
    if not title:
        raise ValueError(f"{path.name} does not begin with a title")
    return Chapter(number, title[1], parts)


def _cells(text: str) -> list[str | Cell | Exercise]:
    """Markdown, and the cells in it."""
    parts: list[str | Cell | Exercise] = []
    end = 0
    for match in BLOCK.finditer(text):
        if match[1]:
            raise ValueError(f"a block of the kind {match[1]!r} outside an exercise")
        parts += [text[end : match.start()].strip(), Cell(match[2].rstrip("\n"))]
        end = match.end()
    return [part for part in [*parts, text[end:].strip()] if part]


def _end_of_exercise(text: str) -> int:
    """Where the hints end: the first list after the last block of the exercise."""
    following = EXERCISE.search(text)
    blocks = [match for match in BLOCK.finditer(text, 0, following.start() if following else len(text)) if match[1]]
    after = blocks[-1].end() if blocks else 0
    hints = HINTS.match(text, after)
    return hints.end() if hints else after


def _exercise(name: str, title: str, text: str) -> Exercise:
    blocks: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for match in BLOCK.finditer(text):
        kind, _, message = match[1].partition(":")
        if kind not in blocks:
            raise ValueError(f"exercise {name} has a block of the kind {kind!r}; the kinds are {', '.join(KINDS)}")
        blocks[kind].append((message.strip(), match[2].rstrip("\n")))
    for kind in ("gap", "check", "solution"):
        if len(blocks[kind]) != 1:
            raise ValueError(f"exercise {name} has {len(blocks[kind])} blocks of the kind {kind!r}, instead of one")
    task, *_, last = BLOCK.split(text)
    hints = [re.sub(r"\s+", " ", hint).strip() for hint in re.split(r"^- ", last, flags=re.MULTILINE)[1:]]
    gap, check, solution = (blocks[kind][0][1] for kind in ("gap", "check", "solution"))
    return Exercise(name, title, task.strip(), gap, check, solution, blocks["wrong"], hints)


def chapters() -> list[Chapter]:
    """All chapters, in order."""
    return [read(path) for path in paths()]
