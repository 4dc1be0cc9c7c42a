"""Attention as a soft dictionary: d[q] by equality, by the best match, and by a softmax of K q.

The keys are the four points of the compass, the values the temperatures of the winds from there; both are chosen. A
query is any direction, so that the three kinds of look-up can be drawn over its angle. Attention is the third kind,
for many queries at once (Vaswani et al. 2017, section 3.2).
"""

from __future__ import annotations

import math

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import (
    Array,
    Chart,
    Checked,
    Choice,
    Equation,
    Lesson,
    Mark,
    Matrix,
    Section,
    Series,
    Steps,
    Text,
    number,
    product,
    softmax_told,
)

WINDS = {"north": 2, "east": 12, "south": 28, "west": 16}  # degrees Celsius
NAMES = tuple(WINDS)
KEYS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # to the east, to the north
ANGLE = 30.0  # of the query that is looked up: degrees clockwise from north
AXES = ("to the east", "to the north")
SCALES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.0)  # of the slider
START = 4  # the place of scale 4
SCALE = SCALES[START]
ANGLES = np.arange(0.0, 361.0, 10.0)  # of the curves: two keys fit none of them equally well


def keys() -> Tensor:
    """K (4, 2), float64."""
    return mg.tensor(KEYS, dtype=mg.float64)


def values() -> Tensor:
    """V (4, 1), float64."""
    return mg.tensor(list(WINDS.values()), dtype=mg.float64)[:, None]


def direction(angles: float | Array | Tensor) -> Tensor:
    """The unit vectors (N, 2) of directions in degrees clockwise from north: (sin, cos)."""
    turned = angles if isinstance(angles, Tensor) else mg.tensor(np.atleast_1d(angles), dtype=mg.float64)
    radians = turned * (math.pi / 180)
    return mg.stack((radians.sin(), radians.cos()), -1)


def by_equality(query: Tensor) -> Tensor:
    """The weights (N, 4): 1 where the key is the query, else 0."""
    return (query[:, None] == keys()).all(-1).to(mg.float64)


def by_argmax(query: Tensor) -> Tensor:
    """The weights (N, 4): 1 at the key with the greatest dot product, the first of them if there are several."""
    return F.one_hot((query @ keys().T).argmax(-1), len(NAMES)).to(mg.float64)


def by_softmax(query: Tensor, scale: float = SCALE) -> Tensor:
    """The weights (N, 4): softmax(scale · K q)."""
    return (scale * (query @ keys().T)).softmax(-1)


def slope(angle: float, scale: float) -> float:
    """How fast the result changes with the direction, in degrees Celsius for each of the angle's, by the engine."""
    turned = mg.tensor([angle], dtype=mg.float64, requires_grad=True)
    (gradient,) = mg.autograd.grad((by_softmax(direction(turned), scale) @ values()).sum(), turned)
    return float(gradient[0])


def curve(scale: float) -> Array:
    """The result by softmax at all ANGLES."""
    return (by_softmax(direction(ANGLES), scale) @ values())[:, 0].numpy()


def stairs() -> Array:
    """The result by the best match at all ANGLES."""
    return (by_argmax(direction(ANGLES)) @ values())[:, 0].numpy()


def lesson() -> Lesson:
    """The worked example."""
    return Lesson(
        "dictionary",
        "Attention as a soft dictionary",
        "A dictionary returns the value whose key equals the query. Attention does the same with numbers in place of "
        "“equals”: every value comes back a little, the more the better its key fits. Here the keys are points of "
        "the compass, and the values say how warm the wind from there is.",
        (_equality(), _argmax(), _softmax(), _scale(), _many(), _checks()),
    )


def _equality() -> Section:
    rows = []
    for asked in ("south", "north-east"):
        try:
            answer = str(WINDS[asked])
        except KeyError as error:
            answer = f"KeyError: {error}"
        rows.append((f'd["{asked}"]', answer))
    query = direction(180.0).round()  # the south exactly: (0, −1)
    return Section(
        "1. By equality",
        (
            Text(f"`d = {WINDS}`. A query that is a key returns its value; any other returns nothing at all."),
            Steps(("look-up", "result"), rows, code=(0, 1)),
            Text(
                "The same with matrices: each key is a vector, a row of K, and so is the query. “Equals” gives a 1 for "
                "one row and 0 for the others, and these weights times the values pick one value."
            ),
            _lookup("q == K", by_equality(query), "equality"),
        ),
    )


