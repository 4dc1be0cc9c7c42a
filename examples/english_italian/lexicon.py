"""The words of the corpus, as tables: nouns, adjectives, verbs and names in both languages.

Each English word has one Italian word and each Italian word one English, so that a translation
is never a matter of taste. Kinds (person, food, vehicle, ...) keep sentences sensible: a verb
says what kinds of object it takes, an adjective what kinds of noun it describes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .morphology import Forms, Gender, definite, future, inflect, participle, present, with_preposition

# Dataclasses with eq=False hash by identity: a word exists once, and caches keyed by it are fast.


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun; the singular or the plural is "" where the corpus does not use it."""

    english: str
    english_plural: str
    italian: str
    italian_plural: str
    gender: Gender
    plural_gender: Gender
    kinds: frozenset[str]

    @property
    def name(self) -> str:
        """What the noun is called in tables and in held-out pairs."""
        return self.english or self.english_plural


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, with its Italian forms by (gender, plural).

    `valence` is good, bad, plain (neither) or state (passing, of people); it decides what reasons
    people give ("because it is tasty"). `absolute`: it has no very and no too.
    """

    english: str
    italian: dict[tuple[Gender, bool], str]
    valence: str
    absolute: bool
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages. English may be of two words (look for).

    `auxiliary` is avere or essere; `objects` the kinds of noun it takes, empty if intransitive.
    """

    base: str
    third: str
    past: str
    infinitive: str
    present: Forms
    future: Forms
    participle: str
    auxiliary: str
    objects: frozenset[str]


@dataclass(frozen=True, eq=False)
class Place:
    """Somewhere to be or go: Italian says al parco and nel parco, but in cucina and a scuola.

    Each pair is (English, Italian): going there, being there, and coming from there.
    """

    name: str
    to: tuple[str, str]
    inside: tuple[str, str]
    origin: tuple[str, str]


