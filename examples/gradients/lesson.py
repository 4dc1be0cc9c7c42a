"""The lesson: what is multiplied along the way back, and what it does to learning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import minigrad as mg

from ..lesson.blocks import Chart, Checked, Choice, Lesson, Section, Series, Steps, Text, number, scientific
from . import cliff, sequences
from .measure import BIASES, DISTANCE, FACTORS, SIZES, Measured, Measurements, measure
from .train_networks import NETWORKS, Trained, train_all

LENGTHS = (5, 20, 80)
UPDATES = 600
SHOWN = (1, *range(10, DISTANCE + 1, 10))  # distances that charts show
TOLERANCE = 0.1  # of the slope, as a part of what theory says
LEVEL = 1e-3  # a slope below it is none: by a fifth over 200 steps
MOST_ORDERS = 2.0


def lesson(seed: int = 0, lengths: Sequence[int] = LENGTHS, updates: int = UPDATES) -> Lesson:
    """The worked example. ``updates``: of each training at most; 0 leaves them out."""
    measured = measure(seed)
    trained = train_all(lengths, updates, seed) if updates else []
    overview = _overview(measured)
    free, clipped = cliff.descend(None), cliff.descend(cliff.CLIP)
    sections = [
        _chain(measured),
        _recurrent(measured),
        _gates(measured),
        _together(measured, overview),
        _clipping(free, clipped),
        *([_tasks(trained, updates)] if trained else []),
        Section("Checked", _checks(measured, free, clipped)),
    ]
    return Lesson(
        "gradients",
        "Gradients that vanish and explode",
        "What a network learns about an early input arrives as a product with one factor for each step on the way "
        "back. A product of many factors is next to nothing where they are a little less than 1, and beyond all "
        "measure where they are a little more. That is one of the two reasons for which translation left recurrent "
        "networks for the transformer. All gradients here are computed by minigrad's engine.",
        sections,
        overview,
    )


# Products ----------------------------------------------------------------------------------------------------


def _chain(measured: Measurements) -> Section:
    x, y = (mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (2.0, 3.0))
    z = x * y
    g = z**2
    by_z, by_x, by_y = (v.item() for v in mg.autograd.grad(g, (z, x, y)))
    rows = (
        ("z = x · y", "2 × 3", number(z.item(), 0)),
        ("g = z²", "6²", number(g.item(), 0)),
        ("∂g/∂z = 2 z", "2 × 6", number(by_z, 0)),
        ("∂g/∂x = ∂g/∂z · ∂z/∂x = 2 z · y", "12 × 3", number(by_x, 0)),
        ("∂g/∂y = ∂g/∂z · ∂z/∂y = 2 z · x", "12 × 2", number(by_y, 0)),
    )
    series = [
        Series(f"y = {factor:g}", SHOWN, norms[list(SHOWN)].tolist(), joined=False)
        for factor, norms in zip(FACTORS, measured.chains, strict=True)
    ]
    theory = [
        Series("2 yᵏ", SHOWN, [2 * factor**k for k in SHOWN], dashed=True, like=f"y = {factor:g}") for factor in FACTORS
    ]
    return Section(
        "1. The chain rule multiplies",
        (
            Text(
                "With x = 2 and y = 3, z = x · y and g = z². The chain rule goes from g back to x and y, and "
                "multiplies by one derivative for each step:"
            ),
            Steps(("what", "computed", "engine"), rows, code=(0, 1), numbers=(2,)),
            Text(
                f"Now the product is taken {DISTANCE} times, z ← z · y, before g = z². The gradient at a z that lies k "
                "steps before the last is 2 z · yᵏ: a power. (The chain starts such that the last z is 1.) Dots are "
                "measured, and dashed lines are what theory says, here and below."
            ),
            Chart(
                "|∂g/∂z|, k products before the end",
                "distance k",
                "size of the gradient",
                (*series, *theory),
                log_y=True,
                digits=None,
            ),
        ),
    )


# Networks ----------------------------------------------------------------------------------------------------


def _lines(several: Sequence[Measured]) -> tuple[Series, ...]:
    """Norms over the distance as dots, and in the same colour the line of theory."""
    pairs = [(one, one.network.name) for one in several]
    return (
        *(Series(name, SHOWN, one.norms[list(SHOWN)].tolist(), joined=False) for one, name in pairs),
        *(Series(f"theory of {name}", SHOWN, one.theory(SHOWN), dashed=True, like=name) for one, name in pairs),
    )


def _norms(title: str, series: Sequence[Series]) -> Chart:
    return Chart(title, "distance k", "‖∂hₜ / ∂xₜ₋ₖ‖", series, log_y=True, digits=None)


def _recurrent(measured: Measurements) -> Section:
    sizes = [Series(_size(one.size), SHOWN, one.norms[list(SHOWN)].tolist()) for one in measured.sizes]
    last = measured.sizes[-1]
    return Section(
        "2. A recurrent network multiplies by the same matrix",
        (
            Text(
                "A recurrent network is hₜ = tanh(W xₜ + U hₜ₋₁). From hₜ back to hₜ₋₁ it is the matrix "
                "diag(1 − hₜ²) U, and from the last state back to an input k steps before it k such matrices, one "
                "after another. Where the states are close to 0 all are U, and their product is U^k: its size goes "
                "with the k-th power of U's spectral radius, the largest absolute value of its eigenvalues (Bengio, "
                "Simard & Frasconi 1994; Pascanu, Mikolov & Bengio 2013)."
            ),
            Text(
                "Measured is the largest singular value of the Jacobian, ‖∂hₜ / ∂xₜ₋ₖ‖: by how much the last "
                "state can change with the input k steps before it. U is a random orthogonal matrix times the radius, "
                "and the inputs are so small (10^−12) that the states stay close to 0 even where they grow for "
                f"{DISTANCE} steps."
            ),
            _norms("RNN at rest, by the spectral radius", _lines(measured.radii)),
            _rates(measured.radii),
            Text(
                "Inputs of ordinary size drive the states to where tanh is flat: 1 − h² is small there, and a second "
                "reason to vanish. A radius above 1 is needed to explode, but not enough. (A network in training may "
                "go to where the two are in balance, and on to the other side.) With inputs of size 1 the gradient at "
                f"a distance of {DISTANCE} is {scientific(float(last.norms[-1]))}, with the radius 1.1."
            ),
            _norms("RNN of radius 1.1, by the size of its inputs", sizes),
        ),
    )


def _size(size: float) -> str:
    return "inputs of size 10⁻¹²" if size == SIZES[0] else f"inputs of size {size:g}"


def _rates(several: Sequence[Measured]) -> Steps:
    """Theory's factor of a step, and the one that is measured."""
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


