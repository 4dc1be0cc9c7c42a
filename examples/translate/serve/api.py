"""What the page asks for, as plain data: a text's translation, and the attention of one sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

from .sentences import sentences
from .words import units

LONGEST_TEXT = 5000  # characters
MOST_SENTENCES = 100
WIDEST_BEAM = 20
MOST_WEIGHTS = 1_000_000  # layers times heads times target tokens times source tokens: some 6 MB of JSON


class Refused(Exception):
    """A request that gets no answer but a reason.

    Args:
        status: of HTTP. message: for the person at the page.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Hypothesis(Protocol):
    """A translation that the search has kept."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...


class Translation(Protocol):
    """The best translation of a sentence, the beam it comes from, and what is to be said of it."""

    @property
    def source(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def beam(self) -> Sequence[Hypothesis]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class Attention(Protocol):
    """Cross-attention: tokens of both sides with their end, and weights (layers, heads, T, S)."""

    @property
    def source(self) -> Sequence[str]: ...
    @property
    def target(self) -> Sequence[str]: ...
    @property
    def weights(self) -> Any: ...


class Translator(Protocol):
    """What the page needs of ``examples.translate.translator.Translator``."""

    @property
    def languages(self) -> tuple[str, str]:
        """From and to: codes such as "en", or file name endings that end in one ("norm.en")."""

    @property
    def model(self) -> Any:
        """What has ``parameters()``."""

    @property
    def settings(self) -> Any:
        """What has ``decoding.beam``: how many beginnings are followed unless a person says."""

    def translate(self, sentences: list[str], beam: int = 5) -> Sequence[Translation]:
        """Each sentence's translation. ValueError: a sentence cannot be translated, and why."""

    def attention(self, source: str, target: str) -> Attention:
        """Where the model looks in ``source`` as it writes ``target``."""


def about(translator: Translator) -> dict[str, Any]:
    """What model it is: its languages' codes, how many numbers it has learned, its own beam, and whether it
    chooses from that by minimum Bayes risk, not by score."""
    source, target = (name.rpartition(".")[2] for name in translator.languages)
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    return {
        "source": source,
        "target": target,
        "parameters": parameters,
        "beam": _beam(translator),
        "mbr": bool(translator.settings.decoding.mbr),
    }


def translate(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """The text's sentences with their translations; ``seconds`` is what they took.

    Args:
        request: ``text``, of one or many sentences, and ``beam``, how many beginnings are followed
            (without it: the model's own).

    Raises:
        Refused: the request is malformed (400), or the text cannot be translated (422).
    """
    text, beam = _text(request, "text"), request.get("beam", _beam(translator))
    if not isinstance(beam, int) or isinstance(beam, bool) or not 1 <= beam <= WIDEST_BEAM:
        raise Refused(400, f'"beam" must be a whole number from 1 to {WIDEST_BEAM}.')
    parts = sentences(text)
    if not parts:
        raise Refused(422, "There is nothing to translate: the text is empty.")
    if len(parts) > MOST_SENTENCES:
        many = f"The text has {len(parts)} sentences; at most {MOST_SENTENCES} are translated at once."
        raise Refused(422, many)
    start = time.perf_counter()
    found = _ask(lambda: translator.translate([part.text for part in parts], beam=beam))
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
            for part, one in zip(parts, found, strict=True)
        ],
    }


def attention(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Both sides by token and by word (see ``words``), and weights (layers, heads, T, S) as nested lists.

    Args:
        request: ``source`` and ``target``, one sentence each, as ``translate`` returned them.

    Raises:
        Refused: the request is malformed (400), or there is too much to show (422).
    """
    source, target = _text(request, "source"), _text(request, "target")
    seen = _ask(lambda: translator.attention(source, target))
    if seen.weights.size > MOST_WEIGHTS:
        sizes = f"{len(seen.target)} × {len(seen.source)} tokens"
        raise Refused(422, f"The sentence is too long to show its attention: {sizes}.")
    return {
        "source": _side(seen.source, source),
        "target": _side(seen.target, target),
        "weights": seen.weights.astype("float64").round(4).tolist(),
    }


def _side(tokens: Sequence[str], text: str) -> dict[str, Any]:
    pieces, words = units(tokens, text)
    return {"tokens": [unit._asdict() for unit in pieces], "words": [unit._asdict() for unit in words]}


def _beam(translator: Translator) -> int:
    """The model's own beam, as far as it is offered."""
    return min(int(translator.settings.decoding.beam), WIDEST_BEAM)


def _ask(question: Any) -> Any:
    """The translator's answer; what it says of a sentence that it cannot take is told to the person."""
    try:
        return question()
    except ValueError as error:
        raise Refused(422, f"{error}") from error


def _text(request: dict[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str):
        raise Refused(400, f'"{name}" must be there, and be a text.')
    if len(text) > LONGEST_TEXT:
        raise Refused(422, f"The text has {len(text):,} characters; at most {LONGEST_TEXT:,} are translated at once.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(400, f'"{name}" holds half a character (a lone surrogate).') from None
    return text


def _number(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return round(float(value), 4) if math.isfinite(value) else None