# English singular and plural, Italian singular and plural, gender, kinds. "-": not used.
# uovo changes gender: l'uovo (m), le uova (f), written "mf".
_NOUNS = """
boy          boys          ragazzo       ragazzi       m   person,child
girl         girls         ragazza       ragazze       f   person,child
man          men           uomo          uomini        m   person
woman        women         donna         donne         f   person
child        children      bambino       bambini       m   person,child
friend       friends       amico         amici         m   person,mine
student      students      studente      studenti      m   person,job,mine
teacher      teachers      insegnante    insegnanti    m   person,job,mine
doctor       doctors       medico        medici        m   person,job,mine
waiter       waiters       cameriere     camerieri     m   person,job
actress      actresses     attrice       attrici       f   person,job
psychologist psychologists psicologo     psicologi     m   person,job,mine
mother       -             madre         -             f   kin
father       -             padre         -             m   kin
brother      brothers      fratello      fratelli      m   kin,child
sister       sisters       sorella       sorelle       f   kin,child
uncle        uncles        zio           zii           m   kin
aunt         aunts         zia           zie           f   kin
grandmother  -             nonna         -             f   kin
daughter     daughters     figlia        figlie        f   kin,child
-            parents       -             genitori      m   kin
dog          dogs          cane          cani          m   animal,pet,indoor,meaty
cat          cats          gatto         gatti         m   animal,pet,indoor,meaty
horse        horses        cavallo       cavalli       m   animal,pet,leafy
bird         birds         uccello       uccelli       m   animal,crumbs
mouse        mice          topo          topi          m   animal,indoor,crumbs
cow          cows          mucca         mucche        f   animal,leafy
rabbit       rabbits       coniglio      conigli       m   animal,pet,indoor,leafy
bear         bears         orso          orsi          m   animal,meaty
eagle        eagles        aquila        aquile        f   animal,meaty
squirrel     squirrels     scoiattolo    scoiattoli    m   animal,leafy
spider       spiders       ragno         ragni         m   animal
wolf         wolves        lupo          lupi          m   animal,meaty
apple        apples        mela          mele          f   food,fruit,leafy,red
orange       oranges       arancia       arance        f   food,fruit
tomato       tomatoes      pomodoro      pomodori      m   food,fruit,red
strawberry   strawberries  fragola       fragole       f   food,fruit,red
pineapple    pineapples    ananas        ananas        m   food,fruit
peach        peaches       pesca         pesche        f   food,fruit
potato       potatoes      patata        patate        f   food,cooked,warm
carrot       carrots       carota        carote        f   food,cooked,leafy,fresh
onion        onions        cipolla       cipolle       f   food,cooked,fresh
mushroom     mushrooms     fungo         funghi        m   food,cooked,fresh
egg          eggs          uovo          uova          mf  food,cooked,fresh,warm
-            gnocchi       -             gnocchi       m   food,cooked,warm
sandwich     sandwiches    panino        panini        m   food,warm
cake         cakes         torta         torte         f   food,dessert,warm
cookie       cookies       biscotto      biscotti      m   food,dessert,warm
bread        -             pane          -             m   food,crumbs,fresh
cheese       -             formaggio     -             m   food,crumbs,fresh
pasta        -             pasta         -             f   food,cooked,warm
rice         -             riso          -             m   food,cooked,warm
fish         -             pesce         -             m   food,cooked,meaty,fresh
meat         -             carne         -             f   food,cooked,meaty,fresh
soup         -             zuppa         -             f   food,cooked,warm
chocolate    -             cioccolato    -             m   food
yogurt       -             yogurt        -             m   food,fresh
salad        -             insalata      -             f   food,fresh
water        -             acqua         -             f   drink,cool,glass
milk         -             latte         -             m   drink,cool,glass,bottle
coffee       -             caffè         -             m   drink,warm,cup
tea          -             tè            -             m   drink,warm,cup
wine         -             vino          -             m   drink,glass,bottle
beer         -             birra         -             f   drink,cool,glass,bottle
book         books         libro         libri         m   thing,reading,written,gift,heavy,useful
letter       letters       lettera       lettere       f   reading,written,gift
newspaper    newspapers    giornale      giornali      m   thing,reading
key          keys          chiave        chiavi        f   small,gift
pen          pens          penna         penne         f   thing,small,useful,coloured,gift
phone        phones        telefono      telefoni      m   thing,small,useful,broken
watch        watches       orologio      orologi       m   thing,small,useful,broken,gift,coloured
umbrella     umbrellas     ombrello      ombrelli      m   thing,small,useful,coloured,broken
glass        glasses       bicchiere     bicchieri     m   thing,dish
cup          cups          tazza         tazze         f   thing,dish
plate        plates        piatto        piatti        m   thing,dish
bottle       bottles       bottiglia     bottiglie     f   dish,openable
toy          toys          giocattolo    giocattoli    m   thing,broken,gift
flower       flowers       fiore         fiori         m   thing,flower,coloured,gift
box          boxes         scatola       scatole       f   container,openable
bag          bags          borsa         borse         f   thing,container,openable,coloured
backpack     backpacks     zaino         zaini         m   thing,container,openable,coloured
drawer       drawers       cassetto      cassetti      m   openable
shoe         shoes         scarpa        scarpe        f   thing,clothes,coloured,comfortable
boot         boots         stivale       stivali       m   thing,clothes,coloured,comfortable
shirt        shirts        camicia       camicie       f   thing,clothes,coloured
hat          hats          cappello      cappelli      m   thing,clothes,coloured,small
dress        dresses       vestito       vestiti       m   thing,clothes,coloured
table        tables        tavolo        tavoli        m   thing,furniture,washed,heavy
chair        chairs        sedia         sedie         f   thing,furniture,comfortable,broken
bed          beds          letto         letti         m   thing,furniture,comfortable,heavy
shelf        shelves       scaffale      scaffali      m   thing,furniture,washed
mirror       mirrors       specchio      specchi       m   thing,furniture,washed,broken
wardrobe     wardrobes     armadio       armadi        m   thing,furniture,openable,heavy
car          cars          macchina      macchine      f   thing,vehicle,washed,coloured,comfortable
bicycle      bicycles      bicicletta    biciclette    f   thing,vehicle,washed,coloured,broken
train        trains        treno         treni         m   transport
bus          buses         autobus       autobus       m   transport
house        houses        casa          case          f   thing,building,coloured
door         doors         porta         porte         f   openable,coloured
window       windows       finestra      finestre      f   openable,washed,broken
tree         trees         albero        alberi        m   tree
city         cities        città         città         f   town
island       islands       isola         isole         f   town
museum       museums       museo         musei         m   sight
hotel        hotels        albergo       alberghi      m   sight,comfortable
restaurant   restaurants   ristorante    ristoranti    m   sight
"""

