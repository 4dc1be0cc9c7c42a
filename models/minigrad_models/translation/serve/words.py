"""A text in sentences, which a model is trained on, and in words, which a person reads: the places of the tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

# Letters and digits, with apostrophes, hyphens, full stops and commas between them; or a single mark.
_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")

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
Span = tuple[int, int]  # start and end in the text


class Unit(NamedTuple):
    """A piece of the text: the text between it and the previous piece, itself, and the numbers of its tokens."""

    before: str
    text: str
    tokens: list[int]


def units(tokens: Sequence[str], text: str) -> tuple[list[Unit], list[Unit]]:
    """A text token by token, and word by word. The last token, EOS, is a separate unit. Spaces at the ends of tokens,
    "▁" and case do not matter. A token that does not occur in the text is an unknown one: it stands for the text
    between its neighbours."""
    spans = _spans(tokens[:-1], text)
    groups: list[list[int]] = []
    starts, last = [word.start() for word in _WORD.finditer(text)], -1
    for i, (start, end) in enumerate(spans):
        word = bisect_right(starts, start) - 1
        if groups and (word == last or start == end or all(spans[j][0] == spans[j][1] for j in groups[-1])):
            groups[-1].append(i)
        else:
            groups.append([i])
        last = word
    ending = Unit(" ", "end", [len(tokens) - 1])
    pieces = _pieces(text, spans, [[i] for i in range(len(spans))], tokens)
    return [*pieces, ending], [*_pieces(text, spans, groups, tokens), ending]


def _pieces(text: str, spans: list[Span], groups: list[list[int]], tokens: Sequence[str]) -> list[Unit]:
    pieces, place = [], 0
    for group in groups:
        start, end = spans[group[0]][0], spans[group[-1]][1]
        pieces.append(Unit(text[place:start], text[start:end] or tokens[group[0]], group))
        place = end
    return pieces


def _spans(tokens: Sequence[str], text: str) -> list[Span]:
    lower = text.lower() if len(text.lower()) == len(text) else text
    spans: list[Span] = []
    place = unknown = 0
    for token in tokens:
        piece = token.replace("▁", " ").strip().lower()
        start = _find(piece, lower, place, skip=unknown > 0)
        if start is None:
            unknown += 1
            continue
        spans += _share(text, place, start, unknown)
        place, unknown = start + len(piece), 0
        spans.append((start, place))
    return spans + _share(text, place, len(text), unknown)


def _find(piece: str, text: str, place: int, skip: bool) -> int | None:
    """The next place of a piece, after spaces alone, or after any text (then at the begin of a word if possible)."""
    if not piece:
        return None
    if skip and (word := re.compile(rf"(?<!\w){re.escape(piece)}").search(text, place)):
        return word.start()
    start = text.find(piece, place)
    return start if start >= 0 and (skip or not text[place:start].strip()) else None


def _share(text: str, start: int, end: int, count: int) -> list[Span]:
    """The spans of unknown tokens: a word each of the text between their neighbours, for the last one the rest."""
    if not count:
        return []
    parts = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    if len(parts) > count:
        parts[count - 1 :] = [(parts[count - 1][0], parts[-1][1])]
    last = parts[-1][1] if parts else start
    return parts + [(last, last)] * (count - len(parts))


class Sentence(NamedTuple):
    """One sentence, and its line in the text, from 0."""

    line: int
    text: str


def sentences(text: str) -> list[Sentence]:
    """Split a text at line ends, and at end marks before a new sentence. Empty lines are left out."""
    parts = []
    for number, line in enumerate(text.splitlines()):
        start = 0
        for end in _END.finditer(line):
            part = line[start : end.end()].strip()
            if part and not (end[1] or "").islower() and not _ABBREVIATED.search(part[-LONGEST:]):
                parts.append(Sentence(number, part))
                start = end.end()
        if rest := line[start:].strip():
            parts.append(Sentence(number, rest))
    return parts
