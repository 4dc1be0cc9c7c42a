"""The lesson: four networks of equal size learn the same digits."""

from __future__ import annotations

from minigrad_models.viz.blocks import Chart, Choice, Lesson, Picture, Pictures, Series, Steps, Text

from ..lesson.markdown import told
from . import insight, train_digits
from .checks import claims
from .results import DISTANCES, Results
from .shifts import lost

FEW = (0, 3, 7)  # digits to follow through a network


def lesson(results: Results) -> Lesson:
    """The lesson about some results."""
    held_out = results.held_out
    models = {name: one.model for name, one in results.in_place.items()}
    digit = insight.one_of_each(held_out, (7,)).images[0]
    filters, answers = insight.filters(models["convolutional"], digit)
    states, guesses = insight.states(models["recurrent"], insight.one_of_each(held_out, FEW))
    each = [Picture(image, str(label)) for image, label in zip(*insight.one_of_each(held_out), strict=True)]
    return told(
        globals(),
        name="digits",
        train_digits=train_digits,
        kept=len(results.kept.labels),
        held_out=len(held_out.labels),
        digits=Pictures("One of each, held out", each),
        epochs="1 epoch" if results.epochs == 1 else f"{results.epochs} epochs",
        one_digit=1 / len(held_out.labels),
        accuracies=_accuracies(results),
        curves=_curves(results),
        weights=insight.weights(models["fully-connected"]),
        filters=filters,
        digit=Pictures("The digit", (Picture(digit, "a 7"),), side=6),
        answers=answers,
        states=states,
        guesses=guesses,
        attention=insight.attention(models["transformer"], insight.one_of_each(held_out, FEW)),
        lost=", ".join(f"{_percent(lost(held_out.images, d))} % at {d}" for d in DISTANCES[1:]),
        in_place=_by_shift(results, "Trained on centred digits", 0),
        with_shifts=_by_shift(results, "Trained on shifted digits", 1),
        misread=_misread(results),
        **claims(results),
    )


def _accuracies(results: Results) -> Steps:
    seeds = len(next(iter(results.repeated.values())))
    several = (f"mean of {seeds} seeds, %", "least, %") if seeds > 1 else ()
    rows = []
    for name, one in results.in_place.items():
        other, accuracies = results.with_shifts[name], results.repeated[name]
        over = (_percent(sum(accuracies) / seeds), _percent(min(accuracies))) if several else ()
        own = name, f"{one.parameters:,}", _percent(one.accuracies[-1])
        rows.append((*own, *over, _percent(other.accuracies[-1]), f"{one.seconds:.1f}"))
    head = ("network", "parameters", "held out, %", *several, "after shifts in training, %", "training, seconds")
    return Steps(head, rows, numbers=tuple(range(1, len(head))))


def _curves(results: Results) -> list[Chart]:
    trained = results.in_place
    losses = [Series(name, one.updates, one.losses) for name, one in trained.items()]
    errors = []
    for name, one in trained.items():  # 0 has no logarithm
        points = [(x, 100 * (1 - y)) for x, y in zip(one.updates, one.accuracies, strict=True) if y < 1]
        errors.append(Series(name, [x for x, _ in points], [y for _, y in points]))
    dropout, misread = "cross-entropy, dropout at work", "Held-out digits that are misread"
    return [
        Chart("Loss on the digits to learn from", "updates", dropout, losses, log_y=True, digits=4),
        Chart(misread, "updates", "%", errors, log_y=True, digits=1),
    ]


def _by_shift(results: Results, title: str, which: int) -> Chart:
    series = [Series(name, DISTANCES, [100 * y for y in both[which]]) for name, both in results.shifted.items()]
    return Chart(title, "shift, pixels", "held-out digits that are read, %", series, digits=1)


def _misread(results: Results) -> Choice:
    options = []
    for one in results.in_place.values():
        wrong = insight.misread(one.model, results.held_out)
        title = f"{len(wrong)} of {len(results.held_out.labels)} held-out digits are misread"
        options.append(Pictures(title, wrong) if wrong else Text(f"{title}."))
    return Choice("network", list(results.in_place), options)


def _percent(part: float) -> str:
    return f"{100 * part:.1f}"