def _lookup(name: str, weights: Tensor, key: str, digits: int = 0) -> Equation:
    """weights (1, 4) × V (4, 1) = the result."""
    row, column = weights.numpy(), values().numpy()
    sources = (Mark(f"weights, {key}", "row"), Mark(f"V, {key}", "column"))
    how = product(row, column, (digits, 0), 2)
    return Equation(
        (
            Matrix(name, row, (), NAMES, digits, "weights", key=f"weights, {key}"),
            "×",
            Matrix("V", column, NAMES, (), 0, key=f"V, {key}"),
            "=",
            Matrix("d[q]", row @ column, (), (), 2, "", how, sources, key=f"d[q], {key}"),
        )
    )


def _argmax() -> Section:
    query = direction(ANGLE)
    scores, transposed = query @ keys().T, keys().T.numpy()
    how = product(query.numpy(), transposed, (3, 0), 3)
    sources = (Mark("q", "row"), Mark("Kᵀ", "column"))
    return Section(
        "2. By the best match",
        (
            Text(
                f"A wind from {ANGLE:g}° east of north is no key. Its dot product with each key says how well they "
                f"fit: 1 for the same direction, 0 for a right angle, −1 for the opposite."
            ),
            Equation(
                (
                    Matrix("q", query, (), AXES, 3),
                    "×",
                    Matrix("Kᵀ", transposed, AXES, NAMES, 0),
                    "=",
                    Matrix("q Kᵀ", scores, (), NAMES, 3, "", how, sources, example=(0, 1)),
                )
            ),
            Text("The `argmax` of these takes the best key, and there is an answer to every query."),
            _lookup("argmax", by_argmax(query), "argmax"),
            Text(
                "But the answer jumps where the best key changes, and is flat everywhere else. Its derivative by q "
                "and by K is 0, so nothing can be learned through it."
            ),
        ),
    )


def _softmax() -> Section:
    query = direction(ANGLE)
    scaled = SCALE * (query @ keys().T)
    how = softmax_told(scaled.numpy(), 2, 3)
    return Section(
        "3. By softmax",
        (
            Text(
                f"Softmax turns the scores into weights that sum to 1. A scale β in front of them, here "
                f"{SCALE:g}, says how much a better match counts. (The lesson softmax takes it apart.)"
            ),
            Equation(
                (
                    Matrix(f"{SCALE:g} q Kᵀ", scaled, (), NAMES, 2),
                    "→",
                    Matrix(
                        "softmax", scaled.softmax(-1), (), NAMES, 3, "weights", how, (Mark(f"{SCALE:g} q Kᵀ", "row"),)
                    ),
                )
            ),
            _lookup("weights", by_softmax(query), "softmax", 3),
            Text("Most of it is the north's, some the east's: a value that stands in no row of V."),
        ),
    )


def _scale() -> Section:
    options = [_drawn(scale) for scale in SCALES]
    table = np.concatenate([by_softmax(direction(ANGLE), scale).numpy() for scale in SCALES])
    scaled = np.array(SCALES)[:, None] * (direction(ANGLE) @ keys().T).numpy()
    rows = [
        (
            f"{scale:g}",
            number(float(by_softmax(direction(ANGLE), scale) @ values())),
            number(_steepest(scale)),
            number(slope(ANGLE, scale), 3),
        )
        for scale in SCALES
    ]
    return Section(
        "4. Smoother as the scale falls",
        (
            Text(
                "The result for a wind from every direction. A large scale gives the steps of the best match with "
                "rounded corners; the smaller it is, the smoother is the curve, and at 0 every query gets the mean "
                "of all values."
            ),
            Choice("scale β", [f"{scale:g}" for scale in SCALES], options, START, True, printed=(START,)),
            Text(f"For the wind from {ANGLE:g}°, the weights at each scale:"),
            Matrix(
                "softmax(β q Kᵀ)",
                table,
                [f"β = {scale:g}" for scale in SCALES],
                NAMES,
                3,
                "weights",
                softmax_told(scaled, 2, 3),
                example=(START, 1),
            ),
            Text(
                "The largest step is the greatest change of the result between neighbours on the curve. The slope is "
                "that at the query, by minigrad's backward pass: it is next to nothing both where the curve has "
                "steps and where it is flat."
            ),
            Steps(
                ("scale", f"result at {ANGLE:g}°", f"largest step in {ANGLES[1]:g}°", f"slope at {ANGLE:g}°"),
                rows,
                numbers=(0, 1, 2, 3),
            ),
        ),
    )


