"""Where things are and people go, and what they do there."""

from __future__ import annotations

from ..clauses import ALWAYS, NEVER, OFTEN, Clause, Mood, be, clause, copula, phrase_join
from ..lexicon import NOUNS, PLACES, VERBS, Noun, nouns
from ..phrases import Link, Phrase, noun_phrase
from ..speaker import ANIMALS, OBJECTS, PUBLIC, Speaker, Tail
from .common import (
    ADVERBS,
    DESTINATIONS,
    DIETS,
    HABITS,
    INTRANSITIVE,
    MOODS,
    MOTION,
    PAST_MOODS,
    STOPS,
    TENSES,
    TRANSPORT,
)


def somewhere(s: Speaker, thing: Phrase) -> Tail:
    """A place for a small thing or animal: on the table, in my bag, under the bed."""
    preposition, su, options = s.pick(_SPOTS)
    noun = s.pick(options)
    plural = thing.plural and s.chance(0.6)
    determiner = s.pick(("the", "the", "the", "the", "my", "your", "her"))
    place = noun_phrase("the" if noun in PUBLIC else determiner, noun, plural)
    return f"{preposition} {place.english}", place.after(su)


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


def there_is(s: Speaker) -> Clause:
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
    if x > 0.8:
        english, end = f"{is_} there {thing.english}", "?"
    else:
        english, end = f"there {is_} {thing.english}", "."
    return Clause(f"{english} {spot[0]}", f"{ci} {thing.italian} {spot[1]}", thing.links, end)


_BUILDINGS = nouns("sight")


def near(s: Speaker) -> Tail:
    """near the station: vicino alla stazione."""
    place = s.place(*_LANDMARKS)
    return f"near {place.to[0].removeprefix('to ')}", f"vicino {place.to[1]}"


_LANDMARKS = ("station", "park", "airport", "hospital", "university", "market", "stadium", "zoo")


def is_somewhere(s: Speaker) -> Clause:
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


def motion(s: Speaker) -> Clause:
    """We went to the lake with our friends. Anna will return home tomorrow."""
    verb = s.pick(MOTION)
    x, y, z = s.random(), s.random(), s.random()
    subject = s.women() if s.chance(0.1) else s.someone(z > 0.85)
    mood = s.pick(PAST_MOODS)
    if verb.base == "arrive":
        place = s.place(*STOPS)
        spot = ("home", "a casa") if place.name == "home" else (place.inside[0], place.to[1])
        if x < 0.15:
            subject = s.specific(TRANSPORT, 0.1)
            mood = s.pick(TENSES)
            place = PLACES[s.pick(("station", "airport", "stadium", "university"))]
            spot = place.inside
    else:
        place = s.place(*DESTINATIONS)
        spot = place.origin if x < 0.5 and verb.base == "return" else place.to
    tail = spot
    links: tuple[Link, ...] = ((verb.base, place.name),)
    if y < 0.2 and subject.head not in ("train", "bus"):
        friend = s.known() if s.chance(0.7) else s.named()
        tail = (f"{spot[0]} with {friend.english}", f"{spot[1]} {friend.after('con')}")
        links = (*links, *friend.links)
    elif y < 0.5:
        time = s.time(mood)
        tail = (f"{spot[0]} {time[0]}", f"{spot[1]} {time[1]}")
    adverb = s.pick((ALWAYS, OFTEN)) if mood == "present" and y > 0.7 else None
    return clause(
        subject, verb, mood, tail, links=links, negative=z < 0.12 and adverb is None, question=z > 0.85, adverb=adverb
    )


def intransitive(s: Speaker) -> Clause:
    """My uncle works at the hospital. The children want to swim in the lake tomorrow."""
    verb = s.pick(INTRANSITIVE)
    x, y, z = s.random(), s.random(), s.random()
    subject = s.someone(z > 0.85)
    mood = s.pick(MOODS)
    tail: Tail = ("", "")
    links: tuple[Link, ...] = ()
    if x < 0.6:
        place = s.place(*HABITS[verb.base])
        tail, links = place.inside, ((verb.base, place.name),)
    elif x < 0.7:
        friend = s.known()
        tail, links = (f"with {friend.english}", friend.after("con")), friend.links
    if y < 0.4:
        time = s.time(mood)
        tail = (phrase_join(tail[0], time[0]), phrase_join(tail[1], time[1]))
    adverb = s.pick(ADVERBS) if mood == "present" and y > 0.7 and z > 0.15 else None
    if adverb is NEVER and z > 0.85:
        adverb = OFTEN
    return clause(subject, verb, mood, tail, links=links, negative=z < 0.15, question=z > 0.85, adverb=adverb)


def animals_do(s: Speaker) -> Clause:
    """The cat drank some milk. Those wolves will see the horse."""
    noun = s.pick(tuple(DIETS))
    animal = s.thing((noun,), ("the", "the", "this", "that", "own", "number", "a"), 0.25)
    mood: Mood = s.pick(("present", "past", "past", "future"))
    x = s.random()
    links: tuple[Link, ...] = ()
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
        tail = (thing.english, thing.italian)
        links = (*thing.links, (verb.base, thing.head))
    return clause(animal, verb, mood, tail, links=links, negative=x < 0.15, question=x > 0.85)
