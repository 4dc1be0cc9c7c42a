"""The lesson: the words in a text as vectors, their nearest words, analogies, and a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from minigrad_models.viz import embedding
from minigrad_models.viz.blocks import Block, Chart, Checked, Lesson, Series, Steps, Text

from ..lesson.markdown import Fields, told
from .analogies import Relation, Score, relations, score
from .text import Corpus, Language
from .train_embeddings import Settings, Trained
from .vectors import Vectors

MAP = "embeddings-map.html"
MAP_WORDS = 2000  # the most frequent words, shown on the map
SHOWN = 8  # words shown by default, and nearest words for each
Question = tuple[str, str, str]
WORDS: dict[Language, tuple[str, ...]] = {
    "english": ("cat", "apples", "eats", "tired", "Maria", "yesterday"),
    "italian": ("gatto", "mele", "mangia", "stanca", "Maria", "ieri"),
}
QUESTIONS: dict[Language | None, tuple[Question, ...]] = {
    "english": (("cat", "cats", "dog"), ("eat", "eats", "read"), ("eat", "ate", "drink"), ("boy", "girl", "man")),
    "italian": (
        ("gatto", "gatti", "cane"),
        ("nero", "nera", "bianco"),
        ("il", "la", "un"),
        ("mangia", "mangiano", "beve"),
    ),
}
COMMON = (20, 2000)  # for other texts: the range of ranks from which words are taken


def lesson(
    text: str,
    vectors: Vectors,
    learned: Fields | None = None,
    language: Language | None = None,
    words: Sequence[str] = (),
    questions: Sequence[Question] = (),
) -> Lesson:
    """The lesson about the vectors for a text. ``learned`` comes from ``learning``, or is None if nothing was trained.
    ``language`` is the language of the shipped corpus, whose grammar provides questions, or None for another text. The
    lesson shows the nearest words to ``words`` and the answers to ``questions``, by default some from the corpus.
    Raises ValueError if a word has no vector."""
    questions = questions or [one for one in QUESTIONS.get(language, ()) if vectors.numbers.keys() >= {*one}]
    return told(
        globals(),
        name="embeddings",
        text=text,
        **(
            learned or dict.fromkeys(("settings", "corpus", "trained", "kept", "vocabulary", "curve", "guess", "falls"))
        ),
        nearest=Steps(
            ("word", "nearest"),
            [(word, _listed(vectors.nearest(word, SHOWN))) for word in words or _shown(vectors, language)],
        ),
        asked=_asked(vectors, questions) if questions else None,
        grammar=_grammar(vectors, relations(language)) if language else None,
    )


def _shown(vectors: Vectors, language: Language | None) -> tuple[str, ...]:
    """The words shown by default. For other texts, they have certain ranks and are long enough to mean something."""
    if language:
        return tuple(word for word in WORDS[language] if word in vectors.numbers)
    common = [word for word in vectors.words[COMMON[0] : COMMON[1]] if len(word) > 3] or list(vectors.words)
    count = min(SHOWN, len(common))
    return tuple(common[i * len(common) // count] for i in range(count))


def save_map(vectors: Vectors, text: str, folder: Path) -> Path:
    """Write the map of the most frequent words next to the lesson's page. Raises OSError if it cannot be written."""
    view = embedding(vectors.array[:MAP_WORDS], vectors.words[:MAP_WORDS], title=f"Words: {text}")
    return Path(view.save(folder / MAP))


def learning(corpus: Corpus, trained: Trained, settings: Settings) -> Fields:
    """The lesson's fields about training: settings, text, speed, and the loss curve."""
    guess = (1 + settings.negatives) * math.log(2)
    subsampling = "all words" if math.isinf(settings.subsample) else f"t = {settings.subsample:g} of equation 5"
    steps, losses = zip(*trained.losses, strict=True)
    guesses = Series("if nothing is known", steps, [guess] * len(steps), True)
    return {
        "settings": settings,
        "corpus": corpus,
        "trained": trained,
        "kept": subsampling,
        "vocabulary": len(corpus.words),
        "curve": Chart("The loss of a pair", "batches", "loss", (Series("measured", steps, losses), guesses)),
        "guess": guess,
        "falls": losses[-1] < 0.95 * guess,
    }


def _listed(near: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{word} {cosine:.2f}" for word, cosine in near)


def _asked(vectors: Vectors, questions: Sequence[Question]) -> Steps:
    rows = [(f"{a} : {b} = {c} : ?", _listed(vectors.analogy(a, b, c))) for a, b, c in questions]
    return Steps(("question", "answers"), rows)


def _grammar(vectors: Vectors, grammar: Sequence[Relation]) -> list[Block]:
    scores = [(relation, s) for relation in grammar if (s := score(vectors, relation)) is not None]
    head = ("relation", "pairs", "questions", "right", "or of its kind", "or its form", "among five", "by the mean")
    rows = [(r.name, str(s.pairs), f"{s.questions:,}", *(f"{100 * part:.0f} %" for part in s[2:])) for r, s in scores]
    return [Steps(head, rows, numbers=tuple(range(1, len(head)))), *_claims(scores)]


def _claims(scores: Sequence[tuple[Relation, Score]]) -> list[Block]:
    """Claims about the shipped corpus."""
    total = sum(s.questions for _, s in scores)
    right = sum(s.questions * s.exact for _, s in scores) / total
    chance = sum(s.questions / s.pairs for _, s in scores) / total
    claims: list[Block] = [
        Checked(
            f"of all {total:,} questions {100 * right:.0f} % are answered right: more than ten times the share of a "
            f"guess among the right forms ({100 * chance:.1f} %)",
            right > 10 * chance,
        )
    ]
    within = [s.exact for r, s in scores if r.name.startswith("number of nouns") and not r.across]
    across = [s.exact for r, s in scores if r.across]
    return claims + (_one_number_for_each_gender(within, across[0]) if within and across else [])


def _one_number_for_each_gender(within: Sequence[float], across: float) -> list[Block]:
    return [
        Text(
            "In Italian, number is two differences, not one: masculine and feminine nouns have different articles and "
            "adjectives, so the step from gatto to gatti is not the step from mela to mele. Vectors know nothing of "
            "spelling, and nothing else in the text connects the two."
        ),
        Checked(
            f"number of nouns: {' and '.join(f'{100 * part:.0f} %' for part in within)} right within a gender, "
            f"{100 * across:.0f} % if the example pair has the other gender",
            min(within) > 5 * across,
        ),
    ]
