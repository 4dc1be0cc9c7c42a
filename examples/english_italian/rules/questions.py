"""Questions with "what", "who", "where", "when", "why" and "how"."""

from __future__ import annotations

from ..clauses import Mood, agree, asked, be, clause, copula, quality
from ..lexicon import NOUNS, VERBS, nouns
from ..morphology import join
from ..phrases import PRONOUNS
from ..pieces import NOTHING, Piece
from ..speaker import OBJECTS, Speaker
from .being import subject_and_quality
from .common import ACTIONS, FOOD, INTRANSITIVE, LIKED, OF_PEOPLE, THINGS, TRANSPORT, mood_of, verbs_named
from .places import SMALL


def what(s: Speaker) -> Piece:
    """What did Maria buy? What do you want to eat?"""
    verb = s.pick(verbs_named("eat drink buy see read write cook find look_for lose"))
    subject = s.anyone_known(True)
    return asked(Piece("what", "che cosa"), subject, verb, mood_of(s, verb, False, True))


def who_does(s: Speaker) -> Piece:
    """Who ate my sandwich? Who likes cats? Who is tired?"""
    x = s.random()
    if x < 0.2:
        adjective = s.pick(OF_PEOPLE)
        return Piece(f"who is {adjective.english}", f"chi è {adjective.italian['m', False]}", question=True)
    if x < 0.4:
        thing = s.thing(LIKED, ("",), 0)
        likes = Piece("who likes", "a chi piacciono" if thing.plural else "a chi piace", question=True)
        return likes + thing.of(VERBS["like"])
    verb = s.pick(ACTIONS)
    thing = s.object_of(verb)
    mood = mood_of(s, verb, False, False)
    who = PRONOUNS["he"]._replace(english="who", rest="chi")
    return Piece(question=True) + clause(who, verb, "future" if mood == "wish" else mood, thing.of(verb))


def where(s: Speaker) -> Piece:
    """Where are my keys? Where does your uncle work?"""
    x = s.random()
    if x < 0.6:
        subject = s.specific(SMALL) if x < 0.4 else s.anyone_known(True)
        is_, essere = be("present", subject)
        return Piece(f"where {is_}", join("dov'" if essere == "è" else "dove", essere), question=True) + subject.piece
    verb = s.pick((*INTRANSITIVE, VERBS["go"], VERBS["go"]))
    subject = s.anyone_known(True)
    return asked(Piece("where", "dove"), subject, verb, s.pick(_TIMES_OF_PLACES))


_TIMES_OF_PLACES: tuple[Mood, ...] = ("present", "present", "past", "future", "want")


def when(s: Speaker) -> Piece:
    """When does the train arrive? When did your sister return home?"""
    verb = s.pick(verbs_named("arrive return"))
    vehicle = verb.base == "arrive" and s.chance(0.5)
    subject = s.specific(TRANSPORT, 0) if vehicle else s.anyone_known(True)
    mood: Mood = s.pick(("present", "past", "future", "future"))
    tail = Piece("home", "a casa") if verb.base == "return" else NOTHING
    return asked(Piece("when", "quando"), subject, verb, mood, tail)


def why(s: Speaker) -> Piece:
    """Why is your brother sad? Why are these shoes so expensive?"""
    subject, adjective = subject_and_quality(s, True)
    if subject.english.startswith(("a ", "an ")):
        subject = s.anyone_known(True)
        adjective = s.pick(OF_PEOPLE)
    so = NOTHING if adjective.absolute or s.chance(0.3) else Piece("so", "così")
    tense = s.pick(("present", "present", "past"))
    return Piece("why", "perché", question=True) + copula(
        subject, quality(subject, adjective, so), tense, question=True
    )


def how(s: Speaker) -> Piece:
    """How are your parents? How much does this car cost? What color is the door?"""
    x = s.random()
    if x < 0.35:
        who = s.known()
        are = Piece(f"how {be('present', who)[0]}", "come stanno" if who.plural else "come sta", question=True)
        return are + who.piece
    if x < 0.7:
        return asked(Piece("how much", "quanto"), s.specific((*THINGS, *FOOD)), VERBS["cost"], "present")
    thing = s.specific(nouns("coloured"), 0)
    is_, essere = be("present", thing)
    return Piece(f"what color {is_}", f"di che colore {essere}", question=True) + thing.piece


def how_many(s: Speaker) -> Piece:
    """How many apples did you buy? How many brothers do you have?"""
    verb = s.pick(verbs_named("have have buy eat see read write"))
    options = [n for n in OBJECTS[verb] if n.english_plural and n.english]
    if verb.base == "have" and s.chance(0.3):
        options = [NOUNS[n] for n in ("brother", "sister", "friend", "daughter")]
    noun = s.pick(options)
    subject = s.anyone_known(True)
    mood: Mood = "present" if verb.base == "have" else s.pick(("present", "past", "future", "want"))
    number = agree("quanto", noun.plural_gender, True)
    many = Piece(f"how many {noun.english_plural}", f"{number} {noun.italian_plural}", ((verb.base, noun.name),))
    return asked(many, subject, verb, mood)