# English, Italian masculine singular (with /masculine plural where irregular), valence
# ("!": absolute), kinds.
_ADJECTIVES = """
tired       stanco              state  state,person,pet
happy       felice              good   state,person
sad         triste              state  state,person
sick        malato              state  state,person,pet
kind        gentile             good   person
nice        simpatico/simpatici good   person
intelligent intelligente        good   person,pet
strong      forte               good   person,pet
famous      famoso              good   person
tall        alto                plain  person,tree
young       giovane             plain  person
beautiful   bello               good   animal,person,coloured,building,town,sight,tree
big         grande              plain  animal,fruit,thing,container,building,town,sight,tree
small       piccolo             plain  animal,fruit,thing,container,building,town,sight,tree
white       bianco              plain! pet,coloured,furniture
black       nero                plain! pet,coloured,furniture
red         rosso               plain! red,coloured
green       verde               plain! coloured,furniture
tasty       gustoso             good   food
delicious   delizioso           good!  food
good        buono               good   food,drink
sweet       dolce               good   fruit,dessert
fresh       fresco              good   fruit,fresh
hot         caldo               plain  warm
cold        freddo              bad    warm,cool
new         nuovo               good   thing,vehicle,furniture,building,transport,sight
old         vecchio             bad    thing,vehicle,furniture,building,transport
expensive   costoso             bad    thing,clothes,furniture,vehicle
heavy       pesante             bad    heavy,container,furniture
dirty       sporco              bad    clothes,dish,vehicle,pet,openable,building
broken      rotto               bad!   broken,dish
boring      noioso              bad    reading,person,town
interesting interessante        good   reading,town,sight
useful      utile               good   useful
comfortable comodo              good   comfortable,clothes
"""

# English base, third person, past; Italian infinitive, participle (- if regular); object kinds.
_VERBS = """
eat        eats       ate        mangiare   -        food
drink      drinks     drank      bere       bevuto   drink
buy        buys       bought     comprare   -        thing,food,drink
see        sees       saw        vedere     visto    person,animal,thing,tree,sight,town,transport
read       reads      read       leggere    letto    reading
write      writes     wrote      scrivere   scritto  written
open       opens      opened     aprire     aperto   openable
close      closes     closed     chiudere   chiuso   openable
wash       washes     washed     lavare     -        clothes,dish,washed,fruit
cook       cooks      cooked     cucinare   -        cooked
find       finds      found      trovare    -        small,clothes,pet,container
lose       loses      lost       perdere    perso    small
give       gives      gave       dare       -        gift,clothes
look_for   looks_for  looked_for cercare    -        small,clothes,pet,person
wait_for   waits_for  waited_for aspettare  -        transport,person,kin
help       helps      helped     aiutare    -        person,kin
know       knows      knew       conoscere  -        person,town
love       loves      loved      amare      -        person,kin,animal
prefer     prefers    preferred  preferire  -        food,drink,animal
have       has        had        avere      -        thing,pet
want       wants      wanted     volere     -        thing,food,drink
sleep      sleeps     slept      dormire    -        -
work       works      worked     lavorare   -        -
study      studies    studied    studiare   -        -
dance      dances     danced     ballare    -        -
swim       swims      swam       nuotare    -        -
go         goes       went       andare     -        -
arrive     arrives    arrived    arrivare   -        -
return     returns    returned   tornare    -        -
be         is         was        essere     stato    -
say        says       said       dire       detto    -
can        can        could      potere     -        -
must       must       had_to     dovere     -        -
like       likes      liked      piacere     piaciuto -
cost       costs      cost       costare    -        -
"""

# English, Italian, gender, and how one is there: in (nel parco), at (al mercato), or bare: Italian
# then has no article and no difference between going and being (in cucina, a casa).
_PLACES = """
park        parco       m  in
lake        lago        m  in
market      mercato     m  at
museum      museo       m  at
restaurant  ristorante  m  at
cinema      cinema      m  at
stadium     stadio      m  at
zoo         zoo         m  at
hospital    ospedale    m  at
airport     aeroporto   m  at
station     stazione    f  at
university  università  f  at
kitchen     cucina      f  bare
hotel       albergo     m  bare
garden      giardino    m  bare
library     biblioteca  f  bare
office      ufficio     m  bare
pool        piscina     f  bare
school      scuola      f  school
home        casa        f  home
"""

_PRESENT = {
    "bere": "bevo bevi beve beviamo bevono",
    "dare": "do dai dà diamo danno",
    "avere": "ho hai ha abbiamo hanno",
    "volere": "voglio vuoi vuole vogliamo vogliono",
    "andare": "vado vai va andiamo vanno",
    "essere": "sono sei è siamo sono",
    "dire": "dico dici dice diciamo dicono",
    "potere": "posso puoi può possiamo possono",
    "dovere": "devo devi deve dobbiamo devono",
}
_FUTURE_STEM = {
    "bere": "berr",
    "vedere": "vedr",
    "dare": "dar",
    "avere": "avr",
    "volere": "vorr",
    "andare": "andr",
    "essere": "sar",
    "potere": "potr",
    "dovere": "dovr",
}
_ISC = {"preferire"}
_ESSERE = {"andare", "arrivare", "tornare", "essere"}

