"""Splits text into sentences, because the model was trained on sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

# An end mark, closing quotes and brackets, white space, and the next letter or digit.
_END = re.compile(r"[.!?…]++[\"'”’»)\]]*+\s+(?=[\"'“‘«¿¡(\[]*([^\W_]))|(?<=[。！？])")
_SHORT = (
    "Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Jr|Sr|St|Mt|Sig|Mme|Mlle|Hr|Fr|"  # persons, places
    "Fig|Figs|Eq|Eqs|Sec|Ch|Vol|No|Nos|Nr|pp|Abb|Abs|Kap|Tab|"  # before a number
    "Inc|Ltd|Co|Corp|Jan|Feb|Aug|Sept|Oct|Nov|Dec|Tel|Str|vs|bzw|etc|cf|ca|approx|inkl|et al"
)
# The day of a date or an ordinal, too: one or two digits alone ("am 3. Mai", "vom 3.–5. Mai").
_ABBREVIATED = re.compile(rf"(?:\b(?:{_SHORT})|\b[^\W\d_]|(?<![^\s(/–-])\d\d?)\.$")
LONGEST = 8  # characters of an abbreviation with its full stop, and of the context before it


class Sentence(NamedTuple):
    """One sentence, and its line in the text, from 0."""

    line: int
    text: str


def sentences(text: str) -> list[Sentence]:
    """Split a text at line ends, and at end marks before a new sentence. Empty lines are left out."""
    return [Sentence(number, part) for number, line in enumerate(text.splitlines()) for part in _split(line)]


def _split(line: str) -> list[str]:
    parts, start = [], 0
    for end in _END.finditer(line):
        part = line[start : end.end()].strip()
        if (end[1] or "").islower():
            continue
        if part and not _ABBREVIATED.search(part[-LONGEST:]):
            parts.append(part)
            start = end.end()
    parts.append(line[start:].strip())
    return [part for part in parts if part]
