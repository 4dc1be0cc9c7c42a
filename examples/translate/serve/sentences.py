"""Where sentences end: a model that learned from sentences is given sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

# An end mark, closing quotes and brackets after it, white space, and something a sentence can begin with.
_END = re.compile(r"[.!?…]++[\"'”’»)\]]*+\s+(?=[\"'“‘«¿¡(\[]*[^\W_a-zà-öø-ÿ])|(?<=[。！？])")
_ABBREVIATED = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|bzw|etc|Nr|Sig|Mme|Mlle)|\b[^\W\d_])\.$")
LONGEST = 8  # characters of an abbreviation with its point, and of what comes before it


class Sentence(NamedTuple):
    """One sentence, and the line of the text that it stands in, from 0."""

    line: int
    text: str


def sentences(text: str) -> list[Sentence]:
    """Cut a text at line ends and after end marks that a new sentence follows; empty lines are left out."""
    return [Sentence(number, part) for number, line in enumerate(text.splitlines()) for part in _cut(line)]


def _cut(line: str) -> list[str]:
    parts, start = [], 0
    for end in _END.finditer(line):
        part = line[start : end.end()].strip()
        if part and not _ABBREVIATED.search(part[-LONGEST:]):
            parts.append(part)
            start = end.end()
    parts.append(line[start:].strip())
    return [part for part in parts if part]
