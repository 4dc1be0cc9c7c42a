"""The page's responses as plain data: the translations of a text, which is split into sentences, and the attention of a
sentence by token and by word."""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...service.parameters import check_characters
from ...service.refused import Refused

if TYPE_CHECKING:
    from ..translator import Translator

LONGEST_TEXT = 5000  # characters
MOST_SENTENCES = 100
WIDEST_BEAM = 20
BEAM = 5  # the initial beam if the model's default search is greedy
MOST_LINKED = 80  # tokens in a sentence and its translation for drawing their graph: a page of about 10 MB
MOST_WEIGHTS = 1_000_000  # layers times heads times target tokens times source tokens: about 6 MB of JSON

# Letters and digits, with apostrophes, hyphens, full stops and commas between them, or a single mark.
_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")

# An end mark, closing quotes and brackets, white space, and the next letter or digit.
_END = re.compile(r"[.!?…]++[\"'”’»)\]]*+\s+(?=[\"'“‘«¿¡(\[]*([^\W_]))|(?<=[。！？])")
_SHORT = (
    "Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Jr|Sr|St|Mt|Sig|Mme|Mlle|Hr|Fr|"  # people, places
    "Fig|Figs|Eq|Eqs|Sec|Ch|Vol|No|Nos|Nr|pp|Abb|Abs|Kap|Tab|"  # before a number
    "Inc|Ltd|Co|Corp|Jan|Feb|Aug|Sept|Oct|Nov|Dec|Tel|Str|vs|bzw|etc|cf|ca|approx|inkl|et al"
)
# The day in a date, or an ordinal: one or two digits ("am 3. Mai", "vom 3.–5. Mai").
_ABBREVIATED = re.compile(rf"(?:\b(?:{_SHORT})|\b[^\W\d_]|(?<![^\s(/–-])\d\d?)\.$")
LONGEST = 8  # characters in an abbreviation with its full stop, and in the context before it
Span = tuple[int, int]  # start and end in the text


def about(translator: Translator) -> dict[str, Any]:
    """A description of the model: its language codes, number of parameters and initial beam, whether it selects from
    the beam by minimum Bayes risk instead of score, and sentences and words to try."""
    data = translator.settings.data
    return {
        "source": data.source.rpartition(".")[2],
        "target": data.target.rpartition(".")[2],
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
        "beam": _beam_of(translator, {}),
        "mbr": bool(translator.settings.decoding.mbr),
        **translator.examples,
    }


