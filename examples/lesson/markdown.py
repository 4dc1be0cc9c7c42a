"""The text of a lesson in Markdown, in a file next to the program that computes its numbers.

    # The title

    The introduction.

    ## 1. A section

    A paragraph. The sum of {COUNT} numbers is {total:.3f}.

    {matrix}

    | step | code | shape |
    |---|---|---:|
    | queries | `query(x)` | {shape} |

    - {positive}: the sum is positive

A field in braces is a constant of the program, or a computed value. A field that makes up a whole paragraph inserts any
number of blocks. A field before a claim states whether it is true. Sections with a field that is None are omitted.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from string import Formatter
from typing import Any, SupportsFloat

from minigrad_models.viz.blocks import Block, Chart, Checked, Lesson, Number, Section, Steps, Text

Fields = dict[str, Any]


class _Books(Formatter):
    """``str.format`` with numbers as printed in books."""

    def format_field(self, value: Any, spec: str) -> str:
        is_float = isinstance(value, SupportsFloat) and not isinstance(value, Integral)
        return format(Number(value) if is_float else value, spec)


def told(program: Fields, *, name: str = "", picture: Chart | None = None, **fields: Any) -> Lesson:
    """The lesson whose text is next to a program, in a file with the same name and the extension .md. ``program`` is
    its ``globals()``. By default, the lesson is named after the file. Raises KeyError if a field of the text has no
    value, and ValueError if one of ``fields`` is not in the text."""
    head = _text(program)[0]
    previous = _names(head)
    title, about = (_written(text, ChainMap(fields, program)) for text in head.removeprefix("# ").split("\n\n", 1))
    name = name or Path(program["__file__"]).stem.replace("_", "-")
    return Lesson(name, title, about, sections(program, previous, **fields), picture)


def sections(program: Fields, previous: frozenset[str] = frozenset(), /, **fields: Any) -> list[Section]:
    """The sections of the text next to a program. For arguments and errors see ``told``. ``fields`` may also contain
    the ``previous`` fields, which occur before the sections."""
    values, output = ChainMap(fields, program), []
    for text in _text(program)[1:]:
        names = _names(text)
        previous |= names
        if all(values[name] is not None for name in names):
            title, *paragraphs = re.split(r"\n\n+", text)
            blocks = [block for paragraph in paragraphs for block in _blocks(paragraph, values)]
            output.append(Section(_written(title, values), blocks))
    if unused := fields.keys() - previous:
        raise ValueError(f"the text beside {program['__file__']} has no {', '.join(sorted(unused))}")
    return output


def _text(program: Fields) -> list[str]:
    """The text before the first section, and each section."""
    text = Path(program["__file__"]).with_suffix(".md").read_text(encoding="utf-8")
    return [part.strip() for part in f"\n{text}".split("\n## ")]


def _names(text: str) -> frozenset[str]:
    return frozenset(re.split(r"\W", name)[0] for _, name, _, _ in Formatter().parse(text) if name)


def _written(text: str, fields: Mapping[str, Any]) -> str:
    return _Books().vformat(re.sub(r"\s*\n\s*", " ", text), (), fields)


def _blocks(paragraph: str, fields: Mapping[str, Any]) -> list[Block]:
    if field := re.fullmatch(r"\{(\w+)\}", paragraph):
        value = fields[field[1]]
        return [Text(value)] if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else [value]
    if paragraph.startswith("- {"):
        claims = re.findall(r"^- \{(\w+)\}: (.*(?:\n  .*)*)", paragraph, re.MULTILINE)
        return [Checked(_written(claim, fields), bool(fields[field])) for field, claim in claims]
    if not paragraph.startswith("|"):
        return [Text(_written(paragraph, fields))]
    head, rule, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in paragraph.split("\n"))
    code = tuple(i for i, cell in enumerate(rows[0]) if cell.startswith("`"))
    numbers = tuple(i for i, cell in enumerate(rule) if cell.endswith(":"))
    first, *others = ([_written(cell.strip("`"), fields) for cell in row] for row in (head, *rows))
    return [Steps(first, others, code, numbers)]
