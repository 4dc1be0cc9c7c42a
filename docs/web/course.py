"""The pages of the course: chapters whose exercises exercise.js makes checkable."""

from __future__ import annotations

import json

from minigrad_models.course.chapter import Cell, Chapter, Exercise, chapters, paths

INDEX = """\
---
title: Course
---

# A course: from one number to a transformer that translates

Twelve chapters, one path. You need Python and school calculus. Each chapter takes about an hour. Its exercises
check your answers, name the likely mistake, give hints, and show a solution. Everything runs in your browser, and your
answers stay there. A chapter loads Python when it opens, once 13 MB for all chapters.

| chapter | | exercises solved |
|---:|---|---:|
{rows}

<div id="course-progress" class="run-bar" data-chapters='{counts}'></div>

`minigrad course` writes the same chapters as notebooks, and `minigrad course --teacher` adds solutions, hints and usual
mistakes.
"""


def pages() -> dict[str, str]:
    """The Markdown of all chapters and of their list, by file name."""
    rows, counts, texts = [], {}, {}
    for path, chapter in zip(paths(), chapters(), strict=True):
        texts[path.name] = page(chapter)
        count = counts[chapter.number] = len(chapter.exercises)
        solved = f'<span data-chapter="{chapter.number}">{count}</span>'
        rows.append(f"| {chapter.number} | [{chapter.title}]({path.name}) | {solved} |")
    return {"index.md": INDEX.format(rows="\n".join(rows), counts=json.dumps(counts)), **texts}


def navigation() -> list[dict[str, str]]:
    """The menu of the course."""
    own = [{f"{c.number}. {c.title}": f"course/{path.name}"} for path, c in zip(paths(), chapters(), strict=True)]
    return [{"Chapters": "course/index.md"}, *own]


def page(chapter: Chapter) -> str:
    """A chapter as Markdown for MkDocs. Its last element has the checks, hints and solutions as JSON."""
    parts = [part if isinstance(part, str) else _code(part) for part in chapter.parts]
    fields = ("check", "solution", "hints")
    exercises = {each.name: {field: getattr(each, field) for field in fields} for each in chapter.exercises}
    data = json.dumps(exercises).replace("<", "\\u003c")
    text = "\n\n".join(parts).replace("# ", f"# {chapter.number}. ", 1)
    return f'{text}\n\n<script type="application/json" id="course-exercises">{data}</script>\n'


def _code(part: Cell | Exercise) -> str:
    if isinstance(part, Cell):
        return f"```python\n{part.code}\n```"
    heading = f"### Exercise {part.name}: {part.title} {{#exercise-{part.name.replace('.', '-')}}}"
    gap = f"```python\n{part.gap}\n```"
    return f'{heading}\n\n{part.task}\n\n<div class="exercise" data-name="{part.name}" markdown="1">\n\n{gap}\n\n</div>'