def translate(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Translate a text. Returns its sentences with their translations, and how many ``seconds`` this took. The request
    has ``text``, one or more sentences, and optionally ``beam``, the beam width (default: the model's). Raises Refused
    if the request is malformed (400) or the text cannot be translated (422)."""
    text, beam = _text(request, "text"), _beam_of(translator, request)
    parts = sentences(text)
    if not parts:
        raise Refused(422, "There is nothing to translate: the text is empty.")
    if len(parts) > MOST_SENTENCES:
        raise Refused(422, f"The text has {len(parts)} sentences; the limit is {MOST_SENTENCES}.")
    start = time.perf_counter()
    translations = _ask(lambda: translator.translate([part.text for part in parts], beam=beam))
    return {
        "seconds": round(time.perf_counter() - start, 3),
        "sentences": [
            {
                "line": part.line,
                "source": one.source,
                "text": one.text,
                "score": _number(one.score),
                "beam": [{"text": h.text, "score": _number(h.score)} for h in one.beam],
                "notes": list(one.notes),
            }
            for part, one in zip(parts, translations, strict=True)
        ],
    }


def attention(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Both sentences by token and by word (see ``units``), and the weights (layers, heads, T, S) as nested lists. The
    request has ``source`` and ``target``, a sentence and its translation, as returned by ``translate``. Raises Refused
    if the request is malformed (400) or the sentence is too long (422)."""
    source, target = _text(request, "source"), _text(request, "target")
    result = _ask(lambda: translator.attention(source, target))
    if result.weights.size > MOST_WEIGHTS:
        sizes = f"{len(result.target)} × {len(result.source)} tokens"
        raise Refused(422, f"The sentence is too long to show its attention: {sizes}.")
    return {
        "source": _side(result.source, source),
        "target": _side(result.target, target),
        "weights": result.weights.astype("float64").round(4).tolist(),
    }


def linked(translator: Translator, request: dict[str, Any]) -> str:
    """The HTML page with all attention weights for a sentence, and the graphs that computed them. The request has
    ``text``, a sentence as returned by ``translate``, and ``beam``. Raises Refused if the request is malformed (400) or
    the sentence is too long or empty (422)."""
    text, beam = _text(request, "text"), _beam_of(translator, request)
    (translation,) = _ask(lambda: translator.translate([text], beam=beam))
    attended = _ask(lambda: translator.attention(translation.source, translation.text))
    tokens = len(attended.source) + len(attended.target)
    if tokens > MOST_LINKED:
        counted = f"{tokens} tokens with its translation, but the limit is {MOST_LINKED}"
        raise Refused(422, f"The sentence is too long to draw its graph: {counted}.")
    return str(_ask(lambda: translator.linked(translation)).page().html())


def _side(tokens: Sequence[str], text: str) -> dict[str, Any]:
    pieces, words = units(tokens, text)
    return {"tokens": [unit._asdict() for unit in pieces], "words": [unit._asdict() for unit in words]}


def _beam_of(translator: Translator, request: dict[str, Any]) -> int:
    """The beam width for a request. The default is the model's, up to WIDEST_BEAM. A greedy model gets a beam too, so
    that users can compare translations. Raises Refused if the width is invalid."""
    own = translator.settings.decoding.beam
    beam = request.get("beam", min(own, WIDEST_BEAM) if own > 1 else BEAM)
    if not isinstance(beam, int) or isinstance(beam, bool) or not 1 <= beam <= WIDEST_BEAM:
        raise Refused(400, f'"beam" must be an integer from 1 to {WIDEST_BEAM}.')
    return beam


def _ask(question: Any) -> Any:
    """The translator's answer. Raises Refused, with the translator's reason, if it rejects a sentence."""
    try:
        return question()
    except ValueError as error:
        raise Refused(422, f"{error}") from error


def _text(request: dict[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str):
        raise Refused(400, f'"{name}" must be a string.')
    if len(text) > LONGEST_TEXT:
        raise Refused(422, f"The text has {len(text):,} characters; the limit is {LONGEST_TEXT:,}.")
    check_characters(name, text)
    return text


def _number(value: float) -> float | None:
    """A number for JSON; None for NaN and infinity, which JSON lacks."""
    return round(float(value), 4) if math.isfinite(value) else None


# Words and sentences -----------------------------------------------------------------------------------------


class Unit(NamedTuple):
    """A piece of text: the text before it, the piece itself, and the indices of its tokens."""

    before: str
    text: str
    tokens: list[int]


def units(tokens: Sequence[str], text: str) -> tuple[list[Unit], list[Unit]]:
    """Split a text by token and by word. The last token, EOS, is a separate unit. Matching tokens with the text ignores
    case, "▁", and spaces at the ends of tokens. A token that does not occur in the text is an unknown token, which
    represents the text between its neighbours."""
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
    """The next position of a piece. If ``skip``, any text may precede it, and words are preferred; else only spaces."""
    if not piece:
        return None
    if skip and (word := re.compile(rf"(?<!\w){re.escape(piece)}").search(text, place)):
        return word.start()
    start = text.find(piece, place)
    return start if start >= 0 and (skip or not text[place:start].strip()) else None


def _share(text: str, start: int, end: int, count: int) -> list[Span]:
    """The spans of consecutive unknown tokens. Each gets one word of the text, and the last gets the rest."""
    if not count:
        return []
    parts = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    if len(parts) > count:
        parts[count - 1 :] = [(parts[count - 1][0], parts[-1][1])]
    last = parts[-1][1] if parts else start
    return parts + [(last, last)] * (count - len(parts))


class Sentence(NamedTuple):
    """A sentence, and the index of its line in the text."""

    line: int
    text: str


def sentences(text: str) -> list[Sentence]:
    """Split a text at line breaks, and after punctuation that ends a sentence. Empty lines are skipped."""
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
