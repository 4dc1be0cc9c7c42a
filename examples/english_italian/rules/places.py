"""The places of things and people, and people's activities there."""

from __future__ import annotations

from ..clauses import ALWAYS, NEVER, OFTEN, Mood, be, clause, copula
from ..lexicon import NOUNS, PLACES, VERBS, Noun, nouns
from ..phrases import Phrase, noun_phrase
from ..pieces import NOTHING, Piece
from ..speaker import ANIMALS, OBJECTS, PUBLIC, Speaker
from .common import ADVERBS, DESTINATIONS, DIETS, INTRANSITIVE, MOODS, MOTION, PAST_MOODS, STOPS, TENSES, TRANSPORT


def somewhere(s: Speaker, thing: Phrase) -> Piece:
    """A place for a small thing or animal: on the table, in my bag, under the bed."""
    preposition, su, options = s.pick(_SPOTS)
    noun = s.pick(options)
    plural = thing.plural and s.chance(0.6)
    determiner = s.pick(("the", "the", "the", "the", "my", "your", "her"))
    return noun_phrase("the" if noun in PUBLIC else determiner, noun, plural).behind(preposition, su)


def _spots(names: str) -> tuple[Noun, ...]:
    return tuple(NOUNS[name] for name in names.split())


_ON, _IN = _spots("table chair bed shelf wardrobe"), _spots("box bag backpack drawer wardrobe")
_SPOTS = (
    ("on", "su", _ON),
    ("on", "su", _ON),
    ("in", "in", _IN),
    ("in", "in", _IN),
    ("under", "sotto", _spots("table chair bed tree")),
    ("behind", "dietro", _spots("door tree mirror wardrobe")),
)
SMALL = nouns("small", "reading", "dish", "gift", "indoor", "clothes")


def there_is(s: Speaker) -> Piece:
    """There are two keys in the drawer. Is there a hotel near the station?"""
    if s.chance(0.3):
        thing = s.thing(_BUILDINGS, ("a", "number", "some", "many"), 0.3)
        spot = near(s)
    else:
        thing = s.thing(SMALL, ("a", "a", "number", "some", "many"), 0.2)
        spot = somewhere(s, thing)
    x = s.random()
    is_, essere = be("past" if s.chance(0.25) else "present", thing)
    ci = f"c'{essere}" if essere[0] in "eè" else f"ci {essere}"
    return Piece(f"{is_} there" if x > 0.8 else f"there {is_}", ci, question=x > 0.8) + thing.piece + spot


_BUILDINGS = nouns("sight")


def near(s: Speaker) -> Piece:
    """near the station: vicino alla stazione."""
    place = s.place(*_LANDMARKS)
    return Piece(f"near {place.to.english.removeprefix('to ')}", f"vicino {place.to.italian}")


_LANDMARKS = ("station", "park", "airport", "hospital", "university", "market", "stadium", "zoo")


def is_somewhere(s: Speaker) -> Piece:
    """The keys are on the table. Your sister is at the station."""
    x, y = s.random(), s.random()
    if x < 0.4:
        subject = s.specific(SMALL)
        spot = somewhere(s, subject)
    elif x < 0.5:
        subject, spot = s.thing(_BUILDINGS, ("the", "this", "that"), 0.1), near(s)
    else:
        subject = s.anyone_known(y > 0.8)
        spot = s.place(*DESTINATIONS).inside
    tense = s.pick(("present", "present", "past", "future")) if x > 0.5 else "present"
    return copula(subject, spot, tense, negative=y < 0.12, question=y > 0.8)


def motion(s: Speaker) -> Piece:
    """We went to the lake with our friends. Anna will return home tomorrow."""
    verb = s.pick(MOTION)
    x, y, z = s.random(), s.random(), s.random()
    subject = s.women() if s.chance(0.1) else s.someone(z > 0.85)
    mood = s.pick(PAST_MOODS)
    if verb.base == "arrive":
        place = s.place(*STOPS)
        spot = Piece("home" if place.name == "home" else place.inside.english, place.to.italian)
        if x < 0.15:
            subject = s.specific(TRANSPORT, 0.1)
            mood = s.pick(TENSES)
            place = PLACES[s.pick(("station", "airport", "stadium", "university"))]
            spot = place.inside
    else:
        place = s.place(*DESTINATIONS)
        spot = place.origin if x < 0.5 and verb.base == "return" else place.to
    tail = spot.link((verb.base, place.name))
    if y < 0.2 and subject.head not in ("train", "bus"):
        friend = s.known() if s.chance(0.7) else s.named()
        tail += friend.behind("with", "con")
    elif y < 0.5:
        tail += s.time(mood)
    adverb = s.pick((ALWAYS, OFTEN)) if mood == "present" and y > 0.7 else None
    negative = z < 0.12 and adverb is None
    return clause(subject, verb, mood, tail, negative=negative, question=z > 0.85, adverb=adverb)


def intransitive(s: Speaker) -> Piece:
    """My uncle works at the hospital. The children will swim in the lake tomorrow."""
    verb = s.pick(INTRANSITIVE)
    x, y, z = s.random(), s.random(), s.random()
    subject = s.someone(z > 0.85)
    mood = s.pick(MOODS)
    tail = NOTHING
    if x < 0.6:
        tail = s.habit(verb)
    elif x < 0.7:
        tail = s.known().behind("with", "con")
    if y < 0.4:
        tail += s.time(mood)
    adverb = s.pick(ADVERBS) if mood == "present" and y > 0.7 and z > 0.15 else None
    if adverb is NEVER and z > 0.85:
        adverb = OFTEN
    return clause(subject, verb, mood, tail, negative=z < 0.15, question=z > 0.85, adverb=adverb)


def animals_do(s: Speaker) -> Piece:
    """The cat drank some milk. The wolves will see the horse."""
    noun = s.pick(tuple(DIETS))
    animal = s.thing((noun,), ("the", "the", "this", "that", "own", "number", "a"), 0.25)
    mood: Mood = s.pick(("present", "past", "past", "future"))
    x = s.random()
    if s.chance(0.3):
        verb = VERBS["sleep"]
        tail = somewhere(s, animal) if "indoor" in noun.kinds else s.place("park", "garden").inside
    else:
        verb = VERBS[s.pick(("eat", "eat", "drink", "see", "look for", "find"))]
        options = ANIMALS if verb.base == "see" else DIETS[noun]
        if verb.base in ("eat", "drink"):
            options = tuple(n for n in options if n in OBJECTS[verb])
        thing = s.thing(options, ("the", "the", "a", "some"), 0.1, plain=x < 0.15)
        if thing.head == animal.head:
            return animals_do(s)
        tail = thing.of(verb)
    return clause(animal, verb, mood, tail, negative=x < 0.15, question=x > 0.85)