def _gates(measured: Measurements) -> Section:
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
    return Section(
        "3. Gates that add: LSTM and GRU",
        (
            Text(
                "An LSTM (Hochreiter & Schmidhuber 1997) adds to its state in place of computing it anew: cₜ = f "
                "cₜ₋₁ + i g. The way back multiplies by the forget gate f, which the network can open (Gers, "
                "Schmidhuber & Cummins 2000). A GRU (Cho et al. 2014) does the same with its update gate z. A bias b "
                "opens the gates before training has: Jozefowicz, Zaremba & Sutskever (2015) advise a forget bias of "
                "1."
            ),
            Text(
                f"That alone is not much: σ(1) = {number(gate, 3)}, and σ(1)^200 = {scientific(gate**200)}. What keeps "
                "the gradient alive is that there is a second way, through the candidates, which adds to the first: "
                "at rest, with the input and output gates at ½, a step is σ(b) I + ¼ U, where U is the candidates' "
                f"recurrent matrix. With an orthogonal U its radius is close to {number(gate, 3)} + ¼ = "
                f"{number(gate + 0.25, 3)}; with a U as nn.LSTM draws it, of radius about 1/√3, it would be 0.875. A "
                "forget bias of 2 explodes at rest. The last column is the same with inputs of size 1, where gates "
                "open and close with the inputs: then a forget bias of 2 is better than 1. An LSTM makes it easy to "
                "learn to keep; it does not keep by itself."
            ),
            Steps(
                ("network", "a step at rest", "in theory", "measured", "powers of ten", "with inputs of size 1"),
                rows,
                numbers=(2, 3, 4, 5),
            ),
            _norms("LSTM by the forget bias, at rest", _lines([rest for rest, _ in measured.gates[: len(BIASES)]])),
        ),
    )