IMPERFECT_OF_ESSERE: Forms = ("ero", "eri", "era", "eravamo", "erano")
CONDITIONAL_OF_VOLERE: Forms = ("vorrei", "vorresti", "vorrebbe", "vorremmo", "vorrebbero")

MEN = ("Marco", "Luca", "Paolo", "Antonio")
WOMEN = ("Maria", "Giulia", "Laura", "Anna")
NUMBERS = {
    "two": "due",
    "three": "tre",
    "four": "quattro",
    "five": "cinque",
    "six": "sei",
    "seven": "sette",
    "eight": "otto",
    "nine": "nove",
    "ten": "dieci",
}
DAYS = {
    "Monday": "lunedì",
    "Tuesday": "martedì",
    "Wednesday": "mercoledì",
    "Thursday": "giovedì",
    "Friday": "venerdì",
    "Saturday": "sabato",
    "Sunday": "domenica",
}


def _rows(table: str) -> Iterator[list[str]]:
    """The lines of a table, cut into fields; "-" is an empty field, "_" a space."""
    for line in table.strip().splitlines():
        yield ["" if f == "-" else f.replace("_", " ") for f in line.split()]


def _kinds(field: str) -> frozenset[str]:
    return frozenset(field.split(",")) if field else frozenset()


def _noun(fields: list[str]) -> Noun:
    english, english_plural, italian, italian_plural, gender, kinds = fields
    singular: Gender = "m" if gender[0] == "m" else "f"
    plural: Gender = "m" if gender[-1] == "m" else "f"
    return Noun(english, english_plural, italian, italian_plural, singular, plural, _kinds(kinds))


def _adjective(fields: list[str]) -> Adjective:
    english, italian, valence, kinds = fields
    singular, _, plural = italian.partition("/")
    absolute = valence.endswith("!")
    return Adjective(english, inflect(singular, plural), valence.rstrip("!"), absolute, _kinds(kinds))


def _verb(fields: list[str]) -> Verb:
    base, third, past, italian, irregular, objects = fields
    if italian in _PRESENT:
        io, tu, lui, noi, loro = _PRESENT[italian].split()
        now = (io, tu, lui, noi, loro)
    else:
        now = present(italian, isc=italian in _ISC)
    return Verb(
        base=base,
        third=third,
        past=past,
        infinitive=italian,
        present=now,
        future=future(italian, _FUTURE_STEM.get(italian, "")),
        participle=irregular or participle(italian),
        auxiliary="essere" if italian in _ESSERE else "avere",
        objects=_kinds(objects),
    )


NOUNS = {noun.name: noun for noun in map(_noun, _rows(_NOUNS))}
ADJECTIVES = {adjective.english: adjective for adjective in map(_adjective, _rows(_ADJECTIVES))}
VERBS = {verb.base: verb for verb in map(_verb, _rows(_VERBS))}


def nouns(*kinds: str) -> tuple[Noun, ...]:
    """All nouns of any of these kinds, in the order of the table."""
    return tuple(noun for noun in NOUNS.values() if not noun.kinds.isdisjoint(kinds))


def adjectives(noun: Noun, valence: str = "") -> tuple[Adjective, ...]:
    """All adjectives that can describe `noun`; with `valence`, only those of it."""
    return tuple(
        adjective
        for adjective in ADJECTIVES.values()
        if not adjective.kinds.isdisjoint(noun.kinds) and valence in ("", adjective.valence)
    )


def _place(fields: list[str]) -> Place:
    name, italian, letter, style = fields
    article = definite("f" if letter == "f" else "m", False, italian)
    to, at, inside, origin = (with_preposition(preposition, article, italian) for preposition in ("a", "a", "in", "da"))
    the = f"the {name}"
    if style in ("school", "home"):
        to = f"a {italian}"
        english_to = "home" if style == "home" else f"to {name}"
        ways = (english_to, to), (f"at {name}", to), (f"from {name}", f"da {italian}")
        return Place(name, *ways)
    if style == "bare":
        to = inside = f"in {italian}"
    there = (f"at {the}", at) if style == "at" else (f"in {the}", inside)
    return Place(name, (f"to {the}", to), there, (f"from {the}", origin))


PLACES = {place.name: place for place in map(_place, _rows(_PLACES))}
