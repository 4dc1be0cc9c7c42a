"""The lesson: how gradients grow or shrink over distance, and the effect on learning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minigrad_models.viz.blocks import Block, Chart, Checked, Choice, Lesson, Series, Steps, number, scientific

from ..lesson.markdown import Fields, told
from . import cliff, sequences
from .measure import BIASES, DISTANCE, FACTORS, SIZES, Measured, Measurements, measure
from .train_networks import NETWORKS, Trained, train_all

LENGTHS = (5, 20, 80)
UPDATES = 600
SHOWN = (1, *range(10, DISTANCE + 1, 10))  # distances that charts show
TOLERANCE = 0.1  # relative tolerance of the slope
LEVEL = 1e-3  # a smaller slope, a change of a fifth over 200 steps, counts as level
MOST_ORDERS = 2.0


def lesson(seed: int = 0, lengths: Sequence[int] = LENGTHS, updates: int = UPDATES) -> Lesson:
    """The worked example. ``updates`` is the maximum per training run; 0 skips training."""
    measured = measure(seed)
    trained = train_all(lengths, updates, seed) if updates else []
    several = [*measured.radii, measured.lstm, measured.gru, measured.transformer]
    overview = _norms("How much of a gradient arrives, by distance", _lines(several))
    free, clipped = cliff.descend(None), cliff.descend(cliff.CLIP)
    return told(
        globals(),
        name="gradients",
        picture=overview,
        overview=overview,
        chains=_chain(measured),
        **_recurrent(measured),
        **_gates(measured),
        rates=_rates(several),
        at_rest=measured.transformer.norms[0],
        positions=DISTANCE + 1,
        **_clipping(free, clipped),
        tasks=_tasks(trained) if trained else None,
        updates=updates,
        **_checks(measured, free, clipped),
    )


def _chain(measured: Measurements) -> Chart:
    series = [
        Series(f"y = {factor:g}", SHOWN, norms[list(SHOWN)].tolist(), joined=False)
        for factor, norms in zip(FACTORS, measured.chains, strict=True)
    ]
    theory = [
        Series("2 yᵏ", SHOWN, [2 * factor**k for k in SHOWN], dashed=True, like=f"y = {factor:g}") for factor in FACTORS
    ]
    title, up = "|∂g/∂z|, k products before the end", "size of the gradient"
    return Chart(title, "distance k", up, (*series, *theory), log_y=True, digits=None)


def _lines(several: Sequence[Measured]) -> tuple[Series, ...]:
    """Norms against distance as dots, and the theory as a line in the same colour."""
    pairs = [(one, one.network.name) for one in several]
    return (
        *(Series(name, SHOWN, one.norms[list(SHOWN)].tolist(), joined=False) for one, name in pairs),
        *(Series(f"theory of {name}", SHOWN, one.theory(SHOWN), dashed=True, like=name) for one, name in pairs),
    )


def _norms(title: str, series: Sequence[Series]) -> Chart:
    return Chart(title, "distance k", "‖∂hₜ / ∂xₜ₋ₖ‖", series, log_y=True, digits=None)


def _recurrent(measured: Measurements) -> Fields:
    sizes = [Series(_size(one.size), SHOWN, one.norms[list(SHOWN)].tolist()) for one in measured.sizes]
    return {
        "radii": _norms("RNN at rest, by the spectral radius", _lines(measured.radii)),
        "rates_of_radii": _rates(measured.radii),
        "driven": scientific(float(measured.sizes[-1].norms[-1])),
        "sizes": _norms("RNN of radius 1.1, by the size of its inputs", sizes),
    }


def _size(size: float) -> str:
    return "inputs of size 10⁻¹²" if size == SIZES[0] else f"inputs of size {size:g}"


def _rates(several: Sequence[Measured]) -> Steps:
    """The theoretical and measured factors per step."""
    rows = [
        (
            one.network.name,
            one.network.formula,
            number(one.network.rate, 4),
            number(math.exp(one.slope), 4),
            scientific(float(one.norms[1])),
            scientific(float(one.norms[-1])),
            number(one.orders, 1),
        )
        for one in several
    ]
    head = ("network", "a step, in theory", "", "measured", "at 1", f"at {DISTANCE}", "powers of ten")
    return Steps(head, rows, numbers=(2, 3, 4, 5, 6))


def _gates(measured: Measurements) -> Fields:
    rows = [
        (
            rest.network.name,
            rest.network.formula,
            number(rest.network.rate, 4),
            number(math.exp(rest.slope), 4),
            number(rest.orders, 1),
            number(active.orders, 1),
        )
        for rest, active in measured.gates
    ]
    gate = 1 / (1 + math.exp(-1))
    head = ("network", "a step at rest", "in theory", "measured", "powers of ten", "with inputs of size 1")
    at_rest = [rest for rest, _ in measured.gates[: len(BIASES)]]
    return {
        "gate": gate,
        "power": scientific(gate**DISTANCE),
        "radius": gate + 0.25,
        "gates": Steps(head, rows, numbers=(2, 3, 4, 5)),
        "biases": _norms("LSTM by the forget bias, at rest", _lines(at_rest)),
    }


def _clipping(free: cliff.Descent, clipped: cliff.Descent) -> Fields:
    at = free.cliff
    before = free.places[at]
    near = [*np.arange(-1.2, -0.1, 0.1), *np.arange(-0.1, 0.1, 0.01), *np.arange(0.1, 1.6, 0.1)]  # the cliff is narrow
    wide = np.round(before[0] + np.array(near), 2)
    profile = cliff.profile(float(before[1]), wide)
    updates = [*range(0, at - 4, 10), *range(at - 4, at + 6), *range(at + 11, cliff.UPDATES + 1, 10)]
    title = "The loss over the updates: every tenth, and around the cliff"
    losses = [
        Series(name, updates, descent.losses[updates].tolist())
        for name, descent in (("not clipped", free), ("clipped", clipped))
    ]
    across = (
        Series("loss", wide.tolist(), profile.tolist()),
        Series(f"after {at} updates", [float(before[0])], [float(free.losses[at])]),
    )
    return {
        "at": at,
        "before": before,
        "profile": Chart(f"The loss by w, at b = {number(before[1])}", "w", "loss", across),
        "steps": _steps_at_the_cliff(free, clipped),
        "losses": Chart(title, "updates", "loss", losses, log_y=True, digits=4),
    }


def _steps_at_the_cliff(*descents: cliff.Descent) -> Steps:
    """The gradient at the cliff with and without clipping, and the result of the step."""
    rows = []
    for name, descent in zip(("not clipped", "clipped"), descents, strict=True):
        at = descent.cliff
        before, after = descent.places[at : at + 2]
        norms = (number(norm[at]) for norm in (descent.norms, descent.clipped))
        step = number(np.linalg.norm(after - before))
        place = f"{number(after[0])}, {number(after[1])}"
        losses = (number(descent.losses[i], 4) for i in (at + 1, -1))
        rows.append((name, *norms, step, place, *losses))
    head = ("", "norm before", "norm after", "length of the step", "w, b then", "loss then", f"after {cliff.UPDATES}")
    return Steps(head, rows, numbers=(1, 2, 3, 4, 5, 6))


def _tasks(trained: Sequence[Trained]) -> list[Block]:
    lengths = sorted({one.length for one in trained})
    tasks = sequences.TASKS
    head = ("task", "network", *(f"length {length}" for length in lengths), "fails from")
    return [
        Choice("task", [task.name for task in tasks], [_scores(task, trained) for task in tasks]),
        Steps(head, [_result(task, name, trained) for task in tasks for name in NETWORKS]),
    ]


def _scores(task: type[sequences.Task], trained: Sequence[Trained]) -> Chart:
    series = []
    for name in NETWORKS:
        of_it = [one for one in trained if one.task is task and one.network == name]
        series.append(Series(name, [one.length for one in of_it], [one.score for one in of_it]))
    lengths = series[0].x
    guess = Series("a guess", lengths, [task.guess] * len(lengths), dashed=True)
    return Chart(f"The {task.name} task", "length", task.up, (*series, guess))


def _result(task: type[sequences.Task], name: str, trained: Sequence[Trained]) -> tuple[str, ...]:
    of_it = [one for one in trained if one.task is task and one.network == name]
    failed = [one.length for one in of_it if not one.solved]
    cells = [f"{one.updates} updates" if one.solved else f"not solved: {number(one.score, 3)}" for one in of_it]
    return (task.name, name, *cells, str(failed[0]) if failed else "none of these")


def _checks(measured: Measurements, free: cliff.Descent, clipped: cliff.Descent) -> Fields:
    one, two = (measured.gates[BIASES.index(bias)][1].orders for bias in (1.0, 2.0))
    return {
        "powers": all(
            np.allclose(norms, [2 * factor**k for k in range(DISTANCE + 1)], rtol=1e-9)
            for factor, norms in zip(FACTORS, measured.chains, strict=True)
        ),
        "slopes": [_slope_check(one) for one in measured.radii],
        "lstm_keeps": measured.lstm.orders <= MOST_ORDERS,
        "transformer_keeps": measured.transformer.orders <= MOST_ORDERS,
        "near_theory": [
            Checked(
                f"{one.network.name}: a step multiplies by theory's rate, within 1 %",
                abs(math.exp(one.slope) / one.network.rate - 1) < 0.01,
            )
            for one in (measured.lstm, measured.gru)
        ],
        "more_with_two": two < one,
        "shortened": clipped.clipped.max() <= cliff.CLIP and clipped.losses[-1] < free.losses[-1] / 10,
    }


def _slope_check(one: Measured) -> Checked:
    theory = math.log(one.network.rate)
    if abs(theory) < LEVEL:
        return Checked(f"{one.network.name}: the logarithm is level", abs(one.slope) < LEVEL)
    claim = (
        f"{one.network.name}: the logarithm's slope is ln {one.network.rate:g} = {number(theory, 4)}, within a tenth"
    )
    return Checked(claim, abs(one.slope / theory - 1) < TOLERANCE)