def _overview(measured: Measurements) -> Chart:
    several = [*measured.radii, measured.lstm, measured.gru, measured.transformer]
    return _norms("How much of a gradient arrives, by distance", _lines(several))


def _together(measured: Measurements, overview: Chart) -> Section:
    attention = measured.transformer
    return Section(
        "4. A transformer has no distance",
        (
            Text(
                "Attention leads from each position to each other in one step. From the output at the last position "
                "back to any input it is as many steps as there are blocks, two here, whatever the distance: in "
                "theory the line is level. (Its inputs have size 1, since layer norm undoes any other; attention is "
                "causal, so that it looks back as the others do. At the distance 0 the norm is "
                f"{number(attention.norms[0])}: there is the residual connection, too. At others it is shared "
                f"by {DISTANCE + 1} positions.)"
            ),
            overview,
            _rates([*measured.radii, measured.lstm, measured.gru, attention]),
        ),
    )


# Clipping ----------------------------------------------------------------------------------------------------


def _clipping(free: cliff.Descent, clipped: cliff.Descent) -> Section:
    at = free.cliff
    before = free.places[at]
    near = [*np.arange(-1.2, -0.1, 0.1), *np.arange(-0.1, 0.1, 0.01), *np.arange(0.1, 1.6, 0.1)]  # the cliff is narrow
    wide = np.round(before[0] + np.array(near), 2)
    profile = cliff.profile(float(before[1]), wide)
    updates = [*range(0, at - 4, 10), *range(at - 4, at + 6), *range(at + 11, cliff.UPDATES + 1, 10)]
    return Section(
        "5. Clipping: a step at a cliff",
        (
            Text(
                "Where gradients explode, the loss has cliffs: a small change of a weight, repeated at each step, "
                f"changes all. The network of one unit, h ← w σ(h) + b, {cliff.STEPS} times from h = ½, should end at "
                f"σ(h) = {cliff.TARGET} (Pascanu, Mikolov & Bengio 2013, figure 6). Gradient descent with a rate of "
                f"{cliff.RATE} from w = {cliff.BEGIN[0]:g}, b = {number(cliff.BEGIN[1], 0)} meets the cliff after "
                f"{at} updates, at w = {number(before[0])}, b = {number(before[1])}:"
            ),
            Chart(
                f"The loss by w, at b = {number(before[1])}",
                "w",
                "loss",
                (
                    Series("loss", wide.tolist(), profile.tolist()),
                    Series(f"after {at} updates", [float(before[0])], [float(free.losses[at])]),
                ),
            ),
            Text(
                "A gradient longer than a limit is shortened to it (`nn.utils.clip_grad_norm_`), and keeps its "
                f"direction: g ← g · min(1, limit / ‖g‖), with a limit of {cliff.CLIP:g} here. The step that is not "
                "clipped leaps far beyond what the gradient knows of, onto a plain where no gradient leads back."
            ),
            _steps_at_the_cliff(free, clipped),
            Chart(
                "The loss over the updates: after each tenth, and around the cliff",
                "updates",
                "loss",
                [
                    Series(name, updates, descent.losses[updates].tolist())
                    for name, descent in (("not clipped", free), ("clipped", clipped))
                ],
                log_y=True,
                digits=4,
            ),
            Text("That is a remedy for gradients that explode. For those that vanish there is none as simple."),
        ),
    )