def _drawn(scale: float) -> Chart:
    angles = ANGLES.tolist()
    return Chart(
        "How warm the wind is, by softmax and by the best match",
        "direction, degrees from north",
        "degrees Celsius",
        (
            Series("best match", angles, stairs().tolist(), dashed=True),
            Series(f"softmax, β = {scale:g}", angles, curve(scale).tolist()),
        ),
        digits=1,
    )


def _steepest(scale: float) -> float:
    return float(np.abs(np.diff(curve(scale))).max())


def _many() -> Section:
    angles = (0.0, ANGLE, 225.0)
    weights, column = by_softmax(direction(np.array(angles))).numpy(), values().numpy()
    names = [f"{angle:g}°" for angle in angles]
    sources = (Mark("softmax(β Q Kᵀ)", "row"), Mark("V, attention", "column"))
    result = Matrix(
        "attention", weights @ column, names, (), 2, "", product(weights, column, (3, 0), 2), sources, example=(2, 0)
    )
    return Section(
        "5. Many look-ups at once: attention",
        (
            Text(
                "With a query in each row of Q this is the transformer's equation, attention(Q, K, V) = "
                "softmax(Q Kᵀ / √d) V. Its scale is 1/√d, where d is the width of a key, and training stretches "
                "queries and keys until the softmax is as sharp as it should be. In a transformer the queries, keys "
                "and values are all computed from words."
            ),
            Equation(
                (
                    Matrix("softmax(β Q Kᵀ)", weights, names, NAMES, 3, "weights"),
                    "×",
                    Matrix("V", column, NAMES, (), 0, key="V, attention"),
                    "=",
                    result,
                )
            ),
        ),
    )


def _checks() -> Section:
    compass, queries = direction(np.arange(0.0, 360.0, 90.0)).round(), direction(ANGLES)
    of_keys = [weights(compass) @ values() for weights in (by_equality, by_argmax)]
    fused = F.scaled_dot_product_attention(queries[None], keys()[None], values()[None], scale=SCALE)[0, :, 0]
    steps = [_steepest(scale) for scale in SCALES]
    ahead, behind = (by_softmax(direction(ANGLE + h), SCALE) @ values() for h in (1e-4, -1e-4))
    return Section(
        "Checked",
        (
            Checked(
                "for a query that is a key, equality and the best match return what the dictionary has",
                all(mg.equal(result, values()) for result in of_keys),
            ),
            Checked(
                "with a scale of 1,000 softmax returns the value of the best match",
                bool(np.abs(curve(1000.0) - stairs()).max() < 1e-9),
            ),
            Checked(
                "with a scale of 0 it returns the mean of all values",
                bool(np.abs(curve(0.0) - np.mean(list(WINDS.values()))).max() < 1e-9),
            ),
            Checked("the largest step of the curve falls with the scale", steps == sorted(steps, reverse=True)),
            Checked(
                "the slope of the backward pass is that of two results close to each other",
                abs(slope(ANGLE, SCALE) - float(ahead - behind) / 2e-4) < 1e-6,
            ),
            Checked(
                "F.scaled_dot_product_attention(Q, K, V, scale=β) returns the same curve",
                bool(np.abs(fused.numpy() - curve(SCALE)).max() < 1e-12),
            ),
        ),
    )
