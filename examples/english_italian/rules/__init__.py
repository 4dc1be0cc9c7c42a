"""The sentences: a function for each kind, which draws words and builds the sentence in both languages."""

from __future__ import annotations

from ..pieces import Piece
from ..speaker import Speaker
from .actions import giving, imperative, resumed, stative, transitive, wish_for, with_pronoun
from .being import afraid_of, age, all_are, comparison, having_state, identity, is_quality
from .common import Rule
from .liking import creatures_like, like, like_but_not, like_doing, liked
from .nested import man_who, says, thing_that
from .places import animals_do, intransitive, is_somewhere, motion, there_is
from .questions import how, how_many, what, when, where, who_does, why
from .reasons import because_of_hunger, because_of_person, because_of_self, because_of_thing

WEIGHTED_RULES: tuple[tuple[Rule, int], ...] = (
    (transitive, 70),
    (stative, 8),
    (with_pronoun, 12),
    (giving, 6),
    (resumed, 13),
    (imperative, 2),
    (wish_for, 2),
    (like, 6),
    (liked, 3),
    (creatures_like, 1),
    (like_but_not, 1),
    (like_doing, 3),
    (is_quality, 12),
    (all_are, 1),
    (comparison, 2),
    (identity, 3),
    (having_state, 1),
    (afraid_of, 2),
    (age, 1),
    (there_is, 6),
    (is_somewhere, 6),
    (motion, 22),
    (intransitive, 28),
    (animals_do, 2),
    (because_of_thing, 6),
    (because_of_person, 2),
    (because_of_self, 3),
    (because_of_hunger, 2),
    (what, 2),
    (who_does, 3),
    (where, 3),
    (when, 1),
    (why, 2),
    (how, 2),
    (how_many, 2),
    (says, 3),
    (man_who, 4),
    (thing_that, 2),
)
RULES: tuple[Rule, ...] = tuple(rule for rule, weight in WEIGHTED_RULES for _ in range(weight))


def sentence(s: Speaker) -> Piece:
    """A sentence of the language, without a capital letter or a full stop."""
    return s.pick(RULES)(s)