def _steps_at_the_cliff(*descents: cliff.Descent) -> Steps:
    """The same gradient, not clipped and clipped, and where it leads."""
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


# Tasks -------------------------------------------------------------------------------------------------------


def _tasks(trained: Sequence[Trained], updates: int) -> Section:
    lengths = sorted({one.length for one in trained})
    return Section(
        "6. What it costs: tasks that ask for memory",
        (
            Text(
                "Two tasks whose length is free (Hochreiter & Schmidhuber 1997, section 5.4; Arjovsky, Shah & Bengio "
                "2016). Adding: of a sequence of numbers two are marked, one in each half, and at the end their sum "
                f"is asked for. Copying: {sequences.SYMBOLS} symbols of {sequences.ALPHABET}, then blanks, as many as "
                "the task is long, then a sign, at which the symbols are to be said in their order."
            ),
            Text(
                f"Each network has 17,000 to 20,000 parameters and {updates} updates at most (`--updates`), of 64 new "
                "sequences each, by Adam with a rate of 0.01 and clipped gradients; the LSTM has a forget bias of 1. "
                f"It is done when its mean squared error on other sequences is below {sequences.Adding.least}, or "
                f"{100 * sequences.Copying.least:g} % of the symbols are right. A network that fails here may still "
                "learn it with more updates; the slower, the longer."
            ),
            Choice(
                "task", [task.name for task in sequences.TASKS], [_scores(task, trained) for task in sequences.TASKS]
            ),
            Steps(
                ("task", "network", *(f"length {length}" for length in lengths), "fails from"),
                [_result(task, name, trained) for task in sequences.TASKS for name in NETWORKS],
            ),
        ),
    )


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
    cells = [f"{one.updates} updates" if one.solved else f"not done: {number(one.score, 3)}" for one in of_it]
    return (task.name, name, *cells, str(failed[0]) if failed else "none of these")


# Claims ------------------------------------------------------------------------------------------------------


def _checks(measured: Measurements, free: cliff.Descent, clipped: cliff.Descent) -> tuple[Checked, ...]:
    chains = [
        np.allclose(norms, [2 * factor**k for k in range(DISTANCE + 1)], rtol=1e-9)
        for factor, norms in zip(FACTORS, measured.chains, strict=True)
    ]
    return (
        Checked("the gradient of a chain of products is 2 yᵏ at every distance", all(chains)),
        *(_slope_check(one) for one in measured.radii),
        Checked(
            f"the LSTM with forget bias 1 stays within two powers of ten over {DISTANCE} steps",
            measured.lstm.orders <= MOST_ORDERS,
        ),
        Checked(f"the transformer does, too, from 1 to {DISTANCE} steps", measured.transformer.orders <= MOST_ORDERS),
        *(
            Checked(f"{one.network.name}: a step multiplies by theory's rate, within 1 %", _near_rate(one))
            for one in (measured.lstm, measured.gru)
        ),
        Checked(
            "with inputs of size 1 the LSTM keeps more with a forget bias of 2 than of 1",
            measured.gates[BIASES.index(2.0)][1].orders < measured.gates[BIASES.index(1.0)][1].orders,
        ),
        Checked(
            "clipping leaves no gradient longer than its limit, and ends lower",
            clipped.clipped.max() <= cliff.CLIP and clipped.losses[-1] < free.losses[-1] / 10,
        ),
    )


def _slope_check(one: Measured) -> Checked:
    theory = math.log(one.network.rate)
    if abs(theory) < LEVEL:
        return Checked(f"{one.network.name}: the logarithm is level", abs(one.slope) < LEVEL)
    claim = (
        f"{one.network.name}: the logarithm's slope is ln {one.network.rate:g} = {number(theory, 4)}, within a tenth"
    )
    return Checked(claim, abs(one.slope / theory - 1) < TOLERANCE)


def _near_rate(one: Measured) -> bool:
    return abs(math.exp(one.slope) / one.network.rate - 1) < 0.01
