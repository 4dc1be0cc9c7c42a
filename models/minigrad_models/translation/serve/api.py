"""The answers for the page, as plain data: translations of a text, and the attention of one sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .words import sentences, units

if TYPE_CHECKING:
    from ..translator import Translator

LONGEST_TEXT = 5000  # characters
MOST_SENTENCES = 100
WIDEST_BEAM = 20
BEAM = 5  # to begin with, where the model's own search is greedy
MOST_LINKED = 80  # tokens of a sentence and its translation, to draw their graph: a page of some 10 MB
MOST_WEIGHTS = 1_000_000  # layers times heads times target tokens times source tokens: some 6 MB of JSON


class Refused(Exception):
    """A refused request, with a status of HTTP, and a message for the person at the page."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def about(translator: Translator) -> dict[str, Any]:
    """The model: codes of its languages, number of parameters, the beam to begin with, whether it chooses from that by
    minimum Bayes risk, not by score; and sentences and words to try."""
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
    """The sentences of a text with their translations, and the ``seconds`` that these took. The request has ``text``,
    of one or many sentences, and ``beam``, the number of beams (by default the model's). Raises Refused: it is
    malformed (400), or the text cannot be translated (422)."""
    text, beam = _text(request, "text"), _beam_of(translator, request)
    parts = sentences(text)
    if not parts:
        raise Refused(422, "There is nothing to translate: the text is empty.")
    if len(parts) > MOST_SENTENCES:
        raise Refused(422, f"The text has {len(parts)} sentences; at most {MOST_SENTENCES} are translated at once.")
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
    """Both sides by token and by word (see ``words``), and weights (layers, heads, T, S) as nested lists. The request
    has ``source`` and ``target``, one sentence each, as ``translate`` returned them. Raises Refused: it is malformed
    (400), or there is too much to show (422)."""
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
    """The page of all attention, and of the graphs that computed it, for one sentence, as HTML. The request has
    ``text``, a sentence as ``translate`` returned it, and ``beam``. Raises Refused: it is malformed (400), or there is
    too much to show, or nothing (422)."""
    text, beam = _text(request, "text"), _beam_of(translator, request)
    (translation,) = _ask(lambda: translator.translate([text], beam=beam))
    attended = _ask(lambda: translator.attention(translation.source, translation.text))
    tokens = len(attended.source) + len(attended.target)
    if tokens > MOST_LINKED:
        counted = f"{tokens} tokens with its translation, and {MOST_LINKED} are the most"
        raise Refused(422, f"The sentence is too long to draw its graph: {counted}.")
    return str(_ask(lambda: translator.linked(translation)).page().html())


def _side(tokens: Sequence[str], text: str) -> dict[str, Any]:
    pieces, words = units(tokens, text)
    return {"tokens": [unit._asdict() for unit in pieces], "words": [unit._asdict() for unit in words]}


def _beam_of(translator: Translator, request: dict[str, Any]) -> int:
    """The beam of a request, by default the model's, up to the widest that the page offers; a greedy model's
    translations are compared, too. Raises Refused: it is none."""
    own = translator.settings.decoding.beam
    beam = request.get("beam", min(own, WIDEST_BEAM) if own > 1 else BEAM)
    if not isinstance(beam, int) or isinstance(beam, bool) or not 1 <= beam <= WIDEST_BEAM:
        raise Refused(400, f'"beam" must be a whole number from 1 to {WIDEST_BEAM}.')
    return beam


def _ask(question: Any) -> Any:
    """The translator's answer; its reason to refuse a sentence is shown to the person."""
    try:
        return question()
    except ValueError as error:
        raise Refused(422, f"{error}") from error


def _text(request: dict[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str):
        raise Refused(400, f'"{name}" must be a text.')
    if len(text) > LONGEST_TEXT:
        raise Refused(422, f"The text has {len(text):,} characters; at most {LONGEST_TEXT:,} are translated at once.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(400, f'"{name}" holds half a character (a lone surrogate).') from None
    return text


def _number(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity."""
    return round(float(value), 4) if math.isfinite(value) else None
