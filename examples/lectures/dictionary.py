"""Attention as a soft dictionary: d[q] by equality, by the best match, and by a softmax of K q.

The keys are the four points of the compass, and the values are invented temperatures of the winds from them. A query is
any direction, so the three kinds of look-up can be plotted against its angle. Attention is the third kind, for many
queries in parallel (Vaswani et al. 2017, section 3.2).
"""

from __future__ import annotations

import math

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Chart, Choice, Equation, Lesson, Mark, Matrix, Series, Steps, number, softmax_told, times
from ..lesson.markdown import Fields, told

WINDS = {"north": 2, "east": 12, "south": 28, "west": 16}  # degrees Celsius
NAMES = tuple(WINDS)
KEYS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # to the east, to the north
ANGLE = 30.0  # of the query: degrees clockwise from north
AXES = ("to the east", "to the north")
SCALES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.0)  # of the slider
START = 4  # the index of scale 4
SCALE = SCALES[START]
ANGLES = np.arange(0.0, 361.0, 10.0)  # of the curves; two keys never match equally well at these angles


def keys() -> Tensor:
    """K (4, 2), float64."""
    return mg.tensor(KEYS, dtype=mg.float64)


def values() -> Tensor:
    """V (4, 1), float64."""
    return mg.tensor(list(WINDS.values()), dtype=mg.float64)[:, None]


def direction(angles: float | np.ndarray | Tensor) -> Tensor:
    """The unit vectors (N, 2) of directions in degrees clockwise from north: (sin, cos)."""
    turned = angles if isinstance(angles, Tensor) else mg.tensor(np.atleast_1d(angles), dtype=mg.float64)
    radians = turned * (math.pi / 180)
    return mg.stack((radians.sin(), radians.cos()), -1)


def by_equality(query: Tensor) -> Tensor:
    """The weights (N, 4): 1 where the key equals the query, else 0."""
    return (query[:, None] == keys()).all(-1).to(mg.float64)


def by_argmax(query: Tensor) -> Tensor:
    """The weights (N, 4): 1 at the (first) key with the greatest dot product."""
    return F.one_hot((query @ keys().T).argmax(-1), len(NAMES)).to(mg.float64)


def by_softmax(query: Tensor, scale: float = SCALE) -> Tensor:
    """The weights (N, 4): softmax(scale · K q)."""
    return (scale * (query @ keys().T)).softmax(-1)


def derivative(angle: float, scale: float) -> float:
    """The derivative of the result with respect to the direction, in °C per degree, computed by the engine."""
    turned = mg.tensor([angle], dtype=mg.float64, requires_grad=True)
    (gradient,) = mg.autograd.grad((by_softmax(direction(turned), scale) @ values()).sum(), turned)
    return float(gradient[0])


def curve(scale: float) -> np.ndarray:
    """The result of softmax at all ANGLES."""
    return (by_softmax(direction(ANGLES), scale) @ values())[:, 0].numpy()


def stairs() -> np.ndarray:
    """The result of the best match at all ANGLES."""
    return (by_argmax(direction(ANGLES)) @ values())[:, 0].numpy()


def lesson() -> Lesson:
    """The worked example."""
    return told(globals(), **_checks(), **_equality(), **_argmax(), **_softmax(), **_scale(), attention=_many())


def _equality() -> Fields:
    rows = []
    for word in ("south", "north-east"):
        try:
            answer = str(WINDS[word])
        except KeyError as error:
            answer = f"KeyError: {error}"
        rows.append((f'd["{word}"]', answer))
    query = direction(180.0).round()  # exactly south: (0, −1)
    return {
        "lookups": Steps(("look-up", "result"), rows, code=(0, 1)),
        "by_equality": _lookup("q == K", by_equality(query), "equality"),
    }


def _lookup(name: str, weights: Tensor, key: str, digits: int = 0) -> Equation:
    """weights (1, 4) × V (4, 1) = the result."""
    row = Matrix(name, weights, (), NAMES, digits, "weights", key=f"weights, {key}")
    return times(row, Matrix("V", values(), NAMES, (), 0, key=f"V, {key}"), "d[q]", key=f"d[q], {key}")


def _argmax() -> Fields:
    query = direction(ANGLE)
    transposed = Matrix("Kᵀ", keys().T, AXES, NAMES, 0)
    return {
        "scores": times(Matrix("q", query, (), AXES, 3), transposed, "q Kᵀ", 3, example=(0, 1)),
        "by_argmax": _lookup("argmax", by_argmax(query), "argmax"),
    }


def _softmax() -> Fields:
    query = direction(ANGLE)
    scaled = SCALE * (query @ keys().T)
    how = softmax_told(scaled.numpy(), 2, 3)
    return {
        "shares": Equation(
            Matrix(f"{SCALE:g} q Kᵀ", scaled, (), NAMES, 2),
            "→",
            Matrix("softmax", scaled.softmax(-1), (), NAMES, 3, "weights", how, (Mark(f"{SCALE:g} q Kᵀ", "row"),)),
        ),
        "by_softmax": _lookup("weights", by_softmax(query), "softmax", 3),
    }


def _scale() -> Fields:
    options, names = [_drawn(scale) for scale in SCALES], [f"β = {scale:g}" for scale in SCALES]
    table = np.concatenate([by_softmax(direction(ANGLE), scale).numpy() for scale in SCALES])
    how = softmax_told(np.array(SCALES)[:, None] * (direction(ANGLE) @ keys().T).numpy(), 2, 3)
    head = ("scale", f"result at {ANGLE:g}°", f"largest step in {ANGLES[1]:g}°", f"derivative at {ANGLE:g}°")
    rows = [
        (
            f"{scale:g}",
            number(by_softmax(direction(ANGLE), scale) @ values()),
            number(_steepest(scale)),
            number(derivative(ANGLE, scale), 3),
        )
        for scale in SCALES
    ]
    return {
        "curves": Choice("scale β", [f"{scale:g}" for scale in SCALES], options, START, True),
        "by_scale": Matrix("softmax(β q Kᵀ)", table, names, NAMES, 3, "weights", how, example=(START, 1)),
        "derivatives": Steps(head, rows, numbers=(0, 1, 2, 3)),
    }


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


def _many() -> Equation:
    angles = (0.0, ANGLE, 225.0)
    names = [f"{angle:g}°" for angle in angles]
    weights = Matrix("softmax(β Q Kᵀ)", by_softmax(direction(np.array(angles))), names, NAMES, 3, "weights")
    return times(weights, Matrix("V", values(), NAMES, (), 0, key="V, attention"), "attention", example=(2, 0))


def _checks() -> Fields:
    compass, queries = direction(np.arange(0.0, 360.0, 90.0)).round(), direction(ANGLES)
    of_keys = [weights(compass) @ values() for weights in (by_equality, by_argmax)]
    fused = F.scaled_dot_product_attention(queries[None], keys()[None], values()[None], scale=SCALE)[0, :, 0]
    steps = [_steepest(scale) for scale in SCALES]
    ahead, behind = (by_softmax(direction(ANGLE + h), SCALE) @ values() for h in (1e-4, -1e-4))
    return {
        "of_keys": all(mg.equal(result, values()) for result in of_keys),
        "steep": np.abs(curve(1000.0) - stairs()).max() < 1e-9,
        "mean": np.abs(curve(0.0) - np.mean(list(WINDS.values()))).max() < 1e-9,
        "falls": steps == sorted(steps, reverse=True),
        "by_backward": abs(derivative(ANGLE, SCALE) - float(ahead - behind) / 2e-4) < 1e-6,
        "fused": np.abs(fused.numpy() - curve(SCALE)).max() < 1e-12,
    }
